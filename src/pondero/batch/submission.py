"""Sends a batch's chunks to their services, each exactly once.

``creating`` is saved first. After no answer or a 5xx, the service's list is searched before the
chunk is sent again: by name or, if none are kept, by the ids in the results of likely batches.
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
from .collection import collect_chunk, fetch_outcomes
from .service_api import BatchChunk, BatchOutcome, ChunkStatus, ListedBatch
from .steps import BatchService, Steps, read_answer
from .store import BatchFile

Services = Callable[[BatchChunk], BatchService]
"""Returns the batch service of a chunk, with the key and the chunk's own headers."""

SEARCH_DELAYS = (0.0, 3.0, 10.0)
"""Seconds before each search of the list: an accepted batch may appear there a little later."""

_SKEW = 120.0  # seconds by which two clocks may differ
_PAGES = 50

Search = Literal["found", "absent", "unsure"]


def submit_chunks(file: BatchFile, services: Services) -> Steps[None]:
    """Send every chunk not at its service yet; one perhaps accepted stays, with a note."""
    for chunk in file.lots():
        if chunk.state in ("sent", "ended"):
            continue
        service = services(chunk)
        if chunk.state == "creating":
            chunk = yield from _recover_chunk(file, chunk, service)  # noqa: PLW2901 - as it is now
        if chunk.state == "ready":
            chunk = yield from _create_chunk(file, chunk, service)  # noqa: PLW2901 - as it is now
        if chunk.state == "adding":
            yield from _fill_chunk(file, chunk, service)


def cancel_chunks(file: BatchFile, services: Services) -> Steps[None]:
    """Cancel every chunk that has not ended; unsent chunks end without being sent."""
    for chunk in file.lots():
        if chunk.state == "ended":
            continue
        service = services(chunk)
        if chunk.state == "creating":
            chunk = yield from _recover_chunk(file, chunk, service)  # noqa: PLW2901 - as it is now
        if chunk.state == "ready":
            unsent = [BatchOutcome(line.id, "cancelled") for line in file.lines(chunk)]
            file.end(chunk, unsent, note="it was cancelled before it was sent")
        elif chunk.remote is not None:
            yield from service.send_idempotent(service.wire.cancel(service.endpoint, chunk.remote))
            yield from collect_chunk(file, file.put(chunk, state="sent"), service)


def _create_chunk(file: BatchFile, chunk: BatchChunk, service: BatchService) -> Steps[BatchChunk]:
    wire, tries = service.wire, 0
    lines = file.lines(chunk)
    if wire.upload is not None and wire.parse_uploaded is not None and chunk.file is None:
        # A second upload costs nothing, and only one of the files is ever used.
        body = yield from service.send_idempotent(wire.upload(service.endpoint, chunk, lines))
        chunk = file.put(chunk, file=wire.parse_uploaded(read_answer(body)))
    while chunk.state == "ready":
        tries += 1
        chunk = file.put(chunk, state="creating", since=time.time(), note="")
        try:
            body = yield from service.send_once(wire.create(service.endpoint, chunk, lines))
            remote = wire.parse_created(read_answer(body))
            chunk = file.put(chunk, state=_state_after_create(service), remote=remote)
        except PonderoError as error:
            if is_ambiguous(error):
                chunk = file.put(chunk, note=f"{type(error).__name__}: {error}")
                chunk = yield from _recover_chunk(file, chunk, service)
                if chunk.state == "ready" and not service.retry.again(error, tries):
                    raise
                continue
            chunk = file.put(chunk, state="ready", note=str(error))
            if not isinstance(error, RateLimited) or not service.retry.again(error, tries):
                raise
            yield from service.pause(service.retry.wait(error, tries, lambda: 1.0))
    return chunk


def _state_after_create(service: BatchService) -> Literal["adding", "sent"]:
    return "sent" if service.wire.add is None else "adding"


def is_ambiguous(error: PonderoError) -> bool:
    """Return whether a failed request may have taken effect: no answer, 408 or 5xx."""
    if isinstance(error, ServiceError):
        return error.status is None or error.status >= 500 or error.status == 408
    return isinstance(error, TransportError | WireError)


