"""``Client`` and ``AsyncClient``: ask a model for a whole answer, a stream, or only the request."""

import atexit
from collections.abc import Iterable, Mapping
from time import time
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar, Unpack, cast, overload

from ..canon import Reply
from ..errors import BadParameter, UsageError
from ..exchange import AsyncTransport, Prepared, Retry, Timeouts, Transport, prepare, with_headers
from ..handoff import Refusal
from ..store import Credentials, lookup
from ..thinking import Policy, ThinkingLike
from .attachments import attachments_of, check_readable
from .dial import PolicyLike, asked_of, planned, policy_of, warn
from .fallbacks import Candidates, Models, in_turn, names_of
from .hooks import Hooks, OnReply, OnRequest
from .messages import Prompt, messages_of
from .options import (
    RUNNING,
    Options,
    Question,
    asked_in,
    chat_options,
    check,
    kind_of,
    request_of,
    timeouts_of,
)
from .stream import AsyncStream, Stream

if TYPE_CHECKING:
    from ..batch import Draft
    from .batches import AskLike, AsyncBatch, Batch, Counter

T = TypeVar("T", bound=Transport | AsyncTransport)
V = TypeVar("V")


class _Client(Generic[T]):
    """What both clients have: settings, a transport, and what models refused before."""

    def __init__(
        self,
        *,
        policy: PolicyLike = None,
        transport: T | None = None,
        retry: Retry | None = None,
        timeouts: Timeouts | None = None,
        keys: Mapping[str, str] | None = None,
        urls: Mapping[str, str] | None = None,
        on_request: OnRequest | None = None,
        on_reply: OnReply | None = None,
    ) -> None:
        self._policy = policy_of(policy)
        self._transport = transport
        self._retry = retry or Retry()
        self._timeouts = timeouts or Timeouts()
        self._whole_timeouts = self._timeouts.whole()
        for name in (*(keys or ()), *(urls or ())):
            lookup().provider(name)
        self._credentials = Credentials(keys or {}, urls or {})
        self._hooks = self._checked(Hooks(on_request, on_reply))
        self._refusals: tuple[Refusal, ...] = ()
        self._made: dict[str, T] = {}
        self._closed = False

    @property
    def policy(self) -> Policy:
        """Return the policy of every question that is asked without one."""
        return self._policy

    def __repr__(self) -> str:
        return f"<pondero.{type(self).__name__} {self._policy!r}>"

    def prepare(
        self, model: str, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
    ) -> Prepared:
        """Return what would be sent, the plan behind it, and the manifest; nothing is sent."""
        check(options)
        if not RUNNING.isdisjoint(options):
            raise BadParameter("mcp, approve and steps are for ask, or for a Chat and its stream")
        policy = policy_of(options["policy"]) if "policy" in options else self._policy
        attachments = attachments_of(options.get("attachments"))
        request = request_of(prompt, options, attachments)
        asked = asked_in(request, options.get("context"))
        effort = options.get("thinking_effort")
        entry, plan = planned(model, thinking, effort, asked=asked, policy=policy)
        if attachments:
            check_readable(attachments, entry, policy)
        needed = self._transport is None or self._transport.needs_key
        prepared = prepare(
            entry,
            request,
            plan,
            asked=asked,
            policy=policy,
            url=self._credentials.url(entry.provider, needed=needed),
            key=self._credentials.key(entry.provider, needed=needed),
            at=time(),
            refusals=(*self._refusals, *options.get("refusals", ())),
        )
        if headers := options.get("headers"):
            prepared = with_headers(prepared, headers)
        if policy.unsupported == "warn":
            notes = prepared.plan.adjustments
            warn(prepared.plan, [note for note in notes if note not in plan.adjustments])
        return prepared

    def draft_batch(
        self,
        asks: "Iterable[AskLike]",
        model: str | None = None,
        thinking: ThinkingLike = None,
        **options: Unpack[Options],
    ) -> "Draft":
        """Return what ``batch`` would send, how it is split and priced; nothing is sent."""
        from .batches import draft_of  # noqa: PLC0415 - few programs make batches

        def prepared(name: str, prompt: Prompt, wish: ThinkingLike, more: Options) -> Prepared:
            return self.prepare(name, prompt, wish, **more)

        return draft_of(prepared, asks, model, thinking, options)

    def _drafted(
        self,
        asks: "Iterable[AskLike] | Draft",
        model: str | None,
        thinking: ThinkingLike,
        options: Options,
    ) -> "Draft":
        from ..batch import Draft  # noqa: PLC0415 - as above

        if isinstance(asks, Draft):
            return asks
        return self.draft_batch(asks, model, thinking, **options)

    def _counter(self) -> "Counter":
        from .batches import Counter  # noqa: PLC0415 - as above

        needed = self._transport is None or self._transport.needs_key
        return Counter(self._credentials, self._retry, needed=needed)

    def _waits(self, options: Options) -> Timeouts:
        usual = self._timeouts if options.get("stream", True) else self._whole_timeouts
        return timeouts_of(options["timeout"], usual) if "timeout" in options else usual

    def _checked(self, hooks: Hooks) -> Hooks:
        """Return the hooks; raises UsageError for one that this client cannot call."""
        return hooks

    def _asked(
        self, model: Models, prompt: Prompt, thinking: ThinkingLike, options: Options
    ) -> Prepared | Candidates:
        """Return what is to be asked: of one model, or of several in turn."""
        if isinstance(model, str):
            return self.prepare(model, prompt, thinking, **options)
        names = names_of(model)
        once = _read_once(options)
        messages = messages_of(prompt, attachments_of(once.get("attachments")))
        policy = policy_of(options.get("policy", self._policy)).but(unsupported="adjust")
        effort = options.get("thinking_effort")
        entries = {
            name: planned(name, thinking, effort, asked=asked_of(), policy=policy)[0]
            for name in names
        }
        return Candidates(
            in_turn(names, entries.__getitem__, messages),
            lambda name: self.prepare(name, prompt, thinking, **once),
        )

    def _way(self) -> T:
        """Return what moves the bytes, one for all threads; raises UsageError after closing."""
        if self._closed:
            name = type(self).__name__
            message = f"this {name} is closed; make another, or close it when all is asked"
            raise UsageError(message)
        if self._transport is None:
            # Of threads that come here together, all get one transport; the others opened nothing.
            self._transport = self._made.setdefault("http", self._over_network())
        return self._transport

    def _over_network(self) -> T:
        """Return a new transport over HTTP; it opens no connection before it is used."""
        raise NotImplementedError

    def _remember(self, refusal: Refusal) -> None:
        if refusal not in self._refusals:
            self._refusals = (*self._refusals, refusal)


