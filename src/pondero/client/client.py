"""``Client`` and ``AsyncClient``: ask a model for a whole answer, a stream, or only the request."""

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, Unpack, overload

from ..canon import Reply
from ..errors import UsageError
from ..exchange import AsyncTransport, Retry, Timeouts, Transport
from ..thinking import ThinkingLike
from .base_client import BaseClient
from .dial import PolicyLike
from .fallbacks import Models
from .hooks import Hooks, OnReply, OnRequest
from .prompts.messages import Prompt
from .prompts.options import (
    RUNNING,
    Options,
    QuestionOptions,
    chat_options,
    output_kind,
)
from .stream import AsyncStream, Stream

if TYPE_CHECKING:
    from ..batch import Draft
    from .batches import AskLike, AsyncBatch, Batch

V = TypeVar("V")


class Client(BaseClient[Transport]):
    """Asks models and waits for them; may be shared between threads.

    ``transport`` is how bytes move: over the network, or an emulator, or a cassette. ``keys``
    and ``urls`` are by provider; what is not there comes from each provider's own variables.
    ``on_request`` is called with each request before it is sent, ``on_reply`` with each whole
    answer; neither is given a key, and what they raise goes to whoever asked.

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
        """Return a model's whole answer; its tool calls, if any, are for the caller to run.

        With ``mcp``, ``approve`` or ``max_steps`` they are run, and the last answer is returned.

        >>> client.ask("claude-opus-5/high", "What does it show?", attachments=["chart.png"]).finish
        'stop'
        """
        if not RUNNING.isdisjoint(options):
            from .conversation.chat import Chat  # noqa: PLC0415 - it needs a client itself

            kept, rest = chat_options(options)
            with Chat(model, thinking, client=self, **kept) as chat:
                chat.refusals = tuple(options.get("refusals", ()))
                return chat.send(prompt, **rest)
        return self.stream(model, prompt, thinking, **options).read_all()

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
        """Return a model's answer as it comes; nothing is sent before the first event is read.

        >>> with client.stream("claude-opus-5/high", "What is 17 * 23?") as stream:
        ...     for event in stream:
        ...         print(type(event).__name__)
        Started
        ...
        Finished
        """
        return Stream(
            self._asked(model, prompt, thinking, options),
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
        """Give many asks to their providers' own batch services, at their discount.

        An ask is a prompt, or a mapping with ``prompt`` and perhaps ``id``, ``model``, ``thinking``
        and options of its own; the rest comes from here. ``wait`` on what is returned gives the
        answers by id. The batch is on disk before it is sent: ``open_batch`` with its id goes on in
        another process. ``owner`` is what it is for, and is kept with it.
        """
        from .batches import Batch  # noqa: PLC0415 - few programs make batches

        way = self._open_transport()
        draft = self._drafted(asks, model, thinking, options)
        file = draft.save(owner=owner, offline=not way.needs_key)
        return Batch(file, self._counter(), way).send()

    def open_batch(self, id: str) -> "Batch":
        """Return a batch that this or another process has begun, by its id; nothing is sent."""
        from ..batch import BatchFile  # noqa: PLC0415 - as above
        from .batches import Batch  # noqa: PLC0415 - as above

        return Batch(BatchFile.open(id), self._counter(), self._open_transport())

    def _checked(self, hooks: Hooks) -> Hooks:
        hooks.check_waiting()
        return hooks

    def close(self) -> None:
        """Close every connection; nothing can be asked after that. May be called twice."""
        self._closed = True
        if self._transport is not None:
            self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _over_network(self) -> Transport:
        from ..transport import HttpTransport  # noqa: PLC0415 - an emulator needs none

        return HttpTransport()


class AsyncClient(BaseClient[AsyncTransport]):
    """Asks models and awaits them; the async twin of Client.

    >>> async with pondero.AsyncClient() as client:
    ...     (await client.ask("claude-opus-5/high", "What is 17 * 23?")).text
    '17 * 23 = 391'
    """

    def __init__(
        self,
        *,
        policy: PolicyLike = None,
        transport: AsyncTransport | None = None,
        retry: Retry | None = None,
        timeouts: Timeouts | None = None,
        keys: Mapping[str, str] | None = None,
        urls: Mapping[str, str] | None = None,
        on_request: OnRequest | None = None,
        on_reply: OnReply | None = None,
    ) -> None:
        if transport is not None and not hasattr(transport, "aclose"):
            name = type(transport).__name__
            message = f"{name} waits, and an AsyncClient awaits; use Async{name}"
            raise UsageError(message)
        super().__init__(
            policy=policy,
            transport=transport,
            retry=retry,
            timeouts=timeouts,
            keys=keys,
            urls=urls,
            on_request=on_request,
            on_reply=on_reply,
        )

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
        """Return a model's whole answer; its tool calls, if any, are for the caller to run.

        With ``mcp``, ``approve`` or ``max_steps`` they are run, and the last answer is returned.
        """
        if not RUNNING.isdisjoint(options):
            from .conversation.chat import AsyncChat  # noqa: PLC0415 - it needs a client itself

            kept, rest = chat_options(options)
            async with AsyncChat(model, thinking, client=self, **kept) as chat:
                chat.refusals = tuple(options.get("refusals", ()))
                return await chat.send(prompt, **rest)
        return await self.stream(model, prompt, thinking, **options).read_all()

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
        """Return a model's answer as it comes; nothing is sent before the first event is read."""
        return AsyncStream(
            self._asked(model, prompt, thinking, options),
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
        """Give many asks to their providers' own batch services, at their discount.

        An ask is a prompt, or a mapping with ``prompt`` and perhaps ``id``, ``model``, ``thinking``
        and options of its own; the rest comes from here. ``wait`` on what is returned gives the
        answers by id. The batch is on disk before it is sent: ``open_batch`` with its id goes on in
        another process. ``owner`` is what it is for, and is kept with it.
        """
        from .batches import AsyncBatch  # noqa: PLC0415 - few programs make batches

        way = self._open_transport()
        draft = self._drafted(asks, model, thinking, options)
        file = draft.save(owner=owner, offline=not way.needs_key)
        return await AsyncBatch(file, self._counter(), way).send()

    def open_batch(self, id: str) -> "AsyncBatch":
        """Return a batch that this or another process has begun, by its id; nothing is sent."""
        from ..batch import BatchFile  # noqa: PLC0415 - as above
        from .batches import AsyncBatch  # noqa: PLC0415 - as above

        return AsyncBatch(BatchFile.open(id), self._counter(), self._open_transport())

    async def aclose(self) -> None:
        """Close every connection of this event loop; nothing can be asked after that."""
        self._closed = True
        if self._transport is not None:
            await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _over_network(self) -> AsyncTransport:
        from ..transport import AsyncHttpTransport  # noqa: PLC0415 - an emulator needs none

        return AsyncHttpTransport()
