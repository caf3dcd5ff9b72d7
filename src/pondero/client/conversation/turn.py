"""One turn of a chat: ask, run the called tools, ask again, until there is an answer.

A chat makes and runs it; the caller reads the events, then the reply. The chat's history gets a
turn only when it has ended without an error.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
from functools import reduce
from typing import Generic, Self, TypeVar

from msgspec.structs import replace

from ...canon import (
    Event,
    Json,
    Message,
    Part,
    Reply,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    V,
    parse_partial,
)
from ...errors import UsageError
from ...exchange import Shows
from ...handoff import answer_interrupted
from ...thinking import Adjustment
from ..prompts.output import add_spent
from ..thinking_text import TextReaders
from ..tools.tools import Tools
from ..usage_so_far import UsageSoFar

_CALLING = ("tool_calls", "stop", "length", "other")


E = TypeVar("E", bound=Generator[Event, None, None] | AsyncGenerator[Event, None])


class _Turn(Generic[E, V]):
    """The messages that a turn adds to the history.

    ``max_steps`` limits how often it asks the model; the last time it offers no tools.
    ``is_over``: nothing more is asked. ``ended``: the chat's history has it. ``current`` returns
    the message that is arriving, ``count_used`` what it has used. ``shows``: what the caller shows
    of it as it arrives; an answer that breaks off before is asked for again.
    """

    def __init__(
        self,
        run: Callable[[Self], E],
        history: Sequence[Message],
        prompt: Sequence[Message],
        *,
        tools: Tools,
        max_steps: int,
    ) -> None:
        self.added: list[Message] = list(prompt)
        self.is_over: bool = False
        self.shows: Shows = True
        self.ended = False
        self.current: Callable[[], Message] | None = None
        self.count_used: Callable[[], UsageSoFar | None] | None = None
        self._history = tuple(history)
        self._prompt = len(prompt)
        self._tools = tools
        self._left = max_steps
        self._news: tuple[Adjustment, ...] = ()
        self._replies: list[Reply[V]] = []
        self._readers = TextReaders()
        self._events: E = run(self)

    @property
    def replies(self) -> tuple[Reply[V], ...]:
        """Return the replies of the ended exchanges, each with its own usage and cost."""
        return tuple(self._replies)

    @property
    def reply(self) -> Reply[V]:
        """Return the last reply, after the turn's end; its usage and cost are the whole turn's."""
        if not self.ended:
            raise UsageError("the turn has not ended; read its events to the end first")
        return reduce(lambda earlier, reply: add_spent(reply, earlier), self._replies)

    @property
    def used_so_far(self) -> UsageSoFar | None:
        """Return what the exchange under way, or cut off, has used at least; None if unknown."""
        if self.current is None or self.count_used is None:
            return None
        return self.count_used()

    @property
    def partial(self) -> Json:
        """Return the JSON value so far of the answer that is arriving, or of the last one."""
        if self.current is not None:
            return parse_partial(self.current().text)
        return parse_partial(self._replies[-1].text) if self._replies else None

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the messages of the next exchange: the history and this turn's."""
        return (*self._history, *self.added)

    @property
    def is_last(self) -> bool:
        """Return whether the next exchange is the last, which offers no tools."""
        return self._left <= 1

    def take(self, reply: Reply[V]) -> tuple[ToolCall, ...]:
        """Add a reply and return the calls to run before the next exchange."""
        self._left -= 1
        self.current = None
        self._news += self._tools.news()
        self._replies.append(_add_notes(reply, self._news))
        self.added.append(reply.message)
        calls = reply.tool_calls if self._runs(reply) else ()
        self.is_over = self._left < 1 or (reply.finish != "paused" and not calls)
        return calls

    def give(self, results: Sequence[ToolResult]) -> None:
        """Add the results of the calls, in order."""
        self.added.append(Message("user", tuple(results)))

    @property
    def so_far(self) -> tuple[Message, ...]:
        """Return the messages of the turn as they are now, with the one that is arriving."""
        arriving = None if self.current is None else self.current()
        return (*self.added, *_keep_arrived(arriving))

    def messages_to_keep(self, partial: Message | None) -> tuple[Message, ...]:
        """Return the messages to keep of a turn that was cut off; empty if nothing came."""
        kept = [*self.added, *_keep_arrived(partial)]
        if len(kept) <= self._prompt:
            return ()
        if kept[-1].role == "assistant" and (calls := kept[-1].tool_calls):
            kept.append(answer_interrupted(calls))
        return tuple(kept)

    def _runs(self, reply: Reply) -> bool:
        calls = reply.tool_calls
        return bool(calls) and reply.finish in _CALLING and all(map(self._tools.runs, calls))


class Turn(_Turn[Generator[Event, None, None], V]):
    """The events of one turn; closing it frees the connection.

    >>> chat = pondero.Chat("claude-opus-5/low", tools=[get_weather])
    >>> with chat.stream("What is the weather in Bern?") as turn:
    ...     kinds = {type(event).__name__ for event in turn}
    >>> "ToolDelta" in kinds, turn.reply.finish
    (True, 'stop')
    """

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def text(self) -> Iterator[str]:
        """Yield the text of the turn's answers, without the thinking."""
        yield from self._readers.take_passed("text")
        for event in self:
            if piece := self._readers.feed(event, "text"):
                yield piece

    def thinking(self) -> Iterator[str]:
        """Yield the thinking of the turn's answers, a blank line between its parts."""
        yield from self._readers.take_passed("thinking")
        for event in self:
            if piece := self._readers.feed(event, "thinking"):
                yield piece

    def close(self) -> None:
        """Stop and free the connection; may be called twice."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncTurn(_Turn[AsyncGenerator[Event, None], V]):
    """The events of one turn; ``async with`` frees the connection.

    >>> chat = pondero.AsyncChat("claude-opus-5/low", tools=[get_weather])
    >>> async with chat.stream("What is the weather in Bern?") as turn:
    ...     kinds = {type(event).__name__ async for event in turn}
    >>> "ToolDelta" in kinds, turn.reply.finish
    (True, 'stop')
    """

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def text(self) -> AsyncIterator[str]:
        """Yield the text of the turn's answers, without the thinking."""
        for piece in self._readers.take_passed("text"):
            yield piece
        async for event in self:
            if piece := self._readers.feed(event, "text"):
                yield piece

    async def thinking(self) -> AsyncIterator[str]:
        """Yield the thinking of the turn's answers, a blank line between its parts."""
        for piece in self._readers.take_passed("thinking"):
            yield piece
        async for event in self:
            if piece := self._readers.feed(event, "thinking"):
                yield piece

    async def aclose(self) -> None:
        """Stop and free the connection; may be called twice."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _add_notes(reply: Reply[V], news: tuple[Adjustment, ...]) -> Reply[V]:
    plan = reply.plan
    if not news or plan is None:
        return reply
    return replace(reply, plan=replace(plan, adjustments=(*plan.adjustments, *news)))


def _keep_arrived(partial: Message | None) -> tuple[Message, ...]:
    """Return what arrived of a message: nothing, or the message without empty parts at its end."""
    parts = list(partial.parts) if partial is not None else []
    while parts and _is_empty(parts[-1]):
        parts.pop()
    return (Message("assistant", tuple(parts), partial.origin),) if partial and parts else ()


def _is_empty(part: Part) -> bool:
    if isinstance(part, Thinking):
        return not (part.text.strip() or part.redacted)
    return isinstance(part, Text) and not part.text.strip()
