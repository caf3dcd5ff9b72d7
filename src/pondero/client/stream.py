"""``Stream`` and ``AsyncStream``: an answer as it comes, event by event, and then the reply."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from random import random
from types import TracebackType
from typing import Any, Generic, Self

from msgspec import to_builtins
from msgspec.structs import replace

from ..canon import AdjustmentNote, Assembler, Event, Message, Reply, TextDelta, V
from ..dialects import Repair
from ..errors import PonderoError, UsageError
from ..exchange import (
    AsyncTransport,
    Emit,
    Flow,
    Prepared,
    Retry,
    Timeouts,
    Transport,
    flow,
    make_rejection,
    shorten_retries,
)
from ..handoff import Manifest, Rejection
from ..thinking import Plan
from ..transport import AsyncShell, Shell
from .dial import warn_adjustments
from .fallbacks import Candidates
from .hooks import Hooks
from .tracing import Span, log_retry, span_of

Remember = Callable[[Rejection], None]
_NO_HOOKS = Hooks()


class _Stream(Generic[V]):
    """What is known of an answer while it comes.

    ``refusals`` is what the service refused of this conversation on the way, and took without.
    What it refuses of every request to this model is given to ``remember``.
    """

    def __init__(
        self,
        asked: Prepared | Candidates,
        *,
        retry: Retry,
        remember: Remember,
        kind: Any,
        hooks: Hooks,
    ) -> None:
        self.refusals: tuple[Rejection, ...] = ()
        self._candidates = asked if isinstance(asked, Candidates) else None
        self._prepared = asked.first() if isinstance(asked, Candidates) else asked
        self._retry = retry
        self._remember = remember
        self._so_far: Assembler | None = None
        self._kind = kind
        self._hooks = hooks
        self._reply: Reply[V] | None = None

    def __repr__(self) -> str:
        state = "ended" if self._reply is not None else "under way" if self._so_far else "not begun"
        what = f"{self.plan.model}, {state}, {len(self.message.text):,} characters"
        return f"<pondero.{type(self).__name__} of {what}>"

    @property
    def plan(self) -> Plan:
        """Return the plan; the reply's plan also has what was repaired on the way."""
        return self._prepared.plan

    @property
    def handoff(self) -> Manifest:
        """Return what of the conversation this model could not be shown."""
        return self._prepared.manifest

    @property
    def message(self) -> Message:
        """Return what has come so far."""
        so_far = self._so_far or Assembler()
        return so_far.message(self._prepared.exchange.origin)

    @property
    def reply(self) -> Reply[V]:
        """Return the whole answer, after its end."""
        if self._reply is None:
            raise UsageError("the answer has not ended; read its events to the end first")
        return self._reply

    def _flow(self) -> Flow:
        """Return the steps to ask the present model; with others left, it is tried less often."""
        others = self._candidates is not None and self._candidates.are_left
        return flow(
            self._prepared.exchange,
            retry=shorten_retries(self._retry) if others else self._retry,
            jitter=random,
            learn=self._learn,
            again=self._again,
        )

    def _moves_on(self, error: BaseException) -> bool:
        """Return whether another model is asked now; never after something was shown."""
        if self._candidates is None or self._so_far is not None:
            return False
        found = self._candidates.next_after(error) if isinstance(error, PonderoError) else None
        if found is not None:
            self._prepared = found
        return found is not None

    def _notes(self) -> list[Event]:
        """Return why models did not answer, as events that stand before the answer."""
        notes = self._candidates.notes() if self._candidates is not None else ()
        return [AdjustmentNote(to_builtins(note)) for note in notes]

    def _learn(self, repair: Repair) -> None:
        exchange = self._prepared.exchange
        refusal = make_rejection(exchange.origin, repair)
        if repair.holds_for == "model":
            self._remember(refusal)
        elif repair.holds_for == "thread":
            self.refusals = (*self.refusals, refusal)

    def _again(self, error: PonderoError, seconds: float) -> None:
        log_retry(self._prepared.exchange, error, seconds)

    def _fail(self, error: BaseException, span: Span | None) -> None:
        if span is not None:
            span.end(error=error)

    def _end(self, reply: Reply, span: Span | None) -> None:
        if self._candidates is not None:
            reply = self._candidates.add_notes(reply)
        self._reply = reply if self._kind is None else replace(reply, kind=self._kind)
        if span is not None:
            span.end(reply)
        if self._prepared.policy.unsupported == "warn":
            warn_adjustments(self.plan, reply.adjustments[len(self.plan.adjustments) :])


