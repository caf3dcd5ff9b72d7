"""The contest: candidates against the reference, cheapest first, with one capital for all of them.

The capital in bad arms and the starting capital still in good arms never grow together on average,
so that a bad arm is called enough with a probability of at most ``ALPHA``, over all arms at once.
A contest needs the units alone: one that is resumed or judged again is replayed from the start.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from .allocation import shares
from .e_process import ALPHA, EProcess, mirror
from .exact_test import exact_probability

MARGIN = 0.05

LEAST = 20
"""Units before an arm may be given up."""

FUTILE = 0.2
"""The chance to win below which an arm is given up, or half of that at its start."""

_EVERY = 5  # units between two checks whether to give up

ContestVerdict = Literal["enough", "worse", "given_up", "undecided"]

GiveUp = Literal["hopeless", "unlikely", "left"]
"""Why an arm was given up: by the pilot, by its chance, or because the whole sweep gave it up."""

UnitOf = Callable[[int, int, int], float | None]
"""An arm's unit against a rival at a place of the order, or None if it is not known yet."""

Horizon = Callable[[int, int], tuple[int, int]]
"""How many units an arm's bets aimed at, and how many there were, when it came to a unit.

The first is less than the second if a budget pays for fewer. The arm ends at the second.
"""


class ContestRule(Struct, frozen=True, kw_only=True):
    """What is fixed before the first bet. ``order`` has the candidates, cheapest first.

    ``added`` came later: they get only what the others leave. ``parts`` are the candidates' shares
    if the pilot is not to say. ``once`` bets on one exact test at the end of the plan.
    """

    order: tuple[int, ...]
    rivals: Mapping[int, tuple[int, ...]]
    margin: float = MARGIN
    pilot: int = 0
    added: tuple[int, ...] = ()
    parts: tuple[float, ...] | None = None
    alpha: float = ALPHA
    worse: float | None = None
    """The margin beyond which an arm is called worse, if it is another one."""
    graded: bool = False
    once: bool = False
    futile: float = FUTILE


class Standing(Struct, kw_only=True):
    """One candidate: its verdict and its capital, now and after each unit that was bet on."""

    arm: int
    share: float = 0.0
    verdict: ContestVerdict = "undecided"
    units: int = 0
    total: float = 0.0
    capital: float = 0.0
    won_at: int | None = None
    is_tried: bool = False
    why: GiveUp | None = None
    history: list[float] = []

    @property
    def difference(self) -> float | None:
        """Return the mean of the units seen, or None before the first."""
        return self.total / self.units if self.units else None


class _Claim:
    """One candidate's bets: an e-process for each rival, and their mirrors for ``worse``."""

    def __init__(self, arm: int, rule: ContestRule, share: float) -> None:
        self.arm = arm
        self.rivals = rule.rivals[arm]
        self.good = [
            EProcess(margin=rule.margin, share=share, alpha=rule.alpha) for _ in self.rivals
        ]
        self.bad = [mirror(rule.worse or rule.margin) for _ in self.rivals]
        self.horizon = 0
        self.hope = [0.0]

    @property
    def capital(self) -> float:
        return min(each.capital for each in self.good)

    @property
    def is_won(self) -> bool:
        return all(each.is_won for each in self.good)

    def learn(self, units: Sequence[float]) -> None:
        for good, bad, unit in zip(self.good, self.bad, units, strict=True):
            good.learn(unit)
            bad.learn(-unit)

    def see(self, units: Sequence[float], left: int) -> None:
        for good, bad, unit in zip(self.good, self.bad, units, strict=True):
            good.see(unit, left)
            bad.see(-unit, left)

    def is_futile(self, left: int) -> bool:
        n = self.good[0].n
        if n < LEAST or n % _EVERY:
            return False
        both = zip(self.good, self.hope, strict=True)
        return any(each.chance(left, each.best_difference()) < hope for each, hope in both)


