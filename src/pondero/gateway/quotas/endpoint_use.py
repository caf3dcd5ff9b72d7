"""Counts what endpoints use that are no conversation, for the same quotas and the same records.

Where a body limits the use (a token has a byte or more), that is reserved before and counted if the
answer does not say less. Where only the answer says it, a budget that is spent admits nothing.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from ...canon import MediaKind, Usage
from ...catalog import Provider
from ...dialects import AnswerUsage, Endpoint
from ...errors import PermissionDenied
from ...store import assume_media, price_usage
from ..server.context import GatewayContext
from .admission import Admission, list_uses, make_quota_error
from .quota import BILLION, Quota, QuotaUse, Unit, counts_cost
from .usage_meter import Figures, UsageMeter


class EndpointCall(Struct):
    """One request to a service; ``most`` counts if its answer says nothing.

    ``written``: tokens that the text of the answer has at least. ``media``: what the prompt may
    have besides text.
    """

    provider: Provider
    model: str | None
    most: Usage | None
    found: AnswerUsage = AnswerUsage()
    is_free: bool = False
    written: int = 0
    media: Collection[MediaKind] = ()

    def find_usage(self) -> tuple[Usage, bool]:
        """Return the tokens, and whether they are estimated."""
        if self.is_free:
            return Usage(), False
        if self.found.usage is not None:
            return self.found.usage, False
        if self.most is None:
            return Usage(), False
        most = self.most
        if self.written > (most.output or 0):  # the service did not keep to the limit
            most = replace(most, output=self.written)
        return self.assume_media(most, self.media), True

    def assume_media(self, usage: Usage, media: Collection[MediaKind]) -> Usage:
        """Return an estimate in which all tokens are of the medium that costs most."""
        if self.model is None:
            return usage
        return assume_media(self.provider.name, self.model, usage, media=media)

    def find_price(self) -> Decimal | None:
        """Return the cost in dollars; None if no price is known."""
        usage, _ = self.find_usage()
        if self.is_free or self.model is None or not usage.known_total:
            return None
        return price_usage(self.provider.name, self.model, usage)


class EndpointMeter(UsageMeter):
    """All calls of services for one request, or all answers of one socket."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[EndpointCall] = []

    async def begin_call(
        self,
        provider: Provider,
        model: str | None,
        most: Usage | None,
        *,
        media: Collection[MediaKind] = (),
    ) -> EndpointCall:
        """Begin a call; raises QuotaSpent if earlier ones have used up what was reserved."""
        if self.extend is not None and any(not call.is_free for call in self.made):
            await self.extend()
        call = EndpointCall(provider, model, most, media=media)
        self.made.append(call)
        if self.begun is not None:
            self.begun()
        return call

    def find_figures(self) -> Figures:
        """Return what all calls took together."""
        found = [call.find_usage() for call in self.made]
        prices = [price for call in self.made if (price := call.find_price()) is not None]
        usage = Usage()
        for each, _ in found:
            usage = each if usage == Usage() else usage + each if each != Usage() else usage
        return Figures(
            usage=usage,
            estimated=any(is_estimated for _, is_estimated in found),
            cost=sum(prices, Decimal(0)) if prices else None,
            calls=len(self.made),
        )

    def find_most(self) -> Figures:
        """Return what all calls take if nothing more becomes known, without a price."""
        figures = self.find_figures()
        return Figures(usage=figures.usage, estimated=True, calls=figures.calls)

    @property
    def units(self) -> str | None:
        """Return what was counted in other units than tokens."""
        return " ".join(each.found.units for each in self.made if each.found.units) or None


async def admit_endpoint(
    gateway: GatewayContext,
    id: str,
    *,
    quotas: Sequence[Quota],
    endpoint: Endpoint,
    call: EndpointCall,
) -> Admission:
    """Reserve the most that a request can use; raises RateLimited, QuotaSpent, PermissionDenied."""
    if not quotas:
        return Admission(gateway, id, ())
    amounts = _find_amounts(endpoint, call, {quota.unit for quota in quotas})
    uses = list_uses(quotas, amounts)
    full = await gateway.state.reserve(id, uses)
    if full is not None:
        raise make_quota_error(full, gateway.now(), "send less at once, or let it write less")
    return Admission(gateway, id, uses)


async def admit_socket(
    gateway: GatewayContext,
    id: str,
    *,
    quotas: Sequence[Quota],
    endpoint: Endpoint,
    call: EndpointCall,
) -> Admission:
    """Check that no quota is spent, and reserve the request alone; raises as ``admit_endpoint``.

    A token that each open socket held would come back when one is rejected, and let an answer of
    another begin.
    """
    counted = [quota for quota in quotas if quota.unit != "requests"]
    room = await admit_endpoint(gateway, f"{id}.o", quotas=counted, endpoint=endpoint, call=call)
    room.settle(Figures())
    return await _admit_one(gateway, id, quotas, "open fewer sockets")


async def _admit_one(
    gateway: GatewayContext, id: str, quotas: Sequence[Quota], advice: str
) -> Admission:
    """Reserve one request and nothing of other quotas; raises RateLimited."""
    uses = [QuotaUse(quota, 1 if quota.unit == "requests" else 0) for quota in quotas]
    full = await gateway.state.reserve(id, uses) if uses else None
    if full is not None:
        raise make_quota_error(full, gateway.now(), advice)
    return Admission(gateway, id, uses)


@asynccontextmanager
async def count_one_request(
    gateway: GatewayContext, id: str, quotas: Sequence[Quota]
) -> AsyncIterator[None]:
    """Count one request that no model answers, unless it raises; raises RateLimited itself."""
    room = await _admit_one(gateway, id, quotas, "write less often")
    took = Figures()
    try:
        yield
        took = Figures(calls=1)
    finally:
        room.settle(took)


def _find_amounts(endpoint: Endpoint, call: EndpointCall, units: set[Unit]) -> dict[Unit, int]:
    """Return the most of each unit; if it is not known, enough that a spent budget rejects it."""
    least = 0 if endpoint.counts == "nothing" else 1
    most = call.most
    if most is None:
        return {"requests": 1, "tokens": least, "thinking_tokens": least, "money": least}
    thinking = (most.output or 0) if endpoint.carries else 0
    cost = _price_most(call) if "money" in units else 0
    return {
        "requests": 1,
        "tokens": most.known_total,
        "thinking_tokens": thinking,
        "money": cost,
    }


def _price_most(call: EndpointCall) -> int:
    price = call.find_price()
    if price is not None:
        return ceil(price * BILLION)
    if call.most == Usage(0, output=0):
        return 0
    _need_price(call)
    return 0


def check_price(call: EndpointCall, quotas: Sequence[Quota]) -> None:
    """Raise PermissionDenied if a quota counts costs, and the model has no price."""
    one = replace(call, most=Usage(1, output=1))
    if counts_cost(quotas) and one.find_price() is None:
        _need_price(call)


def _need_price(call: EndpointCall) -> None:
    """Raise PermissionDenied, unless the service is the user's own server."""
    if call.provider.auth == "none":
        return
    message = (
        f"no price is known for {call.provider.name}:{call.model}, so a cost budget cannot be "
        "enforced"
    )
    raise PermissionDenied(message, status=403)
