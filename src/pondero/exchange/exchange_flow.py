"""``flow``: one exchange as a generator that yields the I/O to do and does none itself.

Nothing is retried after an event was emitted; events are held back until one has content, or until
the end if no one reads them. A rejected request is repaired at most once, which does not count as a
retry.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from ..canon import (
    EMULATOR_HEADER,
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
from ..dialects import Repair, get_dialect
from ..errors import (
    AuthFailed,
    BadRequest,
    CassetteError,
    Malformed,
    NotFound,
    PonderoError,
    ServiceError,
    Truncated,
    Unreachable,
    WireError,
)
from ..framing import MAX_FRAME, OversizedAnswer, parse_json_or_none
from ..thinking import Plan, describe_unknown
from .answer_restorer import AnswerRestorer
from .output.calls import NO_RESTORE
from .output.restore import OutputRestore
from .request import Exchange, redact_key
from .retry import Retry
from .strange_answer import (
    BEGINNING,
    check_packing,
    describe_redirect,
    describe_strange_answer,
    is_cut,
    is_whole,
    reject_page,
)

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
    """Return a max_tokens with room for an answer, usual thinking and twice the spent tokens."""
    spent = (usage.thinking or 0) + (usage.output or 0)
    return max(2 * spent, plan.budget or 0, plan.typical or 0) + _ROOM


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


class ReadAll(Struct, frozen=True):
    """Read to the end, or until more than so many bytes have come; resume with them."""

    most: int


class Sleep(Struct, frozen=True):
    """Wait."""

    seconds: float


class Emit(Struct, frozen=True):
    """Emit these events; ``so_far`` holds the answer up to here."""

    events: list[Event]
    so_far: Assembler


Step = Send | ReadBytes | ReadAll | Sleep | Emit
Flow = Generator[Step, Any, Reply]
_Steps = Generator[Step, Any, None]
Learn = Callable[[Repair], None]
Again = Callable[[PonderoError, float], None]

_READ = ReadBytes()
_READ_WHOLE = ReadAll(MAX_FRAME)
_READ_ERROR = ReadAll(1024 * 1024)  # the message is at its start
_NOTHING = Message("assistant", ())


Shows = bool | Callable[[Event], bool]
"""Which events a caller shows as they arrive: all, none, or those that a function accepts."""


def flow(
    exchange: Exchange,
    *,
    retry: Retry,
    jitter: Callable[[], float],
    learn: Learn | None = None,
    again: Again | None = None,
    begun: Callable[[Assembler], None] | None = None,
    shows: Shows = True,
) -> Flow:
    """Yield the steps of one exchange and return its reply; the shell throws I/O errors in.

    ``learn`` gets a repair that the service accepted, ``again`` the error and delay of each retry,
    ``begun`` what each try will collect, also one that breaks off before anything is shown. Without
    ``shows`` no event is emitted before the end, so that a cut anywhere can be tried again. If it
    is a function, all are emitted, and those that it accepts are shown.
    """
    tries = 0
    repair_made: Repair | None = None
    taken: Callable[[], None] | None = None
    failed: PonderoError | None = None
    while True:
        tries += 1
        attempt = _Attempt(exchange, repair_made, taken, shows=shows)
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
                    message = f"{exchange.no_server_hint} ({error})"
                    told = Unreachable(message, connected=error.connected)
                    for note in getattr(error, "__notes__", ()):
                        told.add_note(note)
                    raise told from error
                _add_hint(error, exchange)
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
    pieces = [body]
    try:
        step: Step = steps.send(None)
        while True:
            if isinstance(step, Send):
                step = steps.send(head)
            elif isinstance(step, ReadAll):
                step = steps.send(b"".join(pieces))
                pieces.clear()
            else:
                reads = isinstance(step, ReadBytes) and pieces
                step = steps.send(pieces.pop() if reads else None)
    except StopIteration as end:
        reply: Reply = end.value
        return reply


def _add_hint(error: PonderoError, exchange: Exchange) -> None:
    """Add who was asked, and what to look at: where the key came from, or which model was meant."""
    hint: str | None = None
    if isinstance(error, ServiceError):
        error.provider = exchange.plan.model.partition(":")[0]
    if isinstance(error, AuthFailed):
        hint = exchange.bad_key_hint
    elif isinstance(error, NotFound):
        hint = describe_unknown(exchange.plan)
    if hint:
        error.add_note(hint)


def _find_repair(exchange: Exchange, error: PonderoError) -> Repair | None:
    if not exchange.repairs or not isinstance(error, BadRequest):
        return None
    repair = get_dialect(exchange.dialect).caller().repair
    return repair(exchange.http, error) if repair is not None else None


class _Attempt:
    """One try, from the request to the end of its answer."""

    def __init__(
        self,
        exchange: Exchange,
        repair_made: Repair | None,
        taken: Callable[[], None] | None,
        *,
        shows: Shows = True,
    ) -> None:
        self.shown = False
        self._shows = shows
        self._exchange = exchange
        self._request = repair_made.request if repair_made else exchange.http
        self._notes = (repair_made.adjustment,) if repair_made else ()
        self._taken_up = taken
        self._wire = get_dialect(exchange.dialect).caller()
        self._where = exchange.context
        self.so_far = Assembler()
        self._end: Finished | None = None
        self._message = _NOTHING
        self._verdict: Verdict = "unknown"
        restore = exchange.restore
        if repair_made is not None and repair_made.adjustment.code == "output_prompted":
            restore = msgspec.structs.replace(restore or OutputRestore(), fenced=True)
        restores = restore is not None or exchange.texts or exchange.calls is not NO_RESTORE
        self._restorer = AnswerRestorer(exchange, restore) if restores else None
        self._beginning: bytes | None = None
        self._held: list[Event] = []
        if repair_made:
            self._held.append(AdjustmentNote(msgspec.to_builtins(repair_made.adjustment)))

    def steps(self) -> Flow:
        head: ResponseHead = yield Send(self._request)
        if not 200 <= head.status < 300:
            body: bytes = yield _READ_ERROR
            error = self._wire.error(head, body)
            if head.status in _ELSEWHERE and _has_no_reason(error, body):
                error.add_note(describe_redirect(self._exchange, head))
            raise error
        if self._taken_up is not None:
            self._taken_up()
        if EMULATOR_HEADER in head.headers:
            self.so_far.emulator = self._exchange.emulator
        try:
            yield from self._read_stream(head) if self._exchange.stream else self._read_whole(head)
            return self._reply(head)
        except WireError as error:
            begun, strange = self._beginning, None
            if begun is not None:
                strange = describe_strange_answer(error, self._exchange, head, begun)
            if strange is None:
                raise
            try:  # neither the cause's frames nor this one keep what has been read
                raise strange from error.with_traceback(None)
            finally:
                del strange

    def _read_whole(self, head: ResponseHead, begun: bytes = b"") -> _Steps:
        try:
            rest: bytes = yield ReadAll(MAX_FRAME - len(begun)) if begun else _READ_WHOLE
        except Unreachable as error:
            raise Truncated(f"the answer was cut: {error}") from error
        body = begun + rest if begun else rest
        if len(body) > MAX_FRAME:
            raise OversizedAnswer(f"an answer of more than {MAX_FRAME:,} bytes")
        check_packing(head, body)
        self._beginning = body
        reject_page(head, body)
        try:
            events = self._wire.decode(head, body, self._where)
        except Malformed as error:
            if is_cut(body):
                raise Truncated("the answer was cut: its end is missing") from error
            raise
        self._beginning = None
        self.so_far.whole = body
        if events:
            yield Emit(self._take(events), self.so_far)

    def _read_stream(self, head: ResponseHead) -> _Steps:
        try:
            data = yield _READ
            self._beginning = b"" if data is None else None
            if data is not None:
                check_packing(head, data)
                self._beginning = data[:BEGINNING]
                reject_page(head, data)
                if is_whole(head, data):
                    yield from self._read_whole(head, data)
                    return
            stream = self._wire.stream(head, self._where)
            self.so_far.read_usage = partial(getattr, stream, "usage", None)
            while data is not None:
                # Many streams wait at once: none keeps the bytes that it has read, or their events.
                events = stream.feed(data)
                if self._beginning is not None and any(map(_is_visible, events)):
                    self._beginning = None  # it is understood
                steps = [self._next_step(events)]
                del events
                if stream.ending:
                    self.so_far.ending = True
                data = None
                data = yield steps.pop()
                if self._beginning is not None and data is not None:
                    self._beginning = (self._beginning + data)[:BEGINNING]
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
        if self._restorer is not None and not (events := self._restorer.take(events)):
            return []
        self.so_far.extend(events)
        if isinstance(last := events[-1], Finished):
            self._message = self.so_far.message(self._exchange.origin)
            self._verdict = verdict(self._exchange.plan, self._message, last.finish, last.usage)
            self._end = msgspec.structs.replace(last, verdict=self._verdict)
            events = [*events[:-1], self._end]
        if self.shown:
            return events
        if not self._shows:
            self.shown = self._end is not None
            return events[-1:] if self.shown else []
        self._held += events
        is_visible = _is_visible if self._shows is True else self._shows
        self.shown = self._end is not None or any(map(is_visible, events))
        if not self.shown and self._shows is True:
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


_ELSEWHERE = (301, 302, 303, 307, 308, 404, 405)  # nothing is at this address
_BARE = ("not found", "404 page not found", "method not allowed")  # as web servers word it


def _has_no_reason(error: ServiceError, body: bytes) -> bool:
    """Return whether an error is a web server's, not one of an API that looked for a model."""
    return parse_json_or_none(body) is None or error.message.strip(" .").lower() in _BARE


def _request_id(head: ResponseHead) -> str | None:
    for name, value in head.headers.items():
        if name.endswith(("request-id", "requestid")):
            return value
    return None