class Client(_Client[Transport]):
    """Asks models and waits for them; may be shared between threads.

    ``transport`` is how bytes move: over the network, or an emulator, or a cassette. ``keys``
    and ``urls`` are by provider; what is not there comes from each provider's own variables.
    ``on_request`` is called with each request before it is sent, ``on_reply`` with each whole
    answer; neither is given a key, and what they raise goes to whoever asked.

    >>> with pondero.Client(timeouts=pondero.Timeouts(first_byte=120)) as client:
    ...     client.ask(["claude-opus-5/high", "gpt-5.5/high"], "Is 3,599 prime?").text
    """

    @overload
    def ask(
        self,
        model: Models,
        prompt: Prompt,
        thinking: ThinkingLike = None,
        *,
        output: type[V],
        **options: Unpack[Question],
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

        With ``mcp``, ``approve`` or ``steps`` they are run, and the last answer is returned.

        >>> client.ask("claude-opus-5/high", "What does it show?", attachments=["chart.png"]).text
        """
        if not RUNNING.isdisjoint(options):
            from .chat import Chat  # noqa: PLC0415 - it needs a client itself

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
        **options: Unpack[Question],
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

        >>> with client.stream("claude-opus-5/high", "Why is the sky blue?") as stream:
        ...     for event in stream:
        ...         print(event)
        """
        return Stream(
            self._asked(model, prompt, thinking, options),
            self._way(),
            retry=self._retry,
            timeouts=self._waits(options),
            remember=self._remember,
            kind=kind_of(options.get("output")),
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

        way = self._way()
        draft = self._drafted(asks, model, thinking, options)
        file = draft.written(owner=owner, offline=not way.needs_key)
        return Batch(file, self._counter(), way).send()

    def open_batch(self, id: str) -> "Batch":
        """Return a batch that this or another process has begun, by its id; nothing is sent."""
        from ..batch import BatchFile  # noqa: PLC0415 - as above
        from .batches import Batch  # noqa: PLC0415 - as above

        return Batch(BatchFile.open(id), self._counter(), self._way())

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


class AsyncClient(_Client[AsyncTransport]):
    """Asks models and awaits them; the async twin of Client.

    >>> async with pondero.AsyncClient() as client:
    ...     (await client.ask("claude-opus-5/high", "What is 17 * 23?")).text
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
        **options: Unpack[Question],
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

        With ``mcp``, ``approve`` or ``steps`` they are run, and the last answer is returned.
        """
        if not RUNNING.isdisjoint(options):
            from .chat import AsyncChat  # noqa: PLC0415 - it needs a client itself

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
        **options: Unpack[Question],
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
            self._way(),
            retry=self._retry,
            timeouts=self._waits(options),
            remember=self._remember,
            kind=kind_of(options.get("output")),
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

        way = self._way()
        draft = self._drafted(asks, model, thinking, options)
        file = draft.written(owner=owner, offline=not way.needs_key)
        return await AsyncBatch(file, self._counter(), way).send()

    def open_batch(self, id: str) -> "AsyncBatch":
        """Return a batch that this or another process has begun, by its id; nothing is sent."""
        from ..batch import BatchFile  # noqa: PLC0415 - as above
        from .batches import AsyncBatch  # noqa: PLC0415 - as above

        return AsyncBatch(BatchFile.open(id), self._counter(), self._way())

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


@overload
def ask(
    model: Models,
    prompt: Prompt,
    thinking: ThinkingLike = None,
    *,
    output: type[V],
    **options: Unpack[Question],
) -> Reply[V]: ...
@overload
def ask(
    model: Models, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
) -> Reply: ...
def ask(
    model: Models, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
) -> Reply:
    """Return a model's whole answer, through a client that all such calls share.

    Of a list of models the first answers that can: the next is asked where one fails before
    anything was shown, and ``reply.adjustments`` say why.

    >>> pondero.ask("claude-opus-5/high", "What is 17 * 23?").text
    """
    return shared().ask(model, prompt, thinking, **options)


@overload
async def aask(
    model: Models,
    prompt: Prompt,
    thinking: ThinkingLike = None,
    *,
    output: type[V],
    **options: Unpack[Question],
) -> Reply[V]: ...
@overload
async def aask(
    model: Models, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
) -> Reply: ...
async def aask(
    model: Models, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
) -> Reply:
    """Return a model's whole answer, through an async client that all such calls share.

    >>> (await pondero.aask("claude-opus-5/high", "What is 17 * 23?")).text
    """
    return await ashared().ask(model, prompt, thinking, **options)


def _read_once(options: Options) -> Options:
    """Return the options with lists that can be read again for the next model."""
    again = {
        name: tuple(value)
        for name, value in (
            ("attachments", attachments_of(options.get("attachments"))),
            ("tools", options.get("tools", ())),
            ("refusals", options.get("refusals", ())),
        )
        if name in options
    }
    return cast("Options", {**options, **again})


def shared() -> Client:
    """Return the client that is used where none is given; closed when the process ends."""
    return _SHARED.get("waits") or _kept(_SHARED.setdefault("waits", Client()))


def ashared() -> AsyncClient:
    """Return the async client that is used where none is given; each loop closes what it opened."""
    return _ASHARED.get("awaits") or _ASHARED.setdefault("awaits", AsyncClient())


# Filled by setdefault, so that threads that come together get the same client.
_SHARED: dict[str, Client] = {}
_ASHARED: dict[str, AsyncClient] = {}


def _kept(client: Client) -> Client:
    atexit.register(client.close)
    return client
