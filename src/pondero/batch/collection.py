"""Polls the chunks that were sent, and fetches the results of those that have ended.

Every answer that came is kept. A chunk is lost only if the user says so, or when the service has
deleted it: the cause of a 404 can be another key or a proxy.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from time import time

from msgspec import Struct

from ..canon import Json
from ..errors import (
    Malformed,
    NotFound,
    Overloaded,
    PonderoError,
    RateLimited,
    ServerFailed,
    ServiceError,
    TransportError,
    WireError,
)
from ..framing import MAX_FRAME, OversizedAnswer
from .service_api import BatchChunk, BatchLine, BatchOutcome, BatchWire, ChunkStatus, Ending
from .steps import BatchService, Steps, read_answer
from .store import BatchFile

EVERY = (5.0, 60.0)
"""Seconds between two polls: at first, and at most."""

FETCHES = 3
"""How often incomplete results are fetched before the rest is lost."""

_PER_ANSWER = 1024 * 1024  # bytes of results for each request, on average
_PASSING = (Overloaded, RateLimited, ServerFailed, TransportError, WireError)
_NO_RESULT = "the batch ended without a result for this"


class Patience:
    """How long a wait goes on although the service fails: ten minutes, or half of the wait before.

    It counts the seconds that polls are apart, not a clock's.
    """

    def __init__(self) -> None:
        self._waited = 0.0
        self._failed_at: float | None = None

    def add(self, seconds: float) -> None:
        """Count the time between two polls."""
        self._waited += seconds

    def check(self, error: PonderoError | None, whole: PonderoError | None) -> None:
        """Raise an error that cannot pass, or what the whole batch has been meeting for too long.

        ``error`` is the first of a poll; ``whole`` is None if anything goes on well.
        """
        if error is not None and not _may_pass(error):
            raise error
        if whole is None:
            self._failed_at = None
            return
        if self._failed_at is None:
            self._failed_at = self._waited
        if self._waited - self._failed_at > max(600.0, self._failed_at / 2):
            raise whole


def _may_pass(error: PonderoError) -> bool:
    return isinstance(error, _PASSING) and not isinstance(error, OversizedAnswer)


class FetchedResults(Struct, frozen=True):
    """The results that came, how many cannot be read, and why others did not come."""

    outcomes: tuple[BatchOutcome, ...]
    unread: int = 0
    problem: PonderoError | None = None


def collect_chunk(
    file: BatchFile, chunk: BatchChunk, service: BatchService
) -> Steps[PonderoError | None]:
    """Poll a chunk and save the results of one that has ended; return what is in doubt about it."""
    assert chunk.remote is not None  # noqa: S101 - only chunks that were sent are polled
    poll = service.wire.poll(service.endpoint, chunk.remote)
    try:
        state = read_answer((yield from service.send_idempotent(poll, _most_bytes(chunk))))
    except NotFound as error:
        return _keep(file, chunk, service, f"the service does not know {chunk.remote}: {error}")
    status = service.wire.parse_status(state, time())
    if _has_ended(status, chunk, service.wire):
        return (yield from _collect_results(file, chunk, service, state, status))
    odd = _describe_odd(status, chunk)
    if status.done != chunk.done or odd != chunk.note:
        file.put(chunk, done=status.done, note=odd)
    return Malformed(odd, path=None) if odd else None


def recheck_chunk(file: BatchFile, chunk: BatchChunk, service: BatchService) -> Steps[None]:
    """Look again at an ended chunk with lost results; what cannot be found stays lost."""
    assert chunk.remote is not None  # noqa: S101 - as above
    poll = service.wire.poll(service.endpoint, chunk.remote)
    with suppress(ServiceError, TransportError, WireError):
        state = read_answer((yield from service.send_idempotent(poll, _most_bytes(chunk))))
        if service.wire.parse_status(state, time()).ended:
            found = yield from fetch_results(chunk.remote, state, service, file.lines(chunk))
            file.add(chunk, _choose_ours(file, chunk, found))


def lose_chunk(file: BatchFile, chunk: BatchChunk, why: str) -> None:
    """End a chunk: its requests without a result are lost."""
    known = file.endings(chunk)
    rest = [line.id for line in file.lines(chunk) if line.id not in known]
    file.add(chunk, _end_rest(rest, "lost", 404, why), state="ended", note=why)


def fetch_results(
    remote: str, state: Json, service: BatchService, lines: Sequence[BatchLine]
) -> Steps[FetchedResults]:
    """Return the results of a batch that has ended; ``state`` is the answer to the poll."""
    wire, problem = service.wire, None
    rows = list(wire.inline(state, [line.id for line in lines]))
    waiting, asked = list(wire.results(service.endpoint, remote, state)), set[str]()
    limit = max(MAX_FRAME, len(lines) * _PER_ANSWER)
    while waiting:
        request = waiting.pop(0)
        if request.url in asked:  # a page that is its own successor
            break
        asked.add(request.url)
        try:
            body = yield from service.send_idempotent(request, limit)
            rows += wire.lines(body)
            more = wire.more(service.endpoint, remote, body)
        except (NotFound, WireError) as error:  # one file must not cost the other
            problem = error
            continue
        waiting += [more] if more is not None else []
    outcomes = tuple(_iter_outcomes(rows, wire))
    return FetchedResults(outcomes, len(rows) - len(outcomes), problem)


def _iter_outcomes(rows: Sequence[Json], wire: BatchWire) -> Iterator[BatchOutcome]:
    # One result that cannot be read must not cost the others.
    for row in rows:
        with suppress(Malformed):
            yield wire.outcome(row)


def _collect_results(
    file: BatchFile, chunk: BatchChunk, service: BatchService, state: Json, status: ChunkStatus
) -> Steps[PonderoError | None]:
    lines = file.lines(chunk)
    found = yield from fetch_results(chunk.remote or "", state, service, lines)
    if found.problem is not None and not found.outcomes:
        why = f"the results of {chunk.remote} cannot be fetched: {found.problem}"
        return _keep(file, chunk, service, why)
    ours = _choose_ours(file, chunk, found)
    endings = file.endings(chunk)
    for each in ours:
        if endings.get(each.id) != "answered":
            endings[each.id] = each.ending
    missing = [line.id for line in lines if line.id not in endings]
    ending = _find_rest_ending(status, endings.values(), found, len(lines))
    if missing and ending == "lost" and chunk.fetches + 1 < FETCHES:
        note = (
            f"{len(missing):,} of {chunk.count:,} results did not come with the others; the next "
            "look fetches them again"
        )
        file.add(chunk, ours, fetches=chunk.fetches + 1, note=note)
        return ServiceError(note)
    why = status.why or (str(found.problem) if found.problem else "")
    rest = _end_rest(missing, ending, 500, why or _NO_RESULT)
    file.add(chunk, [*ours, *rest], state="ended", done=len(lines), note=why)
    return None


def _find_rest_ending(
    status: ChunkStatus, endings: Collection[Ending], found: FetchedResults, total: int
) -> Ending:
    """Return how requests without a result ended: by the service's counts, else by its state."""
    counts, has = status.counts, Counter(endings)
    short: list[Ending] = [ending for ending, count in counts.items() if count > has[ending]]
    if "answered" in short or found.problem is not None or found.unread:
        return "lost"
    if short:
        return status.rest if status.rest in short else short[0]
    return "lost" if sum(counts.values()) >= total else status.rest


