"""What a chat has used: tokens in disjoint buckets, money, and how full the context is."""

from decimal import Decimal

from msgspec import Struct

from ..canon import Usage


class Tally(Struct, frozen=True):
    """Sums since the thread was opened; ``last`` is the newest exchange's own usage.

    ``cost`` is None as soon as the price of one exchange is not known.
    """

    input: int = 0
    cached: int = 0
    thinking: int = 0
    output: int = 0
    exchanges: int = 0
    cost: Decimal | None = Decimal(0)
    last: Usage = Usage()
    last_cost: Decimal | None = None

    @property
    def context(self) -> int | None:
        """Return the tokens of the conversation so far; None before anything was counted."""
        return self.last.counted or None

    def plus(self, usage: Usage, cost: Decimal | None) -> "Tally":
        """Return the tally with one more exchange in it."""
        return Tally(
            input=self.input + (usage.input or 0) + (usage.cache_write or 0),
            cached=self.cached + (usage.cache_read or 0),
            thinking=self.thinking + (usage.thinking or 0),
            output=self.output + (usage.output or 0),
            exchanges=self.exchanges + 1,
            cost=None if cost is None or self.cost is None else self.cost + cost,
            last=usage,
            last_cost=cost,
        )


def money(cost: Decimal | None) -> str:
    """Return an amount as people read it; small ones keep their digits."""
    if cost is None:
        return "unknown"
    return f"${cost:,.2f}" if cost >= 1 or not cost else f"${cost:.4f}"
