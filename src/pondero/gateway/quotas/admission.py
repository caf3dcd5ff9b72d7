"""Admits a request under the quotas of its key and its route.

Until ``settle`` the most it can use is reserved: the estimated prompt plus a quarter, and all
tokens the model may write. A rejected request counts nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil

from msgspec.structs import replace

from ...canon import Event, Reply, TextDelta, Thinking, ThinkingDelta, ToolDelta, Usage, UsageUpdate
from ...catalog import ModelEntry
from ...errors import PermissionDenied, QuotaSpent, RateLimited, ServiceError, UsageError
from ...store import has_prices, price_usage
from ..observability.receipt import Receipt
from ..requests.level_plan import plan_attempt
from ..requests.routed_request import RoutedRequest
from ..requests.token_count import CHARACTERS, estimate
from ..server.context import GatewayContext
from .quota import BILLION, Quota, QuotaUse, Unit, find_quotas
from .usage_counter import QuotaShortfall

_MARGIN = 1.25  # an estimated prompt may be this much larger
_UNKNOWN_OUTPUT = 32_000  # tokens, for a model with an unknown maximum
_WORDS: Mapping[Unit, str] = {
    "requests": "requests",
    "tokens": "tokens",
    "thinking_tokens": "thinking tokens",
    "money": "dollars",
}

Amounts = Mapping[Unit, int]


class Admission:
    """The use of one admitted request, as far as it is known."""

    def __init__(
        self, gateway: GatewayContext, id: str, quotas: Sequence[Quota], prompt: int
    ) -> None:
        self._gateway = gateway
        self._id = id
        self._quotas = quotas
        self._prompt = prompt
        self._begun = False
        self._thought = 0  # characters
        self._said = 0
        self._usage = Usage()
        self._reply: Reply | None = None

    def feed(self, events: Iterable[Event]) -> None:
        """Count streamed events, in case the stream breaks off."""
        if not self._quotas:
            return
        self._begun = True
        for event in events:
            match event:
                case TextDelta():
                    self._said += len(event.text)
                case ThinkingDelta():
                    self._thought += len(event.text)
                case ToolDelta():
                    self._said += len(event.json)
                case UsageUpdate():
                    self._usage = event.usage

    def finish(self, reply: Reply) -> None:
        """Take the whole answer."""
        self._reply = reply

    def settle(self, receipt: Receipt) -> None:
        """Replace the reservation by the actual use."""
        if self._quotas:
            took = self._count_use(receipt)
            uses = [QuotaUse(bound, took[bound.unit]) for bound in self._quotas]
            self._gateway.state.settle(self._id, uses)

    def _count_use(self, receipt: Receipt) -> Amounts:
        if receipt.tries == 0:
            return _NOTHING  # no model was asked
        usage = self._find_usage(receipt)
        price = None
        if receipt.provider is not None and receipt.model is not None:
            price = price_usage(receipt.provider, receipt.model, usage)
        return {
            "requests": 1,
            "tokens": usage.known_total,
            "thinking_tokens": usage.thinking or 0,
            "money": ceil((price or 0) * BILLION),
        }

    def _find_usage(self, receipt: Receipt) -> Usage:
        """Return the tokens of a request: as the service counted, else estimated from its text."""
        if self._reply is not None and (usage := self._reply.usage).known_total:
            thought = usage.thinking
            if thought is None:
                parts = self._reply.message.parts
                words = sum(len(part.text) for part in parts if isinstance(part, Thinking))
                thought = min(usage.output or 0, ceil(words / CHARACTERS))
            seen = replace(usage, input=usage.input or 0, thinking=thought)
            apart = usage.thinking or 0  # without a separate count, output includes it
            return replace(seen, output=(usage.output or 0) - (thought - apart))
        if not self._begun and receipt.end != "left":
            return Usage(input=0, output=0)  # services charge nothing for an error
        said, thought = ceil(self._said / CHARACTERS), ceil(self._thought / CHARACTERS)
        return replace(
            self._usage,
            input=self._usage.input if self._usage.input is not None else self._prompt,
            output=max(self._usage.output or 0, said),
            thinking=max(self._usage.thinking or 0, thought),
        )


_NOTHING: Amounts = {"requests": 0, "tokens": 0, "thinking_tokens": 0, "money": 0}


async def admit(gateway: GatewayContext, routed: RoutedRequest) -> Admission:
    """Reserve the most a request may use; raises RateLimited, QuotaSpent and PermissionDenied."""
    call = routed.call
    quotas = find_quotas(call.requester.key, routed.resolved.route)
    units = {bound.unit for bound in quotas}
    prompt = 0 if units <= {"requests"} else estimate(routed.request)
    if quotas:
        amounts = _reserve_amounts(routed, units, ceil(prompt * _MARGIN))
        uses = [_make_use(bound, amounts[bound.unit]) for bound in quotas]
        full = await gateway.state.reserve(call.id, uses)
        if full is not None:
            raise _make_rejection(full, gateway.now())
    return Admission(gateway, call.id, quotas, prompt)


def _make_use(bound: Quota, amount: int) -> QuotaUse:
    # A request that may take more than a limit has in all goes alone; a budget is never overdrawn.
    return QuotaUse(bound, min(amount, bound.most) if bound.rolling else amount)


def _reserve_amounts(routed: RoutedRequest, units: Iterable[Unit], prompt: int) -> Amounts:
    """Return the most a request can use of each unit, whichever of its models answers."""
    if not set(units) - {"requests"}:
        return {**_NOTHING, "requests": 1}
    tokens = thinking = cost = 0
    for entry in routed.resolved.entries:
        output, thought = _find_max_output(routed, entry)
        tokens, thinking = max(tokens, output), max(thinking, thought)
        if "money" in units:
            cost = max(cost, _price_in_billionths(entry, Usage(input=prompt, output=output)))
    return {
        "requests": 1,
        "tokens": prompt + tokens,
        "thinking_tokens": thinking,
        "money": cost,
    }


def _find_max_output(routed: RoutedRequest, entry: ModelEntry) -> tuple[int, int]:
    """Return the most tokens a model may write, and the most of them that are thinking."""
    asked = routed.request.max_tokens
    output = asked or entry.capability.max_output or _UNKNOWN_OUTPUT
    try:
        plan = plan_attempt(routed, entry)[1]
    except UsageError:  # the attempt will report it
        return output, output
    output = max(output, plan.budget or 0)
    if plan.will_think is False:
        return output, 0
    return output, output if plan.budget is None else min(plan.budget, output)


def _price_in_billionths(entry: ModelEntry, usage: Usage) -> int:
    price = price_usage(entry.provider.name, entry.model, usage)
    if price is not None:
        return ceil(price * BILLION)
    if entry.provider.auth == "none":  # the user's own server
        return 0
    cure = "" if has_prices() else "; prices come with pip install 'pondero[prices]'"
    message = f"no price is known for {entry.id}, so a cost budget cannot be enforced{cure}"
    raise PermissionDenied(message, status=403)


def _make_rejection(full: QuotaShortfall, now: float) -> ServiceError:
    quota, wait = full.bound, ceil(full.wait)
    most = f"{_format_amount(quota.unit, quota.most)} per {quota.per}"
    amount = _format_amount(quota.unit, full.amount)
    if quota.rolling:
        message = f"{quota.holder} may take {most}; there is room again in {wait} s"
        return RateLimited(message, status=429, retry_after=wait)
    if full.amount > quota.most:
        message = (
            f"{quota.holder} may take {most}, and this request alone may take {amount}; "
            "ask for fewer max_tokens, or a lower level"
        )
    else:
        restart = datetime.fromtimestamp(now, UTC) + timedelta(seconds=wait)
        message = (
            f"{quota.holder} may take {most}: {_format_amount(quota.unit, full.taken)} are taken, "
            f"and this request may take {amount}; the budget begins again at "
            f"{restart:%Y-%m-%d %H:%M} UTC"
        )
    return QuotaSpent(message, status=429, retry_after=wait)


def _format_amount(unit: Unit, amount: int) -> str:
    if unit == "money":
        return f"${amount / BILLION:,.2f}"
    return f"{amount:,} {_WORDS[unit]}"
