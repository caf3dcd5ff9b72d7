"""The outline of a sweep: all that is known before a request is sent, as ``--dry-run`` shows it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..batch import batch_terms
from ..canon import Json
from ..catalog import ShortName, describe_meaning
from ..errors import BadParameter
from ..extras import install_hint
from ..store import load_catalog
from .arms import Arm, arms_of, describe_levels, find_full_limit, reference_of
from .grading.judges import check_questions, find_judge_kind, find_judge_model, make_judge
from .grading.proposal import propose_judge
from .points import describe_points
from .questions import Data, Question, cluster_name, read_questions, shuffle
from .results.number_format import format_cost
from .run.gate import GateProblem, check_units
from .run.prices import DISCOUNTED, count_bytes, is_priced, max_trial_cost, usual_trial_cost
from .run.store import check_keyless
from .spec import Spec, from_toml, spec_of
from .statistics.allocation import fewest, pilot_size
from .statistics.e_process import ALPHA
from .statistics.exact_test import ONCE_MOST, once_chance
from .statistics.forecast import USUAL_DISCORDANCE, count_runs, foresee
from .statistics.units import corrected_margin

_ONCE_HINT = 150  # questions; beyond them --once gains little, and its chance takes long
_WORTH = 0.05  # a chance that is better by this is worth a word
_FAIR = 0.5
_USUAL_TOKENS = 1_000
"""Of an answer whose cost is shown as an example."""


class Outline(Struct, frozen=True):
    """A sweep before it begins: its options, its questions in order, and its arms."""

    spec: Spec
    questions: tuple[Question, ...]
    arms: tuple[Arm, ...]
    reference: int
    notes: tuple[str, ...] = ()
    """How the data was read, what short names mean, why a judge was chosen; a line each."""
    source: str = ""
    """The name of the file with the questions, if there is one."""

    @property
    def asks(self) -> int:
        """Return the number of answers if nothing is decided early."""
        return len(self.questions) * len(self.arms) * self.spec.repeats

    def describe_merged_levels(self) -> Iterator[str]:
        """Yield a sentence for each group of levels that become the same request, and why.

        Another for each level that ``max_tokens`` lowers.
        """
        for arm in self.arms:
            if said := describe_levels(arm, self.spec.max_tokens):
                yield said

    @property
    def units(self) -> int:
        """Return how many units the questions make: clusters, or the questions themselves."""
        names = [cluster_name(each, self.spec.cluster) for each in self.questions]
        return len(set(names) - {None}) + names.count(None)

    def problems(self) -> list[GateProblem]:
        """Return what the sanity gate finds before anything is asked."""
        noun = "clusters" if self.spec.cluster else "questions"
        found = check_units(self.spec.margin, self.units, noun=noun, least=self._fewest)
        margins = (points / 100 for points in range(1, 100))
        smallest = next((each for each in margins if self._least(each) <= self.units), None)
        if smallest is None:
            return found
        cure = f"; the smallest margin for {self.units} is {describe_points(smallest)}"
        if found and self.spec.label_share is None:
            cure += self._describe_chances(smallest)
        return [replace(each, why=each.why + cure) for each in found]

    def _describe_chances(self, smallest: float) -> str:
        """Return how likely the smallest margin decides, and a margin with a fair chance."""
        chance = self._chance(0.0, margin=smallest)
        said = f", with a chance of {100 * chance:.0f} % to decide"
        for margin in (points / 100 for points in (10, 15, 20, 25, 30, 40, 50)):
            if margin > smallest and (better := self._chance(0.0, margin=margin)) >= _FAIR:
                return f"{said}; {describe_points(margin)} have {100 * better:.0f} %"
        return said

    @property
    def _fewest(self) -> int:
        return self._least(self.spec.margin)

    def _least(self, margin: float) -> int:
        share = self.spec.label_share
        return fewest(margin if share is None else corrected_margin(margin, share))

    def describe_sample_size(self) -> str:
        """Return a sentence: how likely these questions decide at this margin."""
        margin, units = self.spec.margin, self.units
        count = len(self.questions)
        said = f"{count:,} questions" if count != 1 else "1 question"
        if units != len(self.questions):
            said += f" in {units:,} clusters"
        share = self.spec.label_share
        if units < self._fewest or share is not None:
            drawn = "" if share is None else f" if people label {100 * share:g} % of them"
            return f"{said}; {self._fewest} are the least at {describe_points(margin)}{drawn}"
        points = describe_points(margin)
        none, half = (f"{100 * self._chance(each):.0f} %" for each in (0.0, -margin / 2))
        fewer, others = "", len(self.arms) - 1
        if self.spec.once and others > 1:  # they share the error of one in 20
            alone = f"{100 * self._chance(0.0, candidates=1):.0f} %"
            fewer = f"; fewer --levels raise it: {others} share it, and one alone has {alone}"
        return (
            f"{said}; the chance to show that a level is at most {points} worse is "
            f"{none} if it is equal and {half} if it is {describe_points(margin / 2)} worse "
            f"(assumed: 10 of 100 answers differ){fewer}{self._describe_once()}"
        )

    def _describe_once(self) -> str:
        """Return by how much ``once`` raises the chance, if it can and that is worth a word."""
        spec = self.spec
        if spec.once or spec.repeats > 1 or spec.cluster or self.units > _ONCE_HINT:
            return ""
        if find_judge_kind(spec.judge).graded or spec.against == "best":
            return ""
        before, after = self._chance(0.0), self._chance(0.0, once=True)
        if after < before + _WORTH:
            return ""
        return f"; --once, which tests them one single time at the end, has {100 * after:.0f} %"

    def _chance(
        self,
        difference: float,
        *,
        candidates: int | None = None,
        margin: float | None = None,
        once: bool = False,
    ) -> float:
        """Return how likely the cheapest level is shown, if its true difference is this."""
        margin, units = margin or self.spec.margin, self.units
        candidates = candidates or max(1, len(self.arms) - 1)
        if self.spec.once or once:
            return once_chance(
                units, margin, discordance=max(USUAL_DISCORDANCE, -difference),
                difference=difference, share=1 / candidates, alpha=ALPHA,
            )  # fmt: skip
        share = 1.0 if candidates == 1 else 0.7
        return foresee(
            (0.0, 0.0), USUAL_DISCORDANCE, margin, units, pilot=self.spec.pilot,
            share=share, difference=difference, runs=count_runs(units),
        ).chance  # fmt: skip

    def max_cost(self, questions: int | None = None) -> Decimal | None:
        """Return the most that the first questions, or all, can cost, or None if unknown."""
        spec = self.spec
        try:
            bounds = (
                max_trial_cost(spec, arm, question) * count
                for question, count in self._count_sizes(questions)
                for arm in self.arms
            )
            return sum(bounds, Decimal(0)) * spec.repeats
        except BadParameter:
            return None

    def _count_sizes(self, questions: int | None = None) -> list[tuple[Question, int]]:
        """Return a question of each size, and how many have it: all that a cost depends on."""
        asked = self.questions[:questions]
        sizes = [count_bytes(each) for each in asked]
        one = dict(zip(sizes, asked, strict=True))
        return [(one[size], count) for size, count in Counter(sizes).items()]

    @property
    def pilot_questions(self) -> int:
        """Return how many questions the pilot has: its units are whole clusters."""
        units = pilot_size(self.units, self.spec.pilot)
        names = (cluster_name(each, self.spec.cluster) for each in self.questions)
        seen = set[str | None]()
        for number, name in enumerate(names):
            if name is None or name not in seen:
                units -= 1
            if units < 0:
                return number
            seen.add(name)
        return len(self.questions)

    def describe_cost(self) -> str:
        """Return a sentence: the most that the pilot and all of it can cost, and why so much."""
        pilot, most = self.max_cost(self.pilot_questions), self.max_cost()
        if pilot is None or most is None:
            return "what it costs is not known before: an arm has no price or no output limit"
        limits = {load_catalog().entry(arm.model).capability.max_output for arm in self.arms}
        longest = self.spec.max_tokens or max(each for each in limits if each is not None)
        lower = "" if self.spec.max_tokens else "; --max-tokens lowers it"
        stops, budget = "", self.spec.budget
        if budget is not None:
            short = ""
            if pilot > Decimal(str(budget)):
                short = ", in the middle of the pilot if all answers are that long"
            stops = f"; --budget stops at ${budget:,.2f}{short}"
        return (
            f"it costs {format_cost(most)} at most, the pilot of {self.pilot_questions} questions "
            f"{format_cost(pilot)}, if every answer has {longest:,} tokens{lower}{stops}; what an "
            "answer costs on average is known after the pilot"
        )

    def describe_budget(self) -> str:
        """Return a sentence: what to name as the budget, and why; or nothing without one."""
        if self.spec.budget is None:
            return ""
        return (
            "--budget is what you are willing to spend in all: the bets are sized for it, so one "
            "that is raised later proves less for the same cost"
        )

    def describe_usual_cost(self) -> str:
        """Return a sentence: what all of it costs with shorter answers, or nothing if unknown."""
        limit = self.spec.max_tokens
        if limit is not None and limit <= _USUAL_TOKENS:
            return ""  # the most that it can cost says it
        try:
            costs = [
                usual_trial_cost(self.spec, arm, question, _USUAL_TOKENS) * count
                for question, count in self._count_sizes()
                for arm in self.arms
            ]
        except BadParameter:
            return ""
        total = sum(costs, Decimal(0)) * self.spec.repeats
        return (
            f"at {_USUAL_TOKENS:,} tokens an answer, thinking included: about {format_cost(total)} "
            "if every question is asked of every arm"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the arms like a run's JSON, without results."""
        names = ("accuracy", "low", "high", "thinking_tokens", "output_tokens", "cost", "seconds",
                 "won_at", "capital", "difference")  # fmt: skip
        arms = [
            {
                "arm": arm.name,
                "model": arm.model,
                "levels": list(arm.levels),
                "fields": arm.fields,
                **dict.fromkeys(names),
                "verdict": "reference" if number == self.reference else "undecided",
            }
            for number, arm in enumerate(self.arms)
        ]
        counts = {"n": 0, "units": 0}
        return {
            "run": None,
            "recommended": None,
            "why": self.describe_sample_size(),
            "max_cost": {
                "pilot": _plain(self.max_cost(self.pilot_questions)),
                "all": _plain(self.max_cost()),
            },
            "arms": [{**arm, **counts} for arm in arms],
        }


