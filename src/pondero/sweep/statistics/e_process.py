"""The e-process of one claim: a capital that bets, unit by unit, that an arm is good enough.

If the arm is worse than the margin, the capital cannot grow on average, so it reaches ``1 / alpha``
with a probability of at most ``alpha``, whenever one stops, resumes or adds units (Ville 1939).
Each bet uses earlier units only. The constants change how soon a good arm wins, never that bound.
"""

import math
from collections.abc import Sequence

from msgspec import Struct

from .intervals import NORMAL

ALPHA = 0.05
"""How often a sweep may call an arm enough that is not."""

_RESERVE = 0.1  # the share of the capital that bets slowly, and is left for more questions
_TINY = 1e-100
_ROOT = math.sqrt(2)


def _tail(z: float) -> float:
    return math.erfc(z / _ROOT) / 2


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


class EProcess(Struct, kw_only=True):
    """Bets that the mean of units in [-1, 1] is above ``-margin``; wins at ``1 / alpha``.

    ``share`` is the capital it begins with. ``gap`` is the distance from the margin that is worth
    showing, if not the margin itself. ``prior`` is the sum of squares assumed for ten units: 1 for
    answers that are right or wrong.
    """

    margin: float
    share: float = 1.0
    alpha: float = ALPHA
    gap: float | None = None
    prior: float = 1.0
    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    won_at: int | None = None
    main: float = -1.0
    spare: float = -1.0

    def __post_init__(self) -> None:
        if self.main < 0:
            self.main, self.spare = divide_capital(self.share)

    @property
    def capital(self) -> float:
        """Return what it has now, both parts together."""
        return self.main + self.spare

    @property
    def target(self) -> float:
        """Return the capital that wins."""
        return 1 / self.alpha

    @property
    def is_won(self) -> bool:
        """Return whether the claim is shown; once won, always won."""
        return self.won_at is not None

    @property
    def mean(self) -> float:
        """Return the mean of the units so far."""
        return self.total / self.n if self.n else 0.0

    @property
    def variance(self) -> float:
        """Return the mean square of a unit's distance from the margin."""
        return (self.prior + self.squares) / (10 + self.n)

    def bets(self, left: int) -> tuple[float, float]:
        """Return the fractions of both parts to bet on the next of ``left`` units.

        The main part hedges a one-touch option, to reach the goal at some time within the plan.
        """
        variance, margin, main = self.variance, self.margin, self.main
        gap = abs(margin) if self.gap is None else self.gap
        drift = max(margin + self.total / (self.n + 100), gap / 4)
        goal = max(1 / self.alpha - self.spare, main)
        away = -NORMAL.inv_cdf(_clip(main / goal / 2, _TINY, 0.5))
        need = max((away + 2) ** 2 * variance / drift**2, self.n / 2)
        spread = math.sqrt(variance * max(1.0, min(left, need)))
        weight = (self.prior**1.5 + self.cubes) / (self.prior + self.squares)
        lump = _clip(weight, 0.02, 1.0) / 2
        bet = (1 - _tail(away + lump / spread) / _tail(away)) / lump
        bet = min(bet, 0.95 / (1 - margin))
        if margin > 0:  # a tie never passes the goal
            bet = min(bet, (goal / max(main, _TINY) - 1) / margin)
        return bet, min(drift / variance / 2, 0.5 / (1 - margin))

    def see(self, unit: float, left: int) -> None:
        """Bet on the next of ``left`` units, and take its outcome."""
        distance = unit + self.margin
        if self.won_at is None:
            main, spare = self.bets(left)
            self.main = max(self.main * (1 + main * distance), _TINY)
            self.spare *= 1 + spare * distance
        self.learn(unit)
        if self.won_at is None and self.capital * self.alpha >= 1 - 1e-9:
            self.won_at = self.n

    def learn(self, unit: float) -> None:
        """Take a unit without a bet, as one of the pilot."""
        distance = unit + self.margin
        self.n += 1
        self.total += unit
        self.squares += distance * distance
        self.cubes += abs(distance) ** 3

    def settle(self) -> None:
        """After a pilot whose units are not just right or wrong, set the prior by them."""
        if self.n:
            self.prior = _clip(10 * self.squares / self.n, 0.01, 1.0)

    def extend(self) -> None:
        """Divide the capital again: more units are planned than before."""
        if self.won_at is None:
            self.main, self.spare = divide_capital(self.capital)

    def receive(self, amount: float) -> None:
        """Add capital that another arm hands on."""
        main, spare = divide_capital(amount)
        self.share += amount
        self.main += main
        self.spare += spare

    def hand_on(self) -> float:
        """Give up, and return what the next arm may have: at most what this one began with.

        The minimum is part of the proof: capital that grew in a bad arm must not be handed on.
        """
        amount = self.share if self.is_won else min(self.capital, self.share)
        self.main = self.spare = 0.0
        return amount

    def best_difference(self) -> float:
        """Return the most favourable difference that is still plausible, at most none."""
        return min(0.0, self.mean + 2 * math.sqrt(self.variance / self.n))

    def chance(self, left: int, difference: float = 0.0) -> float:
        """Return roughly how likely it still wins; only to give up by: it promises too much."""
        if self.is_won:
            return 1.0
        away = -NORMAL.inv_cdf(_clip(self.capital * self.alpha / 2, _TINY, 0.5))
        way = (self.margin + difference) * math.sqrt(max(left, 1e-9) / self.variance)
        beyond = _tail(away + way)
        more = math.exp(min(0.0, 2 * way * away + math.log(beyond))) if beyond > 0 else 0.0
        return min(1.0, _tail(away - way) + more)


def divide_capital(capital: float) -> tuple[float, float]:
    """Return the main part of a capital, and the part that bets slowly."""
    return capital * (1 - _RESERVE), capital * _RESERVE


def mirror(margin: float, *, alpha: float = ALPHA) -> EProcess:
    """Return the e-process of the claim that an arm is worse; it sees the negated units."""
    return EProcess(margin=-margin, alpha=alpha, gap=6 * margin)


def lower_bound(
    units: Sequence[float],
    lefts: Sequence[int],
    margin: float,
    *,
    share: float = 1.0,
    alpha: float = ALPHA,
    step: float = 0.005,
) -> float:
    """Return a bound of the mean that holds at all times at once, on a grid from -1.

    Each value has an e-process of its own; the bound is the highest up to which all have won.
    """
    found = -1.0
    for number in range(1, round(2 / step)):
        value = -1.0 + number * step
        process = EProcess(margin=-value, share=share, alpha=alpha, gap=margin)
        for unit, left in zip(units, lefts, strict=True):
            process.see(unit, left)
            if process.is_won:
                break
        if not process.is_won:
            break
        found = value
    return found
