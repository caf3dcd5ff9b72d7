"""Sends a batch's chunks to their services, each once.

What is about to be sent is saved first. Only a rejection takes it back: after no answer, a 5xx or
any failure of this process, the service is asked what it has. What it does not show stays unsure,
since lists and counts lag behind, and is sent again only if the user says so.
"""

import time
from collections.abc import Sequence
from typing import Literal

from ..errors import (
    NotFound,
    PonderoError,
    RateLimited,
    ServiceError,
    TransportError,
    WireError,
)
from .collection import collect_chunk, fetch_results, lose_chunk
from .service_api import BatchChunk, BatchLine, BatchOutcome, ChunkStatus, ListedBatch
from .steps import BatchService, Steps, read_answer
from .store import BatchFile

SEARCH_DELAYS = (0.0, 3.0, 10.0)
"""Seconds before each search after a lost answer: what was accepted may appear a little later."""

_ONE_SEARCH = (0.0,)
_SKEW = 900.0  # seconds by which two clocks may differ
_PAGES = 50
_NO_ANSWER = "no answer was recorded"

Search = Literal["found", "absent", "unsure"]


def submit_chunk(
    file: BatchFile, chunk: BatchChunk, service: BatchService, *, again: bool = False
) -> Steps[PonderoError | None]:
    """Send a chunk that is not at its service; return what is in doubt about it.

    ``again``: send what the service may have, and does not show.
    """
    if chunk.state == "creating":
        chunk = yield from _recover_chunk(file, chunk, service, _ONE_SEARCH)
        if chunk.state == "creating" and again:
            chunk = file.put(chunk, state="ready", note="", maybe="")
    if chunk.state == "ready":
        chunk = yield from _create_chunk(file, chunk, service)
    if chunk.state == "adding":
        chunk = yield from _fill_chunk(file, chunk, service, again=again)
    unsure = (chunk.state == "creating" and not chunk.maybe) or chunk.pending
    return ServiceError(chunk.note) if unsure else None


def cancel_chunk(file: BatchFile, chunk: BatchChunk, service: BatchService) -> Steps[None]:
    """Cancel a chunk that has not ended, and collect it; an unsent one ends without being sent."""
    if chunk.state == "creating":
        chunk = yield from _recover_chunk(file, chunk, service, _ONE_SEARCH)
    if chunk.state == "ready":
        unsent = [BatchOutcome(line.id, "cancelled") for line in file.lines(chunk)]
        file.add(chunk, unsent, state="ended", note="it was cancelled before it was sent")
    if chunk.remote is None:
        return
    rejection: ServiceError | None = None
    try:
        yield from service.send_idempotent(service.wire.cancel(service.endpoint, chunk.remote))
    except ServiceError as error:
        if is_ambiguous(error):
            raise
        rejection = error  # usually because it has ended, and then its results are there
    yield from collect_chunk(file, file.put(chunk, state="sent", pending=0), service)
    if rejection is not None and file.lots()[chunk.number].state != "ended":
        raise rejection


def give_up_chunk(file: BatchFile, chunk: BatchChunk, service: BatchService) -> Steps[None]:
    """Look once more, and end as lost what the service does not show; what runs goes on."""
    if chunk.state == "creating":
        chunk = yield from _recover_chunk(file, chunk, service, _ONE_SEARCH)
        if chunk.state == "creating":
            lose_chunk(file, chunk, f"given up: {chunk.note}")
            return
    if chunk.state == "adding" and chunk.pending:
        status = yield from _poll(chunk, service)
        chunk = _settle_pending(file, chunk, status, again=False)
        if chunk.pending:
            chunk = _drop_pending(file, chunk)
    if chunk.state == "sent":
        try:
            doubt = yield from collect_chunk(file, chunk, service)
        except WireError as error:
            doubt = error
        now = file.lots()[chunk.number]
        if doubt is not None and now.state != "ended":
            lose_chunk(file, now, f"given up: {doubt}")


def is_ambiguous(error: PonderoError) -> bool:
    """Return whether a failed request may have taken effect: no answer, 408 or 5xx."""
    if isinstance(error, ServiceError):
        return error.status is None or error.status >= 500 or error.status == 408
    if isinstance(error, TransportError):
        return error.connected
    return isinstance(error, WireError)


