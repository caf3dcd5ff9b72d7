"""``flow``: one exchange as a generator that yields the I/O to do and does none itself.

Nothing is retried after an event was emitted; events are held back until one has content. A
rejected request is repaired at most once, which does not count as a retry.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from ..canon import (
    AdjustmentNote,
    Assembler,
    Event,
    Finish,
    Finished,
    HttpRequest,
    Message,
    PartEnd,
    Reply,
    ResponseHead,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolDelta,
    Usage,
    Verdict,
)
from ..dialects import AnswerContext, Repair, get_dialect
from ..errors import (
    AuthFailed,
    BadRequest,
    CassetteError,
    Malformed,
    PonderoError,
    Truncated,
    Unreachable,
)
from ..framing import MAX_FRAME, describe_body
from ..thinking import Plan
from .output.restore import OutputRestore, OutputRestorer
from .prepare_steps.foreign_tools import TextCalls
from .request import Exchange, redact_key
from .retry import Retry

_ROOM = 4096


def verdict(plan: Plan, message: Message, finish: Finish, usage: Usage) -> Verdict:
    """Compare an answer with its plan; ``unknown`` if it does not show whether it thought."""
    thinks = _has_thinking(message)
    if finish == "exhausted" or (thinks and is_exhausted(message, finish)):
        return "exhausted"
    thought = thinks or (None if usage.thinking is None else usage.thinking > 0)
    if plan.will_think is False:
        return "thought_though_off" if thought or _leaks(message.text) else "as_planned"
    if plan.budget is not None and (usage.thinking or 0) > plan.budget:
        return "overran_budget"
    if plan.will_think is None or thought is None:
        return "unknown"
    return "as_planned" if thought else "did_not_think"


def is_exhausted(message: Message, finish: Finish) -> bool:
    """Return whether the output limit was used up before there was an answer."""
    if finish not in ("length", "stop") or not _has_thinking(message):
        return finish == "exhausted"
    return not any(
        part.text.strip() if isinstance(part, Text) else not isinstance(part, Thinking)
        for part in message.parts
    )


def cap_to_retry(plan: Plan, usage: Usage) -> int:
    """Return a max_tokens with room for twice the spent tokens and an answer."""
    spent = (usage.thinking or 0) + (usage.output or 0)
    return max(2 * spent, plan.budget or 0) + _ROOM


def _leaks(text: str) -> bool:
    """Return whether the text has thinking tags; a template may open them, leaving the closing."""
    before, closed, _ = text.partition("</think>")
    opened = before.partition("<think>")
    return bool(closed) and (not opened[1] or not opened[0].strip())


def _has_thinking(message: Message) -> bool:
    for part in message.parts:  # noqa: SIM110 - a generator for any() costs more than most answers
        if isinstance(part, Thinking):
            return True
    return False


class Send(Struct, frozen=True):
    """Send this request; resume with its ResponseHead."""

    request: HttpRequest


class ReadBytes(Struct, frozen=True):
    """Read more; resume with bytes, or None at the end."""


class Sleep(Struct, frozen=True):
    """Wait."""

    seconds: float


class Emit(Struct, frozen=True):
    """Emit these events; ``so_far`` holds the answer up to here."""

    events: list[Event]
    so_far: Assembler


Step = Send | ReadBytes | Sleep | Emit
Flow = Generator[Step, Any, Reply]
_Steps = Generator[Step, Any, None]
Learn = Callable[[Repair], None]
Again = Callable[[PonderoError, float], None]

_READ = ReadBytes()
_NOTHING = Message("assistant", ())


def flow(
    exchange: Exchange,
    *,
    retry: Retry,
    jitter: Callable[[], float],
    learn: Learn | None = None,
    again: Again | None = None,
    begun: Callable[[Assembler], None] | None = None,
) -> Flow:
    """Yield the steps of one exchange and return its reply; the shell throws I/O errors in.

    ``learn`` gets a repair that the service accepted, ``again`` the error and delay of each retry,
    ``begun`` what each try will collect, also one that breaks off before anything is shown.
    """
    tries = 0
    repair_made: Repair | None = None
    taken: Callable[[], None] | None = None
    failed: PonderoError | None = None
    while True:
        tries += 1
        attempt = _Attempt(exchange, repair_made, taken)
        if begun is not None:
            begun(attempt.so_far)
        try:
            return (yield from attempt.steps())
        except PonderoError as error:
            redact_key(error, exchange.http)
            if attempt.shown:
                raise
            if failed is not None and isinstance(error, CassetteError):
                raise failed from error  # a cassette has no second try; report the first error
            found = None if repair_made else _find_repair(exchange, error)
            if found is not None:
                repair_made, taken = found, partial(learn, found) if learn else None
                continue
            if not retry.again(error, tries):
                if isinstance(error, Unreachable) and exchange.no_server_hint:
                    raise Unreachable(f"{exchange.no_server_hint} ({error})") from error
                if isinstance(error, AuthFailed) and exchange.bad_key_hint:
                    error.add_note(exchange.bad_key_hint)
                raise
            seconds = retry.wait(error, tries, jitter)
            failed = error.with_traceback(None)  # it would keep this frame, which keeps it
            if again is not None:
                again(error, seconds)
        if seconds:
            yield Sleep(seconds)


def read_reply(exchange: Exchange, head: ResponseHead, body: bytes) -> Reply:
    """Read a whole answer that was received elsewhere, as in a batch; raises as ``flow`` does."""
    steps = _Attempt(exchange, None, None).steps()
    heard: list[Any] = [None, head, body]
    try:
        step: Step = steps.send(heard.pop(0))
        while True:
            reads = isinstance(step, (Send, ReadBytes))
            step = steps.send(heard.pop(0) if reads and heard else None)
    except StopIteration as end:
        reply: Reply = end.value
        return reply


def _find_repair(exchange: Exchange, error: PonderoError) -> Repair | None:
    if not exchange.repairs or not isinstance(error, BadRequest):
        return None
    repair = get_dialect(exchange.dialect).caller().repair
    return repair(exchange.http, error) if repair is not None else None


class _Attempt:
    """One try, from the request to the end of its answer."""

    def __init__(
        self, exchange: Exchange, repair_made: Repair | None, taken: Callable[[], None] | None
    ) -> None:
        self.shown = False
        self._exchange = exchange
        self._request = repair_made.request if repair_made else exchange.http
        self._notes = (repair_made.adjustment,) if repair_made else ()
        self._taken_up = taken
        origin = exchange.origin
        self._wire = get_dialect(exchange.dialect).caller()
        self._where = AnswerContext(origin.model, origin.provider, exchange.quirks)
        self.so_far = Assembler()
        self._end: Finished | None = None
        self._message = _NOTHING
        self._verdict: Verdict = "unknown"
        self._texts = TextCalls(exchange.texts) if exchange.texts else None
        restore = exchange.restore
        if repair_made is not None and repair_made.adjustment.code == "output_prompted":
            restore = msgspec.structs.replace(restore or OutputRestore(), fenced=True)
        self._output = OutputRestorer(restore) if restore else None
        self._held: list[Event] = [
            AdjustmentNote(msgspec.to_builtins(note)) for note in self._notes
        ]

    def steps(self) -> Flow:
        head: ResponseHead = yield Send(self._request)
        if not 200 <= head.status < 300:
            raise self._wire.error(head, (yield from _read_body(_MAX_ERROR)))
        if self._taken_up is not None:
            self._taken_up()
        if self._exchange.stream:
            yield from self._read_stream(head)
        else:
            yield from self._read_whole(head)
        return self._reply(head)

    def _read_whole(self, head: ResponseHead, begun: bytes = b"") -> _Steps:
        try:
            body = begun + (yield from _read_body(MAX_FRAME))
        except Unreachable as error:
            raise Truncated(f"the answer was cut: {error}") from error
        if len(body) > MAX_FRAME:
            raise Malformed(f"an answer of more than {MAX_FRAME:,} bytes")
        _check_encoding(head, body)
        try:
            events = self._wire.decode(head, body, self._where)
        except Malformed as error:
            if _is_cut(body):
                raise Truncated("the answer was cut: its end is missing") from error
            raise
        if events:
            yield Emit(self._take(events), self.so_far)

    def _read_stream(self, head: ResponseHead) -> _Steps:
        try:
            data = yield _READ
            if data is not None:
                _check_encoding(head, data)
                if _is_whole(head, data):
                    yield from self._read_whole(head, data)
                    return
            stream = self._wire.stream(head, self._where)
            self.so_far.read_usage = partial(getattr, stream, "usage", None)
            while data is not None:
                # Many streams wait at once: none keeps the bytes that it has read, or their events.
                steps = [self._next_step(stream.feed(data))]
                if stream.ending:
                    self.so_far.ending = True
                data = None
                data = yield steps.pop()
            if isinstance(last := self._next_step(stream.eof()), Emit):
                yield last
        except PonderoError as error:
            if self._end is not None:
                return  # the answer was already complete
            if isinstance(error, Unreachable):
                raise Truncated(f"the stream was cut: {error}") from error
            raise

    def _next_step(self, events: list[Event]) -> Emit | ReadBytes:
        shown = self._take(events) if events else events
        return Emit(shown, self.so_far) if shown else _READ

    def _take(self, events: list[Event]) -> list[Event]:
        if self._texts is not None and not (events := self._texts.take(events)):
            return []
        if self._output is not None and not (events := self._output.take(events)):
            return []
        self.so_far.extend(events)
        if isinstance(last := events[-1], Finished):
            self._message = self.so_far.message(self._exchange.origin)
            self._verdict = verdict(self._exchange.plan, self._message, last.finish, last.usage)
            self._end = msgspec.structs.replace(last, verdict=self._verdict)
            events = [*events[:-1], self._end]
        if self.shown:
            return events
        self._held += events
        self.shown = self._end is not None or any(map(_is_visible, events))
        if not self.shown:
            return []
        events, self._held = self._held, []
        return events

    def _reply(self, head: ResponseHead) -> Reply:
        end, plan, started = self._end, self._exchange.plan, self.so_far.started
        if end is None:
            raise Truncated("the answer ended without saying so")
        if self._notes:
            notes = (*plan.adjustments, *self._notes)
            plan = msgspec.structs.replace(plan, adjustments=notes)
        return Reply(
            message=self._message,
            finish=end.finish,
            usage=end.usage,
            plan=plan,
            verdict=self._verdict,
            raw_finish=end.raw_finish,
            request_id=_request_id(head),
            model=end.model or (started.model if started else None),
            grounding=end.grounding,
            safety=end.safety,
            extras=end.extras,
            cap=cap_to_retry(plan, end.usage) if self._verdict == "exhausted" else None,
        )


def _is_visible(event: Event) -> bool:
    if isinstance(event, TextDelta) or isinstance(event, ThinkingDelta):  # noqa: SIM101 - twice as quick
        return bool(event.text)
    return type(event) in _SEEN


_SEEN = frozenset((ToolDelta, PartEnd, Finished))


def _is_whole(head: ResponseHead, first: bytes) -> bool:
    kind = head.headers.get("content-type", "")
    return kind.startswith("application/json") and first.lstrip()[:1] == b"{"


def _check_encoding(head: ResponseHead, first: bytes) -> None:
    headers = head.headers
    page = headers.get("content-type", "").startswith("text/html")
    if page or (first[:1] != b"{" and first[:64].lstrip()[:5].lower() in (b"<html", b"<!doc")):
        words = describe_body(first, status=head.status)
        raise Malformed(f"a web page came and no answer; is the address right? {words}")
    packing = headers.get("content-encoding", "")
    if packing and packing not in _UNPACKED and not _is_text(first):
        raise Malformed(f"the answer is packed as {packing!r}, which was not asked for")


_UNPACKED = ("gzip", "x-gzip", "deflate", "identity")  # requested, and undone by transports


def _is_text(first: bytes) -> bool:
    return first[:1] in b"{[:deir \r\n" and first[:16].isascii()


def _is_cut(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except RecursionError:
        return False
    return False


_MAX_ERROR = 1024 * 1024  # bytes of an error body to read: the message is at its start


def _read_body(most: int) -> Generator[Step, Any, bytes]:
    pieces: list[bytes] = []
    left = most
    while left >= 0 and (data := (yield _READ)) is not None:
        pieces.append(data)
        left -= len(data)
    return b"".join(pieces)


def _request_id(head: ResponseHead) -> str | None:
    for name, value in head.headers.items():
        if name.endswith(("request-id", "requestid")):
            return value
    return None