def _fill_chunk(file: BatchFile, chunk: BatchChunk, service: BatchService) -> Steps[None]:
    wire, lines, tries, before = service.wire, file.lines(chunk), 0, 0
    assert wire.add is not None  # noqa: S101 - only a chunk that is filled has this state
    assert chunk.remote is not None  # noqa: S101 - it was made
    while True:
        status = yield from _poll(chunk, service)
        has = status.asks or 0
        if has >= len(lines) or status.closed:
            break
        tries, before = (tries + 1 if has == before else 1), has
        part = lines[has : has + wire.adds]
        try:
            yield from service.send_once(wire.add(service.endpoint, chunk.remote, part))
        except PonderoError as error:
            if not is_ambiguous(error) and not isinstance(error, RateLimited):
                raise
            if not service.retry.again(error, tries):
                raise
            yield from _wait_until_counted(chunk, service, has)
    file.put(chunk, state="sent")


def _poll(chunk: BatchChunk, service: BatchService) -> Steps[ChunkStatus]:
    body = yield from service.send_idempotent(
        service.wire.poll(service.endpoint, chunk.remote or "")
    )
    return service.wire.parse_status(read_answer(body), time.time())


def _wait_until_counted(chunk: BatchChunk, service: BatchService, has: int) -> Steps[None]:
    for seconds in SEARCH_DELAYS:
        yield from service.pause(seconds)
        if ((yield from _poll(chunk, service)).asks or 0) != has:
            return


def _recover_chunk(file: BatchFile, chunk: BatchChunk, service: BatchService) -> Steps[BatchChunk]:
    """Return a chunk with the service's id, ready again if it has none, else still ``creating``."""
    for seconds in SEARCH_DELAYS:
        yield from service.pause(seconds)
        found, remote = yield from _search(file, chunk, service)
        if found == "found":
            return file.put(chunk, state=_state_after_create(service), remote=remote, note="")
        if found == "unsure":
            note = (
                f"it is not known whether the service accepted it; {remote} may be it, and its "
                "results will tell when it has ended: collect again later"
            )
            return file.put(chunk, note=note)
    return file.put(chunk, state="ready", note="")


def _search(file: BatchFile, chunk: BatchChunk, service: BatchService) -> Steps[tuple[Search, str]]:
    candidates: list[ListedBatch] = []
    cursor: str | None = None
    known = {each.remote for each in file.lots()}
    for _ in range(_PAGES):
        body = yield from service.send_idempotent(service.wire.listing(service.endpoint, cursor))
        page = service.wire.page(read_answer(body), cursor)
        for each in page.batches:
            if each.name == chunk.name or (chunk.file is not None and each.file == chunk.file):
                return "found", each.remote
            if not service.wire.names and each.remote not in known and _is_candidate(each, chunk):
                candidates.append(each)
        cursor = page.next
        if cursor is None or _is_older(page.batches, chunk):
            break
    return (yield from _find_by_results(file, chunk, service, candidates))


def _find_by_results(
    file: BatchFile, chunk: BatchChunk, service: BatchService, candidates: Sequence[ListedBatch]
) -> Steps[tuple[Search, str]]:
    ours = {line.id for line in file.lines(chunk)}
    running: list[str] = []
    for each in candidates:
        found = yield from _fetch_ids(each.remote, service)
        if found is None:
            running.append(each.remote)
        elif found & ours:
            return "found", each.remote
    return ("unsure", " or ".join(running)) if running else ("absent", "")


def _fetch_ids(remote: str, service: BatchService) -> Steps[set[str] | None]:
    """Return the ids in the results of a batch, or None if it has not ended."""
    try:
        body = read_answer(
            (yield from service.send_idempotent(service.wire.poll(service.endpoint, remote)))
        )
        if not service.wire.parse_status(body, time.time()).ended:
            return None
        found = yield from fetch_outcomes(remote, body, service)
    except NotFound:  # its results have expired, so it is older than ours
        return set()
    return {each.id for each in found}


def _is_candidate(each: ListedBatch, chunk: BatchChunk) -> bool:
    young = each.created is None or each.created >= chunk.since - _SKEW
    return young and each.count in (None, chunk.count)


def _is_older(batches: Sequence[ListedBatch], chunk: BatchChunk) -> bool:
    times = [each.created for each in batches if each.created is not None]
    return bool(times) and max(times) < chunk.since - _SKEW
