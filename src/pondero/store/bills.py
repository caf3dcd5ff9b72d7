"""The bill of an answer: what each try at it used, and what that costs.

The client and the batches make it, and ``Reply.cost`` reads it. Tries are priced one by one: each
may have gone to another model, and a long prompt can have a higher price.
"""

from datetime import UTC, datetime
from decimal import Decimal
from functools import cache

from msgspec import Struct

from ..canon import Cost, Reply, Usage
from .prices import has_prices, price_usage

NOTHING_PAID = "the emulator or a recording answered, and nothing is paid"
NO_PRICES = "prices come with the extra prices; 'pondero doctor' has the command that installs it"


class Charge(Struct, frozen=True):
    """The tokens of one try; ``at`` in seconds since 1970, ``factor``: the share of the price."""

    provider: str
    model: str
    usage: Usage
    at: float
    factor: str = "1"


class TokenBill(Struct, frozen=True):
    """The charges of an answer; not ``paid`` if no service answered."""

    charges: tuple[Charge, ...]
    paid: bool = True

    def __add__(self, other: "TokenBill") -> "TokenBill":
        """Return the bill of both."""
        return TokenBill(self.charges + other.charges, paid=self.paid or other.paid)

    def total(self) -> Cost | str:
        """Return the cost of all charges, or why it is unknown in one sentence."""
        return self.list_price() if self.paid else NOTHING_PAID

    def list_price(self) -> Cost | str:
        """Return the same by the list prices, also if nothing was paid."""
        if not has_prices():
            return NO_PRICES
        usd = Decimal(0)
        for charge in self.charges:
            price = price_usage(charge.provider, charge.model, charge.usage, at=charge.at)
            if price is None:
                return _explain_unknown(charge)
            usd += price * Decimal(charge.factor)
        day = datetime.fromtimestamp(self.charges[-1].at, UTC).date()
        return Cost(usd, _name_source(), day.isoformat())


def list_cost(reply: Reply) -> str | None:
    """Return the dollars of a reply by list prices, also of an emulator's; None if unknown."""
    found = reply.list_price
    return None if found is None else str(found)


def _explain_unknown(charge: Charge) -> str:
    usage, name = charge.usage, f"{charge.provider}:{charge.model}"
    if usage.input is None or usage.output is None or usage.known_total == 0:
        return f"{charge.provider} did not report the tokens of {name}"
    return f"{_name_source()} has no price of {name}"


@cache
def _name_source() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - 20 ms, and few ask for a cost

    return f"genai-prices {version('genai-prices')}"
