"""The report: everything it must say, and nothing that it must not run."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.sweep.reports import answered, results, sweep_of
from tests.sweep.runs import begun, found

from pondero.canon import Usage, escape_controls
from pondero.sweep import amount_axis, compute_results, render_report, share_axis, sweep
from pondero.sweep.engines.engine import TrialResult
from pondero.sweep.grading.agreement import Agreement
from pondero.sweep.report.markup import cut, element
from pondero.sweep.report.method import find_meaning
from pondero.sweep.report.question_table import LISTED, kind_of, state_of
from pondero.sweep.results.values import Cell, QuestionRow


@pytest.fixture(autouse=True)
def _own_folder(data_dir):
    return data_dir


class Page(HTMLParser):
    """What a browser would find: elements with their attributes, and the words."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.words, self._inside = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_endtag(self, tag):
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"style", "script"} & set(self._inside):
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)


def said(words):
    return " ".join(words.split())


# -- what it says ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        lambda: sweep_of(120, levels="off,low,high"),
        lambda: sweep_of(10),
        lambda: results(60),
        lambda: results(60, finish=False),
    ],
    ids=["recommends", "too few", "everything happens", "not ended"],
)
def test_the_words_of_the_terminal_come_first_and_are_the_same(made):
    told = made()
    page = Page(render_report(told))
    at = -1
    for label, words in told.findings():
        now = page.text.find(said(f"{label}{words}") if not label else said(words))
        assert now > at, words
        at = now
    assert at < page.text.index("What it takes to be right")


def test_every_section_has_what_the_run_has():
    told = sweep_of(120, levels="all")
    page = Page(render_report(told))
    assert "minimal and low send the same to anthropic:claude-opus-5: one arm." in page.text
    assert '"effort": "high"' in page.text
    for words in ("the seed 0", told.facts.data, "Reaching 20 is the proof", "once in 20", "log ratio",
                  "The first 20 questions", "5 points", "cheapest that is left", "No budget was set",
                  "The judge is 'numeric'",
                  "pondero 0.", "It says nothing about real models"):  # fmt: skip
        assert words in page.text, words
    prompts = page.text.partition("prompts, as they were sent")[2]
    for row in told.rows[:3]:
        assert row.question.words in prompts


def test_levels_that_a_limit_of_tokens_makes_one_are_said_with_the_limit():
    models = ("gemini-2.5-flash",)
    told = sweep_of(30, models=models, levels="off,low,high", max_tokens=2_000)
    page = Page(render_report(told))
    assert (
        "low and high send the same to google:gemini-2.5-flash, because --max-tokens 2000 leaves"
        in page.text
    )
    assert "each level is sent in full." in page.text


def test_what_was_adjusted_is_said_with_its_reason():
    told = sweep_of(30, models=("gemini-3-pro-preview",), levels="off,high")
    (changed,) = told.facts.arms[0].adjustments
    sent = Page(render_report(told)).text.partition("What was asked and sent")[2]
    assert f"{changed.what}: off became {changed.got} {changed.why}" in sent


def test_the_capital_of_every_arm_that_bet_is_drawn():
    told = sweep_of(120, levels="off,low,high")
    page = Page(render_report(told))
    assert "How it was decided" in page.text
    bet = [arm for arm in told.arms if arm.history]
    lines = [attrs for kind, attrs in page.elements if attrs.get("class", "").startswith("bet ")]
    assert len(lines) == len(bet) > 0
    for arm in bet:
        assert f"{arm.level} ends at {arm.capital:.3g} of 20" in page.text
    assert "How it was decided" not in Page(render_report(results(60, finish=False))).text


def test_one_test_at_the_end_has_words_of_its_own_and_no_chart_of_capital():
    page = Page(render_report(sweep_of(60, levels="low,medium,high", margin=0.15, once=True)))
    assert "Each level was tested once, on all 60 questions, by an exact test" in page.text
    assert "is decided by one exact test, and not by bars" in page.text
    assert "so this figure stands" in page.text
    assert not re.search(r"[Cc]apital|\bbets?\b|flatters|lucky streak", page.text)
    ids = {attrs["id"] for _, attrs in page.elements if "id" in attrs}
    links = {attrs["href"] for kind, attrs in page.elements if kind == "a"}
    assert {link.removeprefix("#") for link in links} <= ids


@pytest.mark.parametrize("made", [lambda: sweep_of(120, levels="all"), lambda: results(60)])
def test_what_each_word_means_is_one_click_away(made):
    told = made()
    page = Page(render_report(told))
    ids = {attrs["id"] for _, attrs in page.elements if "id" in attrs}
    links = {attrs["href"] for kind, attrs in page.elements if kind == "a"}
    assert links
    assert {link.removeprefix("#") for link in links} <= ids
    linked = [label for label, _ in told.findings() if label]
    assert all(find_meaning(label) for label in linked), linked
    verdicts = {arm.verdict.replace("_", " ") for arm in told.arms}
    assert all(map(find_meaning, verdicts))