class Contest:
    """Bets through the units in their order, as far as they are known; ``advance`` continues."""

    def __init__(
        self,
        rule: ContestRule,
        unit: UnitOf,
        horizon: Horizon,
        *,
        left: Collection[int] = (),
    ) -> None:
        self.rule: ContestRule = rule
        self.standings: dict[int, Standing] = {
            arm: Standing(arm=arm, history=[]) for arm in (*rule.order, *rule.added)
        }
        self.winners: list[int] = []
        self.waits: tuple[int, int] | None = None
        """The arm and unit that the next bet needs, or None if nothing more is asked."""
        self._unit = unit
        self._horizon = horizon
        self._left = left
        self._arms = [*rule.order, *rule.added]
        self.parts: dict[int, float] | None = None
        """Each candidate's share, once the pilot is known."""
        self._claim: _Claim | None = None
        self._place = 0
        self._handed = 0.0

    @property
    def is_over(self) -> bool:
        """Return whether nothing more is asked: an arm has won, or every one was tried."""
        return self.waits is None

    @property
    def current_process(self) -> EProcess | None:
        """Return the e-process of the arm that is bet on now: of several, the poorest."""
        if self._claim is None:
            return None
        return min(self._claim.good, key=lambda each: each.capital)

    @property
    def last_tried(self) -> int | None:
        """Return the last arm that was bet on."""
        tried = [arm for arm in self._arms if self.standings[arm].is_tried]
        return tried[-1] if tried else None

    @property
    def finished(self) -> frozenset[int]:
        """Return the arms that were tried and left, the winners excluded."""
        current = None if self._claim is None else self._claim.arm
        return frozenset(
            arm
            for arm, each in self.standings.items()
            if each.is_tried and arm != current and arm not in self.winners
        )

    def advance(self) -> "Contest":
        """Bet on every unit that is known by now, and return the contest itself."""
        self.waits = None
        if self.parts is None and not self._open():
            return self
        while (arm := self._current()) is not None:
            if self._claim is None:
                self._begin(arm)
            elif not self._bet(self._claim):
                return self
        return self

    def _current(self) -> int | None:
        """Return the arm to bet on: a winner ends the contest, but not for arms added later."""
        if self._claim is not None:
            return self._claim.arm
        while self._place < len(self._arms):
            arm = self._arms[self._place]
            is_added = self._place >= len(self.rule.order)
            part = (self.parts or {}).get(arm, 0.0)
            if part and self.winners:
                self._handed += part  # never tried: an arm that was added may have it
            elif part or (is_added and self._handed):
                return arm
            self._place += 1
        return None

    # -- the pilot ---------------------------------------------------------------------------------

    def _open(self) -> bool:
        rule = self.rule
        for at in range(rule.pilot):
            for arm in rule.order:
                if self._units(arm, at) is None:
                    self.waits = (arm, at)
                    return False
        for arm in rule.order:
            for at in range(rule.pilot):
                self._count(arm, self._units(arm, at) or ())
        self.parts = dict(zip(rule.order, self._divide(), strict=True))
        for arm, part in self.parts.items():
            if not part:
                self.standings[arm].verdict, self.standings[arm].why = "given_up", "hopeless"
        return True

    def _divide(self) -> Sequence[float]:
        rule = self.rule
        if rule.parts is not None:
            return rule.parts
        if rule.once or not rule.pilot:
            return [1 / len(rule.order) for _ in rule.order]
        worst = [
            min(
                (self._first_units(arm, rival) for rival in rule.rivals[arm]),
                key=sum,
            )
            for arm in rule.order
        ]
        return shares(worst, rule.margin)

    def _first_units(self, arm: int, rival: int) -> list[float]:
        return [self._unit(arm, rival, at) or 0.0 for at in range(self.rule.pilot)]

    # -- one candidate -----------------------------------------------------------------------------

    def _begin(self, arm: int) -> None:
        rule, standing = self.rule, self.standings[arm]
        standing.share = (self.parts or {}).get(arm, 0.0) + self._handed
        standing.is_tried = True
        standing.units, standing.total = 0, 0.0
        self._claim = _Claim(arm, rule, standing.share)
        self._claim.horizon = self._horizon(arm, 0)[0]
        self._handed = 0.0

    def _bet(self, claim: _Claim) -> bool:
        """Take the claim's next unit, or end it; return False if the unit is not known yet."""
        at = self.standings[claim.arm].units
        horizon, end = self._horizon(claim.arm, at)
        if at >= end:
            self._leave(claim, "undecided")
            return True
        units = self._units(claim.arm, at)
        if units is None:
            return self._wait(claim, at)
        self._count(claim.arm, units)
        if at < self._first_bet(claim):
            claim.learn(units)
            claim.horizon = horizon
            if at + 1 == self._first_bet(claim):
                self._start_bets(claim, at + 1)
            return True
        if at == 0:
            self._start_bets(claim, 0)
        self._risk(claim, units, horizon - at, end - at)
        return True

    def _first_bet(self, claim: _Claim) -> int:
        """Return the first unit to bet on: after the pilot, or after the plan and its one test."""
        return self._horizon(claim.arm, 0)[1] if self.rule.once else self.rule.pilot

    def _start_bets(self, claim: _Claim, at: int) -> None:
        left = max(0, self._horizon(claim.arm, at)[1] - at)
        if self.rule.once:
            self._test_once(claim)
        elif self.rule.graded or self._is_graded(claim):
            for each in (*claim.good, *claim.bad):
                each.settle()
        claim.hope = [min(self.rule.futile, each.chance(left) / 2) for each in claim.good]
        self.standings[claim.arm].capital = claim.capital
        if claim.is_won:
            self._win(claim)

    def _risk(self, claim: _Claim, units: Sequence[float], left: int, to_end: int) -> None:
        """Bet on one unit: the bets aim at ``left`` units, and giving up at those to the end."""
        standing = self.standings[claim.arm]
        horizon = standing.units - 1 + left
        if horizon > claim.horizon:
            for each in claim.good:
                each.extend()
        claim.horizon = horizon
        claim.see(units, max(1, left))
        standing.capital = claim.capital
        standing.history.append(claim.capital)
        if claim.is_won:
            self._win(claim)
        elif any(each.is_won for each in claim.bad):
            self._leave(claim, "worse")
        elif claim.is_futile(to_end - 1):
            self._leave(claim, "given_up", "unlikely")

    def _test_once(self, claim: _Claim) -> None:
        """Bet the main part on one exact test of everything seen so far."""
        for rival, each in zip(claim.rivals, claim.good, strict=True):
            found = [self._unit(claim.arm, rival, at) or 0.0 for at in range(each.n)]
            gains, losses = sum(unit > 0 for unit in found), sum(unit < 0 for unit in found)
            probability = exact_probability(gains, losses, each.n, each.margin)
            if probability <= each.main / (each.target - each.spare):
                each.main = each.target - each.spare
                each.won_at = each.n
            else:
                each.main = 0.0
        self.standings[claim.arm].history.append(claim.capital)

    def _is_graded(self, claim: _Claim) -> bool:
        """Return whether the pilot has units that are not just right or wrong."""
        pilot = (self._first_units(claim.arm, rival) for rival in claim.rivals)
        return any(unit not in (-1, 0, 1) for units in pilot for unit in units)

    # -- its end -----------------------------------------------------------------------------------

    def _wait(self, claim: _Claim, at: int) -> bool:
        if claim.arm in self._left:
            self._leave(claim, "given_up", "left")
            return True
        self.waits = (claim.arm, at)
        return False

    def _win(self, claim: _Claim) -> None:
        standing = self.standings[claim.arm]
        standing.won_at = max(each.won_at or 0 for each in claim.good)
        self.winners.append(claim.arm)
        self._leave(claim, "enough")

    def _leave(self, claim: _Claim, verdict: ContestVerdict, why: GiveUp | None = None) -> None:
        standing = self.standings[claim.arm]
        standing.verdict, standing.why, standing.capital = verdict, why, claim.capital
        self._handed = min(each.hand_on() for each in claim.good)
        self._claim = None
        self._place += 1

    # -- units -------------------------------------------------------------------------------------

    def _units(self, arm: int, at: int) -> list[float] | None:
        found = [self._unit(arm, rival, at) for rival in self.rule.rivals[arm]]
        known = [each for each in found if each is not None]
        return known if len(known) == len(found) else None

    def _count(self, arm: int, units: Sequence[float]) -> None:
        standing = self.standings[arm]
        standing.units += 1
        standing.total += min(units)


def kind_levels(winners: Mapping[str, Sequence[int]], safe: int) -> dict[str, int]:
    """Return each kind's arm: the cheapest that its own questions show to be enough, else ``safe``.

    ``winners`` are numbered cheapest first.
    """
    return {kind: min(won, default=safe) for kind, won in winners.items()}
