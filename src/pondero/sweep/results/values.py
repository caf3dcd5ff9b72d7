"""The results of a sweep as one value of ``compute_results``: all that others read of a run."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, to_builtins

from ...canon import Json
from ...exchange import Calibration
from ...store import save_calibration
from ..adoption import calibration_of, check_shown
from ..arms import find_arms
from ..engines.engine import TrialResult
from ..grading.agreement import Agreement
from ..questions import Question
from ..run.answer_labels import LabelState
from ..run.gate import GateProblem
from ..run.store import RunFacts, State, StoredGrade
from ..statistics.forecast import Forecast
from ..statistics.intervals import RESAMPLES, Interval, bootstrap_ratio
from ..statistics.thinking_effect import ThinkingCheck
from .axes import format_axis_cost, seconds, tokens
from .findings import html_of, iter_findings
from .kinds import KindResult
from .number_format import letter_of
from .table import render_table, write_findings

Verdict = Literal["enough", "worse", "given_up", "undecided", "reference"]
"""What is said of an arm. ``enough``: not worse than the reference by more than the margin.
``given_up``: unlikely to be shown within this pool, which is no claim."""

Reason = Literal[
    "",
    "reference",
    "dearer",
    "untried",
    "unmeasured",
    "waiting",
    "pool",
    "hopeless",
    "unlikely",
    "left",
]
"""Why an arm has no verdict of its own: it costs more than the reference, a cheaper one was enough,
the reference has no graded answer, its next question is not answered yet, the pool ended, or why it
was given up."""


class ArmResult(Struct, frozen=True, kw_only=True):
    """One arm. ``thinking_tokens``, ``cost`` and ``seconds`` are means of one answer.

    ``difference`` is the mean of the ``units`` compared with the reference, missing answers counted
    against this arm; ``plain_difference`` leaves them out. ``capital`` wins at 20.

    >>> right = {f"{n} * 23": f"{n} * 23 = {n * 23}" for n in range(9)}
    >>> questions = [{"input": f"What is {q}?", "target": a} for q, a in right.items()]
    >>> found = pondero.sweep(questions, "claude-opus-5", levels="off,low", offline=True)
    >>> [(arm.level, arm.verdict) for arm in found.arms]
    [('off', 'undecided'), ('low', 'reference')]
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
    output_tokens: float | None = None
    verdict: Verdict = "undecided"
    reason: Reason = ""
    won_at: int | None = None
    """The unit at which it was shown to be enough."""
    capital: float | None = None
    share: float = 0.0
    """The capital it began with."""
    units: int = 0
    difference: float | None = None
    plain_difference: float | None = None
    missing: int = 0
    """Questions compared of which an answer is missing."""
    history: tuple[float, ...] = ()
    """The capital after each unit that was bet on, those after the pilot."""
    exhausted: int = 0
    cut: int = 0
    """Answers that a limit of tokens cut off, the exhausted ones among them."""
    refused: int = 0
    effect: ThinkingCheck = ThinkingCheck("unknown")
    neighbour: str | None = None
    always_right: float | None = None
    """With repeats, the share of questions that are answered rightly every time (pass^K)."""
    ever_right: float | None = None
    """With repeats, the share that is answered rightly at least once (pass@K)."""
    served: tuple[str, ...] = ()
    """The ids of the models that the service says have answered."""

    @property
    def name(self) -> str:
        """Return the model and the level."""
        return f"{self.model}/{self.level}"


_SHOWN = (
    "model", "levels", "fields", "n", "accuracy", "low", "high", "thinking_tokens",
    "output_tokens", "cost", "seconds", "verdict", "won_at", "capital", "units", "difference",
    "missing",
)  # fmt: skip


Outcome = Literal["right", "partly", "wrong", "exhausted", "cut", "refused", "failed", "ungraded"]
"""How one answer ended. ``exhausted``, ``cut``, ``failed`` and ``ungraded`` are missing."""


class TrialAnswer(Struct, frozen=True):
    """One answer to one question, and its grade; ``repeat`` counts from 1."""

    repeat: int
    settled: TrialResult
    grade: StoredGrade | None
    label: float | None = None
    """People's score of it, if they gave one."""

    @property
    def outcome(self) -> Outcome:
        """Return how it ended, in one word."""
        if self.settled.error is not None:
            return "failed"
        if self.settled.is_exhausted:
            return "exhausted"
        if self.settled.is_cut:
            return "cut"
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
    output: float | None = None
    """Output tokens, those of thinking included."""


Amount = Literal["cost", "thinking", "output"]
_MEASURED: dict[Amount, Callable[[Cell], float | None]] = {
    "cost": lambda cell: cell.cost,
    "thinking": lambda cell: cell.thinking,
    "output": lambda cell: cell.output,
}


class QuestionRow(Struct, frozen=True):
    """One question and the cell of every arm; None for an arm that was not asked."""

    question: Question
    cells: tuple[Cell | None, ...]


