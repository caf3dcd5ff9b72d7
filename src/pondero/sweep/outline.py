"""The outline of a sweep: all that is known before a request is sent, as ``--dry-run`` shows it."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..batch import batch_terms
from ..canon import Json
from ..errors import BadParameter
from ..store import load_catalog
from .arms import Arm, arms_of, reference_of
from .grading.judges import check_questions, make_judge
from .questions import Data, Question, questions_of, shuffle
from .run.runner import DISCOUNTED, is_priced, max_trial_cost
from .spec import Spec, from_toml, spec_of
from .statistics.sample_size import USUAL_DISCORDANCE, questions_needed

_DISCORDANCES = (USUAL_DISCORDANCE / 2, USUAL_DISCORDANCE, USUAL_DISCORDANCE * 2)


class Outline(Struct, frozen=True):
    """A sweep before it begins: its options, its questions in order, and its arms."""

    spec: Spec
    questions: tuple[Question, ...]
    arms: tuple[Arm, ...]
    reference: int

    @property
    def asks(self) -> int:
        """Return the number of answers if nothing is decided early."""
        return len(self.questions) * len(self.arms) * self.spec.repeats

    def describe_merged_levels(self) -> Iterator[str]:
        """Yield a sentence for each group of levels that become the same request."""
        for arm in self.arms:
            if len(arm.levels) > 1:
                *most, last = arm.levels
                yield f"{', '.join(most)} and {last} send the same to {arm.model}: one arm"

    def describe_sample_size(self) -> str:
        """Return a sentence: how many questions would decide at this margin."""
        few, usual, many = (questions_needed(each, self.spec.margin) for each in _DISCORDANCES)
        margin = f"{100 * self.spec.margin:g} points"
        return (
            f"{len(self.questions):,} questions; to show an equal arm to be within {margin} takes "
            f"about {usual:,} where 10 of 100 answers differ ({few:,} for 5, {many:,} for 20)"
        )

    def max_cost(self, questions: int | None = None) -> Decimal | None:
        """Return the most that the first questions, or all, can cost, or None if unknown."""
        spec = self.spec
        try:
            bounds = (
                max_trial_cost(spec, arm, question)
                for question in self.questions[:questions]
                for arm in self.arms
            )
            return sum(bounds, Decimal(0)) * spec.repeats
        except BadParameter:
            return None

    def to_json(self) -> dict[str, Any]:
        """Return the arms like a run's JSON, without results."""
        names = ("n", "accuracy", "low", "high", "thinking_tokens", "cost", "seconds",
                 "difference", "lower", "upper")  # fmt: skip
        arms = [
            {
                "model": arm.model,
                "levels": list(arm.levels),
                "fields": arm.fields,
                **dict.fromkeys(names),
                "verdict": "reference" if number == self.reference else "undecided",
            }
            for number, arm in enumerate(self.arms)
        ]
        return {"run": None, "arms": [{**arm, "n": 0} for arm in arms], "recommend": None,
                "why": self.describe_sample_size()}  # fmt: skip


def make_outline(data: Data, options: Mapping[str, Json]) -> Outline:
    """Return the outline of a sweep; ``options`` of ``Spec`` override those of a SWEEP.toml."""
    if isinstance(data, str | Path) and Path(data).suffix.lower() == ".toml":
        path, written = from_toml(Path(data))
        given = {name: value for name, value in options.items() if value is not None}
        data, options = path, {**written, **given}
    spec = spec_of(**options)
    if spec.offline and spec.judge.startswith("model:"):
        raise BadParameter("the emulator cannot judge; use another judge, or leave out --offline")
    make_judge(spec.judge)
    questions = shuffle(questions_of(data), spec.seed)
    check_questions(spec.judge, questions)
    if spec.cluster and not any(spec.cluster in each.metadata for each in questions):
        message = (
            f"no question has the metadata {spec.cluster!r}; use a field that the questions have"
        )
        raise BadParameter(message)
    arms = arms_of(spec.models, spec.levels, max_tokens=spec.max_tokens)
    if spec.engine in DISCOUNTED:
        for arm in arms:
            entry = load_catalog().entry(arm.model)
            batch_terms(entry.provider, entry.model)
    _check_prices(spec, arms, questions[0])
    return Outline(spec, questions, arms, reference_of(arms, spec.reference))


def _check_prices(spec: Spec, arms: tuple[Arm, ...], question: Question) -> None:
    models = [arm.model for arm in arms]
    if spec.judge.startswith("model:"):
        models.append(load_catalog().apart(spec.judge.partition(":")[2])[0])
    unpriced = [model for model in dict.fromkeys(models) if not is_priced(model)]
    if unpriced and not spec.unpriced and not spec.offline:
        message = (
            f"no price is known for {', '.join(unpriced)}; use --allow-unpriced to run without one "
            "(prices come with the extra: pip install 'pondero[prices]')"
        )
        raise BadParameter(message)
    if spec.max_cost is None:
        return
    for arm in arms:
        bound = max_trial_cost(spec, arm, question)
        if bound > Decimal(str(spec.max_cost)):
            message = (
                f"one answer of {arm.name} may cost ${bound:.2f}, more than --max-cost; "
                "set --max-tokens, or raise --max-cost"
            )
            raise BadParameter(message)
