"""The decision on scores that are there already: which arm is enough, from any tool's results."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..errors import BadParameter
from .points import describe_points
from .run.answer_labels import describe_mistakes
from .score_files import ScoreRow, read_scores
from .statistics.allocation import PILOT, pilot_size
from .statistics.comparison import Comparison, Correction, Pool
from .statistics.contest import Contest, ContestRule
from .statistics.judge_error import errors_differ
from .statistics.units import corrected_margin

Order = Literal["seed", "file"]

FLOOR = 0.05
"""The share of right answers of the reference at which a judge or the data cannot fit."""

ArmVerdict = Literal["enough", "worse", "given_up", "undecided", "reference"]


class ArmDecision(Struct, frozen=True, kw_only=True):
    """What was decided of one arm. ``units`` were compared, and ``difference`` is their mean."""

    arm: str
    verdict: ArmVerdict
    won_at: int | None = None
    capital: float | None = None
    units: int = 0
    difference: float | None = None
    why: str = ""
    history: tuple[float, ...] = ()
    """The capital after each unit that was bet on, those after the pilot."""


class KindDecision(Struct, frozen=True, kw_only=True):
    """The arm of one kind: enough by its own questions, else the reference."""

    kind: str
    arm: str
    is_shown: bool
    units: int


class ScoreDecision(Struct, frozen=True, kw_only=True):
    """The decision on a table of scores; ``recommended`` is None while there is more to ask."""

    arms: tuple[ArmDecision, ...]
    recommended: str | None
    reference: str
    margin: float
    pool: int
    pilot: int
    why: str
    problems: tuple[str, ...] = ()
    kinds: tuple[KindDecision, ...] = ()
    labelled: int = 0
    """Questions whose labels corrected the scores."""
    saving: float | None = None
    """The share of the reference's cost that the recommended arm saves, if costs are known."""

    @property
    def is_stopped(self) -> bool:
        """Return whether the scores themselves forbid a recommendation."""
        return self.recommended is None and any(self.problems)

    def shows(self, arm: str) -> bool:
        """Return whether an arm is shown to be enough."""
        return any(each.arm == arm and each.verdict == "enough" for each in self.arms)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values; the keys are a stable contract."""
        names = ("arm", "verdict", "won_at", "capital", "units", "difference", "why")
        return {
            "recommended": self.recommended,
            "reference": self.reference,
            "margin": self.margin,
            "pool": self.pool,
            "pilot": self.pilot,
            "why": self.why,
            "problems": list(self.problems),
            "labelled": self.labelled,
            "saving": self.saving,
            "arms": [{name: getattr(arm, name) for name in names} for arm in self.arms],
            "kinds": [
                {"kind": each.kind, "arm": each.arm, "shown": each.is_shown, "units": each.units}
                for each in self.kinds
            ],
        }


def decide(
    data: str | Path | Sequence[str | Path] | Sequence[ScoreRow],
    *,
    margin: float = 0.05,
    pool: int | None = None,
    pilot: int = PILOT,
    reference: str | None = None,
    order: Order = "seed",
    seed: int = 0,
    label_share: float | None = None,
) -> ScoreDecision:
    """Return which arm is enough by the scores of another tool's files; nothing is asked.

    The arms are tried cheapest first by the cost of the pilot; without costs in the order of their
    first appearance. The reference is the dearest, or the last. ``pool`` is how many questions were
    planned, if not those that are there; ``order`` takes them as drawn by the seed, or as written.
    ``label_share`` of the questions, drawn before the answers, have labels that correct the scores.
    """
    table = _Table(_read(data))
    units = table.units(order, seed)
    planned = len(units) if pool is None else pool
    if not 0 < margin < 1 or planned < 1 or pilot < 0:
        message = f"invalid margin={margin!r}, pool={pool!r} or pilot={pilot!r}"
        raise BadParameter(message)
    check_share(label_share)
    first = [at for unit in units[: pilot_size(planned, pilot)] for at in unit]
    arms, dearer = table.sort_arms(reference, first)
    last = len(arms) - 1
    correction = _find_correction(table, arms, label_share, first)
    rule = ContestRule(
        order=tuple(range(last)),
        rivals=dict.fromkeys(range(last), (last,)),
        margin=margin if label_share is None else corrected_margin(margin, label_share),
        pilot=pilot_size(planned, pilot),
        graded=table.is_repeated or label_share is not None,
    )
    found = Comparison(
        rule,
        Pool(units=units, kinds=table.kinds(units), first=planned),
        lambda arm, at: table.scores(arms[arm], at),
        correction,
    )
    problems = _problems(table, arms[last], first)
    for winner in found.advance().winners[:1] if label_share is None else ():
        problems += _check_errors(table, arms[winner], arms[last])
    decided = _decision(arms, found, margin=margin, problems=problems, dearer=dearer)
    return replace(decided, saving=table.find_saving(decided.recommended, arms[last]))


def check_share(share: float | None) -> None:
    """Raise BadParameter if this is no share of questions that people label."""
    if share is not None and not 0 < share <= 1:
        message = f"invalid label_share={share!r}; use a share above 0, at most 1"
        raise BadParameter(message)


def _find_correction(
    table: "_Table", arms: Sequence[str], share: float | None, pilot: Sequence[int]
) -> Correction | None:
    """Return the labels that correct these scores; those of the pilot are not used."""
    if share is None:
        return None
    asked, labelled = table.find_labelled()
    expected, spread = share * asked, math.sqrt(share * (1 - share) * asked)
    if abs(len(labelled) - expected) > _UNLIKELY * spread + 1e-9:
        message = (
            f"{len(labelled):,} of {asked:,} questions have labels, which is not a draw of "
            f"{100 * share:g} % of them; label what was drawn, or give its share"
        )
        raise BadParameter(message)
    drawn = frozenset(labelled).difference(pilot)
    return Correction(share, drawn, lambda arm, at: table.labels(arms[arm], at))


_UNLIKELY = 4.0  # standard deviations


def _check_errors(table: "_Table", arm: str, reference: str) -> tuple[str, ...]:
    own, other = table.count_mistakes(arm), table.count_mistakes(reference)
    if not own[0] or not other[0] or not errors_differ(own, other):
        return ()
    return (describe_mistakes(arm, own, reference, other),)


def _read(data: str | Path | Sequence[str | Path] | Sequence[ScoreRow]) -> list[ScoreRow]:
    if isinstance(data, str | Path):
        return read_scores([Path(data)])
    rows = [each for each in data if isinstance(each, ScoreRow)]
    return rows or read_scores([Path(each) for each in data if isinstance(each, str | Path)])


class _Table:
    """Rows by question and arm."""

    def __init__(self, rows: Sequence[ScoreRow]) -> None:
        self.arms = tuple(dict.fromkeys(row.arm for row in rows))
        if len(self.arms) < 2:
            message = f"only one arm is there, {self.arms[0]!r}; a decision needs a reference too"
            raise BadParameter(message)
        self._questions = tuple(dict.fromkeys(row.question for row in rows))
        self._places = {question: at for at, question in enumerate(self._questions)}
        self._scores: dict[tuple[str, int], list[float | None]] = {}
        self._labels: dict[tuple[str, int], list[float | None]] = {}
        self._costs: dict[str, dict[int, float]] = {arm: {} for arm in self.arms}
        self._clusters: dict[int, str] = {}
        self._kinds: dict[int, str] = {}
        for row in rows:
            at = self._places[row.question]
            self._scores.setdefault((row.arm, at), []).append(row.score)
            self._labels.setdefault((row.arm, at), []).append(row.label)
            if row.cost is not None:
                self._costs[row.arm][at] = self._costs[row.arm].get(at, 0.0) + row.cost
            if row.cluster is not None:
                self._clusters.setdefault(at, row.cluster)
            if row.kind is not None:
                self._kinds.setdefault(at, row.kind)

    @property
    def is_repeated(self) -> bool:
        return bool(self._clusters) or any(len(each) > 1 for each in self._scores.values())

    def scores(self, arm: str, at: int) -> Sequence[float | None] | None:
        return self._scores.get((arm, at))

    def labels(self, arm: str, at: int) -> Sequence[float | None] | None:
        """Return people's scores; an answer that is missing stays so."""
        return self._labels.get((arm, at))

    def find_labelled(self) -> tuple[int, list[int]]:
        """Return how many questions there are, and those with labels, in every arm asked."""
        found = []
        for question, at in self._places.items():
            own = [arm for arm in self.arms if (arm, at) in self._scores]
            done = {arm: self._is_labelled(arm, at) for arm in own}
            if any(done.values()):
                found.append(at)
                if not all(done.values()):
                    arm = next(arm for arm in own if not done[arm])
                    message = (
                        f"question {question!r} has labels, but its answer of {arm} has none; "
                        "people label the answers of every arm"
                    )
                    raise BadParameter(message)
        return len(self._places), found

    def _is_labelled(self, arm: str, at: int) -> bool:
        both = zip(self._scores[arm, at], self._labels[arm, at], strict=True)
        return all(label is not None for score, label in both if score is not None)

    def count_mistakes(self, arm: str) -> tuple[int, int]:
        """Return how many answers of an arm have a score and a label, and how many differ."""
        both = [
            (score >= _HALF) == (label >= _HALF)
            for (own, at), scores in self._scores.items()
            for score, label in zip(scores, self._labels[own, at], strict=True)
            if own == arm and score is not None and label is not None
        ]
        return len(both), both.count(False)

    def units(self, order: Order, seed: int) -> tuple[tuple[int, ...], ...]:
        """Return the positions of each unit; the drawn order does not depend on the file's."""
        groups: dict[str, list[int]] = {}
        for question, at in self._places.items():
            cluster = self._clusters.get(at)
            groups.setdefault(f"={cluster}" if cluster else f"?{question}", []).append(at)
        names = list(groups)
        if order == "seed":
            names = Random(seed).sample(sorted(names), len(names))  # noqa: S311 - the same each time
        return tuple(tuple(groups[name]) for name in names)

    def kinds(self, units: Sequence[Sequence[int]]) -> tuple[str | None, ...]:
        return tuple(self._kinds.get(unit[0]) for unit in units)

    def sort_arms(
        self, reference: str | None, pilot: Sequence[int]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the arms, cheapest first and the reference last, and those that cost more.

        Prices are those of the pilot, which is not bet on; without one, of all questions.
        """
        if reference is not None and reference not in self.arms:
            names = ", ".join(self.arms)
            message = (
                f"the reference {reference!r} is not an arm of these scores; use one of {names}"
            )
            raise BadParameter(message)
        prices = self._prices(pilot) or self._prices(range(len(self._questions)))
        if prices is None:
            chosen = reference or self.arms[-1]
            return (*(arm for arm in self.arms if arm != chosen), chosen), ()
        chosen = reference or max(self.arms, key=prices.__getitem__)
        others = sorted((arm for arm in self.arms if arm != chosen), key=prices.__getitem__)
        dearer = tuple(arm for arm in others if prices[arm] > prices[chosen])
        return (*(arm for arm in others if arm not in dearer), chosen), dearer

    def find_saving(self, arm: str | None, reference: str) -> float | None:
        """Return what share of the reference's mean cost an arm saves, or None if unknown."""
        prices = self._prices(range(len(self._questions)))
        if arm is None or arm == reference or not prices or not prices[reference]:
            return None
        return 1 - prices[arm] / prices[reference]

    def _prices(self, places: Sequence[int]) -> dict[str, float] | None:
        known = {
            arm: [costs[at] for at in places if at in costs] for arm, costs in self._costs.items()
        }
        return {arm: fmean(costs) for arm, costs in known.items()} if all(known.values()) else None


_HALF = 0.5


def _problems(table: _Table, reference: str, pilot: Sequence[int]) -> tuple[str, ...]:
    found = [table.scores(reference, at) for at in pilot]
    scores = [each or 0.0 for every in found if every is not None for each in every]
    if found and all(each is None for every in found for each in every or (None,)):
        return (f"the reference {reference} has no score in the pilot: every answer is missing",)
    if scores and fmean(scores) <= FLOOR:
        right = f"{100 * fmean(scores):.0f} % right in the pilot"
        return (f"the reference {reference} has {right}: the judge or the data does not fit",)
    return ()


# -- words -----------------------------------------------------------------------------------------


def _decision(
    arms: Sequence[str],
    found: Comparison,
    *,
    margin: float,
    problems: tuple[str, ...],
    dearer: Sequence[str],
) -> ScoreDecision:
    contest, reference = found.advance(), arms[-1]
    recommended, why = None, "more questions of the plan are needed"
    if contest.winners:
        recommended = arms[contest.winners[0]]
        why = f"not worse than {reference} by more than {describe_points(margin)}"
    elif contest.is_over:
        recommended = reference
        why = f"no cheaper arm is shown to be within {describe_points(margin)} of it"
    if problems:
        recommended, why = None, problems[0]
    own = (_arm(arms[number], found, number) for number in contest.standings)
    compared = max((each.units for each in contest.standings.values()), default=0)
    others = (
        ArmDecision(arm=arm, verdict="undecided", why="costs more than the reference")
        for arm in dearer
    )
    return ScoreDecision(
        arms=(*own, ArmDecision(arm=reference, verdict="reference", units=compared), *others),
        recommended=recommended,
        reference=reference,
        margin=margin,
        pool=found.pool.first,
        pilot=contest.rule.pilot,
        why=why,
        problems=problems,
        kinds=() if problems else _kinds(arms, found.kinds()),
        labelled=len(found.correction.drawn) if found.correction else 0,
    )


def _arm(name: str, found: Comparison, number: int) -> ArmDecision:
    contest = found.contest
    each = contest.standings[number]
    return ArmDecision(
        arm=name,
        verdict=each.verdict,
        won_at=each.won_at,
        capital=each.capital,
        units=each.units,
        difference=found.difference(each),
        why=describe_verdict(contest, number),
        history=tuple(each.history),
    )


def describe_verdict(contest: Contest, number: int) -> str:
    """Return why an arm has its verdict, in one clause."""
    each, rule = contest.standings[number], contest.rule
    if each.verdict == "enough":
        return f"not worse by more than {describe_points(rule.margin)}"
    if each.verdict == "worse":
        return f"worse by more than {describe_points(rule.margin)}"
    if each.verdict == "given_up":
        return _GIVEN_UP[each.why or "unlikely"]
    if not each.is_tried:
        return "not tried: a cheaper arm is enough" if contest.winners else "not tried yet"
    if contest.waits is not None and contest.waits[0] == number:
        return f"capital {each.capital:.3g} of {1 / rule.alpha:g}; more questions are needed"
    return "not shown within this pool"


_GIVEN_UP = {
    "hopeless": "unlikely to be shown within this pool, by the pilot",
    "unlikely": "unlikely to be shown within this pool",
    "left": "given up for all questions",
}


def _kinds(arms: Sequence[str], contests: Mapping[str, Contest]) -> tuple[KindDecision, ...]:
    found = []
    for kind, contest in contests.items():
        arm = contest.winners[0] if contest.winners else len(arms) - 1
        units = max((each.units for each in contest.standings.values()), default=0)
        found.append(
            KindDecision(kind=kind, arm=arms[arm], is_shown=bool(contest.winners), units=units)
        )
    return tuple(found)
