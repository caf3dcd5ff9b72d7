"""``Stream`` and ``AsyncStream``: the events of an answer, then its reply."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from functools import cached_property
from random import random
from time import time
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from msgspec import to_builtins
from msgspec.structs import replace

from ..canon import (
    AdjustmentNote,
    Assembler,
    Event,
    Json,
    Message,
    Reply,
    Usage,
    V,
    parse_partial,
)
from ..dialects import Repair
from ..errors import PonderoError, UsageError
from ..exchange import (
    AsyncTransport,
    Emit,
    Flow,
    Prepared,
    Retry,
    Shows,
    Signing,
    Timeouts,
    Transport,
    flow,
    make_rejection,
    shorten_retries,
)
from ..handoff import Manifest, Rejection
from ..store import Charge, TokenBill
from ..thinking import Plan
from ..transport import AsyncShell, Shell
from .dial import note_answer, warn_adjustments
from .fallbacks import Candidates
from .hooks import Hooks
from .retry_watch import RETRY_WATCHER
from .thinking_text import TextReaders
from .tracing import log_retry, start_span
from .usage_so_far import UsageSoFar

if TYPE_CHECKING:
    from .tracing.agents import AgentSpan
    from .tracing.exchanges import Span

Remember = Callable[[Rejection], None]
_NO_HOOKS = Hooks()


T = TypeVar("T", bound=Transport | AsyncTransport)


class _Stream(Generic[T, V]):
    """The state of an answer under way.

    ``refusals``: the parts of this conversation that the service rejected and then accepted the
    request without. Rejections that hold for every request to the model go to ``remember``.
    """

    def __init__(
        self,
        question: Prepared | Candidates,
        transport: T,
        *,
        retry: Retry,
        timeouts: Timeouts,
        remember: Remember,
        kind: Any = None,
        hooks: Hooks = _NO_HOOKS,
    ) -> None:
        self.refusals: tuple[Rejection, ...] = ()
        self._candidates = question if isinstance(question, Candidates) else None
        self._prepared = question.first() if isinstance(question, Candidates) else question
        self._transport = transport
        self._timeouts = timeouts
        self._retry = retry
        self._remember = remember
        self._so_far: Assembler | None = None
        self._kind = kind
        self._hooks = hooks
        self._reply: Reply[V] | None = None
        self._shows: Shows = True
        self._has_shown = False
        self._try: Assembler | None = None
        self._spent = Usage()
        self._charges: tuple[Charge, ...] = ()
        self._agent: AgentSpan | None = None  # of the turn that this is a part of
        self._span: Span | None = None  # of the exchange under way
        self._is_read_at_once = False

    def __repr__(self) -> str:
        state = "ended" if self._reply is not None else "under way" if self._so_far else "not begun"
        about = f"{self.plan.model}, {state}, {len(self.message.text):,} characters"
        return f"<pondero.{type(self).__name__} of {about}>"

    @property
    def plan(self) -> Plan:
        """Return the plan; the reply's plan also has the repairs."""
        return self._prepared.plan

    @property
    def handoff(self) -> Manifest:
        """Return the changes to the history for this model."""
        return self._prepared.manifest

    @property
    def message(self) -> Message:
        """Return the message so far."""
        so_far = self._so_far or Assembler()
        return so_far.message(self._prepared.exchange.origin)

    @property
    def partial(self) -> Json:
        """Return the JSON value so far; None before its first part.

        Texts, lists and objects may still grow; numbers and other values are whole.

        >>> stream = client.stream("gpt-5.1/low", "What is 17 * 23?", output=dict[str, str])
        >>> for event in stream:
        ...     stream.partial
        >>> stream.reply.value == stream.partial
        True
        """
        return parse_partial(self.message.text)

    @property
    def reply(self) -> Reply[V]:
        """Return the whole answer, after its end."""
        if self._reply is None:
            raise UsageError("the answer has not ended; read its events to the end first")
        return self._reply

    @cached_property
    def _readers(self) -> TextReaders:
        return TextReaders()

    def _flow(self) -> Flow:
        # With other models left, retry this one less often.
        others = self._candidates is not None and self._candidates.are_left
        return flow(
            self._prepared.exchange,
            retry=shorten_retries(self._retry) if others else self._retry,
            jitter=random,
            learn=self._learn,
            again=self._note_retry,
            begun=self._begin_try,
            shows=self._shows,
        )

    def _begin_try(self, so_far: Assembler | None) -> None:
        """Count what the try before this one used; ``so_far`` collects this one's answer."""
        if self._try is not None and (used := self._try.known_usage()) is not None:
            self._spent += used if used.total is not None else replace(used, total=used.known_total)
            # A try that failed may have said only what it had read.
            if used.known_total:
                self._charge(replace(used, input=used.input or 0, output=used.output or 0))
        self._try = so_far

    def _charge(self, usage: Usage) -> None:
        self._charges = (*self._charges, self._make_charge(usage))

    def _make_charge(self, usage: Usage) -> Charge:
        asked = self._prepared.exchange.origin
        return Charge(asked.provider, asked.model, usage, time() if asked.at is None else asked.at)

    def _count_so_far(self) -> UsageSoFar | None:
        """Return what the service has reported of this answer; None if none has begun."""
        used = None if self._try is None else self._try.known_usage()
        has_begun = self._try is not None and self._try.started is not None
        if used is None and not has_begun and not self._charges:
            return None
        usage, charges = used or Usage(), self._charges
        if usage.known_total:
            counted = replace(usage, input=usage.input or 0, output=usage.output or 0)
            charges = (*charges, self._make_charge(counted))
        bill = TokenBill(charges, paid=self._transport.needs_key) if charges else None
        return UsageSoFar(usage if self._spent == Usage() else _add_spent(usage, self._spent), bill)

    def _note_retry(self, error: PonderoError, seconds: float) -> None:
        log_retry(self._prepared.exchange, error, seconds)
        if (watch := RETRY_WATCHER.get()) is not None:
            watch(error, seconds)
        if self._span is not None:
            self._span.note_retry()

    def _try_next_model(self, error: BaseException) -> bool:
        """Switch to the next model, unless something was shown; return whether there is one."""
        if self._candidates is None or self._has_shown:
            return False
        found = self._candidates.next_after(error) if isinstance(error, PonderoError) else None
        if found is not None:
            self._begin_try(None)
            self._prepared = found
            self._so_far = None
        return found is not None

    def _take(self, step: Emit) -> list[Event]:
        """Return the events to show next; the first ones come after the notes on other models."""
        notes: list[Event] = []
        if self._so_far is None and self._candidates is not None:
            notes = [AdjustmentNote(to_builtins(note)) for note in self._candidates.notes()]
        self._so_far = step.so_far
        if not self._has_shown:
            self._has_shown = not callable(self._shows) or any(map(self._shows, step.events))
        return [*notes, *step.events] if notes else step.events

    def _learn(self, repair: Repair) -> None:
        exchange = self._prepared.exchange
        refusal = make_rejection(exchange.origin, repair)
        if repair.holds_for == "model":
            self._remember(refusal)
        elif repair.holds_for == "thread":
            self.refusals = (*self.refusals, refusal)

    def _fail(self, error: BaseException) -> None:
        if self._span is not None:
            self._span.end(error=error, so_far=self._so_far)

    def _end(self, reply: Reply) -> None:
        if self._candidates is not None:
            reply = self._candidates.add_notes(reply)
        self._charge(reply.usage)
        reply = replace(reply, bill=TokenBill(self._charges, paid=self._transport.needs_key))
        if self._spent != Usage():
            reply = replace(reply, usage=_add_spent(reply.usage, self._spent))
        self._reply = reply if self._kind is None else replace(reply, kind=self._kind)
        if self._transport.needs_key:
            note_answer(reply)
        if self._span is not None:
            self._span.end(reply, so_far=self._so_far)
        if self._prepared.policy.unsupported == "warn":
            warn_adjustments(self.plan, reply.adjustments[len(self.plan.adjustments) :])


