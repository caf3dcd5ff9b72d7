"""Looks after lots that are at their services, and fetches the results of those that have ended."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from time import time

from ..canon import Json
from ..errors import Malformed, NotFound
from .service_api import BatchChunk, BatchLine, BatchOutcome, BatchWire
from .steps import BatchService, Steps, read_answer
from .store import BatchFile

EVERY = (5.0, 60.0)
"""Seconds between two looks: at first, and at most."""


def collect_chunk(file: BatchFile, lot: BatchChunk, service: BatchService) -> Steps[None]:
    """Look at one lot; where it has ended, keep its results, and how the rest of it ended."""
    assert lot.remote is not None  # noqa: S101 - only lots that were sent are looked at
    try:
        said = read_answer(
            (yield from service.send_idempotent(service.wire.look(service.desk, lot.remote)))
        )
    except NotFound as error:
        _forget(file, lot, f"the service does not know the batch {lot.remote} any more: {error}")
        return
    seen = service.wire.seen(said, time())
    if not seen.ended:
        if seen.done != lot.done:
            file.put(lot, done=seen.done)
        return
    try:
        found = yield from outcomes(lot.remote, said, service)
    except NotFound as error:
        _forget(file, lot, f"the results of {lot.remote} are gone: {error}")
        return
    lines = file.lines(lot)
    ours = {line.id for line in lines}
    known = [each for each in found if each.id in ours]
    rest = _rest(lines, known, BatchOutcome("", seen.rest, 500, _said(seen.why)))
    file.end(lot, (*known, *rest), done=len(lines), note=seen.why)


def outcomes(remote: str, said: Json, service: BatchService) -> Steps[list[BatchOutcome]]:
    """Return every result of a batch that has ended; ``said`` is what the look at it gave."""
    wire = service.wire
    found = list(wire.inline(said))
    waiting = list(wire.results(service.desk, remote, said))
    while waiting:
        body = yield from service.send_idempotent(waiting.pop(0))
        found += wire.lines(body)
        more = wire.more(service.desk, remote, body)
        if more is not None:
            waiting.append(more)
    return list(_read(found, wire))


def _read(lines: Sequence[Json], wire: BatchWire) -> Iterator[BatchOutcome]:
    """Yield the results; one that cannot be read is none, and does not cost the others."""
    for line in lines:
        with suppress(Malformed):
            yield wire.outcome(line)


def _forget(file: BatchFile, lot: BatchChunk, why: str) -> None:
    rest = _rest(file.lines(lot), (), BatchOutcome("", "lost", 404, _said(why)))
    file.end(lot, rest, note=why)


def _rest(
    lines: Sequence[BatchLine], known: Sequence[BatchOutcome], ended: BatchOutcome
) -> Iterator[BatchOutcome]:
    """Yield how those asks ended that have no result of their own."""
    has = {each.id for each in known}
    for line in lines:
        if line.id not in has:
            yield BatchOutcome(line.id, ended.ending, ended.status, ended.body)


def _said(why: str) -> bytes:
    return (why or "the batch ended without a result for this").encode()
