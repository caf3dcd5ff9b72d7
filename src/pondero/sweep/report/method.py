"""Method: how a run was made and decided, in sentences that follow from its ``RunFacts``."""

from collections.abc import Iterator
from datetime import UTC, datetime

from ...catalog import catalog_hash
from ..grading.judges import find_judge_model
from ..points import describe_points
from ..results.number_format import format_cost
from ..results.values import SweepResults
from ..statistics.judge_error import LABELS, JudgeErrors

Entry = tuple[str, str]

_REALITY = (
    "The mean log ratio of thinking tokens, or of output tokens, to the next cheaper level, with "
    "its 90 % interval: 'same' if shown to be within 1.15, 'less' if below 1. It decides nothing."
)
_KINDS = (
    "Each kind has an equal share of the capital and bets it on its own questions. A kind that "
    "does not win gets the reference."
)
_KINDS_TESTED = (
    "Each kind is tested by itself, on its own questions. A kind that is not shown gets the "
    "reference."
)
_MISSING = (
    "An answer that was cut off, timed out or failed for good counts against the cheaper arm, "
    "whichever arm it happened in. A refusal is an answer, and wrong. No question is left out."
)


_GATE = (
    "After the pilot it is checked whether the judge, the questions and the limits can lead to a "
    "decision. A caution is a problem that this found and that the run continued past."
)


_MEANINGS = {
    "recommend": "Enough", "reason": "Enough", "enough": "Enough", "reference": "Enough",
    "nothing": "Given up, undecided", "given up": "Given up, undecided",
    "undecided": "Given up, undecided", "worse": "Worse", "capital": "Capital",
    "measured": "Measured", "saves": "Cost", "spent": "Cost", "lost": "Cost", "kind": "Kinds",
    "same": "Thinking", "less": "Thinking", "missing": "Missing", "cut": "Missing",
    "refused": "Missing", "caution": "Sanity gate", "judge": "Judge", "labels": "Judge",
    "reused": "Questions",
}  # fmt: skip


def find_meaning(word: str) -> str | None:
    """Return the heading of the method that says what a word of the findings means."""
    return _MEANINGS.get(word)


def anchor_of(heading: str) -> str:
    """Return the id of a heading of the method."""
    return "means-" + "-".join(heading.lower().replace(",", "").split())


def method(results: SweepResults) -> Iterator[Entry]:
    """Yield the method, a heading and a paragraph at a time."""
    yield "Questions", _questions(results)
    yield "Enough", _margin(results)
    if results.facts.spec.once:
        yield "Test", _describe_test(results)
    if results.has_bets:
        yield "Capital", _bets(results)
        yield "Given up, undecided", _SEQUENCE
        yield "Worse", _WORSE
    else:
        yield "Given up, undecided", _TESTED_IN_ORDER
    stopped = _LUCKY if results.has_bets else _NOT_LUCKY
    yield "Measured", f"{_MEASURED} {stopped} What is shown is the margin."
    if results.kinds:
        yield "Kinds", _KINDS if results.has_bets else _KINDS_TESTED
    yield "Thinking", _REALITY
    yield "Missing", _MISSING
    if results.gate:
        yield "Sanity gate", _GATE
    yield "Judge", _judge(results)
    yield "Cost", _cost(results)


def _questions(results: SweepResults) -> str:
    facts = results.facts
    repeats = f", {facts.spec.repeats} times each" if facts.spec.repeats > 1 else ""
    return (
        f"{len(results.rows):,} questions{repeats}, the same for every arm, in an order drawn with "
        f"the seed {facts.spec.seed}. After the pilot, only the reference and the cheapest arm "
        "that is left are asked. "
        f"The hash of the questions is {facts.data}."
    )


