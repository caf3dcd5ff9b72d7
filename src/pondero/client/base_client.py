"""What both clients have in common: settings, and a question made ready to send."""

from collections.abc import Iterable, Mapping
from time import time
from typing import TYPE_CHECKING, Generic, TypeVar, Unpack, cast

from ..errors import BadParameter, UsageError
from ..exchange import AsyncTransport, Prepared, Retry, Timeouts, Transport, add_headers, prepare
from ..handoff import Rejection
from ..store import Credentials, load_catalog
from ..thinking import Policy, ThinkingLike
from .dial import PolicyLike, check_parameters, resolve_and_plan, resolve_policy, warn_adjustments
from .fallbacks import Candidates, Models, in_turn, names_of
from .hooks import Hooks, OnReply, OnRequest
from .prompts.attachments import attachments_of, check_readable
from .prompts.messages import Prompt, parse_prompt
from .prompts.options import (
    RUNNING,
    Options,
    build_request,
    check_options,
    request_parameters,
    timeouts_of,
)
from .tools.tools import Tools

if TYPE_CHECKING:
    from ..batch import Draft
    from .batches import AskLike, BatchSession

T = TypeVar("T", bound=Transport | AsyncTransport)
V = TypeVar("V")


class BaseClient(Generic[T]):
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
        self._policy = resolve_policy(policy)
        self._transport = transport
        self._retry = retry or Retry()
        self._timeouts = timeouts or Timeouts()
        self._whole_timeouts = self._timeouts.whole()
        for name in (*(keys or ()), *(urls or ())):
            load_catalog().provider(name)
        self._credentials = Credentials(keys or {}, urls or {})
        self._hooks = self._checked(Hooks(on_request, on_reply))
        self._refusals: tuple[Rejection, ...] = ()
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
        check_options(options)
        if not RUNNING.isdisjoint(options):
            raise BadParameter("mcp, approve and max_steps need ask, or a Chat and its stream")
        policy = resolve_policy(options["policy"]) if "policy" in options else self._policy
        attachments = attachments_of(options.get("attachments"))
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

    def _counter(self) -> "BatchSession":
        from .batches import BatchSession  # noqa: PLC0415 - as above

        needed = self._transport is None or self._transport.needs_key
        return BatchSession(self._credentials, self._retry, needed=needed)

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
        check_options(options)
        names = names_of(model)
        once = _read_once(options)
        messages = parse_prompt(prompt, attachments_of(once.get("attachments")))
        policy = resolve_policy(options.get("policy", self._policy)).but(unsupported="adjust")
        effort = options.get("thinking_effort")
        entries = {
            name: resolve_and_plan(name, thinking, effort, asked=check_parameters(), policy=policy)[
                0
            ]
            for name in names
        }
        return Candidates(
            in_turn(names, entries.__getitem__, messages),
            lambda name: self.prepare(name, prompt, thinking, **once),
        )

    def _open_transport(self) -> T:
        """Return what moves the bytes, one for all threads; raises UsageError after closing."""
        if self._closed:
            name = type(self).__name__
            message = f"this {name} is closed; create a new one"
            raise UsageError(message)
        if self._transport is None:
            # Of threads that come here together, all get one transport; the others opened nothing.
            self._transport = self._made.setdefault("http", self._over_network())
        return self._transport

    def _over_network(self) -> T:
        """Return a new transport over HTTP; it opens no connection before it is used."""
        raise NotImplementedError

    def _remember(self, refusal: Rejection) -> None:
        if refusal not in self._refusals:
            self._refusals = (*self._refusals, refusal)


def _read_once(options: Options) -> Options:
    """Return the options with lists that can be read again for the next model."""
    again = {
        name: tuple(value)
        for name, value in (
            ("attachments", attachments_of(options.get("attachments"))),
            ("tools", Tools(options.get("tools") or ()).tools),
            ("refusals", options.get("refusals", ())),
        )
        if name in options
    }
    return cast("Options", {**options, **again})