# -- creating --------------------------------------------------------------------------------------


def _create_chunk(file: BatchFile, chunk: BatchChunk, service: BatchService) -> Steps[BatchChunk]:
    wire, tries = service.wire, 0
    lines = file.lines(chunk)
    if wire.upload is not None and wire.parse_uploaded is not None and chunk.file is None:
        # A second upload costs nothing, and only one of the files is ever used.
        body = yield from service.send_idempotent(wire.upload(service.endpoint, chunk, lines))
        chunk = file.put(chunk, file=wire.parse_uploaded(read_answer(body)))
    request = wire.create(service.endpoint, chunk, lines)
    while True:
        tries += 1
        chunk = file.put(chunk, state="creating", since=time.time(), note=_unsure(file, _NO_ANSWER))
        try:
            body = yield from service.send_once(request)
            remote = wire.parse_created(read_answer(body))
        except PonderoError as error:
            if is_ambiguous(error):
                return (yield from _look_for_lost(file, chunk, service, error))
            chunk = file.put(chunk, state="ready", note=str(error))
            if not isinstance(error, RateLimited) or not service.retry.again(error, tries):
                raise
            yield from service.pause(service.retry.wait(error, tries, lambda: 1.0))
        else:
            return _begin(file, chunk, service, remote)


def _begin(file: BatchFile, chunk: BatchChunk, service: BatchService, remote: str) -> BatchChunk:
    """Save the service's id of a chunk."""
    try:
        if service.wire.add is None:
            return file.put(chunk, state="sent", remote=remote, note="", maybe="")
        return file.put(chunk, state="adding", remote=remote, note="", maybe="", added=0)
    except PonderoError as error:
        error.add_note(f"the service has accepted it as {remote}; nothing is sent twice")
        raise


def _look_for_lost(
    file: BatchFile, chunk: BatchChunk, service: BatchService, error: PonderoError
) -> Steps[BatchChunk]:
    """Search for a chunk whose answer was lost; raise the error if the service shows none."""
    chunk = file.put(chunk, note=_unsure(file, f"{type(error).__name__}: {error}"))
    chunk = yield from _recover_chunk(file, chunk, service, SEARCH_DELAYS)
    if chunk.state == "creating" and not chunk.maybe:
        error.add_note(chunk.note)
        raise error
    return chunk


def _unsure(file: BatchFile, why: str) -> str:
    return (
        f"it is not known whether the service accepted it ({why}); 'pondero batch collect "
        f"{file.facts.id}' looks again; if you are sure that it did not, add --send-again"
    )


# -- filling ---------------------------------------------------------------------------------------


def _fill_chunk(
    file: BatchFile, chunk: BatchChunk, service: BatchService, *, again: bool
) -> Steps[BatchChunk]:
    wire, lines, tries = service.wire, file.lines(chunk), 0
    status = yield from _poll(chunk, service)
    if chunk.added is None:  # of an earlier version, which did not record what was acknowledged
        has = min(status.asks or 0, len(lines))
        chunk = file.put(chunk, added=has, pending=min(wire.adds, len(lines) - has))
    if chunk.pending:
        chunk = _settle_pending(file, chunk, status, again=again)
    while not (status.closed or chunk.pending or _is_full(chunk, lines)):
        tries += 1
        try:
            chunk = yield from _add_part(file, chunk, service, lines)
        except RateLimited as error:
            if not service.retry.again(error, tries):
                raise
            yield from service.pause(service.retry.wait(error, tries, lambda: 1.0))
            chunk = file.lots()[chunk.number]
        else:
            tries = 0
    if status.closed or _is_full(chunk, lines):
        return file.put(chunk, state="sent", pending=0, note="")
    return chunk


def _is_full(chunk: BatchChunk, lines: Sequence[BatchLine]) -> bool:
    return (chunk.added or 0) >= len(lines)


