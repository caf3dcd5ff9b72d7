"""``Stream`` and ``AsyncStream``: the events of an answer, then its reply."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from functools import cached_property, partial
from random import random
from typing import Any, Generic, Self, TypeVar

from msgspec import to_builtins
from msgspec.structs import replace

from ..canon import (
    AdjustmentNote,
    Assembler,
    Event,
    Json,
    Message,
    Reply,
    TextDelta,
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
from .tracing import Span, log_retry, start_span

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

    def _flow(self) -> Flow:
        # With other models left, retry this one less often.
        others = self._candidates is not None and self._candidates.are_left
        return flow(
            self._prepared.exchange,
            retry=shorten_retries(self._retry) if others else self._retry,
            jitter=random,
            learn=self._learn,
            again=partial(log_retry, self._prepared.exchange),
        )

    def _try_next_model(self, error: BaseException) -> bool:
        """Switch to the next model, unless something was shown; return whether there is one."""
        if self._candidates is None or self._so_far is not None:
            return False
        found = self._candidates.next_after(error) if isinstance(error, PonderoError) else None
        if found is not None:
            self._prepared = found
        return found is not None

    def _notes(self) -> list[Event]:
        notes = self._candidates.notes() if self._candidates is not None else ()
        return [AdjustmentNote(to_builtins(note)) for note in notes]

    def _learn(self, repair: Repair) -> None:
        exchange = self._prepared.exchange
        refusal = make_rejection(exchange.origin, repair)
        if repair.holds_for == "model":
            self._remember(refusal)
        elif repair.holds_for == "thread":
            self.refusals = (*self.refusals, refusal)

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


class Stream(_Stream[Transport, V]):
    """The events of an answer; closing it frees the connection.

    >>> with client.stream("claude-opus-5/low", "What is 17 * 23?") as stream:
    ...     for words in stream.text():
    ...         print(words, end="")
    17 * 23 = 391
    >>> stream.reply.verdict
    'as_planned'
    """

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def text(self) -> Iterator[str]:
        """Yield the text of the answer, without the thinking.

        >>> for words in client.stream("claude-opus-5/high", "What is 17 * 23?").text():
        ...     print(words, end="", flush=True)
        17 * 23 = 391
        """
        for event in self:
            if isinstance(event, TextDelta) and event.text:
                yield event.text

    def close(self) -> None:
        """Stop reading and free the connection; may be called twice."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read_all(self) -> Reply[V]:
        """Read the whole answer and return the reply."""
        for _ in self:
            pass
        return self.reply

    @cached_property
    def _events(self) -> Generator[Event, None, None]:
        while self._reply is None:
            self._hooks.request(self._prepared)
            span, shell = start_span(self._prepared.exchange), self._shell()
            try:
                while isinstance(step := shell.next(), Emit):
                    if self._so_far is None and self._candidates is not None:
                        yield from self._notes()
                    self._so_far = step.so_far
                    yield from step.events
                self._end(step, span)
            except BaseException as error:
                self._fail(error, span)
                if not self._try_next_model(error):
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


class AsyncStream(_Stream[AsyncTransport, V]):
    """The events of an answer; ``async with`` frees the connection.

    >>> async with aclient.stream("claude-opus-5/low", "What is 17 * 23?") as stream:
    ...     async for words in stream.text():
    ...         print(words, end="")
    17 * 23 = 391
    """

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def text(self) -> AsyncIterator[str]:
        """Yield the text of the answer, without the thinking."""
        async for event in self:
            if isinstance(event, TextDelta) and event.text:
                yield event.text

    async def aclose(self) -> None:
        """Stop reading and free the connection; may be called twice."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def read_all(self) -> Reply[V]:
        """Read the whole answer and return the reply."""
        async for _ in self:
            pass
        return self.reply

    @cached_property
    async def _events(self) -> AsyncGenerator[Event, None]:
        while self._reply is None:
            await self._hooks.arequest(self._prepared)
            span, shell = start_span(self._prepared.exchange), self._shell()
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
                if not self._try_next_model(error):
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
