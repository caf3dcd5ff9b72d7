"""A conversation that goes on: with tools, with another level, with another model.

A turn that fails leaves the history as it was.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from typing import Self, Unpack

from ..canon import Event, Message, Reply, ToolResult
from ..errors import UsageError
from ..thinking import Policy
from .client import AsyncClient, Client, ashared, shared
from .course import AsyncTurnStream, TurnStream
from .dial import policy_of
from .options import ChatOptions, Prompt, check
from .saved import options_of, read
from .stream import AsyncStream, Stream
from .talk import STEPS, Talk
from .tools import ToolLike
from .turn import Ask, Turn


class Chat(Talk):
    """A conversation that waits."""

    def __init__(
        self,
        model: str,
        thinking: object = None,
        *,
        tools: Iterable[ToolLike] = (),
        steps: int = STEPS,
        messages: Sequence[Message] = (),
        client: Client | None = None,
        **options: Unpack[ChatOptions],
    ) -> None:
        if not isinstance(client, Client | None):
            raise UsageError("a Chat waits, and asks through a Client; AsyncChat awaits")
        self._client = client or shared()
        super().__init__(model, thinking, tools=tools, steps=steps, messages=messages, **options)

    @property
    def policy(self) -> Policy:
        """Return the policy of this chat: its own, else its client's."""
        return policy_of(self._options.get("policy", self._client.policy))

    @classmethod
    def from_json(
        cls, text: str | bytes, *, tools: Iterable[ToolLike] = (), client: Client | None = None
    ) -> Self:
        """Return a chat that goes on where a saved one stopped."""
        saved = read(text)
        chat = cls(
            saved.model,
            saved.thinking,
            tools=tools,
            steps=saved.steps,
            messages=saved.messages,
            client=client,
            **options_of(saved),
        )
        chat.refusals = saved.refusals
        return chat

    def send(self, prompt: Prompt, **options: Unpack[ChatOptions]) -> Reply:
        """Say something and return the answer, after the tools it called for were run."""
        with self.stream(prompt, **options) as stream:
            for _ in stream:
                pass
        return stream.reply

    def stream(
        self, prompt: Prompt, *, keep: bool = False, **options: Unpack[ChatOptions]
    ) -> TurnStream:
        """Say something and return the turn's events as they come, over all its exchanges.

        ``keep``: a turn that is cut off, or closed early, stays in the history as far as it came.
        """
        check(options)
        turn = self._turn(prompt)
        return TurnStream(turn, self._events(turn, options, keep=keep))

    def _events(
        self, turn: Turn, options: ChatOptions, *, keep: bool
    ) -> Generator[Event, None, None]:
        model, thinking = self.model, self.thinking
        steps = turn.steps()
        stream: Stream | None = None
        answer: Reply | tuple[ToolResult, ...] | None = None
        try:
            while (step := turn.next(steps, answer)) is not None:
                if isinstance(step, Ask):
                    stream = self._asking(model, step, thinking, options)
                    with stream:
                        yield from stream
                    answer, stream = self._heard(stream.reply), None
                else:
                    answer = tuple(self._tools.run(call) for call in step.calls)
        except BaseException:
            if keep:
                self._commit(turn.kept(stream.message if stream else None))
            raise
        self._commit(turn.added)
        turn.ended = True

    def _asking(self, model: str, step: Ask, thinking: object, options: ChatOptions) -> Stream:
        return self._client.stream(
            model, self._thread(step), thinking, **self._asked(step, options)
        )


class AsyncChat(Talk):
    """A conversation that awaits; the async twin of Chat. Tools of one step run side by side."""

    def __init__(
        self,
        model: str,
        thinking: object = None,
        *,
        tools: Iterable[ToolLike] = (),
        steps: int = STEPS,
        messages: Sequence[Message] = (),
        client: AsyncClient | None = None,
        **options: Unpack[ChatOptions],
    ) -> None:
        if not isinstance(client, AsyncClient | None):
            raise UsageError("an AsyncChat awaits, and asks through an AsyncClient; Chat waits")
        self._client = client or ashared()
        super().__init__(model, thinking, tools=tools, steps=steps, messages=messages, **options)

    @property
    def policy(self) -> Policy:
        """Return the policy of this chat: its own, else its client's."""
        return policy_of(self._options.get("policy", self._client.policy))

    @classmethod
    def from_json(
        cls, text: str | bytes, *, tools: Iterable[ToolLike] = (), client: AsyncClient | None = None
    ) -> Self:
        """Return a chat that goes on where a saved one stopped."""
        saved = read(text)
        chat = cls(
            saved.model,
            saved.thinking,
            tools=tools,
            steps=saved.steps,
            messages=saved.messages,
            client=client,
            **options_of(saved),
        )
        chat.refusals = saved.refusals
        return chat

    async def send(self, prompt: Prompt, **options: Unpack[ChatOptions]) -> Reply:
        """Say something and return the answer, after the tools it called for were run."""
        async with self.stream(prompt, **options) as stream:
            async for _ in stream:
                pass
        return stream.reply

    def stream(
        self, prompt: Prompt, *, keep: bool = False, **options: Unpack[ChatOptions]
    ) -> AsyncTurnStream:
        """Say something and return the turn's events as they come, over all its exchanges.

        ``keep``: a turn that is cut off, or closed early, stays in the history as far as it came.
        """
        check(options)
        turn = self._turn(prompt)
        return AsyncTurnStream(turn, self._events(turn, options, keep=keep))

    async def _events(
        self, turn: Turn, options: ChatOptions, *, keep: bool
    ) -> AsyncGenerator[Event, None]:
        model, thinking = self.model, self.thinking
        steps = turn.steps()
        stream: AsyncStream | None = None
        answer: Reply | tuple[ToolResult, ...] | None = None
        try:
            while (step := turn.next(steps, answer)) is not None:
                if isinstance(step, Ask):
                    stream = self._asking(model, step, thinking, options)
                    async with stream:
                        async for event in stream:
                            yield event
                    answer, stream = self._heard(stream.reply), None
                else:
                    runs = (self._tools.arun(call) for call in step.calls)
                    answer = tuple(await asyncio.gather(*runs))
        except BaseException:
            if keep:
                self._commit(turn.kept(stream.message if stream else None))
            raise
        self._commit(turn.added)
        turn.ended = True

    def _asking(self, model: str, step: Ask, thinking: object, options: ChatOptions) -> AsyncStream:
        return self._client.stream(
            model, self._thread(step), thinking, **self._asked(step, options)
        )
