"""Sends a batch's lots to their services, each exactly once.

That a lot is about to be made is written down before the request goes out. Where it cannot be
known whether the service took it (nothing came, or it broke), the service's own list is searched
before anything is sent again: by the name we gave the lot or, where a service keeps no names, by
the ids in the results of whatever may be ours.
"""

import time
from collections.abc import Callable, Sequence
from typing import Literal

from ..errors import (
    NotFound,
    PonderoError,
    RateLimited,
    ServiceError,
    TransportError,
    WireError,
)
from .collection import collect_chunk, outcomes
from .service_api import BatchChunk, BatchOutcome, ChunkStatus, ListedBatch
from .steps import BatchService, Steps, read_answer
from .store import BatchFile

Services = Callable[[BatchChunk], BatchService]
"""Returns the batch service that a lot is for, with the key and the lot's own headers."""

LOOKS = (0.0, 3.0, 10.0)
"""Seconds before each look at the list: a batch that was taken may be listed a little later."""

_SKEW = 120.0  # seconds by which two clocks may differ
_PAGES = 50

Search = Literal["found", "absent", "unsure"]


def submit_chunks(file: BatchFile, services: Services) -> Steps[None]:
    """Send every lot that is not at its service yet; raises what the service says against it.

    A lot of which it cannot be known yet whether it was taken stays as it is, with a note.
    """
    for lot in file.lots():
        if lot.state in ("sent", "ended"):
            continue
        service = services(lot)
        if lot.state == "creating":
            lot = yield from _recovered(file, lot, service)  # noqa: PLW2901 - as it is now
        if lot.state == "ready":
            lot = yield from _made(file, lot, service)  # noqa: PLW2901 - as it is now
        if lot.state == "adding":
            yield from _filled(file, lot, service)


def cancel_chunks(file: BatchFile, services: Services) -> Steps[None]:
    """Cancel every lot that has not ended; what was not sent never will be."""
    for lot in file.lots():
        if lot.state == "ended":
            continue
        service = services(lot)
        if lot.state == "creating":
            lot = yield from _recovered(file, lot, service)  # noqa: PLW2901 - as it is now
        if lot.state == "ready":
            unsent = [BatchOutcome(line.id, "cancelled") for line in file.lines(lot)]
            file.end(lot, unsent, note="it was cancelled before it was sent")
        elif lot.remote is not None:
            yield from service.send_idempotent(service.wire.cancel(service.desk, lot.remote))
            yield from collect_chunk(file, file.put(lot, state="sent"), service)


def _made(file: BatchFile, lot: BatchChunk, service: BatchService) -> Steps[BatchChunk]:
    """Make a lot at its service, and look for it where it cannot be known whether it was made."""
    wire, tries = service.wire, 0
    lines = file.lines(lot)
    if wire.upload is not None and wire.uploaded is not None and lot.file is None:
        # A file that is uploaded twice costs nothing, and only one of them is ever named.
        said = yield from service.send_idempotent(wire.upload(service.desk, lot, lines))
        lot = file.put(lot, file=wire.uploaded(read_answer(said)))
    while lot.state == "ready":
        tries += 1
        lot = file.put(lot, state="creating", since=time.time(), note="")
        try:
            said = yield from service.once(wire.create(service.desk, lot, lines))
            lot = file.put(lot, state=_next(service), remote=wire.created(read_answer(said)))
        except PonderoError as error:
            if is_ambiguous(error):
                lot = file.put(lot, note=f"{type(error).__name__}: {error}")
                lot = yield from _recovered(file, lot, service)
                if lot.state == "ready" and not service.retry.again(error, tries):
                    raise
                continue
            lot = file.put(lot, state="ready", note=str(error))
            if not isinstance(error, RateLimited) or not service.retry.again(error, tries):
                raise
            yield from service.pause(service.retry.wait(error, tries, lambda: 1.0))
    return lot


def _next(service: BatchService) -> Literal["adding", "sent"]:
    return "sent" if service.wire.add is None else "adding"


def is_ambiguous(error: PonderoError) -> bool:
    """Return whether a request may have been obeyed all the same: nothing came, or a failure."""
    if isinstance(error, ServiceError):
        return error.status is None or error.status >= 500 or error.status == 408
    return isinstance(error, TransportError | WireError)


