"""``Client`` and ``AsyncClient``: whole answers, streams and batches of models."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self, TypeVar, Unpack, overload

from ..canon import Reply
from ..errors import UsageError
from ..exchange import AsyncTransport, Transport
from ..thinking import ThinkingLike
from .base_client import BaseClient
from .fallbacks import Models
from .hooks import Hooks
from .prompts.messages import Prompt
from .prompts.options import (
    RUNNING,
    Options,
    QuestionOptions,
    chat_options,
    correct_prompt,
    take_retries,
)
from .prompts.output import add_spent, find_correction, output_kind
from .stream import AsyncStream, Stream

if TYPE_CHECKING:
    from ..batch import Draft
    from .batches import AskLike, AsyncBatch, Batch

V = TypeVar("V")


class Client(BaseClient[Transport]):
    """Asks models and waits for their answers; threads may share it.

    ``transport``: the network, an emulator or a cassette. ``keys`` and ``urls``: by provider; the
    providers' own variables supply the others. ``on_request`` is called with each request before
    it is sent, ``on_reply`` with each whole answer; neither gets a key, and their exceptions
    propagate to the caller.

    >>> with pondero.Client(timeouts=pondero.Timeouts(first_byte=120)) as client:
    ...     client.ask(["claude-opus-5/high", "gpt-5.5/high"], "What is 17 * 23?").text
    '17 * 23 = 391'
    """

    @overload
    def ask(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        *,
        output: type[V],
        **options: Unpack[QuestionOptions],
    ) -> Reply[V]: ...
    @overload
    def ask(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options],
    ) -> Reply: ...
    def ask(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options],
    ) -> Reply:
        """Return a model's whole answer; the caller runs its tool calls.

        With ``mcp``, ``approve`` or ``max_steps`` the client runs them and returns the last answer.

        >>> client.ask("claude-opus-5/high", "What does it show?", attachments=["chart.png"]).finish
        'stop'
        """
        if not RUNNING.isdisjoint(options):
            from .conversation.chat import Chat  # noqa: PLC0415 - it needs a client itself

            tools, rest = chat_options(options)
            with Chat(model, thinking, client=self, **tools) as chat:
                chat.refusals = tuple(options.get("refusals", ()))
                return chat.send(prompt, **rest)
        retries, options = take_retries(options)
        reply = self.stream(model, prompt, thinking, **options).read_all()
        while retries and (words := find_correction(reply)) is not None:
            retries -= 1
            prompt, options = correct_prompt(prompt, reply, words, options)
            again = self.stream(model, prompt, thinking, **options).read_all()
            reply = add_spent(again, reply)
        return reply

    @overload
    def stream(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        *,
        output: type[V],
        **options: Unpack[QuestionOptions],
    ) -> Stream[V]: ...
    @overload
    def stream(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options],
    ) -> Stream: ...
    def stream(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options],
    ) -> Stream:
        """Return a model's answer as a stream; reading the first event sends the request.

        >>> with client.stream("claude-opus-5/high", "What is 17 * 23?") as stream:
        ...     for event in stream:
        ...         print(type(event).__name__)
        Started
        ...
        Finished
        """
        return Stream(
            self._prepare_question(model, prompt, thinking, options),
            self._open_transport(),
            retry=self._retry,
            timeouts=self._waits(options),
            remember=self._remember,
            kind=output_kind(options.get("output")),
            hooks=self._hooks,
        )

    def batch(
        self,
        asks: "Iterable[AskLike] | Draft",
        model: str | None = None,
        thinking: ThinkingLike = None,
        *,
        owner: str = "",
        **options: Unpack[Options],
    ) -> "Batch":
        """Send many requests to their providers' batch services, at their discount.

        A request is a prompt, or a mapping with ``prompt`` and optionally ``id``, ``model``,
        ``thinking`` and options; the arguments are the defaults. ``wait`` of the batch returns the
        answers by id. The batch is on disk before it is sent; ``open_batch`` continues it in
        another process. ``owner``: a note of its purpose, stored with it.
        """
        from .batches import Batch  # noqa: PLC0415 - few programs make batches

        transport = self._open_transport()
        draft = self._make_draft(asks, model, thinking, options)
        file = draft.save(owner=owner, offline=not transport.needs_key)
        return Batch(file, self._batch_session(), transport).send()

    def open_batch(self, id: str) -> "Batch":
        """Open a batch of this or another process by its id, without sending anything."""
        from ..batch import BatchFile  # noqa: PLC0415 - as above
        from .batches import Batch  # noqa: PLC0415 - as above

        return Batch(BatchFile.open(id), self._batch_session(), self._open_transport())

    def _check_hooks(self, hooks: Hooks) -> Hooks:
        hooks.check_waiting()
        return hooks

    def close(self) -> None:
        """Close every connection and reject further questions; may be called twice."""
        self._closed = True
        if self._transport is not None:
            self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make_http_transport(self) -> Transport:
        from ..transport import HttpTransport  # noqa: PLC0415 - an emulator needs none

        return HttpTransport()


class AsyncClient(BaseClient[AsyncTransport]):
    """The async twin of Client.

    >>> async with pondero.AsyncClient() as client:
    ...     (await client.ask("claude-opus-5/high", "What is 17 * 23?")).text
    '17 * 23 = 391'
    """

    @overload
    async def ask(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        *,
        output: type[V],
        **options: Unpack[QuestionOptions],
    ) -> Reply[V]: ...
    @overload
    async def ask(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options],
    ) -> Reply: ...
    async def ask(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options],
    ) -> Reply:
        """Return a model's whole answer, as ``Client.ask`` does."""
        if not RUNNING.isdisjoint(options):
            from .conversation.chat import AsyncChat  # noqa: PLC0415 - it needs a client itself

            tools, rest = chat_options(options)
            async with AsyncChat(model, thinking, client=self, **tools) as chat:
                chat.refusals = tuple(options.get("refusals", ()))
                return await chat.send(prompt, **rest)
        retries, options = take_retries(options)
        reply = await self.stream(model, prompt, thinking, **options).read_all()
        while retries and (words := find_correction(reply)) is not None:
            retries -= 1
            prompt, options = correct_prompt(prompt, reply, words, options)
            again = await self.stream(model, prompt, thinking, **options).read_all()
            reply = add_spent(again, reply)
        return reply

    @overload
    def stream(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        *,
        output: type[V],
        **options: Unpack[QuestionOptions],
    ) -> AsyncStream[V]: ...
    @overload
    def stream(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options],
    ) -> AsyncStream: ...
    def stream(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options],
    ) -> AsyncStream:
        """Return a model's answer as a stream; reading the first event sends the request."""
        return AsyncStream(
            self._prepare_question(model, prompt, thinking, options),
            self._open_transport(),
            retry=self._retry,
            timeouts=self._waits(options),
            remember=self._remember,
            kind=output_kind(options.get("output")),
            hooks=self._hooks,
        )

    async def batch(
        self,
        asks: "Iterable[AskLike] | Draft",
        model: str | None = None,
        thinking: ThinkingLike = None,
        *,
        owner: str = "",
        **options: Unpack[Options],
    ) -> "AsyncBatch":
        """Send many requests to their providers' batch services, as ``Client.batch`` does."""
        from .batches import AsyncBatch  # noqa: PLC0415 - few programs make batches

        transport = self._open_transport()
        draft = self._make_draft(asks, model, thinking, options)
        file = draft.save(owner=owner, offline=not transport.needs_key)
        return await AsyncBatch(file, self._batch_session(), transport).send()

    def open_batch(self, id: str) -> "AsyncBatch":
        """Open a batch of this or another process by its id, without sending anything."""
        from ..batch import BatchFile  # noqa: PLC0415 - as above
        from .batches import AsyncBatch  # noqa: PLC0415 - as above

        return AsyncBatch(BatchFile.open(id), self._batch_session(), self._open_transport())

    def _check_transport(self, transport: AsyncTransport | None) -> None:
        if transport is not None and not hasattr(transport, "aclose"):
            name = type(transport).__name__
            message = f"{name} blocks, and an AsyncClient awaits; use Async{name}"
            raise UsageError(message)

    async def aclose(self) -> None:
        """Close every connection of this event loop and reject further questions."""
        self._closed = True
        if self._transport is not None:
            await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _make_http_transport(self) -> AsyncTransport:
        from ..transport import AsyncHttpTransport  # noqa: PLC0415 - an emulator needs none

        return AsyncHttpTransport()
