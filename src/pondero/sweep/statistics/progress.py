"""Where a sweep stands: the scores so far, and what each look at them has decided.

``replay_looks`` needs the answers alone, so an interrupted or rejudged run has the same progress.
"""

from collections.abc import Hashable, Mapping, Sequence
from copy import copy

from msgspec import Struct
from msgspec.structs import replace

from ..arms import Arm
from ..engines.engine import TrialResult, trial_key
from ..questions import Question
from ..run.store import Run, RunFacts
from .decision import BestArmField, Chain, DecisionRule, decide_best_look, decide_look
from .intervals import Estimate, paired_difference
from .looks import ALPHA, positions

LEAST = 30
"""Questions, or clusters of them, below which nothing is recommended."""

MISSING = 0.02
"""The share of questions that may be dropped."""


class TrialSlot(Struct, frozen=True):
    """One question to one arm, once: its place in the run and the key of its answer."""

    arm: int
    position: int
    repeat: int
    key: str


Asks = Mapping[tuple[int, int], Sequence[TrialSlot]]
"""All that a run may ask, by arm and position."""


def every_ask(facts: RunFacts, questions: Sequence[Question]) -> Asks:
    """Return all that a run may ask, by arm and position; the same words count as more repeats."""
    spec, seen = facts.spec, dict[str, int]()
    found: dict[tuple[int, int], list[TrialSlot]] = {}
    for position, question in enumerate(questions):
        said = (question.prompt, spec.system, spec.max_tokens)
        words = trial_key("", None, said, 0)
        before = seen.get(words, 0)
        seen[words] = before + spec.repeats
        for number, arm in enumerate(facts.arms):
            found[number, position] = [
                TrialSlot(number, position, repeat, trial_key(arm.model, arm.fields, said, repeat))
                for repeat in range(before, before + spec.repeats)
            ]
    return found


class Scores:
    """The scores of every arm on every question, as far as they are known: means over repeats.

    None if an answer or grade failed for good; absent before all is graded. ``is_done``: nothing
    more is asked; an arm that another judge would have asked on is left out.
    """

    def __init__(self, run: Run, judge: str, asks: Asks | None = None) -> None:
        self.facts: RunFacts = run.facts
        self.is_done: bool = run.state == "done"
        self.questions: tuple[Question, ...] = run.questions()
        self.asks: Asks = asks or every_ask(run.facts, self.questions)
        self.answers: Mapping[str, TrialResult] = run.answers()
        grades = run.grades(judge)
        self._within: frozenset[int] | None = None
        self._known: dict[tuple[int, int], float | None] = {}
        for place, every in self.asks.items():
            question = self.questions[place[1]].id
            scores = [self._score(ask, grades, question) for ask in every]
            if not any(score is _UNKNOWN for score in scores):
                known = [score for score in scores if isinstance(score, float)]
                whole = len(known) == len(scores)
                self._known[place] = sum(known) / len(known) if whole else None

    def only(self, places: frozenset[int]) -> "Scores":
        """Return the same scores on these questions alone; the others are as if never asked."""
        view = copy(self)
        view._within = places  # noqa: SLF001 - a copy of this very class
        return view

    def counted_positions(self, upto: int) -> list[int]:
        """Return the positions of the first questions that count here."""
        return [at for at in range(upto) if self._within is None or at in self._within]

    def _score(
        self, ask: TrialSlot, grades: Mapping[tuple[str, str], float | None], question: str
    ) -> "float | _Unknown | None":
        settled = self.answers.get(ask.key)
        if settled is None:
            return _UNKNOWN
        if settled.error is not None:
            return None
        if settled.is_exhausted or settled.is_refused:
            return 0.0
        return grades.get((question, ask.key), _UNKNOWN)

    def is_known(self, arm: int, position: int) -> bool:
        """Return whether everything about this arm and question is settled."""
        outside = self._within is not None and position not in self._within
        return outside or (arm, position) in self._known

    def arm_answers(self, arm: int, position: int) -> list[TrialResult]:
        """Return the answers of an arm to a question, those that came."""
        asks = self.asks[arm, position]
        return [self.answers[ask.key] for ask in asks if ask.key in self.answers]

    def score(self, arm: int, position: int) -> float | None:
        """Return an arm's score on a question, or None if it is missing or not known yet."""
        return self._known.get((arm, position))

    def dropped_questions(self, upto: int) -> frozenset[int]:
        """Return the questions that some arm misses: they are dropped from all arms."""
        return frozenset(
            position
            for (_, position), score in self._known.items()
            if score is None
            and position < upto
            and (self._within is None or position in self._within)
        )

    def shared_positions(self, upto: int, *arms: int) -> list[int]:
        """Return the positions that all of these arms have a score for, and no arm misses."""
        dropped = self.dropped_questions(upto)
        return [
            position
            for position in self.counted_positions(upto)
            if position not in dropped
            and all(self.score(arm, position) is not None for arm in arms)
        ]

    def cluster(self, position: int) -> Hashable:
        """Return the cluster of a question: a value of its metadata, or the question itself."""
        field = self.facts.spec.cluster
        value = self.questions[position].metadata.get(field) if field else None
        return f"={value}" if value is not None else position

    def versus(self, arm: int, rival: int, upto: int) -> Estimate:
        """Return how much better one arm is than another over the first questions."""
        places = self.shared_positions(upto, arm, rival)
        values = [(self.score(arm, at) or 0.0) - (self.score(rival, at) or 0.0) for at in places]
        clusters = [self.cluster(at) for at in places] if self.facts.spec.cluster else None
        return paired_difference(values, clusters)


