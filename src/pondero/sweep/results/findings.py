"""What a run's results say in words: the recommendation, each arm, and what it cost."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from ...emulator import has_answer
from ...extras import install_hint
from ...store import has_prices
from ..points import describe_points
from ..run.gate import find_commonest
from .number_format import format_cost, format_share_points, many, percent

if TYPE_CHECKING:
    from ..run.gate import GateProblem
    from ..statistics.forecast import Forecast
    from .values import ArmResult, SweepResults, TrialAnswer

Finding = tuple[str, str]

_LUCK = (0.01, 0.03)  # by how much a sweep that stops on a lucky streak flatters the winner
_WRONGLY = "a sweep says this wrongly at most once in 20"


def iter_findings(results: "SweepResults") -> Iterator[Finding]:
    """Yield the findings: a label and a sentence; an empty label continues the one before."""
    yield from iter_headline(results)
    yield from iter_details(results)


def iter_headline(results: "SweepResults") -> Iterator[Finding]:
    """Yield what is recommended, what it saves, and why; or why nothing is."""
    found, chosen = results.recommendation, results.recommended_arm
    if found is None or chosen is None:
        is_open = not results.is_gated and results.state != "done"
        yield "undecided" if is_open else "no result", results.why
        for problem in results.gate:
            yield from (("", line) for line in problem.evidence)
        yield from _past_gate(results)
        yield from _forecast(results)
        return
    if chosen is results.reference:
        yield "recommend", f"{found.name} stays"
        yield "reason", found.why
        yield "measured", f"{percent(chosen.accuracy)} right; {chosen.n:,} questions"
        yield from _cautions(results)
        return
    yield "recommend", f"{found.name} is enough"
    yield "saves", describe_saving(results)
    yield "reason", f"{found.why} ({_describe_units(results, chosen)}; {_WRONGLY})"
    yield "measured", _describe_difference(results, chosen)
    yield from _cautions(results)


def describe_past_gate(problems: "Sequence[GateProblem]", command: str) -> str:
    """Return how to continue past the sanity gate, and what that gives; empty if it cannot."""
    if any(each.is_final for each in problems):
        return ""  # its sentence says how
    does = "runs it anyway"
    if any(each.stays for each in problems):
        does = "only measures: nothing is recommended while this holds"
    return f"{command} {does}"


def _past_gate(results: "SweepResults") -> Iterator[Finding]:
    if not results.is_gated or results.facts.past_gate:
        return
    is_own = results.judge == results.facts.spec.judge
    resume = f"pondero sweep resume {results.run}{'' if is_own else f' --judge {results.judge}'}"
    if said := describe_past_gate(results.gate, f"'{resume} --continue'"):
        yield "", f"{said}; no answer is asked for again"
    is_judged = any(each.condition in ("floor", "judge") for each in results.gate)
    if is_own and is_judged and not results.facts.spec.once:
        again = f"'pondero sweep resume {results.run} --judge KIND'"
        yield "", f"{again} grades the same answers with another judge, and continues"


def _describe_units(results: "SweepResults", arm: "ArmResult") -> str:
    """Return how many units were bet on; those of the pilot were not."""
    noun = "clusters" if results.facts.spec.cluster else "questions"
    if results.facts.spec.once or not results.pilot:
        return f"{arm.units:,} {noun}"
    return f"{arm.units - results.pilot:,} {noun} after a pilot of {results.pilot}"


def _describe_difference(results: "SweepResults", arm: "ArmResult") -> str:
    measured = f"{format_share_points(arm.difference)} points"
    if results.facts.spec.once or arm.difference is None:
        return measured  # one test at the end does not stop at a lucky moment
    lucky = f"{measured}; a sweep tends to stop on a lucky streak, so on other questions expect"
    margin = results.facts.spec.margin
    if arm.difference - _LUCK[1] < -margin:  # what is shown is the margin: do not go below it
        return f"{lucky} less, down to the margin of {describe_points(margin)}"
    # Whole points: more digits would promise too much. 0 has no sign.
    points = [round(100 * (arm.difference - each)) for each in _LUCK]
    less, least = (f"{each:+}" if each else "0" for each in points)
    return f"{lucky} {less} to {least}"


def _cautions(results: "SweepResults") -> Iterator[Finding]:
    """Yield what the sanity gate found, and the user continued past."""
    for problem in results.gate:
        yield "caution", problem.why


def describe_saving(results: "SweepResults") -> str:
    """Return what the recommended arm saves: of the cost, else of the output tokens."""
    chosen, reference = results.recommended_arm, results.reference
    name = reference.level if len(results.models()) == 1 else reference.name
    if chosen is None:
        return "nothing"
    if chosen.cost is not None and reference.cost:
        share = 1 - chosen.cost / reference.cost
        each = f"{format_cost(chosen.cost)} an answer, and {format_cost(reference.cost)} at {name}"
        return f"{100 * share:.0f} % of the cost: {each}" if share >= _LEAST else (
            f"nothing on these questions: {each}; either will do"
        )  # fmt: skip
    if chosen.output_tokens is not None and reference.output_tokens:
        share = 1 - chosen.output_tokens / reference.output_tokens
        return f"{100 * max(0.0, share):.0f} % of the output tokens of {name}; no price is known"
    return "an unknown amount: no price is known"


_LEAST = 0.005  # below this share, a saving rounds to nothing


def iter_details(results: "SweepResults") -> Iterator[Finding]:
    """Yield what else there is to say: of each arm, of kinds, of missing answers and the cost."""
    for arm in results.arms:
        yield from _arm(results, arm)
    yield from _kinds(results)
    yield from _apart(results)


def _forecast(results: "SweepResults") -> Iterator[Finding]:
    waiting = next((arm for arm in results.arms if arm.reason == "waiting"), None)
    if waiting is None:
        return
    left = results.pool - max(waiting.units, results.pilot)
    for each in results.forecasts:
        yield "", describe_forecast(each, left)


def describe_forecast(
    forecast: "Forecast", left: int | None = None, *, budget: float | None = None
) -> str:
    """Return a forecast in words; ``left`` is how many questions of the pool are left.

    ``budget``: it is about the questions that these dollars pay for.
    """
    worse = f"{describe_points(-forecast.difference)} worse"
    case = worse if forecast.difference else "equal to the reference"
    shows = "the pool shows" if left is None else f"another {left:,} questions show"
    if budget is not None:
        shows = f"what --budget ${budget:,.2f} still pays for shows"
    cost = f", at {format_cost(forecast.cost)}" if forecast.cost else ""
    return (
        f"if {forecast.arm or 'the level'} is {case}, the chance that {shows} it to be enough is "
        f"{100 * forecast.chance:.0f} %; on average it ends after {forecast.units:,.0f} more "
        f"questions{cost}"
    )


def _arm(results: "SweepResults", arm: "ArmResult") -> Iterator[Finding]:
    name = _name_arm(results, arm)
    measured = "" if arm.difference is None else (
        f" (measured {format_share_points(arm.difference)} points, {arm.units:,} questions)"
    )  # fmt: skip
    if arm.verdict == "worse":
        margin = describe_points(results.facts.spec.margin)
        yield "worse", f"{name}  worse by more than {margin}{measured}"
    elif arm.verdict == "given_up":
        yield "given up", f"{name}  unlikely to be shown within this pool{measured}"
    elif arm.verdict == "undecided" and arm.reason in _UNDECIDED:
        bet = arm.history and results.has_bets
        capital = f"; capital {arm.capital or 0:.3g} of 20" if bet else ""
        why = _UNDECIDED[arm.reason]
        if arm.reason == "dearer" and arm.model == results.reference.model:
            why = "not compared: its level is above the reference's"
        yield "undecided", f"{name}  {why}{capital}{measured}"
    if arm.effect.effect in ("same", "less"):
        yield _effect(arm)


_UNDECIDED = {
    "waiting": "more questions are needed",
    "pool": "not shown within this pool",
    "unmeasured": "nothing was measured: the reference has no graded answer",
    "dearer": "not compared: it costs more than the reference",
}


def _effect(arm: "ArmResult") -> Finding:
    ratio = arm.effect.ratio
    bounds = "" if ratio is None else f"{ratio.low:.2f} to {ratio.high:.2f}"
    said = "" if ratio is None else f" (ratio {ratio.value:.2f}, {bounds})"
    much = "as much as" if arm.effect.effect == "same" else "less than"
    return arm.effect.effect, f"{arm.level} thinks {much} {arm.neighbour}{said}"


def _kinds(results: "SweepResults") -> Iterator[Finding]:
    """Yield the level of each kind by its own questions; one line for those that show nothing."""
    asked = [each for each in results.kinds if each.units]
    for found in asked:
        if found.is_shown:
            name = _name_arm(results, results.arms[found.arm])
            units = f"{found.units:,} questions"
            yield "kind", f"{found.kind}  {name} is enough by its own {units} alone"
    if alone := [f"{each.kind} ({each.units:,})" for each in asked if not each.is_shown]:
        name = _name_arm(results, results.reference)
        said = "its questions do" if len(alone) == 1 else "the questions of each do"
        yield "kind", f"{', '.join(alone)}: {said} not show a cheaper level alone"
        yield "", f"'adopt --by-kind' gives {name} to them; without it, this changes nothing"


def _name_arm(results: "SweepResults", arm: "ArmResult") -> str:
    return arm.level if len(results.models()) == 1 else arm.name


def _apart(results: "SweepResults") -> Iterator[Finding]:
    cut = [f"{arm.level} {arm.cut}" for arm in results.arms if arm.cut]
    if cut:
        yield "cut", f"answers cut off by a limit of tokens: {', '.join(cut)}; raise --max-tokens"
    refused = [f"{arm.level} {arm.refused}" for arm in results.arms if arm.refused]
    if refused:
        yield "refused", f"counted as wrong: {', '.join(refused)}"
    missing = [f"{arm.level} {arm.missing}" for arm in results.arms if arm.missing]
    if missing:
        yield "missing", f"counted against the cheaper arm: {', '.join(missing)}"
    yield from _iter_failures(results)
    yield from _iter_unanswered(results)
    if results.lost[0]:
        what = f"{results.lost[0]} {many(results.lost[0], 'attempt')} brought no answer"
        cost = format_cost(results.lost[1])
        yield "lost", f"{what} and may have been charged, {cost} at most"
    if results.reused:
        yield "reused", f"{results.reused:,} answers of earlier runs; --fresh asks again"
    yield "spent", _describe_cost(results)
    if results.agreement is not None:
        found = results.agreement
        kappa = "" if found.kappa is None else f", kappa {found.kappa:.2f}"
        yield "judge", f"agrees with {found.agreed} of {found.count} labelled answers{kappa}"
    yield from _labels(results)


def _iter_failures(results: "SweepResults") -> Iterator[Finding]:
    """Yield how many requests of each arm failed, and the commonest error."""
    if any(each.condition == "failed" for each in results.gate):
        return  # said already
    found = {
        arm.level: [each.settled.error for each in answers if each.settled.error is not None]
        for arm, answers in zip(results.arms, _answers_by_arm(results), strict=True)
    }
    counts = ", ".join(f"{level} {len(errors)}" for level, errors in found.items() if errors)
    if counts:
        why = find_commonest(error for errors in found.values() for error in errors)
        again = f"'pondero sweep resume {results.run}' asks them again"
        yield "failed", f"{counts}: {why}; {again}"


def _iter_unanswered(results: "SweepResults") -> Iterator[Finding]:
    """Yield how many questions the emulator could not answer."""
    if not results.facts.spec.offline:
        return
    answers = [each.settled for every in _answers_by_arm(results) for each in every]
    answers = [each for each in answers if each.error is None]
    helpless = sum(not has_answer(each.text) for each in answers)
    if helpless:
        many_answers = f"{helpless:,} of {len(answers):,} answers"
        yield "offline", f"{many_answers} do not answer the question: the emulator only does sums"


def _answers_by_arm(results: "SweepResults") -> list[list["TrialAnswer"]]:
    return [
        [each for row in results.rows if (cell := row.cells[arm]) for each in cell.answers]
        for arm in range(len(results.arms))
    ]


def _labels(results: "SweepResults") -> Iterator[Finding]:
    found = results.labelled
    if found.wanted:
        yield "labels", f"{found.wanted:,} answers wait to be labelled, and the bets for them:"
        yield "", f"'pondero sweep export {results.run} --labels FILE' writes them,"
        yield "", f"'pondero sweep label {results.run} FILE' reads what people say"
    elif found.share is not None:
        yield "labels", f"people have labelled {found.given:,} answers, which correct the judge"


def _describe_cost(results: "SweepResults") -> str:
    asked = [arm for arm in results.arms if arm.n]
    unpriced = [arm for arm in asked if arm.cost is None]
    if asked and len(unpriced) == len(asked):
        cure = "" if has_prices() else f"; {install_hint('prices')} knows many"
        return f"not known: no arm has a price{cure}"
    beyond = "; of some arms no price is known" if unpriced else ""
    if results.facts.spec.offline:
        paid = " as the service would charge; offline, nothing was paid"
    else:
        judge = format_cost(results.judging)
        paid = f", of which {judge} for the judge" if results.judging else ""
    return format_cost(results.spent) + paid + beyond


def html_of(results: "SweepResults") -> str:
    """Return the findings and the table of arms as HTML, for notebooks."""
    lines = (
        f"<li><b>{escape(label)}</b> {escape(words)}</li>" for label, words in results.findings()
    )
    columns = {
        "arm": [escape(arm.name) for arm in results.arms],
        "right": [percent(arm.accuracy) for arm in results.arms],
        "cost": [escape(format_cost(arm.cost)) for arm in results.arms],
        "capital": [f"{arm.capital or 0:.3g}" for arm in results.arms],
        "verdict": [arm.verdict.replace("_", " ") for arm in results.arms],
    }
    if not results.has_bets:
        del columns["capital"]
    head = "".join(f"<th>{name}</th>" for name in columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
        for row in zip(*columns.values(), strict=True)
    )
    return f"<ul>{''.join(lines)}</ul><table><tr>{head}</tr>{rows}</table>"
