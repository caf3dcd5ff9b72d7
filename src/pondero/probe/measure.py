"""What is compared: an answer's thinking tokens, else all its output tokens, else its seconds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from .median_test import ALPHA, Bounds, bound_median, can_still_win

ProbeUnit = Literal["thinking_tokens", "output_tokens", "seconds"]
PairVerdict = Literal["live", "deaf", "undecided"]

LIVE = 1.2
"""A pair of levels is live if the typical ratio is shown to be above this."""
DEAF = 1.5
"""A pair is deaf if it is not live, and the typical ratio is shown to be below this."""

_UNITS: tuple[ProbeUnit, ...] = ("thinking_tokens", "output_tokens", "seconds")
# Added to both sides of a ratio: nothing against nothing is a tie, and 0 against 1 is not infinite.
_LEAST: Mapping[ProbeUnit, float] = {"thinking_tokens": 1, "output_tokens": 1, "seconds": 0.05}


class ProbeAnswer(Struct, frozen=True):
    """What an answer used; None: the service did not say. ``is_cut``: the output limit ended it.

    ``shows_thinking``: whether thinking was in it, readable or not. ``output_tokens`` has the
    thinking too.
    """

    seconds: float
    thinking_tokens: int | None = None
    output_tokens: int | None = None
    shows_thinking: bool = False
    is_cut: bool = False

    def size(self, unit: ProbeUnit) -> float | None:
        """Return how much it used in this unit; None if that is unknown."""
        found: float | None = getattr(self, unit)
        hidden = unit == "thinking_tokens" and not found and self.shows_thinking
        return None if hidden else found  # a count of 0 beside thinking is no count


def find_unit(answers: Iterable[ProbeAnswer]) -> ProbeUnit:
    """Return the finest unit that every answer has."""
    known = tuple(answers)
    return next(unit for unit in _UNITS if all(each.size(unit) is not None for each in known))


def compare_answers(
    lower: ProbeAnswer, higher: ProbeAnswer, unit: ProbeUnit
) -> tuple[float, float, float]:
    """Return the log of higher to lower as it was seen, and the least and the most it can be.

    An answer that was cut is longer than it seems, by an unknown amount.
    """
    least = _LEAST[unit]
    seen = math.log(((higher.size(unit) or 0) + least) / ((lower.size(unit) or 0) + least))
    return seen, -math.inf if lower.is_cut else seen, math.inf if higher.is_cut else seen


class LevelPair(Struct):
    """Two levels, and what is shown of how much more the higher one thinks."""

    lower: str
    higher: str
    alpha: float = ALPHA
    bounds: Bounds = Bounds()
    seen: tuple[float, ...] = ()
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()

    def look(self, logs: Sequence[tuple[float, float, float]]) -> None:
        """Take all that is known now; what was shown before stays shown."""
        self.seen = tuple(each[0] for each in logs)
        self.lows = tuple(each[1] for each in logs)
        self.highs = tuple(each[2] for each in logs)
        self.bounds = self.bounds.narrow(bound_median(self.lows, self.highs, self.alpha))

    @property
    def verdict(self) -> PairVerdict:
        """Return whether the levels differ, as far as it is shown."""
        if self.bounds.low > math.log(LIVE):
            return "live"
        return "deaf" if self.bounds.high < math.log(DEAF) else "undecided"

    def is_open(self, left: int) -> bool:
        """Return whether it is undecided, and ``left`` more questions could decide it."""
        if self.verdict != "undecided":
            return False
        upside_down = tuple(-value for value in self.highs)
        return can_still_win(self.lows, math.log(LIVE), left, self.alpha) or can_still_win(
            upside_down, -math.log(DEAF), left, self.alpha
        )

    @property
    def estimate(self) -> float | None:
        """Return the median ratio; None before there is one."""
        if not self.seen:
            return None
        ordered, middle = sorted(self.seen), len(self.seen) // 2
        if len(ordered) % 2:
            return math.exp(ordered[middle])
        return math.exp((ordered[middle - 1] + ordered[middle]) / 2)