def _plain(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def _describe_short_names(models: Iterable[str]) -> Iterator[str]:
    for name in dict.fromkeys(load_catalog().apart(each)[0] for each in models):
        entry = load_catalog().entry(name)
        if entry.short:
            yield describe_meaning(entry.short, ShortName(entry.id, entry.line))


def make_outline(data: Data, options: Mapping[str, Json]) -> Outline:
    """Return the outline of a sweep; ``options`` of ``Spec`` override those of a SWEEP.toml."""
    if isinstance(data, str | Path) and Path(data).suffix.lower() == ".toml":
        path, written = from_toml(Path(data))
        given = {name: value for name, value in options.items() if value is not None}
        data, options = path, {**written, **given}
    spec = spec_of(**options)
    found = read_questions(data)
    notes = (*found.notes, *_describe_short_names(spec.models))
    if options.get("judge") is None:
        proposal = propose_judge(found.questions)
        if proposal.judge is None:
            message = f"no judge was named, and {proposal.why}"
            raise BadParameter(message)
        spec = replace(spec, judge=proposal.judge)
        notes = (*notes, f"judge {proposal.judge}: {proposal.why}; --judge takes another")
    questions = shuffle(found.questions, spec.seed, cluster=spec.cluster)
    check_keyless(questions, spec)  # before a target or a question is shown
    named = (each.id for each in found.questions)
    check_judge_options(spec, found.questions, dict(zip(named, found.places, strict=False)))
    if spec.cluster and not any(spec.cluster in each.metadata for each in questions):
        message = (
            f"no question has the metadata {spec.cluster!r}; use a field that the questions have"
        )
        raise BadParameter(message)
    if spec.once and len(questions) > ONCE_MOST:
        message = f"--once is for at most {ONCE_MOST} questions, and there are {len(questions):,}"
        raise BadParameter(message)
    arms = arms_of(spec.models, spec.levels, max_tokens=spec.max_tokens)
    if spec.engine in DISCOUNTED:
        for arm in arms:
            entry = load_catalog().entry(arm.model)
            batch_terms(entry.provider, entry.model)
    if len(arms) == 1:
        raise BadParameter(_describe_one_arm(arms[0], spec))
    check_prices(spec, arms, questions[0])
    source = Path(data).name if isinstance(data, str | Path) else ""
    return Outline(spec, questions, arms, reference_of(arms, spec.reference), notes, source)


def check_judge_options(
    spec: Spec, questions: Sequence[Question], places: Mapping[str, str] | None = None
) -> None:
    """Raise BadParameter if the judge of a sweep does not fit its questions or its options.

    ``places``: file and line by the question's id.
    """
    make_judge(spec.judge)
    if spec.offline and find_judge_model(spec.judge):
        raise BadParameter("the emulator cannot judge; use another judge, or leave out --offline")
    check_questions(spec.judge, questions, places)
    if spec.once and find_judge_kind(spec.judge).graded:
        message = f"--once is for answers that are right or wrong; {spec.judge!r} gives scores"
        raise BadParameter(message)


def _describe_one_arm(arm: Arm, spec: Spec) -> str:
    """Return why there is nothing to compare, and what to do."""
    if len(arm.levels) == 1:
        cure = "name more levels with --levels, or another model with -m"
        return f"nothing to compare: the only arm is {arm.name}; {cure}"
    return f"nothing to compare: {describe_levels(arm, spec.max_tokens)}"


def _describe_full_limit(arms: Sequence[Arm]) -> str:
    """Return from which ``--max-tokens`` on no arm thinks less; empty if none takes a budget."""
    full, level = max((find_full_limit(arm) or 0, arm.level) for arm in arms)
    return f"; below --max-tokens {full} less thinking is sent for {level}" if full else ""


def check_prices(spec: Spec, arms: tuple[Arm, ...], question: Question) -> None:
    """Raise BadParameter if a price is unknown, or one answer may cost more than the budget."""
    models = [arm.model for arm in arms]
    if judge := find_judge_model(spec.judge):
        models.append(load_catalog().apart(judge)[0])
    unpriced = [model for model in dict.fromkeys(models) if not is_priced(model)]
    if unpriced and not spec.unpriced and not spec.offline:
        message = (
            f"no price is known for {', '.join(unpriced)}; use --allow-unpriced to run without one "
            f"(prices come with the extra: {install_hint('prices')})"
        )
        raise BadParameter(message)
    if spec.budget is None:
        return
    for arm in arms:
        bound = max_trial_cost(spec, arm, question)
        if bound > Decimal(str(spec.budget)):
            message = (
                f"one answer of {arm.name} may cost ${bound:.2f}, more than --budget; "
                f"set --max-tokens, or raise --budget{_describe_full_limit(arms)}"
            )
            raise BadParameter(message)