def _filled(file: BatchFile, lot: BatchChunk, service: BatchService) -> Steps[None]:
    """Add the asks to a lot that was made empty; the service's own count says which it has."""
    wire, lines, tries, before = service.wire, file.lines(lot), 0, 0
    assert wire.add is not None  # noqa: S101 - only such a lot is in this state
    assert lot.remote is not None  # noqa: S101 - it was made
    while True:
        seen = yield from _seen(lot, service)
        has = seen.asks or 0
        if has >= len(lines) or seen.closed:
            break
        tries, before = (tries + 1 if has == before else 1), has
        chunk = lines[has : has + wire.adds]
        try:
            yield from service.once(wire.add(service.desk, lot.remote, chunk))
        except PonderoError as error:
            if not is_ambiguous(error) and not isinstance(error, RateLimited):
                raise
            if not service.retry.again(error, tries):
                raise
            yield from _settled(lot, service, has)
    file.put(lot, state="sent")


def _seen(lot: BatchChunk, service: BatchService) -> Steps[ChunkStatus]:
    said = yield from service.send_idempotent(service.wire.look(service.desk, lot.remote or ""))
    return service.wire.seen(read_answer(said), time.time())


def _settled(lot: BatchChunk, service: BatchService, has: int) -> Steps[None]:
    """Wait until the service counts what was added, or long enough that it was not."""
    for seconds in LOOKS:
        yield from service.pause(seconds)
        if ((yield from _seen(lot, service)).asks or 0) != has:
            return


# -- looking for a lot that may be there -----------------------------------------------------------


def _recovered(file: BatchFile, lot: BatchChunk, service: BatchService) -> Steps[BatchChunk]:
    """Return a lot with the id it has at the service, or ready to be made where it is not there.

    It stays as it is where that cannot be known yet.
    """
    for seconds in LOOKS:
        yield from service.pause(seconds)
        found, remote = yield from _search(file, lot, service)
        if found == "found":
            return file.put(lot, state=_next(service), remote=remote, note="")
        if found == "unsure":
            note = (
                f"it is not known whether the service took it; {remote} may be it, and its results "
                "will tell when it has ended: collect again later"
            )
            return file.put(lot, note=note)
    return file.put(lot, state="ready", note="")


def _search(file: BatchFile, lot: BatchChunk, service: BatchService) -> Steps[tuple[Search, str]]:
    """Return whether a lot is on the service's list, and under which id."""
    perhaps: list[ListedBatch] = []
    cursor: str | None = None
    known = file.remotes()
    for _ in range(_PAGES):
        said = yield from service.send_idempotent(service.wire.listing(service.desk, cursor))
        page = service.wire.page(read_answer(said), cursor)
        for each in page.batches:
            if _is_named(each, lot):
                return "found", each.remote
            if not service.wire.names and each.remote not in known and _may_be(each, lot):
                perhaps.append(each)
        cursor = page.next
        if cursor is None or _is_past(page.batches, lot):
            break
    return (yield from _told_apart(file, lot, service, perhaps))


def _told_apart(
    file: BatchFile, lot: BatchChunk, service: BatchService, perhaps: Sequence[ListedBatch]
) -> Steps[tuple[Search, str]]:
    """Return which of the batches that may be ours has our ids in its results."""
    ours = {line.id for line in file.lines(lot)}
    running: list[str] = []
    for each in perhaps:
        found = yield from _ids_in(each.remote, service)
        if found is None:
            running.append(each.remote)
        elif found & ours:
            return "found", each.remote
    return ("unsure", " or ".join(running)) if running else ("absent", "")


def _ids_in(remote: str, service: BatchService) -> Steps[set[str] | None]:
    """Return the ids in the results of a batch; None where it has not ended."""
    try:
        said = read_answer(
            (yield from service.send_idempotent(service.wire.look(service.desk, remote)))
        )
        if not service.wire.seen(said, time.time()).ended:
            return None
        found = yield from outcomes(remote, said, service)
    except NotFound:  # its results are gone already, and ours are young
        return set()
    return {each.id for each in found}


def _is_named(each: ListedBatch, lot: BatchChunk) -> bool:
    return each.name == lot.name or (lot.file is not None and each.file == lot.file)


def _may_be(each: ListedBatch, lot: BatchChunk) -> bool:
    young = each.created is None or each.created >= lot.since - _SKEW
    return young and each.count in (None, lot.count)


def _is_past(batches: Sequence[ListedBatch], lot: BatchChunk) -> bool:
    """Return whether a page is older than the lot: lists begin with the newest."""
    times = [each.created for each in batches if each.created is not None]
    return bool(times) and max(times) < lot.since - _SKEW