class Recommendation(Struct, frozen=True):
    """The cheapest arm that is good enough.

    >>> from pondero.sweep import Recommendation
    >>> Recommendation("claude-opus-5", "low", "not worse than high by more than 5 points").name
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
    """Units that the bets have seen: questions, or clusters of them."""
    pilot: int
    """The first units, which all arms were asked and which were not bet on."""
    pool: int
    asked: int
    """Answers that this run asked for."""
    reused: int
    """Answers of earlier runs."""
    spent: Decimal
    """The cost of the answers that were asked for, and of the judge."""
    lost: tuple[int, Decimal] = (0, Decimal(0))
    """Attempts without an answer that may have been charged, and their maximum cost."""
    judging: Decimal = Decimal(0)
    agreement: Agreement | None = None
    labelled: LabelState = LabelState(None, 0, 0)
    """Which answers people have labelled, and which they must."""
    gate: tuple[GateProblem, ...] = ()
    """What the sanity gate found."""
    forecasts: tuple[Forecast, ...] = ()
    """If it is not decided: for an arm equal to the reference, and one worse by half the margin."""
    kinds: tuple[KindResult, ...] = ()
    """Results by kind, if there is a recommendation for all."""

    @property
    def is_gated(self) -> bool:
        """Return whether the sanity gate forbids a recommendation."""
        past = self.facts.past_gate
        return any(each.stays or not past for each in self.gate)

    @property
    def is_decided(self) -> bool:
        """Return whether there is a recommendation, if only to stay with the reference."""
        return self.recommendation is not None

    @property
    def has_bets(self) -> bool:
        """Return whether arms bet a capital; ``once`` does so only on questions added later."""
        return not self.facts.spec.once or any(len(arm.history) > 1 for arm in self.arms)

    @property
    def saving(self) -> float | None:
        """Return the share of the reference's cost that the recommended arm saves, if known."""
        chosen, found = self.recommended_arm, self.reference
        if chosen is None or chosen.cost is None or not found.cost:
            return None
        return 1 - chosen.cost / found.cost

    @property
    def tokens_shown(self) -> Literal["thinking", "output"]:
        """Return which tokens to show of each arm: all output if no thinking is counted."""
        is_counted = any(arm.thinking_tokens is not None for arm in self.arms)
        has_output = any(arm.output_tokens is not None for arm in self.arms)
        return "thinking" if is_counted or not has_output else "output"

    @property
    def recommended_arm(self) -> ArmResult | None:
        """Return the recommended arm."""
        name = self.recommendation.name if self.recommendation else None
        return next((arm for arm in self.arms if arm.name == name), None)

    def find_arms(self, level: str) -> tuple[ArmResult, ...]:
        """Return the arms of a level, or of a MODEL/LEVEL."""
        return tuple(self.arms[number] for number in find_arms(self.facts.arms, level))

    def shows(self, level: str) -> bool:
        """Return whether a level, or a MODEL/LEVEL, is shown to be enough."""
        own = self.find_arms(level)
        return any(arm.verdict == "enough" for arm in own) and not self.is_gated

    def __repr__(self) -> str:
        found = self.recommendation.name if self.recommendation else "nothing"
        return f"<pondero.SweepResults {self.run}: {found}; {self.why}>"

    def _repr_html_(self) -> str:
        """Return the findings and the arms as HTML, for notebooks."""
        return html_of(self)

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

        ``by_kind`` adds a level for each ``metadata.kind`` that its own questions decide. ``force``
        replaces a calibration of this name, and takes a ``level`` that is not shown to be enough.
        """
        made = self.calibration(name, level=level, by_kind=by_kind)
        if not force:
            check_shown(self, level)
        return save_calibration(made, force=force)

    def pareto(self, measure: "Measure | None" = None) -> tuple[ArmResult, ...]:
        """Return the arms that no other beats in both accuracy and cost (or ``measure``)."""
        graded = [arm for arm in self.arms if arm.accuracy is not None]
        chosen = measure or choose_measure(graded)
        known = [arm for arm in graded if chosen.get(arm) is not None]
        kept = [arm for arm in known if not any(_beats(other, arm, chosen) for other in known)]
        return tuple(sorted(kept, key=chosen.value_of))

    def ratio(self, arm: int, amount: Amount, *, resamples: int = RESAMPLES) -> Interval | None:
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
            "recommended": found and found.name,
            "why": self.why,
            "reference": self.reference.name,
            "margin": self.facts.spec.margin,
            "pool": self.pool,
            "pilot": self.pilot,
            "asked": self.asked,
            "reused": self.reused,
            "spent": float(self.spent),
            "lost": float(self.lost[1]),
            "saving": self.saving,
            "gate": [{"condition": each.condition, "why": each.why} for each in self.gate],
            "forecasts": to_builtins(self.forecasts),
            "labels": to_builtins(self.labelled),
            "arms": [
                {"arm": arm.name, **{name: _plain(getattr(arm, name)) for name in _SHOWN}}
                for arm in self.arms
            ],
            "kinds": [
                {
                    "kind": each.kind,
                    "arm": self.arms[each.arm].name,
                    "shown": each.is_shown,
                    "units": each.units,
                }
                for each in self.kinds
            ],
        }

    def table(self, width: int | None = None) -> str:
        """Return the headline, the arms as a table and the other findings, to fit a width."""
        return render_table(self, width)

    def lines(self) -> list[str]:
        """Return the findings, one a line."""
        return write_findings(self.findings())

    def findings(self) -> Iterator[tuple[str, str]]:
        """Yield the findings: a label and a sentence; an empty label continues the one before."""
        return iter_findings(self)


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
    Measure("output tokens", lambda arm: arm.output_tokens, tokens),
)
SECONDS = Measure("seconds", lambda arm: arm.seconds, seconds)
"""Shown, and never used to put arms in an order."""


def choose_measure(arms: Sequence[ArmResult]) -> Measure:
    """Return the first measure that is known for all arms: cost, thinking or output tokens."""
    known = (each for each in MEASURES if all(each.get(arm) is not None for arm in arms))
    return next(known, MEASURES[-1])


def _beats(arm: ArmResult, rival: ArmResult, measure: Measure) -> bool:
    better = (arm.accuracy or 0.0) - (rival.accuracy or 0.0)
    cheaper = measure.value_of(rival) - measure.value_of(arm)
    return better >= 0 and cheaper >= 0 and (better > 0 or cheaper > 0)


def _plain(value: Json) -> Json:
    return list(value) if isinstance(value, tuple) else value