class Stream(_Stream[V]):
    """Events as they come; leaving it early, or closing it, frees the connection at once.

    >>> with client.stream("claude-opus-5/low", "What is 17 * 23?") as stream:
    ...     for words in stream.text():
    ...         print(words, end="")
    17 * 23 = 391
    >>> stream.reply.verdict
    'as_planned'
    """

    def __init__(
        self,
        asked: Prepared | Candidates,
        transport: Transport,
        *,
        retry: Retry,
        timeouts: Timeouts,
        remember: Remember,
        kind: Any = None,
        hooks: Hooks = _NO_HOOKS,
    ) -> None:
        super().__init__(asked, retry=retry, remember=remember, kind=kind, hooks=hooks)
        self._transport = transport
        self._timeouts = timeouts
        self._events: Generator[Event, None, None] | None = None

    def __iter__(self) -> Iterator[Event]:
        return self._begun()

    def text(self) -> Iterator[str]:
        """Yield the words of the answer as they come, and nothing of the thinking.

        >>> for words in client.stream("claude-opus-5/high", "What is 17 * 23?").text():
        ...     print(words, end="", flush=True)
        17 * 23 = 391
        """
        for event in self:
            if isinstance(event, TextDelta) and event.text:
                yield event.text

    def close(self) -> None:
        """Stop reading and let go of the connection; may be called twice."""
        self._begun().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read_all(self) -> Reply[V]:
        """Return the reply to a question whose answer nobody watches as it comes."""
        while self._reply is None:
            self._hooks.request(self._prepared)
            span, shell = span_of(self._prepared.exchange), self._shell()
            try:
                while isinstance(step := shell.next(), Emit):
                    self._so_far = step.so_far
                self._end(step, span)
            except BaseException as error:
                self._fail(error, span)
                if not self._moves_on(error):
                    raise
            finally:
                shell.close()
        self._hooks.reply(self._reply)
        return self._reply

    def _begun(self) -> Generator[Event, None, None]:
        if self._events is None:
            self._events = self._run()
        return self._events

    def _run(self) -> Generator[Event, None, None]:
        while self._reply is None:
            self._hooks.request(self._prepared)
            span, shell = span_of(self._prepared.exchange), self._shell()
            try:
                while isinstance(step := shell.next(), Emit):
                    if self._so_far is None and self._candidates is not None:
                        yield from self._notes()
                    self._so_far = step.so_far
                    yield from step.events
                self._end(step, span)
            except BaseException as error:
                self._fail(error, span)
                if not self._moves_on(error):
                    raise
            finally:
                shell.close()
        self._hooks.reply(self._reply)

    def _shell(self) -> Shell:
        transport = self._transport
        if (signing := self._prepared.exchange.signing) is not None:
            from ..transport import SigningTransport  # noqa: PLC0415 - few have no key

            transport = SigningTransport(transport, signing)
        return Shell(self._flow(), transport, self._timeouts)


class AsyncStream(_Stream[V]):
    """Events as they come; ``async with`` frees the connection at once when left early.

    >>> async with aclient.stream("claude-opus-5/low", "What is 17 * 23?") as stream:
    ...     async for words in stream.text():
    ...         print(words, end="")
    17 * 23 = 391
    """

    def __init__(
        self,
        asked: Prepared | Candidates,
        transport: AsyncTransport,
        *,
        retry: Retry,
        timeouts: Timeouts,
        remember: Remember,
        kind: Any = None,
        hooks: Hooks = _NO_HOOKS,
    ) -> None:
        super().__init__(asked, retry=retry, remember=remember, kind=kind, hooks=hooks)
        self._transport = transport
        self._timeouts = timeouts
        self._events: AsyncGenerator[Event, None] | None = None

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._begun()

    async def text(self) -> AsyncIterator[str]:
        """Yield the words of the answer as they come, and nothing of the thinking."""
        async for event in self:
            if isinstance(event, TextDelta) and event.text:
                yield event.text

    async def aclose(self) -> None:
        """Stop reading and let go of the connection; may be called twice."""
        await self._begun().aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def read_all(self) -> Reply[V]:
        """Return the reply to a question whose answer nobody watches as it comes."""
        while self._reply is None:
            await self._hooks.arequest(self._prepared)
            span, shell = span_of(self._prepared.exchange), self._shell()
            try:
                while isinstance(step := await shell.next(), Emit):
                    self._so_far = step.so_far
                self._end(step, span)
            except BaseException as error:
                self._fail(error, span)
                if not self._moves_on(error):
                    raise
            finally:
                await shell.aclose()
        await self._hooks.areply(self._reply)
        return self._reply

    def _begun(self) -> AsyncGenerator[Event, None]:
        if self._events is None:
            self._events = self._run()
        return self._events

    async def _run(self) -> AsyncGenerator[Event, None]:
        while self._reply is None:
            await self._hooks.arequest(self._prepared)
            span, shell = span_of(self._prepared.exchange), self._shell()
            try:
                while isinstance(step := await shell.next(), Emit):
                    if self._so_far is None and self._candidates is not None:
                        for note in self._notes():
                            yield note
                    self._so_far = step.so_far
                    for event in step.events:
                        yield event
                self._end(step, span)
            except BaseException as error:
                self._fail(error, span)
                if not self._moves_on(error):
                    raise
            finally:
                await shell.aclose()
        await self._hooks.areply(self._reply)

    def _shell(self) -> AsyncShell:
        transport = self._transport
        if (signing := self._prepared.exchange.signing) is not None:
            from ..transport import AsyncSigningTransport  # noqa: PLC0415 - few have no key

            transport = AsyncSigningTransport(transport, signing)
        return AsyncShell(self._flow(), transport, self._timeouts)
