"""Polls the chunks that were sent, and fetches the results of those that have ended."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from time import time

from ..canon import Json
from ..errors import Malformed, NotFound
from .service_api import BatchChunk, BatchLine, BatchOutcome, BatchWire, Ending
from .steps import BatchService, Steps, read_answer
from .store import BatchFile

EVERY = (5.0, 60.0)
"""Seconds between two polls: at first, and at most."""


def collect_chunk(file: BatchFile, chunk: BatchChunk, service: BatchService) -> Steps[None]:
    """Poll one chunk; if it has ended, save its results and how its other requests ended."""
    assert chunk.remote is not None  # noqa: S101 - only chunks that were sent are polled
    try:
        state = read_answer(
            (yield from service.send_idempotent(service.wire.poll(service.endpoint, chunk.remote)))
        )
    except NotFound as error:
        _mark_lost(file, chunk, f"the service no longer knows the batch {chunk.remote}: {error}")
        return
    status = service.wire.parse_status(state, time())
    if not status.ended:
        if status.done != chunk.done:
            file.put(chunk, done=status.done)
        return
    try:
        found = yield from fetch_outcomes(chunk.remote, state, service)
    except NotFound as error:
        _mark_lost(file, chunk, f"the results of {chunk.remote} are gone: {error}")
        return
    lines = file.lines(chunk)
    ours = {line.id for line in lines}
    known = [each for each in found if each.id in ours]
    rest = _iter_rest(lines, known, status.rest, 500, status.why)
    file.end(chunk, (*known, *rest), done=len(lines), note=status.why)


def fetch_outcomes(remote: str, state: Json, service: BatchService) -> Steps[list[BatchOutcome]]:
    """Return every result of a batch that has ended; ``state`` is the answer to the poll."""
    wire = service.wire
    found = list(wire.inline(state))
    waiting = list(wire.results(service.endpoint, remote, state))
    while waiting:
        body = yield from service.send_idempotent(waiting.pop(0))
        found += wire.lines(body)
        more = wire.more(service.endpoint, remote, body)
        if more is not None:
            waiting.append(more)
    return list(_iter_outcomes(found, wire))


def _iter_outcomes(lines: Sequence[Json], wire: BatchWire) -> Iterator[BatchOutcome]:
    # One result that cannot be read must not cost the others.
    for line in lines:
        with suppress(Malformed):
            yield wire.outcome(line)


def _mark_lost(file: BatchFile, chunk: BatchChunk, why: str) -> None:
    file.end(chunk, _iter_rest(file.lines(chunk), (), "lost", 404, why), note=why)


def _iter_rest(
    lines: list[BatchLine], known: Sequence[BatchOutcome], ending: Ending, status: int, why: str
) -> Iterator[BatchOutcome]:
    body = (why or "the batch ended without a result for this").encode()
    answered = {each.id for each in known}
    return (
        BatchOutcome(line.id, ending, status, body) for line in lines if line.id not in answered
    )
