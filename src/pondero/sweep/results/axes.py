"""Axes of reports and of the terminal's plot: the position of a value, and round ticks."""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

_WIDE = 12.0  # times the smallest value: above that the small ones would overlap
_LEAST = 1e-9  # of the largest value: smaller values are drawn at 0
_TICKS = 6
_STEPS = (1, 2, 2.5, 5, 10)


class Axis(Struct, frozen=True):
    """An axis from ``low`` to ``high``; with a ``unit`` it is logarithmic above that figure."""

    low: float
    high: float
    ticks: tuple[float, ...]
    unit: float | None = None

    def place(self, value: float) -> float:
        """Return the position of a value: 0 at the beginning, 1 at the end."""
        if self.unit is not None:
            return math.log1p(value / self.unit) / math.log1p(self.high / self.unit)
        return (value - self.low) / (self.high - self.low)


def amount_axis(values: Sequence[float]) -> Axis:
    """Return an axis from 0 for amounts; logarithmic if they differ many times over."""
    most = max(values, default=0.0) or 1.0
    positive = [value for value in values if value > 0]
    if positive and most / min(positive) > _WIDE:
        high, unit = most * 1.6, max(min(positive), most * _LEAST)
        zero = (0.0,) if min(values) <= 0 else ()
        return Axis(0.0, high, (*zero, *_powers(unit, high)), unit)
    return Axis(0.0, most * 1.12, tuple(_steps(0.0, most * 1.12)))


def share_axis(values: Iterable[float]) -> Axis:
    """Return an axis for accuracies: from a round value below the least up to 100 %."""
    least = min(values, default=0.0)
    low = max(0.0, math.floor(10 * (least - 0.01)) / 10)
    step = 0.1 if low < 0.8 else 0.05
    count = round((1 - low) / step)
    return Axis(low, 1.0, tuple(1 - step * n for n in range(0, count + 1, 2 if count > 6 else 1)))


def _powers(unit: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(unit)), math.ceil(math.log10(high)) + 1)
    tens = [10.0**power for power in powers]
    within = [value for value in tens if 0.9 * unit <= value <= high]
    if len(within) > 2:
        return within[:: math.ceil(len(within) / _TICKS)]
    both = (value for ten in tens for value in (ten, 3 * ten))
    return [value for value in both if 0.9 * unit <= value <= high]


def _steps(low: float, high: float) -> Iterable[float]:
    rough = (high - low) / 4
    scale = 10 ** math.floor(math.log10(rough))
    step = next(scale * each for each in _STEPS if scale * each >= rough)
    return (low + step * n for n in range(int((high - low) / step) + 1))


def tokens(value: float) -> str:
    """Return a count of tokens, thousands as k."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def format_axis_cost(value: float) -> str:
    """Return dollars with the digits that they have."""
    return f"${value:,.10f}".rstrip("0").rstrip(".")


def seconds(value: float) -> str:
    """Return a time; a short one in milliseconds."""
    return f"{value:g} s" if value >= 1 or not value else f"{value * 1000:g} ms"