def _choose_ours(file: BatchFile, chunk: BatchChunk, found: FetchedResults) -> list[BatchOutcome]:
    ids = {line.id for line in file.lines(chunk)}
    return [each for each in found.outcomes if each.id in ids]


def _has_ended(status: ChunkStatus, chunk: BatchChunk, wire: BatchWire) -> bool:
    """Return whether a chunk has ended; the count of one that was filled may lag behind."""
    lags = wire.add is not None and (status.asks or 0) < (chunk.added or 0)
    return status.ended and (status.closed or not lags)


def _describe_odd(status: ChunkStatus, chunk: BatchChunk) -> str:
    if status.odd:
        return f"the service reports the unknown state {status.odd!r} of {chunk.remote}"
    if status.ended:
        return (
            f"the service counts {status.asks or 0:,} of the {chunk.added:,} requests that it "
            f"accepted in {chunk.remote}"
        )
    return ""


def _keep(
    file: BatchFile, chunk: BatchChunk, service: BatchService, why: str
) -> PonderoError | None:
    """Keep a chunk that the service does not know now; end it if it must be deleted by now."""
    if time() > chunk.since + service.kept:
        lose_chunk(file, chunk, f"{why}; after so many days the service has deleted it")
        return None
    note = f"{why}; it is looked for again, with the key that sent it, until you give it up"
    file.put(chunk, note=note)
    return NotFound(note, status=404)


def _most_bytes(chunk: BatchChunk) -> int:
    return max(MAX_FRAME, chunk.count * _PER_ANSWER)


def _end_rest(ids: Sequence[str], ending: Ending, status: int, why: str) -> Iterator[BatchOutcome]:
    return (BatchOutcome(id, ending, status, why.encode()) for id in ids)
