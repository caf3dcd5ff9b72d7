"""The base class of both clients: settings, and the preparation of requests."""

from collections.abc import Iterable, Mapping
from time import time
from typing import (
    TYPE_CHECKING,
    ClassVar,
    Generic,
    LiteralString,
    Never,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from msgspec.structs import replace

from ..catalog import ModelEntry, Provider
from ..errors import BadParameter, UsageError
from ..exchange import (
    AsyncTransport,
    KnownQuestions,
    Prepared,
    QuestionNeeds,
    Retry,
    Signing,
    Timeouts,
    Transport,
    add_cache_breakpoints,
    add_headers,
    count_cache_breakpoints,
    find_emulator,
    is_played,
    prepare,
)
from ..handoff import Rejection
from ..store import Credentials, load_catalog
from ..thinking import MYPY, KnownThinking, Policy, ThinkingLike, unknown_level
from .cache_cost import add_price
from .client_arguments import (
    check_keys,
    check_transport,
    check_urls,
    read_retry,
    read_timeouts,
    reject_unknown,
)
from .dial import PolicyLike, check_parameters, resolve_and_plan, resolve_policy, warn_adjustments
from .fallbacks import Candidates, Models, order_models, parse_models
from .hooks import Hooks, OnReply, OnRequest
from .prompts.attachments import check_readable, parse_attachments
from .prompts.messages import Prompt, parse_prompt
from .prompts.options import (
    NO_PARAMETERS,
    RUNNING,
    Options,
    build_request,
    check_options,
    find_plain_texts,
    parse_timeouts,
    request_parameters,
)
from .tools.tools import Tools

if TYPE_CHECKING:
    from ..batch import Draft, Steps
    from .batches import AskLike, BatchSession
    from .model_lists import ServiceModel
    from .probe_run import DiscoveryDraft, ProbeDraft
    from .token_counts import TokenCount

T = TypeVar("T", bound=Transport | AsyncTransport)
V = TypeVar("V")


class BaseClient(Generic[T]):
    """Settings, a transport, and the fields that services rejected before."""

    _is_async: ClassVar[bool] = False

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
        **unknown: Never,
    ) -> None:
        reject_unknown(unknown)
        self._policy = resolve_policy(policy)
        check_transport(transport, is_async=self._is_async)
        self._transport = transport
        self._given_retry = read_retry(retry)
        self._timeouts = read_timeouts(timeouts)
        self._whole_timeouts = self._timeouts.whole()
        self._credentials = Credentials(check_keys(keys), check_urls(urls))
        self._hooks = self._check_hooks(Hooks(on_request, on_reply))
        self._refusals: tuple[Rejection, ...] = ()
        self._questions = KnownQuestions()
        self._made: dict[str, T] = {}
        self._closed = False

    @property
    def policy(self) -> Policy:
        """Return the policy of questions that have none of their own."""
        return self._policy

    @property
    def _retry(self) -> Retry:
        retry = self._given_retry
        return replace(retry, waits=False) if is_played(self._transport) else retry

    def __repr__(self) -> str:
        return f"<pondero.{type(self).__name__} {self._policy!r}>"

    if not MYPY:

        @overload
        def prepare(
            self,
            model: str,
            prompt: Prompt,
            thinking: KnownThinking = None,
            **options: Unpack[Options],
        ) -> Prepared: ...
        @overload
        @unknown_level
        def prepare(
            self, model: str, prompt: Prompt, thinking: LiteralString, **options: Unpack[Options]
        ) -> Prepared: ...
        @overload
        def prepare(
            self, model: str, prompt: Prompt, thinking: ThinkingLike, **options: Unpack[Options]
        ) -> Prepared: ...

    def prepare(
        self, model: str, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
    ) -> Prepared:
        """Return the request, its plan and its manifest, without sending it."""
        check_options(options)
        if not RUNNING.isdisjoint(options):
            raise BadParameter("mcp, approve and max_steps need ask, or a Chat and its stream")
        if options.get("retries"):
            raise BadParameter("retries needs ask, or a Chat and its send: a stream is shown once")
        policy = resolve_policy(options["policy"]) if "policy" in options else self._policy
        level = (thinking, options.get("thinking_effort"))
        needed = self._transport is None or self._transport.needs_key
        texts = None if self._refusals else find_plain_texts(prompt, options)
        if texts is not None:
            entry, plan = resolve_and_plan(
                model, *level, asked=NO_PARAMETERS, policy=policy, offline=not needed
            )
            needs = QuestionNeeds(
                *self._find_address(entry, needed=needed),
                policy,
                system=texts.system,
                stream=options.get("stream", True),
            )
            prepared = self._questions.prepare(entry, texts.prompt, plan, needs=needs, at=time())
        else:
            attachments = parse_attachments(options.get("attachments"))
            request = build_request(prompt, options, attachments)
            asked = request_parameters(request, options)
            entry, plan = resolve_and_plan(
                model, *level, asked=asked, policy=policy, offline=not needed
            )
            if attachments:
                check_readable(attachments, entry, policy)
            if options.get("cache"):
                request = add_cache_breakpoints(entry, request)
            if breakpoints := count_cache_breakpoints(entry, request):
                plan = replace(plan, cache_breakpoints=breakpoints)
            url, key, emulator = self._find_address(entry, needed=needed)
            prepared = prepare(
                entry,
                request,
                plan,
                asked=asked,
                policy=policy,
                url=url,
                key=key,
                at=time(),
                refusals=(*self._refusals, *options.get("refusals", ())),
                emulator=emulator,
                last_prompt=options.get("last_prompt"),
            )
        if needed:
            prepared = add_price(entry, prepared)
        if headers := options.get("headers"):
            prepared = add_headers(prepared, headers)
        if policy.unsupported == "warn":
            notes = prepared.plan.adjustments
            warn_adjustments(
                prepared.plan, [note for note in notes if note not in plan.adjustments]
            )
        return prepared

    def _find_address(
        self, entry: ModelEntry, *, needed: bool
    ) -> tuple[str, str | None, str | None]:
        """Return where a model is asked, with which key, and what may answer in its place."""
        provider = entry.provider
        url = self._credentials.url(provider, needed=needed, model=entry.model)
        key = self._credentials.key(provider, needed=needed)
        return url, key, self._find_emulator(provider, url)

    def _find_emulator(self, provider: Provider, url: str = "") -> str | None:
        """Return what may answer in the place of a provider's service, for the handoff.

        ``url``: the address of a request, which is that of the service if it has no blanks.
        """
        if not url or "{" in provider.url:
            url = self._credentials.url(provider, needed=False)
        return find_emulator(self._transport, provider, url)

    def draft_batch(
        self,
        asks: "Iterable[AskLike]",
        model: str | None = None,
        thinking: ThinkingLike = None,
        **options: Unpack[Options],
    ) -> "Draft":
        """Return the requests of a batch, its chunks and its price, without sending it."""
        from .batches import make_draft  # noqa: PLC0415 - few programs make batches

        def prepare_one(name: str, prompt: Prompt, level: ThinkingLike, more: Options) -> Prepared:
            return self.prepare(name, prompt, level, **more)

        return make_draft(prepare_one, asks, model, thinking, options)

    def draft_probe(
        self,
        model: str,
        levels: Iterable[str] | None = None,
        *,
        questions: Iterable[str] | None = None,
    ) -> "ProbeDraft":
        """Return what a probe will ask and the most it can cost, without sending anything."""
        from .probe_run import make_draft  # noqa: PLC0415 - few programs probe

        return make_draft(model, levels, questions, self._policy)

    def draft_discovery(self, model: str) -> "DiscoveryDraft":
        """Return the most that a discovery can ask and cost, without sending anything."""
        from .probe_run import make_discovery_draft  # noqa: PLC0415 - as above

        return make_discovery_draft(model)

    def _make_probe(
        self,
        model: "str | ProbeDraft",
        levels: Iterable[str] | None,
        questions: Iterable[str] | None,
    ) -> "ProbeDraft":
        if isinstance(model, str):
            return self.draft_probe(model, levels, questions=questions)
        return model

    def _begin_count(
        self, model: str, prompt: Prompt, thinking: ThinkingLike, options: Options
    ) -> "TokenCount | tuple[Signing | None, Steps[TokenCount]]":
        """Return an estimate, or how to sign the question for a count and its steps."""
        from .token_counts import count_steps, estimate_count, find_counter  # noqa: PLC0415 - rare

        check_options(options)
        once = _read_once(options)
        once["stream"] = False
        entry = load_catalog().entry(model)
        request = build_request(prompt, once, parse_attachments(once.get("attachments")))
        if (count := find_counter(entry)) is None:
            return estimate_count(entry, request)
        prepared = self.prepare(model, prompt, thinking, **once)
        steps = count_steps(entry, request, prepared, count, self._retry)
        return prepared.exchange.signing, steps

    def _begin_list(self, provider: str | None) -> "Steps[list[ServiceModel]]":
        from .model_lists import list_all_steps, list_steps  # noqa: PLC0415 - few programs list

        if provider is None:
            return list_all_steps(load_catalog().catalog, self._credentials, self._retry)
        found = load_catalog().provider(provider)
        needed = self._transport is None or self._transport.needs_key
        url = self._credentials.url(found, needed=needed)
        return list_steps(found, url, self._credentials.key(found, needed=needed), self._retry)

    def _make_draft(
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

    def _batch_session(self) -> "BatchSession":
        from .batches import BatchSession  # noqa: PLC0415 - as above

        needed = self._transport is None or self._transport.needs_key
        return BatchSession(self._credentials, self._retry, needed=needed)

    def _waits(self, options: Options) -> Timeouts:
        usual = self._timeouts if options.get("stream", True) else self._whole_timeouts
        return parse_timeouts(options["timeout"], usual) if "timeout" in options else usual

    def _check_hooks(self, hooks: Hooks) -> Hooks:
        """Return the hooks; raises UsageError for one that this client cannot call."""
        return hooks

    def _prepare_question(
        self, model: Models, prompt: Prompt, thinking: ThinkingLike, options: Options
    ) -> Prepared | Candidates:
        """Prepare a question for one model, or for several candidates."""
        if isinstance(model, str):
            return self.prepare(model, prompt, thinking, **options)
        check_options(options)
        names = parse_models(model)
        once = _read_once(options)
        messages = parse_prompt(prompt, parse_attachments(once.get("attachments")))
        policy = resolve_policy(options.get("policy", self._policy)).but(unsupported="adjust")
        effort = options.get("thinking_effort")
        entries = {
            name: resolve_and_plan(name, thinking, effort, asked=check_parameters(), policy=policy)[
                0
            ]
            for name in names
        }
        return Candidates(
            order_models(names, entries.__getitem__, messages),
            lambda name: self.prepare(name, prompt, thinking, **once),
        )

    def _open_transport(self) -> T:
        """Return the transport of all threads; raises UsageError after closing."""
        if self._closed:
            message = f"this {type(self).__name__} is closed; create a new one"
            raise UsageError(message)
        if self._transport is None:
            # setdefault, so that threads arriving together share one transport.
            self._transport = self._made.setdefault("http", self._make_http_transport())
        return self._transport

    def _make_http_transport(self) -> T:
        raise NotImplementedError

    def _remember(self, refusal: Rejection) -> None:
        if refusal not in self._refusals:
            self._refusals = (*self._refusals, refusal)


def _read_once(options: Options) -> Options:
    """Return the options with tuples for iterators, to be read again for the next model."""
    again = {
        name: tuple(value)
        for name, value in (
            ("attachments", parse_attachments(options.get("attachments"))),
            ("tools", Tools(options.get("tools") or ()).tools),
            ("refusals", options.get("refusals", ())),
        )
        if name in options
    }
    return cast("Options", {**options, **again})
