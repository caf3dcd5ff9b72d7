"""The page of a report: its sections, from the recommendation down to the method."""

import time
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib import metadata
from importlib.resources import files

import msgspec

from ..arms import describe_levels
from ..points import describe_points
from ..questions import Question
from ..results.number_format import format_cost, format_share_points, letter_of, percent
from ..results.values import MEASURES, SECONDS, Amount, ArmResult, SweepResults
from ..statistics.intervals import RESAMPLES
from .capital_chart import draw_capital_chart
from .charts import Plot, draw_marker, scatter, span, tone_of, undrawn
from .markup import Html, cut, element, join_markup
from .method import anchor_of, colophon, find_meaning, method
from .question_table import gains, section

_COST, _THINKING, _OUTPUT = MEASURES
_SECONDS = SECONDS
_TOKENS = {
    "thinking": Plot(
        _THINKING, "thinking", "thinking tokens", "No answer came with a count of its thinking."
    ),
    "output": Plot(_OUTPUT, "output", "output tokens", "No answer came with a count of tokens."),
}
_PLOTS = (
    Plot(_COST, "cost", "dollars", "No price of any arm is known."),
    Plot(_SECONDS, "latency", "time", "No answer has come yet."),
)
_EXAMPLES = 3
_LEAST = 0.005  # the least saving that is shown
_DRAWS, _RESAMPLES = 200_000, 200  # questions drawn for one ratio, and the minimum of resamples
_WORDS = 1_500  # characters of an example


def render_report(results: SweepResults) -> str:
    """Return a run's report as one HTML page."""
    style, script = _own("style.css"), _own("script.js")
    title = f"{_headline(results)} · run {results.run}"
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        element("title", title),
        Html(f"<style>{style}</style>"),
    )
    body = element("body", _top(results), _main(results), Html(f"<script>{script}</script>"))
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


@cache
def _own(name: str) -> str:
    return (files(__package__ or "") / name).read_text("utf-8")


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def _headline(results: SweepResults) -> str:
    found, saving = results.recommendation, results.saving
    if found is None:
        return "Nothing is recommended"
    if results.recommended_arm is results.reference:
        return f"{found.name} stays"
    saves = f", and saves {100 * saving:.0f} % of the cost" if saving and saving > _LEAST else ""
    return f"{found.name} is enough{saves}"


def _top(results: SweepResults) -> Html:
    theme = element("button", "dark / light", type="button", id="theme", hidden=True)
    return element(
        "header",
        element("span", "pondero sweep", class_="brand"),
        element("span", f"run {results.run}", class_="run"),
        theme,
    )


def _main(results: SweepResults) -> Html:
    made = colophon(results, version=metadata.version("pondero"), now=time.time())
    entries = (
        join_markup((element("dt", name, id=anchor_of(name)), element("dd", words)))
        for name, words in method(results)
    )
    return element(
        "main",
        _findings(results),
        _capital(results),
        _part("What it takes to be right", *_charts(results), id="charts"),
        _part("Every arm", _arms(results), id="arms"),
        _part("Question by question", section(results), id="questions"),
        _part("What was asked and sent", *_requests(results), id="sent"),
        _part("Method", element("dl", *entries), element("p", made, class_="aside"), id="method"),
    )


def _part(title: str, *inside: str, id: str) -> Html:
    return element("section", element("h2", title), *inside, id=id)


# -- what was found --------------------------------------------------------------------------------


def _findings(results: SweepResults) -> Html:
    lines = (_finding(label, words) for label, words in results.findings())
    offline = element(
        "p",
        "An offline run: the built-in emulator answered. It says nothing about real models.",
        class_="notice",
    )
    return element(
        "section",
        element("h1", _headline(results)),
        offline if results.facts.spec.offline else Html(),
        element("dl", *lines, class_="found"),
        id="found",
    )


def _finding(label: str, words: str) -> Html:
    kind = f"say-{label.replace(' ', '-')}"
    return join_markup((element("dt", _explain(label), class_=kind), element("dd", words)))


def _explain(word: str) -> Html:
    """Return a word with a link to its meaning in the method, if it has one there."""
    meaning = find_meaning(word)
    if meaning is None:
        return join_markup((word,))
    return element("a", word, href=f"#{anchor_of(meaning)}", class_="means")


# -- how it was decided ----------------------------------------------------------------------------


