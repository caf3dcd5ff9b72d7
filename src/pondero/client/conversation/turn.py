"""One turn of a chat: ask, run the tools that are called for, ask again, until there is an answer.

A chat makes it and drives it; its caller reads the events, and in the end the reply. Nothing of a
turn is part of the chat's history before the turn has ended well.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
from types import TracebackType
from typing import Generic, Self

from msgspec.structs import replace

from ...canon import Event, Message, Part, Reply, Text, TextDelta, ToolCall, ToolResult, V
from ...errors import UsageError
from ...thinking import Adjustment
from ..tools.tools import Tools

_CALLING = ("tool_calls", "stop", "length", "other")


class _Turn(Generic[V]):
    """What a turn adds to the history, as far as it has come.

    ``max_steps`` limits how often it asks the model; the last time it offers no tools.
    ``is_over`` says that nothing more is asked, ``ended`` that the chat's history has it.
    """

    def __init__(
        self, history: Sequence[Message], prompt: Sequence[Message], *, tools: Tools, max_steps: int
    ) -> None:
        self.added: list[Message] = list(prompt)
        self.is_over: bool = False
        self.ended = False
        self._history = tuple(history)
        self._prompt = len(prompt)
        self._tools = tools
        self._left = max_steps
        self._news: tuple[Adjustment, ...] = ()
        self._replies: list[Reply[V]] = []

    @property
    def replies(self) -> tuple[Reply[V], ...]:
        """Return the replies of all exchanges of this turn that have ended."""
        return tuple(self._replies)

    @property
    def reply(self) -> Reply[V]:
        """Return the turn's last reply, after its end."""
        if not self.ended:
            raise UsageError("the turn has not ended; read its events to the end first")
        return self._replies[-1]

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return what the next exchange is asked with: the history and all this turn added."""
        return (*self._history, *self.added)

    @property
    def is_last(self) -> bool:
        """Return whether the next exchange must be the last, and so must call no tools."""
        return self._left <= 1

    def take(self, reply: Reply[V]) -> tuple[ToolCall, ...]:
        """Add a reply and return the calls to run before the next exchange."""
        self._left -= 1
        self._news += self._tools.news()
        self._replies.append(_noting(reply, self._news))
        self.added.append(reply.message)
        calls = reply.tool_calls if self._runs(reply) else ()
        self.is_over = self._left < 1 or (reply.finish != "paused" and not calls)
        return calls

    def give(self, results: Sequence[ToolResult]) -> None:
        """Add what the calls gave, in their order."""
        self.added.append(Message("user", tuple(results)))

    def kept(self, partial: Message | None) -> tuple[Message, ...]:
        """Return what to keep of a turn that was cut off; nothing where there was no answer."""
        kept = self.added
        if partial is not None and (parts := _said(partial)):
            kept = [*kept, Message("assistant", parts, partial.origin)]
        while kept and kept[-1].role == "user" and len(kept) <= self._prompt:
            kept = kept[:-1]
        if len(kept) <= self._prompt:
            return ()
        last = kept[-1]
        if last.role == "assistant" and last.tool_calls:
            kept = [*kept, Message("user", tuple(_unrun(call) for call in last.tool_calls))]
        return tuple(kept)

    def _runs(self, reply: Reply) -> bool:
        calls = reply.tool_calls
        return bool(calls) and reply.finish in _CALLING and all(map(self._tools.runs, calls))


class Turn(_Turn[V]):
    """The events of one turn; leaving it early, or closing it, frees the connection at once.

    >>> chat = pondero.Chat("claude-opus-5/low", tools=[get_weather])
    >>> with chat.stream("What is the weather in Bern?") as turn:
    ...     kinds = {type(event).__name__ for event in turn}
    >>> "ToolDelta" in kinds, turn.reply.finish
    (True, 'stop')
    """

    def __init__(
        self,
        run: Callable[["Turn[V]"], Generator[Event, None, None]],
        history: Sequence[Message],
        prompt: Sequence[Message],
        *,
        tools: Tools,
        max_steps: int,
    ) -> None:
        super().__init__(history, prompt, tools=tools, max_steps=max_steps)
        self._events = run(self)

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def text(self) -> Iterator[str]:
        """Yield the words of the turn's answers as they come, and nothing of the thinking."""
        for event in self:
            if isinstance(event, TextDelta) and event.text:
                yield event.text

    def close(self) -> None:
        """Stop, and let go of the connection; may be called twice."""
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


class AsyncTurn(_Turn[V]):
    """The events of one turn; ``async with`` frees the connection at once when left early.

    >>> chat = pondero.AsyncChat("claude-opus-5/low", tools=[get_weather])
    >>> async with chat.stream("What is the weather in Bern?") as turn:
    ...     kinds = {type(event).__name__ async for event in turn}
    >>> "ToolDelta" in kinds, turn.reply.finish
    (True, 'stop')
    """

    def __init__(
        self,
        run: Callable[["AsyncTurn[V]"], AsyncGenerator[Event, None]],
        history: Sequence[Message],
        prompt: Sequence[Message],
        *,
        tools: Tools,
        max_steps: int,
    ) -> None:
        super().__init__(history, prompt, tools=tools, max_steps=max_steps)
        self._events = run(self)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def text(self) -> AsyncIterator[str]:
        """Yield the words of the turn's answers as they come, and nothing of the thinking."""
        async for event in self:
            if isinstance(event, TextDelta) and event.text:
                yield event.text

    async def aclose(self) -> None:
        """Stop, and let go of the connection; may be called twice."""
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


def _noting(reply: Reply[V], news: tuple[Adjustment, ...]) -> Reply[V]:
    """Return the reply with what became of tools in its turn so far."""
    plan = reply.plan
    if not news or plan is None:
        return reply
    return replace(reply, plan=replace(plan, adjustments=(*plan.adjustments, *news)))


def _said(partial: Message) -> tuple[Part, ...]:
    """Return the parts up to the last words or call: thinking that led to nothing is no answer."""
    parts = list(partial.parts)
    while parts and not (isinstance(parts[-1], ToolCall) or _is_words(parts[-1])):
        parts.pop()
    return tuple(parts)


def _is_words(part: object) -> bool:
    return isinstance(part, Text) and bool(part.text.strip())


def _unrun(call: ToolCall) -> ToolResult:
    words = "interrupted before it was run"
    return ToolResult(call.id, (Text(words),), error=True, name=call.name)
