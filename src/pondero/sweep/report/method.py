"""Method: how a run was made and decided, in sentences that follow from its ``RunFacts``."""

from collections.abc import Iterator
from datetime import UTC, datetime

from ...catalog import catalog_hash
from ..results.number_format import format_cost
from ..results.values import SweepResults
from ..statistics.decision import DecisionRule
from ..statistics.looks import ALPHA, positions
from ..statistics.progress import LEAST, MISSING

Entry = tuple[str, str]

_REALITY = (
    "A sign test, question by question, asks whether a level spends more thinking tokens than the "
    "next cheaper one: 'no effect' is where that is not shown at 5 %, 'inverted' where it is shown "
    "to spend fewer. Where the service does not count thinking, nothing is said."
)
_KINDS = (
    f"A kind of questions is decided by its own alone, {LEAST} at least, with the same looks and "
    "sequence; the kinds share the error by Holm's rule."
)
_MISSING = (
    "An answer that was all thinking, and a refusal, count as wrong and are listed apart. A "
    "question that failed for another reason, or that the judge could not grade, is left out of "
    f"every arm. Nothing is recommended on fewer than {LEAST} questions (or clusters), with more "
    f"than {100 * MISSING:g} % of them missing, or before the run has ended."
)


def method(results: SweepResults) -> Iterator[Entry]:
    """Yield the method, a heading and a paragraph at a time."""
    yield "Questions", _questions(results)
    yield "Good enough", _margin(results)
    yield "Intervals", _intervals(results)
    yield "Looks", _looks(results)
    yield "Several comparisons", _sequence(results)
    if results.kinds:
        yield "Kinds", _KINDS
    yield "Reality check", _REALITY
    yield "Missing", _MISSING
    yield "Judge", _judge(results)
    yield "Money", _money(results)


def _questions(results: SweepResults) -> str:
    facts = results.facts
    repeats = f", {facts.spec.repeats} times each" if facts.spec.repeats > 1 else ""
    return (
        f"{len(results.rows):,} questions{repeats}, the same for every arm, in an order drawn with "
        f"the seed {facts.spec.seed}. An arm that is decided early is not asked the rest. "
        f"The hash of the questions is {facts.data}."
    )


def _margin(results: SweepResults) -> str:
    spec = results.facts.spec
    margin = f"{100 * spec.margin:g} points"
    if spec.against == "best":
        return (
            f"Declared before anything was asked: not worse than any other arm by more than "
            f"{margin}, each comparison at a one-sided error of 5 %."
        )
    declared = "as asked for" if spec.reference else "the highest level"
    return (
        f"Declared before anything was asked: not worse than {results.reference.name} ({declared}) "
        f"by more than {margin}, at a one-sided error of {100 * ALPHA:g} %. The reference is never "
        "the best observed arm. Two intervals that overlap say nothing: the difference does, which "
        "is taken question by question."
    )


def _intervals(results: SweepResults) -> str:
    spec = results.facts.spec
    if spec.cluster:
        alone = f"a t interval over clusters of the field {spec.cluster!r}"
    elif spec.repeats > 1:
        alone = "a t interval over the questions' means"
    else:
        alone = "Wilson's"
    clustered = ", summed over clusters" if spec.cluster else ""
    return (
        f"An arm by itself: {alone}, at 95 %. A difference: Agresti and Min's adjusted interval "
        f"for paired answers{clustered}, drawn at the boundary of the arm's last look; it does not "
        "collapse where two arms agree on every question."
    )


def _looks(results: SweepResults) -> str:
    places = positions(len(results.rows), results.facts.looks)
    rule = DecisionRule(margin=results.facts.spec.margin, looks=len(places))
    steps = (f"{at:,} (z {rule.z(n):.3f})" for n, at in enumerate(places, 1))
    done = f"{results.looks} of {len(places)} were made"
    return (
        f"The answers are compared after {', '.join(steps)} questions, by O'Brien and Fleming's "
        f"boundaries; {done}. An arm that is shown to be worse is not asked on, nor is one above "
        "the cheapest that passed."
    )


def _sequence(results: SweepResults) -> str:
    if results.facts.spec.against == "best":
        return "An arm must be good enough against every other one, so no correction is needed."
    several = (
        " The models share the error by Holm's rule, so that each boundary is the higher the more "
        "of them are undecided."
    )
    return (
        "From the dearest arm down, ending at the first that does not pass: in a fixed sequence "
        "many levels need no correction."
    ) + (several if len(results.models()) > 1 else "")


def _judge(results: SweepResults) -> str:
    said = f"The judge is {results.judge!r}."
    if results.judge != results.facts.spec.judge:
        said += f" The run was asked with {results.facts.spec.judge!r}, and judged again."
    if results.judging:
        said += f" It cost {format_cost(results.judging)}, apart from the answers."
    if (told := results.agreement) is not None:
        kappa = "" if told.kappa is None else f" (kappa {told.kappa:.2f})"
        said += f" It agrees with people on {told.agreed} of {told.count} labelled answers{kappa}."
    elif results.judge.startswith("model:"):
        said += " No answers were labelled by people, so how far it can be trusted is not known."
    return said


def _money(results: SweepResults) -> str:
    spec = results.facts.spec
    cap = "No cap was set." if spec.max_cost is None else (
        f"The cap was {format_cost(spec.max_cost)}: what is paid, and the most that everything in "
        "flight can cost, never pass it together."
    )  # fmt: skip
    unpriced = any(arm.cost is None and arm.n for arm in results.arms)
    unknown = " Of some arms no price is known; what they cost is not counted." if unpriced else ""
    asked = (
        " The run was offline: the built-in emulator answered, its errors are drawn by the seed, "
        "prices are those of the service, and times are those of this machine."
        if spec.offline
        else ""
    )
    verb = "would have been" if spec.offline else "were"
    return f"{format_cost(results.spent)} {verb} spent. {cap}{unknown}{asked}"


def colophon(results: SweepResults, *, version: str, now: float) -> str:
    """Return the time and version of the run and of this report."""
    facts = results.facts
    engine = "the emulator" if facts.spec.offline else f"the {facts.spec.engine} engine"
    return (
        f"Run {facts.run}, begun {_time(facts.started)} UTC on {engine}, {results.state}. Report "
        f"of {_time(now)} UTC by pondero {version}, whose catalog is {catalog_hash()}."
    )


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")