@pytest.mark.parametrize(
    "made", [lambda: sweep_of(120, levels="all"), lambda: results(60, finish=False)]
)
def test_nothing_is_said_that_a_sweep_cannot_show(made):
    told = made()
    said_all = (told.table() + Page(render_report(told)).text).lower()
    for never in ("no difference", "as good as", "p-value", "p =", "lower bound", "about 1"):
        assert never not in said_all, never
    assert not re.search(r"about \d+ more", said_all)


def test_each_chart_has_a_name_a_description_and_every_arm():
    page = Page(render_report(results(60)))
    charts = [attrs for tag, attrs in page.elements if attrs.get("class") == "chart"]
    assert len(charts) == 3
    ids = {attrs.get("id") for _, attrs in page.elements}
    assert all(set(chart["aria-labelledby"].split()) <= ids for chart in charts)
    assert sum(attrs.get("class") == "label" for _, attrs in page.elements) == 3 * 3
    assert sum(attrs.get("class") == "front" for _, attrs in page.elements) == 3


def test_without_prices_the_chart_of_cost_is_a_sentence():
    told = results(60, answer=lambda ask: answered(ask, cost=None))
    page = Page(render_report(told))
    assert "No price of any arm is known." in page.text
    assert "Of some arms no price is known" in page.text
    assert sum(attrs.get("class") == "chart" for _, attrs in page.elements) == 2


def test_an_arm_that_does_not_count_thinking_is_named_below_the_chart():
    def uncounted(ask):
        usage = Usage(input=9, output=9)
        return answered(ask, usage=usage) if ask.arm == 1 else answered(ask)

    assert (
        "Not drawn, because this is not known of them: low."
        in Page(render_report(results(60, answer=uncounted))).text
    )


def test_models_repeats_clusters_and_a_judge_are_told_apart():
    told = results(
        64, models=("claude-opus-5", "gpt-5.5"), repeats=2, cluster="page",
        answer=lambda ask: answered(replace(ask, arm=ask.arm % 3)),
    )  # fmt: skip
    told = replace(told, judge="model:gpt-5.5/low", judging=3, agreement=Agreement(20, 19, 0.9))
    page = Page(render_report(told))
    assert "A anthropic:claude-opus-5" in page.text
    assert "B openai:gpt-5.5" in page.text
    for words in ("B high", "always right", "2 times each",
                  "agrees with people on 19 of 20 labelled answers (kappa 0.90)",
                  "It cost $3.00."):  # fmt: skip
        assert words in page.text, words


def test_a_run_that_has_not_ended_recommends_nothing():
    page = Page(render_report(results(60, finish=False)))
    assert "Nothing is recommended" in page.text
    assert "not decided yet" in page.text
    assert "not asked yet" in page.text


def test_a_run_in_which_nothing_was_asked_has_a_report_all_the_same():
    with begun(10) as run:
        page = Page(render_report(compute_results(run)))
    assert "Nothing is recommended" in page.text
    assert "No answer has come yet." in page.text
    assert "not asked yet (10)" in page.text


def test_the_method_of_kinds_is_told_where_there_are_some():
    rows = [{"input": f"What is {n} * 7?", "target": str(n * 7), "metadata": {"kind": "ab"[n % 2]}}
            for n in range(80)]  # fmt: skip
    told = sweep(rows, "claude-opus-5", levels="low,high", judge="numeric", offline=True,
                 past_gate=True)  # fmt: skip
    assert told.kinds
    page = Page(render_report(told)).text
    assert "A kind that does not win gets the reference" in page
    assert "A kind that does not win" not in Page(render_report(results(60))).text
    assert "would have been spent" in page


def test_against_the_best_the_method_says_so():
    text = Page(render_report(results(60, against="best"))).text
    assert "not worse than any other arm by more than 5 points" in text
    assert "shown against each of them" in text


# -- question by question --------------------------------------------------------------------------


def cells(*scores):
    return tuple(None if score is None else Cell(score, 0, 0, 0.0, ()) for score in scores)


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ((0, 1, 1), "helped"), ((0, None, 1), "helped"), ((0.5, 1, 1), "helped"),
        ((1, 1, 0), "hurt"), ((1, None, 0.5), "hurt"), ((0, 1, 0), "mixed"), ((1, 0, 1), "mixed"),
        ((1, 1, 1), "right"), ((0, 0, 0), "wrong"), ((0.5, 0.5, 0.5), "partly"),
        ((None, None, None), "unasked"), ((None, 1, None), "right"),
    ],
)  # fmt: skip
def test_a_question_says_what_thinking_did_to_it(scores, kind):
    question = found(30, lambda ask: TrialResult(key=ask.key, text="1")).rows[0].question
    assert kind_of(QuestionRow(question, cells(*scores)), [[0, 1, 2]]) == kind


