"""The request to one model: its level, its path, and its bytes.

The path: pass-through if the model speaks the client's API and nothing has to change.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Event, HttpResponse, Reply
from ...catalog import ModelEntry
from ...errors import PonderoError
from ...exchange import AsyncTransport, Exchange, WorkSteps, find_emulator, finish_steps
from ...thinking import Adjustment
from ..deployments.accounts import ModelTurn
from ..deployments.stored_homes import leave_out_bound
from ..levels.level_plan import plan_attempt
from ..levels.level_rules import AppliedLevel
from ..levels.stored_level import check_stored_level
from ..levels.thinking_edits import drop_thinking_edits
from ..quotas.hosted_tools import limit_tools, note_tools
from ..server.context import GatewayContext
from ..state.answer_cache import CachedAnswer
from .other_models import leave_out_askers
from .passthrough import Passthrough, readdress_request
from .portability import passes_answer
from .routed_request import ModelTarget, RoutedRequest, address_history, find_usual_limit
from .translation import Translation, translate_for_own_answer, translate_request
from .unchanged_body import can_pass_through


class AnswerConverter(Protocol):
    """Turns one answer of a model into the client's bytes: ``feed`` and ``end``, or ``whole``.

    ``shows_thinking``: the client can read thinking in these bytes, if the model shows it.
    """

    transport: AsyncTransport
    shows_thinking: bool

    @property
    def ping_headers(self) -> Mapping[str, str]:
        """Return the headers of a stream that begins before the model answers."""
        ...

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of a stream once the model answers."""
        ...

    def feed(self, events: list[Event]) -> bytes:
        """Return the bytes for these events."""
        ...

    async def end(self) -> bytes:
        """Return the bytes that end the stream."""
        ...

    def fail(self, response: HttpResponse, error: PonderoError) -> bytes:
        """Return the bytes that report an error inside the stream, written as ``response``."""
        ...

    async def whole(self, reply: Reply, body: bytes) -> HttpResponse:
        """Return an answer in one piece; ``body``: as the service sent it."""
        ...

    def make_cached_answers(self, reply: Reply) -> Sequence[CachedAnswer]:
        """Return the answers for the answer cache, the first one first."""
        ...


class Path(Struct, frozen=True):
    """How a request reaches a model and its answer returns; ``name`` is written to records.

    ``keeps_ids``: the ids in the answer are the service's own. ``stores``: the service stores the
    answer as the client asked.
    """

    name: str
    build: Callable[[GatewayContext, RoutedRequest, ModelTarget], WorkSteps[Exchange]]
    convert: Callable[[RoutedRequest, Exchange, AsyncTransport], AnswerConverter]
    keeps_ids: bool = True
    stores: bool = False


PASSTHROUGH = Path("passed", readdress_request, Passthrough, stores=True)
"""Both sides speak one dialect: the bytes stay, but for the level and the model's name."""
OWN_ANSWER = Path("fitted", translate_for_own_answer, Passthrough)
"""One dialect, and a request that must change: written from canon, but the answer's bytes stay."""
TRANSLATION = Path("translated", translate_request, Translation, keeps_ids=False)
"""Two dialects, or a history that must change: all bytes are written from canon."""


class Attempt(Struct, frozen=True, kw_only=True):
    """A request ready to send to one model; ``remembered`` is cached with its answer.

    ``turn`` says how long it may wait and try.
    """

    entry: ModelEntry
    exchange: Exchange
    level: AppliedLevel
    path: Path
    turn: ModelTurn
    remembered: Mapping[str, bytes] = {}


def make_attempt(
    gateway: GatewayContext, routed: RoutedRequest, entry: ModelEntry, turn: ModelTurn | None = None
) -> Attempt:
    """Return the request to one model; raises UsageError if the model cannot be asked so."""
    return finish_steps(make_attempt_in_steps(gateway, routed, entry, turn))


def make_attempt_in_steps(
    gateway: GatewayContext, routed: RoutedRequest, entry: ModelEntry, turn: ModelTurn | None = None
) -> WorkSteps[Attempt]:
    """Make the request to one model; a long one gives way between its steps."""
    routed = address_history(routed, entry)
    level, plan = plan_attempt(routed, entry)
    if routed.is_lowered:
        plan = replace(plan, adjustments=(*plan.adjustments, _note_limit(routed)))
    if routed.tool_uses is not None:
        plan = replace(plan, adjustments=(*plan.adjustments, note_tools(routed)))
    if routed.withheld:
        plan = replace(plan, adjustments=(*plan.adjustments, _note_withheld(routed)))
    url, key = gateway.address(entry.provider, entry.deployment)
    emulator = find_emulator(gateway.transport, entry.provider, url)
    target = ModelTarget(entry=entry, level=level, plan=plan, url=url, key=key, emulator=emulator)
    path = _choose_path(gateway, routed, target)
    yield
    exchange = yield from path.build(gateway, routed, target)
    if path is OWN_ANSWER and exchange.restores:
        path = TRANSLATION
    exchange = drop_thinking_edits(exchange, entry)
    exchange = leave_out_askers(limit_tools(exchange, routed, entry), routed, entry)
    if routed.bound:
        exchange = leave_out_bound(exchange, routed, entry)
    check_stored_level(exchange, routed, entry, level)
    turn = turn or ModelTurn(entry)
    return Attempt(entry=entry, exchange=exchange, level=level, path=path, turn=turn)


def _choose_path(gateway: GatewayContext, routed: RoutedRequest, target: ModelTarget) -> Path:
    if routed.writes_answer or routed.is_background:
        return TRANSLATION  # of an answer in the background, the id is known before it is asked for
    if can_pass_through(routed, target, gateway.conversations):
        if routed.hooked is None or not routed.hooked.has_guard:
            return PASSTHROUGH
        # The body may have fields that no hook was shown, so they are left out.
        return TRANSLATION if _names_kept(routed) else OWN_ANSWER
    return OWN_ANSWER if passes_answer(routed, target.entry) else TRANSLATION


def _names_kept(routed: RoutedRequest) -> bool:
    """Return whether an answer says what it continues, or that it is kept.

    A request that is written from canon does not ask the service for it.
    """
    said = routed.stored.said
    return said is not None and bool(said.is_stored or said.previous or said.conversation)


def _note_withheld(routed: RoutedRequest) -> Adjustment:
    """Return the adjustment for signatures that a client put into another answer."""
    why = "an answer has the signatures of another one too; only its own are sent"
    return Adjustment("signature_withheld", "history", len(routed.withheld), None, why)


def _note_limit(routed: RoutedRequest) -> Adjustment:
    """Return the adjustment for an output limit that a budget lowered, or made necessary."""
    asked, got = routed.parsed.request.max_tokens, routed.output_limit
    why = "a budget of this key or route covers no longer answer"
    if asked is None and got == find_usual_limit(routed.resolved.entries):
        why = "a budget needs a limit, and the model's own is not known"
    return Adjustment("budget_max_tokens", "max_tokens", asked, got, why)
