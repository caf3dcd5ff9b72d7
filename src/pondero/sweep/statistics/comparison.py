"""The comparison of a pool: its contest, and one more for each kind of its questions.

It needs scores alone, wherever they come from: a run, or the file of another tool.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from .contest import Contest, ContestRule, Standing
from .units import cluster_unit, corrected_scale, corrected_unit, unit

ScoresOf = Callable[[int, int], Sequence[float | None] | None]
"""An arm's scores at a position, one for each repeat, or None if they are not all known yet."""


class PlanChange(Struct, frozen=True):
    """From this unit of an arm on, its bets aimed at ``units``, of ``end`` that were there."""

    arm: int
    unit: int
    units: int
    end: int


class Pool(Struct, frozen=True, kw_only=True):
    """The units in their order: the positions of each, and its kind. ``first`` were planned.

    ``is_fixed``: units after those are used only by an arm with a change that says so.
    """

    units: tuple[tuple[int, ...], ...]
    kinds: tuple[str | None, ...] = ()
    first: int
    changes: tuple[PlanChange, ...] = ()
    is_fixed: bool = False

    def horizon(self, arm: int, at: int) -> tuple[int, int]:
        """Return how many units an arm's bets aimed at, and how many there were."""
        own = [each for each in self.changes if each.arm == arm and each.unit <= at]
        if own:
            return own[-1].units, own[-1].end
        end = self.first if at < self.first or self.is_fixed else len(self.units)
        return end, end

    @property
    def kind_names(self) -> tuple[str, ...]:
        """Return every kind of the units, sorted."""
        return tuple(sorted({kind for kind in self.kinds if kind is not None}))


class Correction(Struct, frozen=True):
    """People's labels that correct a judge: the positions that were drawn, and their labels."""

    share: float
    drawn: frozenset[int]
    labels: ScoresOf

    @property
    def scale(self) -> float:
        """Return by how much its units are smaller than differences of scores."""
        return corrected_scale(self.share)


class Comparison:
    """The contest of all units, and of each kind's own units with its share of the capital."""

    def __init__(
        self, rule: ContestRule, pool: Pool, scores: ScoresOf, correction: Correction | None = None
    ) -> None:
        self.pool: Pool = pool
        self.correction: Correction | None = correction
        self._scores = scores
        self.contest: Contest = Contest(rule, self._unit, pool.horizon)

    def advance(self) -> Contest:
        """Bet on all that is known by now."""
        return self.contest.advance()

    def difference(self, standing: Standing) -> float | None:
        """Return an arm's mean difference; of corrected units, which the pilot has none of."""
        correction, rule = self.correction, self.contest.rule
        if correction is None or standing.units <= rule.pilot:
            return standing.difference if correction is None else None
        bet = range(rule.pilot, standing.units)
        worst = (
            min(self._unit(standing.arm, rival, at) or 0.0 for rival in rule.rivals[standing.arm])
            for at in bet
        )
        return math.fsum(worst) / len(bet) * correction.scale

    def kinds(self) -> Mapping[str, Contest]:
        """Return the contest of each kind; the kinds share the capital equally.

        A kind uses the pilot of the whole pool. It leaves an arm that the whole has left, once its
        own questions about it are used up.
        """
        contest, names = self.contest, self.pool.kind_names
        if contest.parts is None:
            return {}
        rule = contest.rule
        parts = tuple(contest.parts[arm] / len(names) for arm in rule.order) if names else ()
        return {name: self._of_kind(name, parts).advance() for name in names}

    def _of_kind(self, name: str, parts: tuple[float, ...]) -> Contest:
        rule, pool = self.contest.rule, self.pool
        own = [at for at, kind in enumerate(pool.kinds) if kind == name]
        planned = sum(at < pool.first for at in own)

        def unit_of(arm: int, rival: int, at: int) -> float | None:
            return self._unit(arm, rival, own[at])

        def horizon(_arm: int, at: int) -> tuple[int, int]:
            end = planned if at < planned else len(own)
            return end, end

        of_kind = ContestRule(
            order=rule.order,
            rivals=rule.rivals,
            margin=rule.margin,
            pilot=sum(at < rule.pilot for at in own),
            added=rule.added,
            parts=parts,
            alpha=rule.alpha,
            worse=rule.worse,
            graded=rule.graded,
            futile=rule.futile,
        )
        return Contest(of_kind, unit_of, horizon, left=self.contest.finished)

    def _unit(self, arm: int, rival: int, at: int) -> float | None:
        if at >= len(self.pool.units):
            return None
        units = []
        for position in self.pool.units[at]:
            found = self._position_unit(arm, rival, position)
            if found is None:
                return None
            units.append(found)
        return cluster_unit(units) if len(units) > 1 else units[0]

    def _position_unit(self, arm: int, rival: int, position: int) -> float | None:
        judged = _difference(self._scores, arm, rival, position)
        correction = self.correction
        if judged is None or correction is None:
            return judged
        labelled = None
        if position in correction.drawn:
            labelled = _difference(correction.labels, arm, rival, position)
            if labelled is None:
                return None  # people have not labelled it yet: the bets wait
        return corrected_unit(judged, labelled, correction.share)


def _difference(scores: ScoresOf, arm: int, rival: int, position: int) -> float | None:
    own, other = scores(arm, position), scores(rival, position)
    return None if own is None or other is None else unit(own, other)