def _margin(results: SweepResults) -> str:
    spec = results.facts.spec
    margin = describe_points(spec.margin)
    if spec.against == "best":
        return (
            f"Declared before anything was asked: not worse than any other arm by more than "
            f"{margin}, shown against each of them."
        )
    declared = "as asked for" if spec.reference else "the highest level"
    return (
        f"Declared before anything was asked: not worse than {results.reference.name} ({declared}) "
        f"by more than {margin}. A sweep says this wrongly at most once in 20."
    )


def _describe_test(results: SweepResults) -> str:
    noun = "clusters" if results.facts.spec.cluster else "questions"
    return (
        f"Each level is tested once, after all {results.pool:,} {noun}, by an exact test of "
        "those on which it and the reference differ."
    )


def _bets(results: SweepResults) -> str:
    if results.facts.spec.once:
        return "A small part of the capital is bet on questions that are added after the test."
    return (
        "Each cheaper level bets a capital, question by question in the fixed order, against the "
        f"claim that it is more than {describe_points(results.facts.spec.margin)} worse. If that "
        "claim is true the capital cannot grow on average, so that it reaches 20 times its start "
        "at most once in 20 sweeps, whenever one stops, resumes or adds questions. Reaching 20 is "
        f"the proof. The first {results.pilot} questions, the pilot, are not bet on."
    )


_WORSE = (
    "A second capital bets the other way. An arm that is not worse by more than the margin is "
    "called worse at most once in 20; this holds for each arm by itself."
)
_MEASURED = "The mean difference to the reference on the questions compared."
_LUCKY = "A sweep tends to stop on a lucky streak, so it flatters the winning arm by 1 to 3 points."
_NOT_LUCKY = "The one test is not made at a lucky moment, so this figure stands."
_TESTED_IN_ORDER = (
    "The error of one in 20 is divided equally among the levels, and the cheapest is tested first. "
    "A level that the test does not show is undecided, which is no claim that it is worse, and the "
    "next one is tested."
)
_SEQUENCE = (
    "All arms share one capital. The cheapest that is left is tried first; one that is "
    "unlikely to be shown is given up, which is no claim, and hands on what is left of its "
    "capital, at most what it began with. An arm is undecided if its questions did not suffice."
)


def _judge(results: SweepResults) -> str:
    said = f"The judge is {results.judge!r}."
    if results.judge != results.facts.spec.judge:
        said += f" The run was asked with {results.facts.spec.judge!r}, and judged again."
    if results.judging:
        said += f" It cost {format_cost(results.judging)}."
    if (share := results.facts.spec.label_share) is not None:
        said += (
            f" People label {100 * share:g} % of the questions, drawn before the answers. A label "
            "corrects the judge by its difference divided by that share, so that the mean is that "
            "of people's grades, whatever the judge errs; units and margin are scaled alike."
        )
    if (errors := results.facts.judge_errors) is not None and share is None:
        said += _describe_errors(errors, results.facts.spec.margin)
    if (told := results.agreement) is not None:
        kappa = "" if told.kappa is None else f" (kappa {told.kappa:.2f})"
        said += f" It agrees with people on {told.agreed} of {told.count} labelled answers{kappa}."
    elif find_judge_model(results.judge):
        said += " No answers were labelled by people, so how far it can be trusted is not known."
    return said


def _describe_errors(errors: JudgeErrors, margin: float) -> str:
    if not errors.is_enough:
        return f" {LABELS} right and {LABELS} wrong labelled answers are needed to correct it."
    tested = errors.margin(margin)
    if tested is None:
        return " It errs too often on them to decide by."
    return (
        f" For its errors on them, {100 * tested:.2g} points by its grades are required instead "
        f"of {100 * margin:g}."
    )


def _cost(results: SweepResults) -> str:
    spec = results.facts.spec
    cap = "No budget was set." if spec.budget is None else (
        f"The budget was {format_cost(spec.budget)}: what is paid, and the most that everything in "
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
    spent = f"{format_cost(results.spent)} {verb} spent. A saving is that of an answer's mean cost."
    return f"{spent} {cap}{unknown}{asked}"


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
