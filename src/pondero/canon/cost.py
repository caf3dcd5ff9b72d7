"""The cost of an answer; ``store`` works it out."""

from decimal import Decimal
from typing import Protocol

from msgspec import Struct


class Cost(Struct, frozen=True):
    """What an answer cost in dollars, by list prices of tokens: thinking is output.

    ``source``: who knows the prices; ``as_of``: the day whose prices these are. Searches and other
    tools that a service bills apart are not in it.

    >>> cost = pondero.ask("claude-opus-5/low", "What is 17 * 23?").cost
    >>> cost.usd, cost.source, cost.as_of
    (Decimal('0.00...'), 'genai-prices ...', '20...')
    """

    usd: Decimal
    source: str
    as_of: str

    def __str__(self) -> str:
        return f"{self.usd.normalize():f}"


class Bill(Protocol):
    """What the tries at an answer used, and where."""

    def total(self) -> Cost | str:
        """Return the cost of all of it, or why it is unknown in one sentence."""
        ...

    def list_price(self) -> Cost | str:
        """Return what a service would charge for all of it, or why that is unknown."""
        ...