class _Unknown:
    """Not answered or not graded yet."""


_UNKNOWN = _Unknown()


class SweepProgress(Struct, frozen=True):
    """What the looks have decided. ``look`` counts those that are complete, of ``looks``.

    ``asked`` are the arms that the next look needs; ``last`` has each arm's last look and boundary.
    """

    look: int
    looks: tuple[int, ...]
    passed: frozenset[int]
    worse: frozenset[int]
    asked: tuple[int, ...]
    last: dict[int, tuple[int, float]]
    first: float
    is_whole: bool = False
    """Whether every arm that could pass has passed."""

    @property
    def is_over(self) -> bool:
        """Return whether there is nothing left to ask."""
        return self.look == len(self.looks) or not self.asked

    def look_of(self, arm: int) -> int:
        """Return the look at which an arm was last compared, or 0 if it never was."""
        return self.last[arm][0] if arm in self.last else 0

    def z_of(self, arm: int) -> float:
        """Return the boundary that an arm's bounds are drawn at."""
        return self.last[arm][1] if arm in self.last else self.first

    @property
    def questions(self) -> int:
        """Return how many questions the looks so far have seen."""
        return self.looks[self.look - 1] if self.look else 0


def replay_looks(scores: Scores, *, families: int = 1) -> SweepProgress:
    """Play every look that is complete, in order; so many such families share the error."""
    facts = scores.facts
    places = positions(len(scores.questions), facts.looks)
    rule = DecisionRule(margin=facts.spec.margin, alpha=ALPHA / families, looks=len(places))
    table = _Best(facts) if facts.spec.against == "best" else _Chains(facts)
    look, last = 0, dict[int, tuple[int, float]]()
    first = rule.z(1, table.families)
    while look < len(places) and table.asked:
        upto = places[look]
        lacking = {a for a in table.asked if not all(scores.is_known(a, n) for n in range(upto))}
        if lacking and not scores.is_done:
            break
        table.leave_out(lacking)
        if not (compared := table.asked):
            break
        look += 1
        if look < len(places) and obstacle(scores, upto):
            continue  # nothing could be recommended from this look, so it decides nothing
        table.look(scores, look, upto, rule)
        last |= dict.fromkeys(compared, (look, rule.z(look, table.families)))
    return SweepProgress(
        look,
        places,
        table.passed,
        table.worse,
        tuple(table.asked),
        last,
        first,
        is_whole=table.is_whole,
    )


