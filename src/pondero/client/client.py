"""``Client`` and ``AsyncClient``: whole answers, streams and batches of models."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, LiteralString, Self, Unpack, overload

from ..canon import Reply, V
from ..exchange import AsyncTransport, Transport
from ..thinking import MYPY, KnownThinking, ThinkingLike, unknown_level
from .base_client import BaseClient
from .fallbacks import Models
from .hooks import Hooks
from .prompts.messages import Prompt
from .prompts.options import (
    RUNNING,
    Options,
    chat_options,
    correct_prompt,
    take_retries,
)
from .prompts.output import add_spent, find_correction, output_kind
from .stream import AsyncStream, Stream, sign_async_requests, sign_requests

if TYPE_CHECKING:
    from ..batch import Draft
    from ..probe import ProbeResult
    from .batches import AskLike, AsyncBatch, Batch
    from .model_lists import ServiceModel
    from .probe_run import DiscoveryResult, ProbeDraft, ProbeProgress
    from .token_counts import TokenCount


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

    if not MYPY:

        @overload
        def ask(
            self,
            model: Models,
            prompt: Prompt,
            thinking: KnownThinking = None,
            **options: Unpack[Options[V]],
        ) -> Reply[V]: ...
        @overload
        @unknown_level
        def ask(
            self,
            model: Models,
            prompt: Prompt,
            thinking: LiteralString,
            **options: Unpack[Options[V]],
        ) -> Reply[V]: ...
        @overload
        def ask(
            self,
            model: Models,
            prompt: Prompt,
            thinking: ThinkingLike,
            **options: Unpack[Options[V]],
        ) -> Reply[V]: ...

    def ask(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options[V]],
    ) -> Reply[V]:
        """Return a model's whole answer; the caller runs its tool calls.

        With ``mcp``, ``approve`` or ``max_steps`` the client runs them and returns the last answer.
        Nothing is shown before it returns: a temporary failure anywhere in the answer is tried
        again, or goes to the next model of a list.

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

    if not MYPY:

        @overload
        def stream(
            self,
            model: Models,
            prompt: Prompt,
            thinking: KnownThinking = None,
            **options: Unpack[Options[V]],
        ) -> Stream[V]: ...
        @overload
        @unknown_level
        def stream(
            self,
            model: Models,
            prompt: Prompt,
            thinking: LiteralString,
            **options: Unpack[Options[V]],
        ) -> Stream[V]: ...
        @overload
        def stream(
            self,
            model: Models,
            prompt: Prompt,
            thinking: ThinkingLike,
            **options: Unpack[Options[V]],
        ) -> Stream[V]: ...

    def stream(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options[V]],
    ) -> Stream[V]:
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
        return Batch(file, self._batch_session(), transport, draft.kinds.get).send()

    def open_batch(self, id: str, *, output: Any = None) -> "Batch":
        """Open a batch of this or another process by its id, without sending anything.

        ``output`` is the type of the values of its answers, which is not stored.
        """
        from ..batch import BatchFile  # noqa: PLC0415 - as above
        from .batches import Batch  # noqa: PLC0415 - as above

        kind, transport = output_kind(output), self._open_transport()
        return Batch(BatchFile.open(id), self._batch_session(), transport, lambda _id: kind)

    def count_tokens(
        self, model: str, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
    ) -> "TokenCount":
        """Return how many tokens a question has: by the service's count, else an estimate.

        It takes what ``ask`` takes: the system prompt, tools and attachments are counted too.

        >>> client.count_tokens("claude-opus-5", "What is 17 * 23?", system="Be brief.").tokens
        10
        """
        from ..batch import run_steps  # noqa: PLC0415 - few programs count

        begun = self._begin_count(model, prompt, thinking, options)
        if not isinstance(begun, tuple):
            return begun
        transport = sign_requests(self._open_transport(), begun[0])
        return run_steps(begun[1], transport, self._waits(options))

    def models(self, provider: str | None = None) -> "list[ServiceModel]":
        """Return the service's own list of its models, with the catalog's facts next to it.

        Without a provider, the lists of all whose keys are known, one after the other.
        ``pondero.models`` has the models of the catalog, and sends nothing.

        >>> [model.name for model in client.models("anthropic") if not model.known]
        []
        """
        from ..batch import run_steps  # noqa: PLC0415 - few programs list models

        return run_steps(self._begin_list(provider), self._open_transport(), self._timeouts)

    def probe(
        self,
        model: "str | ProbeDraft",
        levels: Iterable[str] | None = None,
        *,
        questions: Iterable[str] | None = None,
        max_cost: float | None = None,
        progress: "ProbeProgress | None" = None,
    ) -> "ProbeResult":
        """Return whether the levels of a model have an effect on this route.

        It asks short questions at several levels and compares how much the model thinks; it stops
        when the answer is known. ``max_cost``: dollars that it never passes. ``draft_probe`` says
        first what it can cost. ``progress`` is called with the asks so far and the most there are.

        >>> print(client.probe("claude-opus-5", ["low", "high"]))
        live: high thinks 4.7x as much as low (4.7-4.7)
        """
        from .probe_run import ProbeRun, run_probe  # noqa: PLC0415 - few programs probe

        draft = self._make_probe(model, levels, questions)
        run = ProbeRun(draft, self._policy, max_cost, progress)
        return run_probe(run, self.ask)

    def discover(self, model: str, *, max_cost: float | None = None) -> "DiscoveryResult":
        """Return the row of models.toml for a model that the catalog does not know.

        It tries the thinking fields of its provider's API, the safest first, in at most 24 short
        requests, and reads the rejections.

        >>> client.discover("llamacpp:mine").row["efforts"]
        ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']
        """
        from .probe_run import DiscoveryRun, run_discovery  # noqa: PLC0415 - as above

        return run_discovery(DiscoveryRun(model, self._policy, max_cost), self.ask)

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

    _is_async = True

    if not MYPY:

        @overload
        async def ask(
            self,
            model: Models,
            prompt: Prompt,
            thinking: KnownThinking = None,
            **options: Unpack[Options[V]],
        ) -> Reply[V]: ...
        @overload
        @unknown_level
        async def ask(
            self,
            model: Models,
            prompt: Prompt,
            thinking: LiteralString,
            **options: Unpack[Options[V]],
        ) -> Reply[V]: ...
        @overload
        async def ask(
            self,
            model: Models,
            prompt: Prompt,
            thinking: ThinkingLike,
            **options: Unpack[Options[V]],
        ) -> Reply[V]: ...

    async def ask(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options[V]],
    ) -> Reply[V]:
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

    if not MYPY:

        @overload
        def stream(
            self,
            model: Models,
            prompt: Prompt,
            thinking: KnownThinking = None,
            **options: Unpack[Options[V]],
        ) -> AsyncStream[V]: ...
        @overload
        @unknown_level
        def stream(
            self,
            model: Models,
            prompt: Prompt,
            thinking: LiteralString,
            **options: Unpack[Options[V]],
        ) -> AsyncStream[V]: ...
        @overload
        def stream(
            self,
            model: Models,
            prompt: Prompt,
            thinking: ThinkingLike,
            **options: Unpack[Options[V]],
        ) -> AsyncStream[V]: ...

    def stream(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        **options: Unpack[Options[V]],
    ) -> AsyncStream[V]:
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
        return await AsyncBatch(file, self._batch_session(), transport, draft.kinds.get).send()

    def open_batch(self, id: str, *, output: Any = None) -> "AsyncBatch":
        """Open a batch of this or another process by its id, without sending anything.

        ``output`` is the type of the values of its answers, which is not stored.
        """
        from ..batch import BatchFile  # noqa: PLC0415 - as above
        from .batches import AsyncBatch  # noqa: PLC0415 - as above

        kind, transport = output_kind(output), self._open_transport()
        return AsyncBatch(BatchFile.open(id), self._batch_session(), transport, lambda _id: kind)

    async def count_tokens(
        self, model: str, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
    ) -> "TokenCount":
        """Return how many tokens a question has, as ``Client.count_tokens`` does."""
        from ..batch import arun_steps  # noqa: PLC0415 - few programs count

        begun = self._begin_count(model, prompt, thinking, options)
        if not isinstance(begun, tuple):
            return begun
        transport = sign_async_requests(self._open_transport(), begun[0])
        return await arun_steps(begun[1], transport, self._waits(options))

    async def models(self, provider: str | None = None) -> "list[ServiceModel]":
        """Return the service's own list of its models, as ``Client.models`` does."""
        from ..batch import arun_steps  # noqa: PLC0415 - few programs list models

        return await arun_steps(self._begin_list(provider), self._open_transport(), self._timeouts)

    async def probe(
        self,
        model: "str | ProbeDraft",
        levels: Iterable[str] | None = None,
        *,
        questions: Iterable[str] | None = None,
        max_cost: float | None = None,
        progress: "ProbeProgress | None" = None,
    ) -> "ProbeResult":
        """Return whether the levels of a model have an effect, as ``Client.probe`` does."""
        from .probe_run import ProbeRun, arun_probe  # noqa: PLC0415 - few programs probe

        draft = self._make_probe(model, levels, questions)
        run = ProbeRun(draft, self._policy, max_cost, progress)
        return await arun_probe(run, self.ask)

    async def discover(self, model: str, *, max_cost: float | None = None) -> "DiscoveryResult":
        """Return the row of models.toml for an unknown model, as ``Client.discover`` does."""
        from .probe_run import DiscoveryRun, arun_discovery  # noqa: PLC0415 - as above

        return await arun_discovery(DiscoveryRun(model, self._policy, max_cost), self.ask)

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
