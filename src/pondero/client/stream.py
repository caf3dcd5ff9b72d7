"""``Stream`` and ``AsyncStream``: an answer as it comes, event by event, and then the reply."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from random import random
from types import TracebackType
from typing import Any, Generic, Self

from msgspec.structs import replace

from ..canon import Assembler, Event, Message, Reply, V
from ..dialects import Repair
from ..errors import PonderoError, UsageError
from ..exchange import (
    AsyncTransport,
    Emit,
    Prepared,
    Retry,
    Timeouts,
    Transport,
    flow,
    refusal_of,
)
from ..handoff import Manifest, Refusal
from ..thinking import Plan
from ..transport import AsyncShell, Shell
from .dial import warn
from .tracing import Span, log_retry, span_of

Remember = Callable[[Refusal], None]


class _Stream(Generic[V]):
    """What is known of an answer while it comes.

    ``refusals`` is what the service refused of this conversation on the way, and took without.
    What it refuses of every request to this model is given to ``remember``.
    """

    def __init__(self, prepared: Prepared, retry: Retry, remember: Remember, kind: Any) -> None:
        self.refusals: tuple[Refusal, ...] = ()
        self._prepared = prepared
        self._remember = remember
        self._flow = flow(
            prepared.exchange, retry=retry, jitter=random, learn=self._learn, again=self._again
        )
        self._so_far: Assembler | None = None
        self._kind = kind
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

    def _learn(self, repair: Repair) -> None:
        exchange = self._prepared.exchange
        refusal = refusal_of(exchange.origin, repair)
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
        self._reply = reply if self._kind is None else replace(reply, kind=self._kind)
        if span is not None:
            span.end(reply)
        if self._prepared.policy.unsupported == "warn":
            warn(self.plan, reply.adjustments[len(self.plan.adjustments) :])


class Stream(_Stream[V]):
    """Events as they come; leaving it early, or closing it, frees the connection at once."""

    def __init__(
        self,
        prepared: Prepared,
        transport: Transport,
        *,
        retry: Retry,
        timeouts: Timeouts,
        remember: Remember,
        kind: Any = None,
    ) -> None:
        super().__init__(prepared, retry, remember, kind)
        if (signing := prepared.exchange.signing) is not None:
            from ..transport import SigningTransport  # noqa: PLC0415 - few have no key

            transport = SigningTransport(transport, signing)
        self._shell = Shell(self._flow, transport, timeouts)
        self._events: Generator[Event, None, None] | None = None

    def __iter__(self) -> Iterator[Event]:
        return self._begun()

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
        span = span_of(self._prepared.exchange)
        try:
            while isinstance(step := self._shell.next(), Emit):
                pass
            self._end(step, span)
        except BaseException as error:
            self._fail(error, span)
            raise
        finally:
            self._shell.close()
        return self.reply

    def _begun(self) -> Generator[Event, None, None]:
        if self._events is None:
            self._events = self._run()
        return self._events

    def _run(self) -> Generator[Event, None, None]:
        span = span_of(self._prepared.exchange)
        try:
            while isinstance(step := self._shell.next(), Emit):
                self._so_far = step.so_far
                yield from step.events
            self._end(step, span)
        except BaseException as error:
            self._fail(error, span)
            raise
        finally:
            self._shell.close()


class AsyncStream(_Stream[V]):
    """Events as they come; ``async with`` frees the connection at once when left early."""

    def __init__(
        self,
        prepared: Prepared,
        transport: AsyncTransport,
        *,
        retry: Retry,
        timeouts: Timeouts,
        remember: Remember,
        kind: Any = None,
    ) -> None:
        super().__init__(prepared, retry, remember, kind)
        if (signing := prepared.exchange.signing) is not None:
            from ..transport import AsyncSigningTransport  # noqa: PLC0415 - few have no key

            transport = AsyncSigningTransport(transport, signing)
        self._shell = AsyncShell(self._flow, transport, timeouts)
        self._events: AsyncGenerator[Event, None] | None = None

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._begun()

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
        span = span_of(self._prepared.exchange)
        try:
            while isinstance(step := await self._shell.next(), Emit):
                pass
            self._end(step, span)
        except BaseException as error:
            self._fail(error, span)
            raise
        finally:
            await self._shell.aclose()
        return self.reply

    def _begun(self) -> AsyncGenerator[Event, None]:
        if self._events is None:
            self._events = self._run()
        return self._events

    async def _run(self) -> AsyncGenerator[Event, None]:
        span = span_of(self._prepared.exchange)
        try:
            while isinstance(step := await self._shell.next(), Emit):
                self._so_far = step.so_far
                for event in step.events:
                    yield event
            self._end(step, span)
        except BaseException as error:
            self._fail(error, span)
            raise
        finally:
            await self._shell.aclose()