def test_two_models_are_not_compared_with_each_other():
    question = found(30, lambda ask: TrialResult(key=ask.key, text="1")).rows[0].question
    row = QuestionRow(question, cells(1, 1, 0, 0))
    assert kind_of(row, [[0, 1], [2, 3]]) == "partly"
    assert kind_of(row, [[0, 2], [1, 3]]) == "hurt"


def test_refused_exhausted_and_missing_are_apart():
    def ended(ask):
        if ask.position == 0:
            return answered(ask, error="503 overloaded")
        return answered(ask)

    told = results(120, answer=ended)
    states = [state_of(cell) for row in told.rows for cell in row.cells]
    assert states.count("refused") == sum(arm.refused for arm in told.arms) > 0
    assert states.count("exhausted") == sum(arm.exhausted for arm in told.arms) > 0
    assert states.count("missing") == 3
    page = Page(render_report(told))
    assert "missing, left out of every arm (1)" in page.text
    lost = [attrs for tag, attrs in page.elements if tag == "details" and "data-lost" in attrs]
    rows = sum(bool({state_of(c) for c in row.cells} & {"refused", "exhausted", "missing"})
               for row in told.rows)  # fmt: skip
    assert len(lost) == rows


def test_the_questions_that_differ_are_listed_first():
    page = Page(render_report(results(60)))
    kinds = [attrs["data-kind"] for tag, attrs in page.elements if tag == "details"]
    order = list(dict.fromkeys(kinds))
    assert len(kinds) == 60
    assert order[:3] == ["helped", "hurt", "mixed"]
    assert kinds == sorted(kinds, key=order.index)


def test_thousands_of_questions_are_folded_and_that_is_said():
    told = results(60)
    many = replace(told, rows=told.rows * 84)
    html = render_report(many)
    page = Page(html)
    assert page.count("details") == LISTED
    assert f"{LISTED} of 5,040 are listed, some of every kind" in page.text
    assert "folded away: " in page.text
    assert len(html.encode()) < 4_000_000
    folded = page.text.partition("folded away: ")[2].partition(".")[0]
    counts = [int(each.replace(",", "")) for each in re.findall(r"\(([\d,]+)\)", folded)]
    assert sum(counts) == 5_040 - LISTED
    kinds = [attrs["data-kind"] for tag, attrs in page.elements if tag == "details"]
    assert set(kinds) == {kind_of(row, [[0, 1, 2]]) for row in many.rows}
    assert list(dict.fromkeys(kinds))[:3] == ["helped", "hurt", "mixed"]


def test_what_is_long_is_cut_and_that_is_said():
    assert cut("abc", 3) == "abc"
    assert cut("abcde", 3) == "abc… (2 more characters)"
    assert "more characters)" in Page(render_report(results(30))).text


# -- what it must not do ---------------------------------------------------------------------------


def test_nothing_from_outside_becomes_markup():
    html = render_report(results(60))
    page = Page(html)
    assert page.count("script") == 1
    assert page.count("img") == 0
    assert not [attrs for _, attrs in page.elements if any(name.startswith("on") for name in attrs)]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
    assert r"\u202e" in html
    assert "<script>bad=1" in page.text  # as words


@given(st.text(), st.text())
def test_whatever_the_words_are_a_browser_reads_them_and_no_markup(words, attribute):
    page = Page(element("p", words, title=attribute))
    ((tag, attrs),) = page.elements
    assert (tag, attrs) == ("p", {"title": escape_controls(attribute)})
    assert "".join(page.words) == escape_controls(words)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=9))
def test_an_axis_keeps_the_order_and_all_its_figures(values):
    axis = amount_axis(values)
    places = [axis.place(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(0 <= place <= 1 for place in places)
    assert all(0 <= axis.place(tick) <= 1 for tick in axis.ticks)
    assert 2 <= len(axis.ticks) <= 12


def test_an_axis_of_powers_has_a_zero_only_where_an_arm_is_there():
    assert amount_axis([0.0, 1.0, 100.0]).ticks[0] == 0
    assert 0 not in amount_axis([0.5, 1.0, 100.0]).ticks


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_an_axis_of_shares_ends_at_one_hundred_percent(values):
    axis = share_axis(values)
    assert axis.place(1.0) == 1
    assert all(0 <= axis.place(value) <= 1 for value in values)
    assert 2 <= len(axis.ticks) <= 8
    assert all(-1e-9 <= axis.place(tick) <= 1 for tick in axis.ticks)


def test_an_element_escapes_words_and_attributes():
    made = element("p", '<b>&"', title='"><script>', class_="x", hidden=False, open=True)
    assert made == '<p title="&quot;&gt;&lt;script&gt;" class="x" open>&lt;b&gt;&amp;&quot;</p>'
    assert element("p", made).count("<p") == 2