def _capital(results: SweepResults) -> Html:
    chart = draw_capital_chart(results)
    if not chart:
        return Html()
    margin = describe_points(results.facts.spec.margin)
    if not results.has_bets:
        return _part("How it was decided", element("p", *_tell_test(results)), id="decided")
    told = element(
        "p",
        "Each line is the ",
        _explain("capital"),
        f" of one level. It bets, question by question, against the claim that the level is worse "
        f"by more than {margin}: it grows where the two answers show nothing lost, and falls "
        "where the level is wrong and the reference right. At 20 times the common start, the level "
        "is shown to be ",
        _explain("enough"),
        ". A line that ends below was ",
        _explain("given up"),
        ", or is still ",
        _explain("undecided"),
        ".",
    )
    return _part("How it was decided", element("div", chart, told, class_="bets"), id="decided")


def _tell_test(results: SweepResults) -> Iterator[str]:
    """Yield how one test at the end decides: nothing is bet."""
    noun = "clusters" if results.facts.spec.cluster else "questions"
    margin = describe_points(results.facts.spec.margin)
    tested = max(arm.units for arm in results.arms if arm.history)
    yield "Each level was tested once, on all "
    yield f"{tested:,} {noun}, by an exact test of the claim that it is worse by more than "
    yield f"{margin}. If the test rejects this, the level is shown to be "
    yield _explain("enough")
    yield "; if not, it is "
    yield _explain("undecided")
    yield "."


# -- charts and arms -------------------------------------------------------------------------------


def _charts(results: SweepResults) -> Iterator[Html]:
    yield _models(results)
    plots = (_TOKENS[results.tokens_shown], *_PLOTS)
    yield element("div", *(_figure(results, plot) for plot in plots), class_="charts")
    decides = "its capital, question by question" if results.has_bets else "one exact test"
    yield element(
        "p",
        "Bars are 95 % intervals of an arm by itself. The stepped line joins the arms that no "
        "other beats in both directions; the band is what lies within the margin of the reference. "
        f"Whether an arm is enough is decided by {decides}, and not by bars that overlap.",
        class_="aside",
    )


def _models(results: SweepResults) -> Html:
    models = results.models()
    if len(models) == 1:
        return Html()
    keys = (
        element("li", _key(number), f" {letter_of(number)}  {model}")
        for number, model in enumerate(models)
    )
    return element("ul", *keys, class_="models")


def _key(model: int) -> Html:
    shape = draw_marker(model, 9, 9, "mark tone-4")
    return element("svg", shape, viewbox="0 0 18 18", class_="shape", aria_hidden="true")


def _figure(results: SweepResults, plot: Plot) -> Html:
    left_out = undrawn(results, plot)
    note = element("p", left_out, class_="none") if left_out else Html()
    caption = element("figcaption", f"Right answers against {plot.title}")
    return element("figure", caption, scatter(results, plot), note)


_HEAD = ("arm", "verdict", "right", "difference", "better, worse", "thinking", "cost", "time", "n")


def _arms(results: SweepResults) -> Html:
    margin = results.facts.spec.margin
    bounds = [abs(arm.difference) for arm in results.arms if arm.difference is not None]
    reach = min(5 * margin, max([2 * margin, *(1.1 * end for end in bounds)]))
    counts = list(gains(results))
    rows = (
        element("tr", *_cells(results, number, counts[number], margin=margin, reach=reach),
                class_="chosen" if arm is results.recommended_arm else None)
        for number, arm in enumerate(results.arms)
    )  # fmt: skip
    shown = results.tokens_shown
    names = (shown if name == "thinking" else name for name in _HEAD)
    heads = (element("th", name, scope="col") for name in names)
    table = element("table", element("thead", element("tr", *heads)), element("tbody", *rows),
                    class_="sortable")  # fmt: skip
    note = (
        f"{shown.capitalize()} tokens, cost and time are means of one answer; × is how many times "
        "the reference's, with a 95 % interval of questions drawn again. 'Better, worse' counts "
        "the questions on which an arm did better or worse than the reference."
    )
    return join_markup((element("div", table, class_="scroll"), element("p", note, class_="aside")))


