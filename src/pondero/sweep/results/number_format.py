"""Formats of numbers in the table, the findings, the plot and the report."""

from decimal import Decimal
from string import ascii_uppercase


def percent(share: float | None) -> str:
    """Return a share as a percentage."""
    return "-" if share is None else f"{100 * share:.1f}%"


def format_share_points(difference: float | None) -> str:
    """Return a difference of two shares in percentage points."""
    return "-" if difference is None else f"{100 * difference:+.1f}"


def format_cost(amount: Decimal | float | None) -> str:
    """Return dollars; small amounts with more digits."""
    if amount is None:
        return "-"
    value = float(amount)
    digits = 2 if value >= 1 or not value else 4 if value >= 0.001 else 6
    return f"${value:,.{digits}f}"


def letter_of(number: int) -> str:
    """Return the letter of a model: A, B and so on to Z, then AA."""
    before, at = divmod(number, len(ascii_uppercase))
    return (letter_of(before - 1) if before else "") + ascii_uppercase[at]


def many(count: int, noun: str) -> str:
    """Return a noun in singular or plural."""
    return noun if count == 1 else f"{noun}s"
