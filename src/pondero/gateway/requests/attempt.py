"""The request to one model: its level, its path, and its bytes.

The path: pass-through if the model speaks the client's API and nothing has to change.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Event, HttpResponse, Reply
from ...catalog import ModelEntry
from ...errors import PonderoError
from ...exchange import AsyncTransport, Exchange
from ...thinking import Adjustment
from ..levels.level_plan import plan_attempt
from ..levels.level_rules import AppliedLevel
from ..levels.thinking_edits import drop_thinking_edits
from ..quotas.hosted_tools import limit_tools, note_tools
from ..server.context import GatewayContext
from ..state.answer_cache import CachedAnswer
from .passthrough import Passthrough, can_pass_through, readdress_request
from .routed_request import UNKNOWN_OUTPUT, ModelTarget, RoutedRequest
from .translation import Translation, translate_request


class AnswerConverter(Protocol):
    """Turns one answer of a model into the client's bytes: ``feed`` and ``end``, or ``whole``."""

    transport: AsyncTransport

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

    async def whole(self, reply: Reply) -> HttpResponse:
        """Return an answer in one piece."""
        ...

    def make_cached_answer(self, reply: Reply) -> CachedAnswer:
        """Return the answer for the answer cache."""
        ...


class Path(Struct, frozen=True):
    """How a request reaches a model and its answer returns; ``name`` is written to records."""

    name: str
    build: Callable[[GatewayContext, RoutedRequest, ModelTarget], Exchange]
    convert: Callable[[RoutedRequest, Exchange, AsyncTransport], AnswerConverter]


PASSTHROUGH = Path("passed", readdress_request, Passthrough)
"""Both sides speak one dialect: the bytes stay, but for the level and the model's name."""
TRANSLATION = Path("translated", translate_request, Translation)
"""Two dialects, or a history that must change: all bytes are written from canon."""


class Attempt(Struct, frozen=True, kw_only=True):
    """A request ready to send to one model."""

    entry: ModelEntry
    exchange: Exchange
    level: AppliedLevel
    path: Path


def make_attempt(gateway: GatewayContext, routed: RoutedRequest, entry: ModelEntry) -> Attempt:
    """Return the request to one model; raises UsageError if the model cannot be asked so."""
    level, plan = plan_attempt(routed, entry)
    if routed.is_lowered:
        plan = replace(plan, adjustments=(*plan.adjustments, _note_limit(routed)))
    if routed.tool_uses is not None:
        plan = replace(plan, adjustments=(*plan.adjustments, note_tools(routed)))
    if routed.withheld:
        plan = replace(plan, adjustments=(*plan.adjustments, _note_withheld(routed)))
    url, key = gateway.address(entry.provider)
    path = PASSTHROUGH if can_pass_through(routed, entry) else TRANSLATION
    target = ModelTarget(entry=entry, level=level, plan=plan, url=url, key=key)
    exchange = drop_thinking_edits(path.build(gateway, routed, target), entry)
    exchange = limit_tools(exchange, routed, entry)
    return Attempt(entry=entry, exchange=exchange, level=level, path=path)


def _note_withheld(routed: RoutedRequest) -> Adjustment:
    """Return the adjustment for signatures that a client put into another answer."""
    why = "an answer has the signatures of another one too; only its own are sent"
    return Adjustment("signature_withheld", "history", len(routed.withheld), None, why)


def _note_limit(routed: RoutedRequest) -> Adjustment:
    """Return the adjustment for an output limit that a budget lowered, or made necessary."""
    asked, got = routed.parsed.request.max_tokens, routed.output_limit
    why = "a budget of this key or route covers no longer answer"
    if asked is None and got == UNKNOWN_OUTPUT:
        why = "a budget needs a limit, and the model's own is not known"
    return Adjustment("budget_max_tokens", "max_tokens", asked, got, why)