def _cells(
    results: SweepResults, number: int, counts: tuple[int, int], *, margin: float, reach: float
) -> Iterator[Html]:
    arm = results.arms[number]
    shape = draw_marker(results.model_number(number), 9, 9, f"mark tone-{tone_of(results, number)}")
    drawn = element("svg", shape, viewbox="0 0 18 18", class_="shape", aria_hidden="true")
    same = [level for level in arm.levels if level != arm.level]
    also = element("small", f" also {', '.join(same)}") if same else Html()
    model = element("small", arm.model) if len(results.models()) > 1 else Html()
    yield element("th", drawn, " ", results.labels()[number], also, model, scope="row")
    verdict = arm.verdict.replace("_", " ")
    yield _cell("verdict", element("span", _explain(verdict), class_=f"verdict {arm.verdict}"))
    between = f"{percent(arm.low)} to {percent(arm.high)}" if arm.low is not None else ""
    yield _cell("right", percent(arm.accuracy), element("small", between), value=arm.accuracy)
    yield _difference(arm, margin=margin, reach=reach)
    better, worse = counts
    both = "–" if arm.difference is None else f"+{better:,}  −{worse:,}"
    yield _cell("better, worse", both, value=better - worse)
    shown = results.tokens_shown
    tokens = _TOKENS[shown].measure.get(arm)
    said = "unknown" if tokens is None else f"{tokens:,.0f}"
    yield _cell(shown, said, _times(results, number, shown), value=tokens)
    yield _cell("cost", format_cost(arm.cost) if arm.cost is not None else "unknown",
                _times(results, number, "cost"), value=arm.cost)  # fmt: skip
    spent = "–" if arm.seconds is None else _SECONDS.write(float(f"{arm.seconds:.3g}"))
    yield _cell("time", spent, value=arm.seconds)
    yield _cell("n", f"{arm.n:,}", _repeats(arm), value=arm.n)


def _cell(name: str, *inside: str, value: float | None = None) -> Html:
    return element("td", *inside, data_name=name, data_value=None if value is None else repr(value))


def _difference(arm: ArmResult, *, margin: float, reach: float) -> Html:
    if arm.difference is None:
        return _cell("difference", "–")
    drawn = span(arm, margin=margin, reach=reach)
    units = element("small", f"{arm.units:,} questions")
    figures = element("span", format_share_points(arm.difference), units)
    return _cell("difference", element("div", drawn, figures), value=arm.difference)


def _times(results: SweepResults, number: int, amount: Amount) -> Html:
    if number == results.facts.reference or results.arms[number].n < 2:
        return Html()
    resamples = max(_RESAMPLES, min(RESAMPLES, _DRAWS // len(results.rows)))
    found = results.ratio(number, amount, resamples=resamples)
    if found is None:
        return Html()
    return element("small", f"×{found.value:.2f} ({found.low:.2f} to {found.high:.2f})")


def _repeats(arm: ArmResult) -> Html:
    if arm.always_right is None or arm.ever_right is None:
        return Html()
    always, ever = percent(arm.always_right), percent(arm.ever_right)
    return join_markup(
        (element("small", f"always right {always}"), element("small", f"ever {ever}"))
    )


# -- what was sent ---------------------------------------------------------------------------------


def _requests(results: SweepResults) -> Iterator[Html]:
    spec = results.facts.spec
    said = [describe_levels(arm, spec.max_tokens) for arm in results.facts.arms]
    if any(said):
        lines = [element("li", f"{each}.") for each in said if each]
        yield element("ul", *lines, class_="plain")
    yield element("div", *(_fields(results, n) for n in range(len(results.arms))), class_="fields")
    limit = "" if spec.max_tokens is None else f"At most {spec.max_tokens:,} tokens an answer. "
    system = "There was no system prompt." if spec.system is None else "The system prompt:"
    yield element("p", limit + system)
    if spec.system is not None:
        yield element("pre", cut(spec.system, _WORDS))
    shown = results.rows[:_EXAMPLES]
    yield element(
        "h3", f"The first {len(shown)} of {len(results.rows):,} prompts, as they were sent"
    )
    yield join_markup(_example(row.question) for row in shown)


def _fields(results: SweepResults, number: int) -> Html:
    arm = results.facts.arms[number]
    fields = msgspec.json.format(msgspec.json.encode(arm.fields), indent=2).decode()
    changes = (
        element("li", f"{each.what}: {each.asked} became {each.got} ", element("small", each.why))
        for each in arm.adjustments
    )
    adjusted = element("ul", *changes, class_="plain") if arm.adjustments else Html()
    sent = element("pre", fields) if arm.fields else element("p", "no field", class_="none")
    return element("article", element("h3", arm.name), sent, adjusted)


def _example(question: Question) -> Html:
    name = element("p", element("code", cut(question.id, 80)))
    return join_markup((name, element("pre", cut(question.words, _WORDS))))
