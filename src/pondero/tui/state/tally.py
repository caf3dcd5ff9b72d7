"""What a chat has used: tokens in disjoint buckets, money, and how full the context is."""

from decimal import Decimal

from msgspec import Struct

from ...canon import Usage


class Tally(Struct, frozen=True):
    """Sums over a thread; ``last`` is the newest exchange's own usage.

    A count is None while no service has said it. ``cost`` is None as soon as the price of one
    exchange is not known.
    """

    input: int | None = None
    cached: int | None = None
    thinking: int | None = None
    output: int | None = None
    used: bool = False
    cost: Decimal | None = Decimal(0)
    last: Usage = Usage()
    last_cost: Decimal | None = None

    @property
    def context(self) -> int | None:
        """Return the tokens of the conversation so far; None before anything was counted."""
        return self.last.counted or None

    @property
    def all_input(self) -> int | None:
        """Return what was read, from a cache or not."""
        return _sum(self.input, self.cached)

    def plus(self, usage: Usage, cost: Decimal | None) -> "Tally":
        """Return the tally with one more exchange in it."""
        return Tally(
            input=_sum(self.input, usage.input, usage.cache_write),
            cached=_sum(self.cached, usage.cache_read),
            thinking=_sum(self.thinking, usage.thinking),
            output=_sum(self.output, usage.output),
            used=True,
            cost=None if cost is None or self.cost is None else self.cost + cost,
            last=usage,
            last_cost=cost,
        )


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def money(cost: Decimal | None) -> str:
    """Return an amount as people read it; small ones keep their digits."""
    if cost is None:
        return "unknown"
    return f"${cost:,.2f}" if cost >= 1 or not cost else f"${cost:.4f}"