def _add_spent(usage: Usage, spent: Usage) -> Usage:
    """Return the usage of all tries; a total is one only if the service reports it."""
    return spent + usage if usage.total is not None else replace(spent, total=None) + usage


def sign_requests(transport: Transport, signing: Signing | None) -> Transport:
    """Return a transport that signs requests which have no key."""
    if signing is None:
        return transport
    from ..transport import SigningTransport  # noqa: PLC0415 - few have no key

    return SigningTransport(transport, signing)


def sign_async_requests(transport: AsyncTransport, signing: Signing | None) -> AsyncTransport:
    """Return the same for asyncio."""
    if signing is None:
        return transport
    from ..transport import AsyncSigningTransport  # noqa: PLC0415 - few have no key

    return AsyncSigningTransport(transport, signing)


class Stream(_Stream[Transport, V]):
    """The events of an answer; closing it frees the connection.

    >>> with client.stream("claude-opus-5/low", "What is 17 * 23?") as stream:
    ...     for words in stream.text():
    ...         print(words, end="")
    17 * 23 = 391
    >>> stream.reply.verdict
    'as_planned'
    """

    _iterator: Generator[Event, None, None] | None = None
    _shell: Shell | None = None

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def text(self) -> Iterator[str]:
        """Yield the text of the answer, without the thinking.

        >>> for words in client.stream("claude-opus-5/high", "What is 17 * 23?").text():
        ...     print(words, end="", flush=True)
        17 * 23 = 391
        """
        yield from self._readers.take_passed("text")
        for event in self:
            if piece := self._readers.feed(event, "text"):
                yield piece

    def thinking(self) -> Iterator[str]:
        """Yield the thinking of the answer, a blank line between its parts.

        >>> stream = client.stream("claude-opus-5/high", "What is 17 * 23?")
        >>> "".join(stream.thinking()) == stream.reply.thinking
        True
        """
        yield from self._readers.take_passed("thinking")
        for event in self:
            if piece := self._readers.feed(event, "thinking"):
                yield piece

    def close(self) -> None:
        """Stop reading and free the connection; may be called twice."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read_all(self) -> Reply[V]:
        """Read the whole answer and return the reply.

        If no event was read before, nothing is shown until the end: a failure anywhere may be
        tried again, and the usage of failed tries is in the reply's.
        """
        self._shows = False
        if self._iterator is None and not self._is_read_at_once:
            self._is_read_at_once = True
            while self._next_events() is not None:
                pass
        else:
            for _ in self:
                pass
        return self.reply

    @property
    def _events(self) -> Generator[Event, None, None]:
        if self._iterator is None:
            self._iterator = self._iterate()
        return self._iterator

    def _iterate(self) -> Generator[Event, None, None]:
        try:
            while not self._is_read_at_once and (events := self._next_events()) is not None:
                yield from events
        except BaseException as error:
            if self._shell is not None:  # the reader left before the end
                self._fail(error)
                self._close_shell()
            raise

    def _next_events(self) -> list[Event] | None:
        """Return the events that come next; None after the end, which is not asked for twice."""
        while self._reply is None:
            shell = self._shell or self._open_shell()
            try:
                step = shell.next() if self._span is None else self._span.run(shell.next)
                if isinstance(step, Emit):
                    return self._take(step)
                self._end(step)
            except BaseException as error:
                self._fail(error)
                try:
                    goes_on = self._try_next_model(error)
                finally:
                    self._close_shell()
                if not goes_on:
                    raise
            else:
                self._close_shell()
        self._hooks.reply(self._reply)
        return None

    def _open_shell(self) -> Shell:
        self._hooks.request(self._prepared)
        exchange = self._prepared.exchange
        transport = sign_requests(self._transport, exchange.signing)
        self._shell = Shell(self._flow(), transport, self._timeouts)
        self._span = start_span(exchange, self._agent, shows=bool(self._shows))
        return self._shell

    def _close_shell(self) -> None:
        shell, self._shell = self._shell, None
        if shell is not None:
            shell.close()


class AsyncStream(_Stream[AsyncTransport, V]):
    """The events of an answer; ``async with`` frees the connection.

    >>> async with aclient.stream("claude-opus-5/low", "What is 17 * 23?") as stream:
    ...     async for words in stream.text():
    ...         print(words, end="")
    17 * 23 = 391
    """

    _iterator: AsyncGenerator[Event, None] | None = None
    _shell: AsyncShell | None = None

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def text(self) -> AsyncIterator[str]:
        """Yield the text of the answer, without the thinking."""
        for piece in self._readers.take_passed("text"):
            yield piece
        async for event in self:
            if piece := self._readers.feed(event, "text"):
                yield piece

    async def thinking(self) -> AsyncIterator[str]:
        """Yield the thinking of the answer, a blank line between its parts."""
        for piece in self._readers.take_passed("thinking"):
            yield piece
        async for event in self:
            if piece := self._readers.feed(event, "thinking"):
                yield piece

    async def aclose(self) -> None:
        """Stop reading and free the connection; may be called twice."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def read_all(self) -> Reply[V]:
        """Read the whole answer and return the reply.

        If no event was read before, nothing is shown until the end: a failure anywhere may be
        tried again, and the usage of failed tries is in the reply's.
        """
        self._shows = False
        if self._iterator is None and not self._is_read_at_once:
            self._is_read_at_once = True
            while await self._next_events() is not None:
                pass
        else:
            async for _ in self:
                pass
        return self.reply

    @property
    def _events(self) -> AsyncGenerator[Event, None]:
        if self._iterator is None:
            self._iterator = self._iterate()
        return self._iterator

    async def _iterate(self) -> AsyncGenerator[Event, None]:
        try:
            while not self._is_read_at_once and (events := await self._next_events()) is not None:
                for event in events:
                    yield event
        except BaseException as error:
            if self._shell is not None:  # the reader left before the end
                self._fail(error)
                await self._close_shell()
            raise

    async def _next_events(self) -> list[Event] | None:
        """Return the events that come next; None after the end, which is not asked for twice."""
        while self._reply is None:
            shell = self._shell or await self._open_shell()
            try:
                step = await (shell.next() if self._span is None else self._span.arun(shell.next))
                if isinstance(step, Emit):
                    return self._take(step)
                self._end(step)
            except BaseException as error:
                self._fail(error)
                try:
                    goes_on = self._try_next_model(error)
                finally:
                    await self._close_shell()
                if not goes_on:
                    raise
            else:
                await self._close_shell()
        if self._hooks.on_reply is not None:
            await self._hooks.areply(self._reply)
        return None

    async def _open_shell(self) -> AsyncShell:
        if self._hooks.on_request is not None:
            await self._hooks.arequest(self._prepared)
        exchange = self._prepared.exchange
        transport = sign_async_requests(self._transport, exchange.signing)
        self._shell = AsyncShell(self._flow(), transport, self._timeouts)
        self._span = start_span(exchange, self._agent, shows=bool(self._shows))
        return self._shell

    async def _close_shell(self) -> None:
        shell, self._shell = self._shell, None
        if shell is not None:
            await shell.aclose()