def obstacle(scores: Scores, upto: int) -> str:
    """Return what forbids a recommendation from the first questions, or nothing."""
    dropped, counted = scores.dropped_questions(upto), scores.counted_positions(upto)
    kept = [at for at in counted if at not in dropped]
    if len(dropped) > MISSING * len(counted):
        share = f"{100 * len(dropped) / len(counted):.1f}%"
        return (
            f"{len(dropped)} of {len(counted)} questions ({share}) failed; more than 2% is too many"
        )
    if len(kept) < LEAST:
        some = "1 question is" if len(kept) == 1 else f"{len(kept)} questions are"
        return f"{some} too few to recommend by; {LEAST} are the least"
    if (groups := len({scores.cluster(at) for at in kept})) < LEAST:
        some = "1 cluster is" if groups == 1 else f"{groups} clusters are"
        return f"{some} too few to recommend by; {LEAST} are the least"
    return ""


class _Chains:
    """Every model's arms in their fixed sequence, against the reference."""

    def __init__(self, facts: RunFacts) -> None:
        self._reference = facts.reference
        above = _dearer_arms(facts.arms, facts.reference)
        self._others = above
        models = dict.fromkeys(arm.model for arm in facts.arms)
        self._chains: tuple[Chain, ...] = tuple(
            Chain(own)
            for model in models
            if (own := _sequence(facts.arms, model, {facts.reference, *above}))
        )

    @property
    def families(self) -> int:
        return max(1, sum(not chain.is_whole for chain in self._chains))

    @property
    def is_whole(self) -> bool:
        return all(chain.is_whole for chain in self._chains)

    @property
    def asked(self) -> tuple[int, ...]:
        """Return the arms to ask: none once every chain is decided, all where there is none."""
        chained = [arm for chain in self._chains for arm in chain.asked]
        if self._chains and not chained:
            return ()
        return tuple(sorted((*chained, self._reference, *self._others)))

    @property
    def passed(self) -> frozenset[int]:
        return frozenset(arm for chain in self._chains for arm in chain.arms[: chain.passed])

    @property
    def worse(self) -> frozenset[int]:
        return frozenset(arm for chain in self._chains for arm in chain.worse)

    def leave_out(self, arms: set[int]) -> None:
        """Go on without these; without the reference there is nothing to compare with."""
        every = self._reference in arms
        self._chains = tuple(
            replace(chain, absent=chain.absent | set(chain.arms if every else arms))
            for chain in self._chains
        )
        self._others = () if every else tuple(arm for arm in self._others if arm not in arms)

    def look(self, scores: Scores, look: int, upto: int, rule: DecisionRule) -> None:
        self._chains = decide_look(
            self._chains,
            lambda arm: scores.versus(arm, self._reference, upto),
            look=look,
            rule=rule,
        )


def _sequence(arms: Sequence[Arm], model: str, without: set[int]) -> tuple[int, ...]:
    own = [n for n, arm in enumerate(arms) if arm.model == model and n not in without]
    return tuple(sorted(own, key=lambda n: -arms[n].rank))


def _dearer_arms(arms: Sequence[Arm], reference: int) -> tuple[int, ...]:
    own = arms[reference]
    return tuple(n for n, arm in enumerate(arms) if arm.model == own.model and arm.rank > own.rank)


class _Best:
    """All arms against each other."""

    families = 1

    def __init__(self, facts: RunFacts) -> None:
        self._field = BestArmField(
            tuple(sorted(range(len(facts.arms)), key=lambda n: facts.arms[n].rank))
        )

    @property
    def is_whole(self) -> bool:
        return self._field.passed == set(self._field.arms)

    @property
    def asked(self) -> tuple[int, ...]:
        return self._field.asked

    @property
    def passed(self) -> frozenset[int]:
        return self._field.passed

    @property
    def worse(self) -> frozenset[int]:
        return self._field.worse

    def leave_out(self, arms: set[int]) -> None:
        self._field = replace(self._field, absent=self._field.absent | arms)

    def look(self, scores: Scores, look: int, upto: int, rule: DecisionRule) -> None:
        self._field = decide_best_look(
            self._field, lambda one, other: scores.versus(one, other, upto), look=look, rule=rule
        )
