"""The results of a sweep as one value of ``compute_results``: all that others read of a run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from ...canon import Json
from ...exchange import Calibration
from ...store import has_prices, save_calibration
from ..adoption import calibration_of
from ..engines.engine import TrialResult
from ..grading.agreement import Agreement
from ..questions import Question
from ..run.store import RunFacts, State, StoredGrade
from ..statistics.intervals import RESAMPLES, Interval, bootstrap_ratio
from ..statistics.significance import ThinkingCheck
from .axes import format_axis_cost, seconds, tokens
from .kinds import KindResult
from .number_format import format_cost, format_share_points, letter_of, many, percent, round_count

Verdict = Literal[
    "reference", "recommended", "enough", "worse", "undecided", "untested", "dearer",
    "no_effect", "inverted",
]  # fmt: skip
"""What is said of an arm. ``enough``: not worse than the reference by more than the margin, though
a cheaper arm is recommended. ``untested``: the sequence ended above it. ``dearer``: it is above the
reference. ``no_effect`` and ``inverted``: it does not think more than its cheaper neighbour."""


class ArmResult(Struct, frozen=True, kw_only=True):
    """One arm. ``thinking_tokens``, ``cost`` and ``seconds`` are means of one answer.

    ``difference`` is in accuracy against the reference, ``lower`` and ``upper`` bound it at the
    boundary of the arm's last look. ``p`` is McNemar's.

    >>> right = {f"{n} * 23": f"{n} * 23 = {n * 23}" for n in range(9)}
    >>> questions = [{"input": f"What is {q}?", "target": a} for q, a in right.items()]
    >>> found = pondero.sweep(questions, "claude-opus-5", levels="off,low", offline=True)
    >>> [(arm.level, arm.n, arm.verdict) for arm in found.arms]
    [('off', 9, 'undecided'), ('low', 9, 'reference')]
    """

    model: str
    level: str
    levels: tuple[str, ...]
    fields: dict[str, Json]
    n: int
    accuracy: float | None
    low: float | None
    high: float | None
    thinking_tokens: float | None
    cost: float | None
    seconds: float | None
    difference: float | None = None
    lower: float | None = None
    upper: float | None = None
    verdict: Verdict = "undecided"
    exhausted: int = 0
    refused: int = 0
    look: int = 0
    needed: int | None = None
    """How many more questions would decide an undecided arm; None if no number would."""
    effect: ThinkingCheck = ThinkingCheck("unknown")
    neighbour: str | None = None
    p: float | None = None
    always_right: float | None = None
    """With repeats, the share of questions that are answered rightly every time (pass^K)."""
    ever_right: float | None = None
    """With repeats, the share that is answered rightly at least once (pass@K)."""

    @property
    def name(self) -> str:
        """Return the model and the level."""
        return f"{self.model}/{self.level}"


_SHOWN = (
    "model", "levels", "fields", "n", "accuracy", "low", "high", "thinking_tokens", "cost",
    "seconds", "difference", "lower", "upper", "verdict",
)  # fmt: skip


Outcome = Literal["right", "partly", "wrong", "exhausted", "refused", "failed", "ungraded"]
"""How one answer ended. ``failed`` and ``ungraded`` are missing: neither right nor wrong."""


class TrialAnswer(Struct, frozen=True):
    """One answer to one question, and its grade; ``repeat`` counts from 1."""

    repeat: int
    settled: TrialResult
    grade: StoredGrade | None

    @property
    def outcome(self) -> Outcome:
        """Return how it ended, in one word."""
        if self.settled.error is not None:
            return "failed"
        if self.settled.is_exhausted:
            return "exhausted"
        if self.settled.is_refused:
            return "refused"
        if self.grade is None or self.grade.score is None:
            return "ungraded"
        return "right" if self.grade.score == 1 else "partly" if self.grade.score else "wrong"

    @property
    def score(self) -> float | None:
        """Return its score, or None if it is missing."""
        if self.outcome in ("failed", "ungraded"):
            return None
        return self.grade.score if self.grade else 0.0


class Cell(Struct, frozen=True):
    """One arm on one question, its repeats together: score, thinking tokens, dollars, seconds."""

    score: float | None
    thinking: float | None
    cost: float | None
    seconds: float
    answers: tuple[TrialAnswer, ...]


_MEASURED: dict[str, Callable[[Cell], float | None]] = {
    "cost": lambda cell: cell.cost,
    "thinking": lambda cell: cell.thinking,
}


class QuestionRow(Struct, frozen=True):
    """One question and the cell of every arm; None for an arm that was not asked."""

    question: Question
    cells: tuple[Cell | None, ...]


class Recommendation(Struct, frozen=True):
    """The cheapest arm that is good enough.

    >>> from pondero.sweep import Recommendation
    >>> Recommendation("claude-opus-5", "low", "as good as high, at a fifth of the price").name
    'claude-opus-5/low'
    """

    model: str
    level: str
    why: str

    @property
    def name(self) -> str:
        """Return what to ask with: the model and the level."""
        return f"{self.model}/{self.level}"


class SweepResults(Struct, frozen=True, kw_only=True):
    """The results of a run so far; ``why`` explains the recommendation, or why there is none.

    >>> right = {f"{n} * 23": f"{n} * 23 = {n * 23}" for n in range(9)}
    >>> questions = [{"input": f"What is {q}?", "target": a} for q, a in right.items()]
    >>> found = pondero.sweep(questions, "claude-opus-5", levels="off,low", offline=True)
    >>> found.reference.level, found.recommendation is None
    ('low', True)
    """

    run: str
    state: State
    facts: RunFacts
    judge: str
    """The judge of these grades: the run's own, or another one."""
    arms: tuple[ArmResult, ...]
    rows: tuple[QuestionRow, ...]
    recommendation: Recommendation | None
    why: str
    questions: int
    """Questions in the looks so far, without dropped ones."""
    dropped: int
    looks: int
    spent: Decimal
    lost: tuple[int, Decimal] = (0, Decimal(0))
    judging: Decimal = Decimal(0)
    agreement: Agreement | None = None
    kinds: tuple[KindResult, ...] = ()
    """Results by kind, if there is a recommendation for all."""

    @property
    def reference(self) -> ArmResult:
        """Return the arm that the others were compared with."""
        return self.arms[self.facts.reference]

    def models(self) -> tuple[str, ...]:
        """Return the models, each once, in the order they were named."""
        return tuple(dict.fromkeys(arm.model for arm in self.arms))

    def model_number(self, arm: int) -> int:
        """Return which of the models an arm is of."""
        return self.models().index(self.arms[arm].model)

    def labels(self) -> tuple[str, ...]:
        """Return a short name for each arm: its level, with a letter for each of several models."""
        if len(models := self.models()) == 1:
            return tuple(arm.level for arm in self.arms)
        return tuple(f"{letter_of(models.index(arm.model))} {arm.level}" for arm in self.arms)

    def legend(self) -> list[str]:
        """Return a line for the letter of each model; empty for one model."""
        models = self.models()
        return [f"{letter_of(n)} {name}" for n, name in enumerate(models)] if models[1:] else []

    def recommend(self) -> Recommendation | None:
        """Return the recommendation, or None."""
        return self.recommendation

    def calibration(
        self, name: str, *, level: str | None = None, by_kind: bool = False
    ) -> Calibration:
        """Return the calibration that ``adopt`` saves; nothing is written."""
        return calibration_of(self, name, level=level, by_kind=by_kind)

    def adopt(
        self,
        name: str,
        *,
        level: str | None = None,
        by_kind: bool = False,
        force: bool = False,
    ) -> Path:
        """Save the recommended level, or ``level``, as ``auto:NAME`` with its evidence.

        ``by_kind`` adds a level for each ``metadata.kind`` that its own questions decide.
        """
        made = self.calibration(name, level=level, by_kind=by_kind)
        return save_calibration(made, force=force)

    def pareto(self, measure: "Measure | None" = None) -> tuple[ArmResult, ...]:
        """Return the arms that no other beats in both accuracy and cost (or ``measure``)."""
        graded = [arm for arm in self.arms if arm.accuracy is not None]
        chosen = measure or choose_measure(graded)
        known = [arm for arm in graded if chosen.get(arm) is not None]
        kept = [arm for arm in known if not any(_beats(other, arm, chosen) for other in known)]
        return tuple(sorted(kept, key=chosen.value_of))

    def ratio(
        self, arm: int, amount: Literal["cost", "thinking"], *, resamples: int = RESAMPLES
    ) -> Interval | None:
        """Return an arm's multiple of the reference, or None; a bootstrap over questions."""
        get = _MEASURED[amount]
        pairs = ((row.cells[arm], row.cells[self.facts.reference]) for row in self.rows)
        both = [(get(one), get(other)) for one, other in pairs if one and other]
        known = [(one, other) for one, other in both if one is not None and other is not None]
        if not any(other for _, other in known):
            return None
        above, below = zip(*known, strict=True)
        return bootstrap_ratio(above, below, seed=self.facts.spec.seed, resamples=resamples)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values; the keys are a stable contract."""
        found = self.recommendation
        return {
            "run": self.run,
            "arms": [{name: _plain(getattr(arm, name)) for name in _SHOWN} for arm in self.arms],
            "recommend": found and {"model": found.model, "level": found.level, "why": found.why},
            "why": self.why,
        }

    def table(self, width: int | None = None) -> str:
        """Return the arms as a table with the findings; drop the least useful columns to fit."""
        columns = dict(zip(_HEAD, zip(*(_row(arm) for arm in self.arms), strict=True), strict=True))
        if width is not None and _width(columns) > width and len(self.models()) == 1:
            columns["arm"] = tuple(map(_levels, self.arms))
        for least in _LEAST:
            if width is not None and _width(columns) > width:
                del columns[least]
        sizes = [max(map(len, (name, *cells))) for name, cells in columns.items()]
        lines = [
            "  ".join(
                cell.ljust(size) if not number else cell.rjust(size)
                for number, (cell, size) in enumerate(zip(row, sizes, strict=True))
            ).rstrip()
            for row in (tuple(columns), *zip(*columns.values(), strict=True))
        ]
        return "\n".join((*lines, "", *self.lines()))

    def lines(self) -> list[str]:
        """Return the findings, one a line."""
        return [f"{label:<11}{text}" for label, text in self.findings()]

    def findings(self) -> Iterator[tuple[str, str]]:
        """Yield the findings: a label and a sentence; an empty label continues the one before."""
        if self.recommendation is None:
            yield "nothing", self.why
        else:
            yield "recommend", f"{self.recommendation.name}   {self.why}"
            yield "", self._evidence(self.recommendation)
        for arm in self.arms:
            if arm is self.reference and arm.verdict == "undecided":
                yield (
                    "undecided",
                    f"{arm.level}  not shown to be good enough against every other arm",
                )
            elif arm.verdict in _SAID:
                yield _SAID[arm.verdict], _sentence(arm, self.reference)
            if arm.verdict not in ("no_effect", "inverted") and _is_odd(arm):
                yield _SAID[arm.effect.effect], _thinking(arm)
        for kind in self.kinds:
            yield "kind", self._of_kind(kind)
        yield from self._apart()

    def _of_kind(self, found: KindResult) -> str:
        if found.arm is None:
            return f"{found.kind}  undecided by its own {found.n:,} questions"
        arm = self.arms[found.arm]
        said = f"{found.kind}  {_short(arm, self.reference)} is enough: {percent(found.accuracy)}"
        if found.lower is not None:
            said += f", {_difference(found.difference, found.lower)}"
        return f"{said}; {found.n:,} questions"

    def _evidence(self, found: Recommendation) -> str:
        arm = next(each for each in self.arms if each.name == found.name)
        seen = f"{self.questions:,} questions, {self.looks} {many(self.looks, 'look')}"
        if arm == self.reference or arm.difference is None or arm.lower is None:
            return f"{percent(arm.accuracy)}; {seen}"
        return (
            f"{percent(arm.accuracy)} vs {percent(self.reference.accuracy)}; "
            f"{_difference(arm.difference, arm.lower)}; {seen}"
        )

    def _apart(self) -> Iterator[tuple[str, str]]:
        exhausted = [f"{arm.level} {arm.exhausted}" for arm in self.arms if arm.exhausted]
        if exhausted:
            said = f"thought and gave no answer; counted as wrong: {', '.join(exhausted)}"
            yield "exhausted", said
        refused = [f"{arm.level} {arm.refused}" for arm in self.arms if arm.refused]
        if refused:
            yield "refused", f"counted as wrong: {', '.join(refused)}"
        if count := self.dropped:
            yield "dropped", f"{count} {many(count, 'question')} failed, and left out of every arm"
        if self.lost[0]:
            what = f"{self.lost[0]} {many(self.lost[0], 'attempt')} brought no answer"
            yield "lost", f"{what} and may have been charged, {format_cost(self.lost[1])} at most"
        judging = f", and {format_cost(self.judging)} for the judge" if self.judging else ""
        offline = " as the service would charge; offline, nothing was paid"
        paid = offline if self.facts.spec.offline else judging
        asked = [arm for arm in self.arms if arm.n]
        unpriced = [arm for arm in asked if arm.cost is None]
        if asked and len(unpriced) == len(asked):
            cure = "" if has_prices() else "; pip install 'pondero[prices]' knows many"
            yield "spent", f"not known: no arm has a price{cure}"
        else:
            beyond = "; of some arms no price is known" if unpriced else ""
            yield "spent", format_cost(self.spent) + paid + beyond
        if self.agreement is not None:
            found = self.agreement
            kappa = "" if found.kappa is None else f", kappa {found.kappa:.2f}"
            yield "judge", f"agrees with {found.agreed} of {found.count} labelled answers{kappa}"


class Measure(Struct, frozen=True):
    """An amount by which arms are compared to find the cheapest."""

    name: str
    get: Callable[[ArmResult], float | None]
    write: Callable[[float], str]
    """Formats an amount for an axis."""

    def value_of(self, arm: ArmResult) -> float:
        """Return the amount of an arm, or 0 if unknown."""
        return self.get(arm) or 0.0


MEASURES = (
    Measure("cost", lambda arm: arm.cost, format_axis_cost),
    Measure("thinking tokens", lambda arm: arm.thinking_tokens, tokens),
    Measure("seconds", lambda arm: arm.seconds, seconds),
)


def choose_measure(arms: Sequence[ArmResult]) -> Measure:
    """Return the first measure that is known for all arms: cost, thinking tokens, or time."""
    known = (each for each in MEASURES if all(each.get(arm) is not None for arm in arms))
    return next(known, MEASURES[-1])


def _beats(arm: ArmResult, rival: ArmResult, measure: Measure) -> bool:
    better = (arm.accuracy or 0.0) - (rival.accuracy or 0.0)
    cheaper = measure.value_of(rival) - measure.value_of(arm)
    return better >= 0 and cheaper >= 0 and (better > 0 or cheaper > 0)


def _plain(value: Json) -> Json:
    return list(value) if isinstance(value, tuple) else value


# -- words -----------------------------------------------------------------------------------------

_HEAD = (
    "arm", "n", "right", "95%", "thinking", "cost", "seconds", "difference", "bounds", "verdict",
)  # fmt: skip
_LEAST = ("seconds", "95%", "n", "bounds", "thinking", "difference")
_SAID: dict[str, str] = {
    "undecided": "undecided",
    "worse": "worse",
    "no_effect": "no effect",
    "inverted": "inverted",
}


def _width(columns: Mapping[str, Iterable[str]]) -> int:
    return sum(max(map(len, (name, *cells))) + 2 for name, cells in columns.items()) - 2


def _levels(arm: ArmResult) -> str:
    return "=".join(dict.fromkeys((arm.level, *arm.levels)))


def _row(arm: ArmResult) -> tuple[str, ...]:
    between = arm.low is not None and arm.high is not None
    bounds = arm.lower is not None and arm.upper is not None
    return (
        f"{arm.model}/{_levels(arm)}",
        f"{arm.n:,}",
        percent(arm.accuracy),
        f"{percent(arm.low)}..{percent(arm.high)}" if between else "-",
        "unknown" if arm.thinking_tokens is None else f"{arm.thinking_tokens:,.0f}",
        format_cost(arm.cost),
        "-" if arm.seconds is None else f"{arm.seconds:.1f}",
        format_share_points(arm.difference),
        f"{format_share_points(arm.lower)}..{format_share_points(arm.upper)}" if bounds else "-",
        arm.verdict.replace("_", " "),
    )


def _is_odd(arm: ArmResult) -> bool:
    return arm.effect.effect in ("no_effect", "inverted")


def _sentence(arm: ArmResult, reference: ArmResult) -> str:
    if arm.verdict in ("no_effect", "inverted"):
        return _thinking(arm)
    if arm.difference is None:
        return f"{_short(arm, reference)}  not compared yet"
    said = f"{_short(arm, reference)}  {format_share_points(arm.difference)}"
    if arm.lower is None:
        return f"{said}: one cluster says nothing about the next"
    said += f", bounds {format_share_points(arm.lower)}..{format_share_points(arm.upper)}"
    if arm.verdict == "worse":
        return said
    if arm.needed is None:
        return f"{said}: it lies on the margin, and no reasonable number would decide"
    more = round_count(arm.needed)
    return f"{said}: about {more:,} more {many(more, 'question')} would decide"


def _difference(difference: float | None, lower: float) -> str:
    share = format_share_points(difference)
    return f"difference {share}, lower bound {format_share_points(lower)}"


def _short(arm: ArmResult, reference: ArmResult) -> str:
    return arm.level if arm.model == reference.model else arm.name


def _thinking(arm: ArmResult) -> str:
    than = "less than" if arm.effect.effect == "inverted" else "no more than"
    p = arm.effect.p
    sure = "" if p is None else " (p < 0.01)" if p < 0.01 else f" (p = {p:.2f})"
    return f"{arm.level} thinks {than} {arm.neighbour}{sure}"