def _add_part(
    file: BatchFile, chunk: BatchChunk, service: BatchService, lines: Sequence[BatchLine]
) -> Steps[BatchChunk]:
    wire, has = service.wire, chunk.added or 0
    assert wire.add is not None  # noqa: S101 - only a chunk that is filled has this state
    part = lines[has : has + wire.adds]
    chunk = file.put(chunk, pending=len(part), note=_unsure(file, _NO_ANSWER))
    try:
        yield from service.send_once(wire.add(service.endpoint, chunk.remote or "", part))
    except PonderoError as error:
        if not is_ambiguous(error):
            file.put(chunk, pending=0, note=str(error))
            raise
        chunk = file.put(chunk, note=_unsure(file, f"{type(error).__name__}: {error}"))
        for seconds in SEARCH_DELAYS:
            yield from service.pause(seconds)
            status = yield from _poll(chunk, service)
            chunk = _settle_pending(file, chunk, status, again=False)
            if not chunk.pending:
                return chunk
        error.add_note(chunk.note)
        raise
    return file.put(chunk, added=has + len(part), pending=0, note="")


def _settle_pending(
    file: BatchFile, chunk: BatchChunk, status: ChunkStatus, *, again: bool
) -> BatchChunk:
    """Count requests as added if the service does; ``again``: else as not sent."""
    wanted = (chunk.added or 0) + chunk.pending
    if (status.asks or 0) >= wanted:
        return file.put(chunk, added=wanted, pending=0, note="")
    return file.put(chunk, pending=0, note="") if again else chunk


def _drop_pending(file: BatchFile, chunk: BatchChunk) -> BatchChunk:
    """End what the service may not have as lost and what was never sent as cancelled."""
    lines, has = file.lines(chunk), chunk.added or 0
    body = f"given up: {chunk.note}".encode()
    lost = [BatchOutcome(each.id, "lost", 404, body) for each in lines[has : has + chunk.pending]]
    unsent = [BatchOutcome(each.id, "cancelled") for each in lines[has + chunk.pending :]]
    state: Literal["sent", "ended"] = "sent" if has else "ended"
    return file.add(chunk, [*lost, *unsent], state=state, pending=0, note="")


def _poll(chunk: BatchChunk, service: BatchService) -> Steps[ChunkStatus]:
    body = yield from service.send_idempotent(
        service.wire.poll(service.endpoint, chunk.remote or "")
    )
    return service.wire.parse_status(read_answer(body), time.time())


# -- searching -------------------------------------------------------------------------------------


def _recover_chunk(
    file: BatchFile, chunk: BatchChunk, service: BatchService, delays: Sequence[float]
) -> Steps[BatchChunk]:
    """Return a chunk with the service's id if it has one, else still ``creating``."""
    for seconds in delays:
        yield from service.pause(seconds)
        found, remote = yield from _search(file, chunk, service)
        if found == "found":
            return _begin(file, chunk, service, remote)
        if found == "unsure":
            note = (
                f"it is not known whether the service accepted it; {remote} may be it, and its "
                "results will tell when it has ended: collect again later"
            )
            return file.put(chunk, note=note, maybe=remote)
    if chunk.maybe:
        chunk = file.put(chunk, note=_unsure(file, f"{chunk.maybe} is not it"), maybe="")
    return chunk


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
    lines = file.lines(chunk)
    ours = {line.id for line in lines}
    running: list[str] = []
    for each in candidates:
        found = yield from _fetch_ids(each.remote, service, lines)
        if found is None:
            running.append(each.remote)
        elif found & ours:
            return "found", each.remote
    return ("unsure", " or ".join(running)) if running else ("absent", "")


def _fetch_ids(
    remote: str, service: BatchService, lines: Sequence[BatchLine]
) -> Steps[set[str] | None]:
    """Return the ids in the results of a batch, or None if it has not ended."""
    try:
        body = read_answer(
            (yield from service.send_idempotent(service.wire.poll(service.endpoint, remote)))
        )
        if not service.wire.parse_status(body, time.time()).ended:
            return None
        found = yield from fetch_results(remote, body, service, lines)
    except NotFound:  # its results have expired, so it is older than ours
        return set()
    return {each.id for each in found.outcomes}


def _is_candidate(each: ListedBatch, chunk: BatchChunk) -> bool:
    young = each.created is None or each.created >= chunk.since - _SKEW
    return young and each.count in (None, chunk.count)


def _is_older(batches: Sequence[ListedBatch], chunk: BatchChunk) -> bool:
    times = [each.created for each in batches if each.created is not None]
    return bool(times) and max(times) < chunk.since - _SKEW
