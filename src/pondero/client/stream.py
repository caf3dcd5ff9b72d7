"""An answer on its way: its events one by one, and in the end the reply."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from random import random
from types import TracebackType
from typing import Self

from ..canon import Assembler, Event, Message, Reply
from ..dialects import Repair
from ..errors import ServiceError, UsageError
from ..exchange import AsyncTransport, Emit, Retry, Transport, flow
from ..handoff import Manifest
from ..thinking import Plan
from ..transport import AsyncShell, Shell
from .asking import Question, say_repairs
from .refusals import Learn, refusal
from .tracing import Span


class Arrival:
    """What is known of an answer while it comes, whoever waits for it."""

    def __init__(self, question: Question, retry: Retry, learn: Mapping[str, Learn]) -> None:
        self._question = question
        self._flow = flow(question.exchange, retry=retry, jitter=random, learn=self._learn)
        self._learners = learn
        self._so_far: Assembler | None = None
        self._reply: Reply | None = None

    @property
    def plan(self) -> Plan:
        """Return what was to happen; the reply's plan also has what was repaired on the way."""
        return self._question.exchange.plan

    @property
    def handoff(self) -> Manifest:
        """Return what of the conversation this model could not be shown."""
        return self._question.manifest

    @property
    def message(self) -> Message:
        """Return what has come so far."""
        so_far = self._so_far or Assembler()
        return so_far.message(self._question.exchange.origin)

    @property
    def reply(self) -> Reply:
        """Return the whole answer, after its end."""
        if self._reply is None:
            raise UsageError("the answer has not ended; read its events to the end first")
        return self._reply

    def _learn(self, error: ServiceError, repair: Repair) -> None:
        if tell := self._learners.get(repair.holds_for):
            tell(refusal(self._question.exchange.origin, error, repair))

    def _ended(self, reply: Reply, span: Span) -> None:
        self._reply = reply
        span.end(reply)
        say_repairs(self._question, reply.plan)


class Stream(Arrival):
    """Events as they come; leaving it early, or closing it, frees the connection at once."""

    def __init__(
        self,
        question: Question,
        transport: Transport,
        retry: Retry,
        learn: Mapping[str, Learn],
    ) -> None:
        super().__init__(question, retry, learn)
        if (signing := question.exchange.signing) is not None:
            from ..transport import SigningTransport  # noqa: PLC0415 - few have no key

            transport = SigningTransport(transport, signing)
        self._shell = Shell(self._flow, transport, question.timeouts)
        self._events = self._run(self._shell)

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def close(self) -> None:
        """Stop reading and let go of the connection; may be called twice."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, shell: Shell) -> Generator[Event, None, None]:
        span = Span(self._question.exchange)
        try:
            while isinstance(step := shell.next(), Emit):
                self._so_far = step.so_far
                yield from step.events
            self._ended(step, span)
        except BaseException as error:
            span.end(error=error)
            raise
        finally:
            shell.close()


class AsyncStream(Arrival):
    """Events as they come; ``async with`` frees the connection at once when left early."""

    def __init__(
        self,
        question: Question,
        transport: AsyncTransport,
        retry: Retry,
        learn: Mapping[str, Learn],
    ) -> None:
        super().__init__(question, retry, learn)
        if (signing := question.exchange.signing) is not None:
            from ..transport import AsyncSigningTransport  # noqa: PLC0415 - few have no key

            transport = AsyncSigningTransport(transport, signing)
        self._shell = AsyncShell(self._flow, transport, question.timeouts)
        self._events = self._run(self._shell)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def aclose(self) -> None:
        """Stop reading and let go of the connection; may be called twice."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _run(self, shell: AsyncShell) -> AsyncGenerator[Event, None]:
        span = Span(self._question.exchange)
        try:
            while isinstance(step := await shell.next(), Emit):
                self._so_far = step.so_far
                for event in step.events:
                    yield event
            self._ended(step, span)
        except BaseException as error:
            span.end(error=error)
            raise
        finally:
            await shell.aclose()
