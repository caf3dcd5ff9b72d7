"""The base class of both clients: settings, and the preparation of requests."""

from collections.abc import Iterable, Mapping
from time import time
from typing import TYPE_CHECKING, Generic, TypeVar, Unpack, cast

from ..errors import BadParameter, UsageError
from ..exchange import AsyncTransport, Prepared, Retry, Timeouts, Transport, add_headers, prepare
from ..handoff import Rejection
from ..store import Credentials, load_catalog
from ..thinking import Policy, ThinkingLike
from .dial import PolicyLike, check_parameters, resolve_and_plan, resolve_policy, warn_adjustments
from .fallbacks import Candidates, Models, order_models, parse_models
from .hooks import Hooks, OnReply, OnRequest
from .prompts.attachments import check_readable, parse_attachments
from .prompts.messages import Prompt, parse_prompt
from .prompts.options import (
    RUNNING,
    Options,
    build_request,
    check_options,
    parse_timeouts,
    request_parameters,
)
from .tools.tools import Tools

if TYPE_CHECKING:
    from ..batch import Draft
    from .batches import AskLike, BatchSession

T = TypeVar("T", bound=Transport | AsyncTransport)
V = TypeVar("V")


class BaseClient(Generic[T]):
    """Settings, a transport, and the fields that services rejected before."""

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
        self._policy = resolve_policy(policy)
        self._check_transport(transport)
        self._transport = transport
        self._retry = retry or Retry()
        self._timeouts = timeouts or Timeouts()
        self._whole_timeouts = self._timeouts.whole()
        for name in (*(keys or ()), *(urls or ())):
            load_catalog().provider(name)
        self._credentials = Credentials(keys or {}, urls or {})
        self._hooks = self._check_hooks(Hooks(on_request, on_reply))
        self._refusals: tuple[Rejection, ...] = ()
        self._made: dict[str, T] = {}
        self._closed = False

    @property
    def policy(self) -> Policy:
        """Return the policy of questions that have none of their own."""
        return self._policy

    def __repr__(self) -> str:
        return f"<pondero.{type(self).__name__} {self._policy!r}>"

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
        attachments = parse_attachments(options.get("attachments"))
        request = build_request(prompt, options, attachments)
        asked = request_parameters(request, options.get("context"))
        effort = options.get("thinking_effort")
        entry, plan = resolve_and_plan(model, thinking, effort, asked=asked, policy=policy)
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
            prepared = add_headers(prepared, headers)
        if policy.unsupported == "warn":
            notes = prepared.plan.adjustments
            warn_adjustments(
                prepared.plan, [note for note in notes if note not in plan.adjustments]
            )
        return prepared

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

    def _check_transport(self, transport: T | None) -> None:
        """Raise UsageError for a transport that this client cannot call."""

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
