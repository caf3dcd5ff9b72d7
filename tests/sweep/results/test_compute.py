"""Verdicts: from written answers to what is recommended, and what honestly cannot be."""

import asyncio
import json
import re
import sqlite3
from decimal import Decimal
from random import Random

import pytest
from tests.sweep.runs import Scripted, answered, begun, found, runner

from pondero.canon import Usage
from pondero.errors import UsageError
from pondero.sweep.engines.engine import TrialResult
from pondero.sweep.grading.judges import make_judge
from pondero.sweep.results.ci import decide_options
from pondero.sweep.results.compute import compute_results
from pondero.sweep.results.findings import describe_forecast
from pondero.sweep.run.growth import add_run_arm, extend_run, raise_budget
from pondero.sweep.run.run_plan import make_comparison
from pondero.sweep.run.runner import Runner
from pondero.sweep.run.scores import Scores
from pondero.sweep.run.store import Run, runs_folder
from pondero.sweep.statistics.e_process import mirror
from pondero.sweep.statistics.forecast import Forecast
from pondero.sweep.statistics.judge_error import JudgeErrors

LADDER = "off,low,medium,high"
PRICES = (0.001, 0.002, 0.004, 0.008)


@pytest.fixture(autouse=True)
def _own_data(data_dir):
    return data_dir


def ladder(*shares, thinking=(0, 50, 100, 200), prices=PRICES, seed=0):
    """Arms that are right on such shares of the questions, the same ones where they can be."""
    draws = {}

    def answer(ask):
        draw = draws.setdefault(
            (ask.position, ask.repeat), Random(f"{seed}{ask.position}").random()
        )
        draw = (draw + Random(f"{seed}{ask.position}{ask.arm}{ask.repeat}").random() / 50) % 1
        tokens = thinking[ask.arm]
        right = draw < shares[ask.arm]
        return answered(ask, right, thinking=tokens, cost=str(prices[ask.arm]))

    return answer


def verdicts(results):
    return {arm.level: arm.verdict for arm in results.arms}


def test_the_cheapest_that_is_enough_is_recommended_and_the_dearer_ones_are_not_asked_on():
    results = found(400, ladder(0.5, 0.9, 0.9, 0.9), levels=LADDER)
    assert results.recommend().name == "anthropic:claude-opus-5/low"
    assert verdicts(results) == {
        "off": "given_up", "low": "enough", "medium": "undecided", "high": "reference",
    }  # fmt: skip
    off, low, medium, high = results.arms
    assert (off.units, off.capital, off.reason) == (20, 0, "hopeless")
    assert low.won_at == low.units == low.n == high.n < 400
    assert low.capital == low.history[-1] >= 20
    assert len(low.history) == low.units - results.pilot
    assert (medium.n, medium.reason) == (20, "untried")
    assert results.recommend().why == "not worse than high by more than 5 points"
    assert results.saving == pytest.approx(0.75)
    assert results.state == "done"


def test_a_ladder_that_is_needed_keeps_its_reference():
    results = found(300, ladder(0.3, 0.5, 0.6, 0.9), levels=LADDER)
    assert results.recommend().level == "high"
    assert set(verdicts(results).values()) <= {"given_up", "worse", "reference"}
    assert results.asked < 300


def test_a_few_ties_are_not_enough_and_the_whole_pool_leaves_the_reference():
    results = found(60, ladder(0.9, 0.9), levels="low,high")
    assert results.recommend().level == "high"
    assert results.arms[0].verdict in ("undecided", "given_up")


def test_the_reference_that_is_never_right_stops_the_run_after_the_pilot():
    results = found(200, ladder(0, 0), levels="low,high", past_gate=False)
    assert results.recommend() is None
    assert results.is_gated
    assert (results.state, results.asked) == ("stopped", 40)
    (problem,) = results.gate
    assert problem.condition == "floor"
    assert len(problem.examples) == 3
    assert problem.examples[0].targets
    assert "includes" not in problem.judges
    past = found(200, ladder(0, 0), levels="low,high")
    assert past.recommend() is None  # it still holds, so nothing is recommended


def test_a_judge_that_does_not_fit_is_told_with_those_that_would():
    results = found(200, ladder(0.9, 0.9), levels="low,high", judge="exact", past_gate=False)
    (problem,) = results.gate
    assert problem.condition == "floor"
    assert {"includes", "numeric"} <= set(problem.judges)


def test_a_reference_that_is_always_right_stops_the_run_unless_it_is_told_to_continue():
    stopped = found(200, ladder(1, 1), levels="low,high", past_gate=False)
    assert [each.condition for each in stopped.gate] == ["ceiling"]
    assert stopped.recommend() is None
    assert found(200, ladder(1, 1), levels="low,high").recommend().level == "low"


def test_too_few_questions_are_told_before_anything_is_asked():
    results = found(20, ladder(0.9, 0.9), levels="low,high", past_gate=False)
    assert results.asked == 0
    assert "20 questions are too few" in results.why
    assert "59 are the least" in results.why


def cut(ask, arm):
    return answered(ask, True, **({"finish": "length"} if ask.arm == arm else {}))


@pytest.mark.parametrize(("arm", "stays"), [(0, False), (1, True)])
def test_answers_that_are_cut_off_stop_the_run(arm, stays):
    results = found(100, lambda ask: cut(ask, arm), levels="low,high", past_gate=False)
    problem = next(each for each in results.gate if each.condition == "cut")
    assert problem.stays is stays
    assert "raise --max-tokens" in problem.why


def test_an_arm_that_refuses_everything_stops_the_run():
    def refuses(ask):
        right = ask.position % 10 != 0
        return answered(ask, right, **({"finish": "refusal"} if ask.arm == 0 else {}))

    results = found(100, refuses, levels="low,high", past_gate=False)
    assert "refused" in [each.condition for each in results.gate]


def test_a_missing_answer_counts_against_the_cheaper_arm_in_whichever_it_is():
    def failing(which):
        def answer(ask):
            if ask.arm == which and ask.position % 4 == 0:
                return TrialResult(key=ask.key, finish="error", error="gone", at=1.0)
            return answered(ask, ask.position % 9 != 0)

        return found(100, answer, levels="low,high", once=True, pilot=0).arms[0]

    low, high = failing(0), failing(1)
    assert low.missing == high.missing == 25
    assert low.difference < 0
    assert high.difference < 0
    assert high.plain_difference == 0


def test_the_bets_of_an_interrupted_run_are_replayed_exactly():
    answer = ladder(0.88, 0.9)
    whole = found(300, answer, levels="low,high")
    with begun(300, levels="low,high") as run:
        for most in (50, 130, 10_000):
            engine = Scripted(answer)
            driver = runner(run, engine)
            driver.progress = lambda _, e=engine, m=most, d=driver: (
                d.stop("enough") if len(e.asked) >= m else None
            )
            asyncio.run(driver.finish())
        resumed = compute_results(run)
    assert resumed.arms[0].history == whole.arms[0].history
    assert verdicts(resumed) == verdicts(whole)


def test_a_run_whose_budget_is_spent_keeps_its_capital_and_goes_on_with_more():
    answer = ladder(0.9, 0.9, prices=(0.002, 0.008))
    with begun(400, levels="low,high", budget=0.6, max_tokens=60) as run:
        asyncio.run(runner(run, Scripted(answer)).finish())
        first = compute_results(run)
        assert first.recommend() is None
        assert run.spent <= Decimal("0.6")
        assert (first.state, first.arms[0].reason) == ("stopped", "waiting")
        assert first.arms[0].capital > 0
        assert [each.difference for each in first.forecasts] == [0.0, -0.025]
        raise_budget(run, 20.0)
        engine = Scripted(answer)
        asyncio.run(runner(run, engine).finish())
        then = compute_results(run)
    assert then.recommend().level == "low"
    assert then.arms[0].history[: len(first.arms[0].history)] == first.arms[0].history
    assert then.asked == first.asked + len(engine.asked)


def test_a_pool_is_extended_and_the_capital_stays(tmp_path):
    answer = ladder(0.9, 0.9, prices=(0.002, 0.008))
    with begun(70, levels="low,high") as run:
        asyncio.run(runner(run, Scripted(answer)).finish())
        first = compute_results(run)
        assert first.arms[0].verdict == "undecided"
        rows = [
            {"id": f"more{n}", "input": f"What is {n} * 23?", "target": str(n * 23)}
            for n in range(500, 700)
        ]
        assert extend_run(run, rows) == 200
        asyncio.run(runner(run, Scripted(answer)).finish())
        then = compute_results(run)
    assert then.recommend().level == "low"
    assert then.pool == 270
    before = first.arms[0].history
    assert then.arms[0].history[: len(before)] == before


def test_an_arm_is_added_and_paid_from_what_is_left():
    answer = ladder(0.9, 0.9, 0.9, prices=(0.002, 0.008, 0.001))
    with begun(300, levels="low,high") as run:
        asyncio.run(runner(run, Scripted(answer)).finish())
        added = add_run_arm(run, "claude-opus-5/off")
        asyncio.run(runner(run, Scripted(answer)).finish())
        results = compute_results(run)
    assert added.level == "off"
    assert results.recommend().level == "off"  # it won too, and is cheaper
    assert results.arms[2].share <= 1


def test_without_prices_and_thinking_the_order_is_that_of_output_tokens_never_of_the_clock():
    def answer(ask):
        usage = Usage(input=20, output=(300, 100, 500)[ask.arm])
        seconds = (1.0, 60.0, 2.0)[ask.arm]
        n = int(ask.prompt.split()[2])
        right = ask.position % 9 != 0
        return TrialResult(
            key=ask.key, text=str(n * 23 + (not right)), usage=usage, seconds=seconds
        )

    results = found(200, answer, levels="off,low,high")
    assert results.recommend().level == "low"


def test_levels_that_think_the_same_are_named_and_decide_nothing():
    results = found(
        100, ladder(0.3, 0.9, 0.9, thinking=(50, 100, 100)), levels="off,low,high", once=True
    )
    line = next(line for line in results.lines() if line.startswith("same"))
    assert line.startswith("same       high thinks as much as low (ratio 1.00")


def test_an_arm_above_the_reference_is_measured_and_not_compared():
    results = found(200, ladder(0.9, 0.9, 0.9), levels="off,low,high", reference="low")
    assert results.arms[2].reason == "dearer"
    assert any(
        "not compared: its level is above the reference's" in line for line in results.lines()
    )
    assert results.recommend().level == "off"


def test_a_dearer_arm_of_another_model_is_said_to_cost_more():
    def answer(ask):
        return answered(ask, right=True, cost=("0.001", "0.01", "0.1")[ask.arm])

    options = {"models": ("claude-opus-5", "gpt-5.5/high"), "levels": "low,high", "past_gate": True}
    results = found(100, answer, **options)
    assert results.arms[2].reason == "dearer"
    assert "openai:gpt-5.5/high  not compared: it costs more than the reference" in "\n".join(
        results.lines()
    )


def test_against_the_best_an_arm_must_be_shown_against_every_other():
    results = found(300, ladder(0.3, 0.9, 0.9), levels="off,low,high", against="best")
    assert results.recommend().level == "low"


def test_clusters_are_what_is_counted():
    with begun(300, levels="low,high", cluster="page") as run:
        assert len(run.questions()) == 300


def test_once_decides_at_the_end_of_a_small_pool():
    results = found(100, ladder(0.9, 0.9), levels="low,high", once=True)
    assert results.arms[0].won_at == 100
    assert results.recommend().level == "low"


def test_the_headline_says_what_was_bet_on_and_what_to_expect():
    results = found(300, ladder(0.9, 0.9), levels="low,high")
    (arm, _), text = results.arms, results.table()
    assert f"({arm.units - 20} questions after a pilot of 20; a sweep says this wrongly" in text
    assert (
        "measured   +1.0 points; a sweep tends to stop on a lucky streak, "
        "so on other questions expect 0 to -2\n" in text
    )
    assert f"of 20, {arm.units - 20} bets" in text


def test_one_test_at_the_end_was_not_stopped_by_luck():
    text = found(100, ladder(0.9, 0.9), levels="low,high", once=True).table()
    assert "(100 questions; a sweep says this wrongly" in text
    assert "luck" not in text


def test_one_test_at_the_end_bets_nothing_and_shows_no_capital(tmp_path):
    results = found(60, ladder(0.5, 0.8, 0.9), levels="low,medium,high", once=True)
    assert "not shown within this pool (measured" in results.table()
    for text in (results.table(), results._repr_html_()):
        assert not re.search(r"capital|\bbets?\b", text)
    with Run.open(results.run) as run:
        more = tmp_path / "more.jsonl"
        rows = ({"input": f"What is {n} * 23?", "target": str(n * 23)} for n in range(900, 960))
        more.write_text("\n".join(map(json.dumps, rows)))
        extend_run(run, more)
        asyncio.run(runner(run, Scripted(ladder(0.5, 0.8, 0.9))).finish())
        assert "of 20, " in compute_results(run).table()  # what is added is bet on


def test_several_models_have_a_legend_beside_their_capital():
    models = ("claude-opus-5", "gpt-5.5")
    results = found(200, ladder(0.9, 0.9, 0.9, 0.9), models=models, levels="low,high")
    before, _, after = results.table().partition("\ncapital    ")
    assert "A anthropic:claude-opus-5" in before
    assert "B openai:gpt-5.5" in before
    assert after.startswith(("A low", "B low"))


def test_a_forecast_says_that_it_counts_more_questions():
    said = describe_forecast(Forecast(-0.01, 0.5, 543.0, 1.5), 5_748)
    assert said == (
        "if the level is 1 point worse, the chance that another 5,748 questions show it to be "
        "enough is 50 %; on average it ends after 543 more questions, at $1.50"
    )


def test_a_forecast_names_the_level_that_it_is_about():
    with begun(100, levels="low,medium,high", margin=0.15) as run:
        scripted = Scripted(ladder(0.8, 0.9, 0.9))
        asyncio.run(runner(run, scripted).pilot())
        results = compute_results(run)
    assert [each.arm for each in results.forecasts] == ["low", "low"]
    said = "\n".join(results.lines())
    assert "if low is equal to the reference, the chance that another 80 questions show it" in said


def test_the_json_has_the_keys_that_are_promised():
    told = json.loads(json.dumps(found(200, ladder(0.9, 0.9), levels="low,high").to_json()))
    assert {"run", "recommended", "asked", "reused", "spent", "lost", "arms"} <= told.keys()
    promised = {"arm", "verdict", "won_at", "capital", "units", "difference"}
    assert all(promised <= arm.keys() for arm in told["arms"])
    assert told["recommended"] == "anthropic:claude-opus-5/low"
    assert told["lost"] == 0
    assert told["spent"] > 0


def test_the_repr_is_one_line_and_a_notebook_gets_a_table():
    results = found(200, ladder(0.9, 0.9), levels="low,high")
    assert repr(results).startswith(f"<pondero.SweepResults {results.run}: anthropic:")
    assert len(repr(results)) < 200
    assert "<table>" in results._repr_html_()


def test_the_ratio_of_costs_is_that_of_the_sums():
    results = found(60, ladder(0.9, 0.9, thinking=(50, 200)), levels="low,high")
    ratio = results.ratio(0, "cost")
    assert ratio.value == pytest.approx(results.arms[0].cost / results.arms[1].cost)
    assert ratio.low <= ratio.value <= ratio.high
    assert results.ratio(0, "thinking").value == pytest.approx(0.25)


def test_another_judge_grades_the_same_answers_and_nothing_is_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with begun(40, levels="low,high") as run:
        engine = Scripted(ladder(0.5, 0.9))
        asyncio.run(runner(run, engine).finish())
        before, asked = compute_results(run), len(engine.asked)
        again = Runner(run, engine, make_judge("regex:it is"))
        asyncio.run(again.judge())
        after = compute_results(run, judge="regex:it is")
        assert compute_results(run) == before
    assert len(engine.asked) == asked
    assert [arm.accuracy for arm in after.arms] == [1.0, 1.0]


def test_repeats_are_means_and_say_how_often_all_and_any_are_right():
    def answer(ask):
        return answered(ask, right=ask.repeat <= ask.position % 3)

    results = found(60, answer, levels="low,high", repeats=3)
    low = results.arms[0]
    assert low.accuracy == pytest.approx(2 / 3, abs=0.02)
    assert low.always_right == pytest.approx(1 / 3, abs=0.02)
    assert low.ever_right == 1
    assert results.arms[0].n == results.questions


def test_unknown_counts_are_unknown_and_not_nothing():
    def answer(ask):
        settled = answered(ask, right=True, thinking=None, cost=None)
        return TrialResult(key=settled.key, text=settled.text, usage=Usage(), seconds=1.0)

    results = found(40, answer, levels="low,high")
    assert results.arms[0].thinking_tokens is None
    assert results.arms[0].cost is None
    assert "unknown" in results.table()
    assert results.ratio(0, "cost") is None


def test_a_pareto_front_has_no_arm_that_another_beats():
    every = (2, 10, 7, 10)  # that many questions apart, each arm is wrong once

    def answer(ask):
        return answered(ask, ask.position % every[ask.arm] > 0, cost=str(PRICES[ask.arm]))

    results = found(200, answer, levels=LADDER)
    assert [arm.level for arm in results.pareto()] == ["off", "low"]


def test_the_figures_are_those_of_the_raw_file(data_dir):
    """The file is read with sqlite3 and json alone, and every figure is worked out in plain sums."""
    with begun(150, levels=LADDER) as run:
        asyncio.run(runner(run, Scripted(ladder(0.6, 0.86, 0.88, 0.9, seed=5))).finish())
        results = compute_results(run)
    raw = sqlite3.connect(runs_folder() / f"{results.run}.db")
    answers = {k: json.loads(b) for k, b in raw.execute("SELECT key, body FROM answers")}
    graded = {k: (q, s) for q, k, s in raw.execute("SELECT question, key, score FROM grades")}
    raw.close()
    by_price = {}
    for key, body in answers.items():
        question, score = graded[key]
        by_price.setdefault(body["cost"], {})[question] = score
    arms = [by_price[price] for price in sorted(by_price, key=float)]
    reference = arms[3]
    for arm, scores in zip(results.arms, arms, strict=True):
        assert arm.n == len(scores)
        assert arm.accuracy == pytest.approx(sum(scores.values()) / len(scores))
        if arm is results.arms[3]:
            continue
        differences = [score - reference[question] for question, score in scores.items()]
        assert arm.units == len(differences)
        assert arm.difference == pytest.approx(sum(differences) / len(differences))
        assert (arm.verdict == "enough") == ((arm.capital or 0) >= 20)
    assert float(results.spent) == pytest.approx(sum(float(b["cost"]) for b in answers.values()))


def test_a_judge_that_fails_leaves_the_question_missing(tmp_path, monkeypatch):
    (tmp_path / "sometimes.py").write_text(
        "def judge(answer, question):\n    assert question.id != 'q5'\n    return True\n"
    )
    monkeypatch.chdir(tmp_path)
    results = found(80, ladder(1, 1), levels="low,high", judge="python:sometimes:judge")
    assert results.arms[0].missing == 1
    assert results.arms[0].difference < 0
    assert not results.is_gated  # one of many; in the pilot it would stop the run


def test_an_arm_that_is_added_does_not_change_the_order_of_the_others():
    answer = ladder(0.5, 0.9, 0.9, prices=(0.002, 0.004, 0.008))
    with begun(300, levels="off,low,high") as run:
        asyncio.run(runner(run, Scripted(answer)).finish())
        before = compute_results(run)
        add_run_arm(run, "claude-opus-5/medium")  # not asked yet, so that it has no price
        after = compute_results(run)
    assert [arm.history for arm in after.arms[:3]] == [arm.history for arm in before.arms]


# -- a judge whose mistakes were counted -----------------------------------------------------------

MISTAKES = JudgeErrors(right=200, missed=20, wrong=200, accepted=20)
"""Of a judge that lets two thirds of a difference through."""


def judged_with_mistakes(count, answer, **options):
    with begun(count, levels="low,high", **options) as run:
        run.change(judge_errors=MISTAKES)
        asyncio.run(runner(run, Scripted(answer)).finish())
        return compute_results(run), make_comparison(Scores(run, "numeric")).advance().rule


def test_a_judge_that_errs_shows_less_of_a_difference_so_worse_keeps_the_whole_margin():
    """Losses that are worse than the judge's margin, and those that are than the margin itself."""
    margin = 0.3
    soon, late = _units_until_worse(MISTAKES.margin(margin)), _units_until_worse(margin)
    assert soon < late

    def lose(units):
        def answer(ask):
            right = ask.arm == 1 or ask.position >= units or not _is_lost(ask.position)
            return answered(ask, right, cost=str(PRICES[ask.arm]))

        return judged_with_mistakes(100, answer, margin=margin, pilot=0)[0].arms[0]

    assert lose(soon).verdict == "given_up"
    found = lose(late)
    assert (found.verdict, found.units) == ("worse", late)


def _is_lost(unit):
    return unit % 2 == 1 or unit >= 14


def _units_until_worse(margin):
    process = mirror(margin)
    while not process.is_won:
        process.see(float(_is_lost(process.n)), 100 - process.n)
    return process.n


def test_a_capital_wins_at_20_also_when_the_judges_bounds_use_up_some_of_the_error():
    results, rule = judged_with_mistakes(400, ladder(0.9, 0.9), margin=0.2)
    assert rule.alpha == pytest.approx(0.04)
    low = results.arms[0]
    assert low.verdict == "enough"
    assert low.capital == low.history[-1] >= 20 * (1 - 1e-9)
    assert max(low.history[:-1]) < 20


# -- requests that fail ----------------------------------------------------------------------------

_DOWN = "could not reach api.example.com: no route to host"


def failing(arms, *, since=0, right=0.9, error=_DOWN):
    """Answers of a ladder, but requests to these arms fail from a question on."""
    answers = ladder(right, right)

    def answer(ask):
        settled = answers(ask)
        if ask.arm in arms and ask.position >= since:
            return TrialResult(key=ask.key, finish="error", error=error)
        return settled

    return answer


@pytest.mark.parametrize("past_gate", [False, True])
def test_a_run_whose_every_request_failed_recommends_nothing_and_says_why(past_gate):
    engine = Scripted(failing({0, 1}))
    with begun(200, past_gate=past_gate) as run:
        asyncio.run(runner(run, engine).finish())
        results = compute_results(run)
    assert (results.recommend(), results.is_gated, results.state) == (None, True, "stopped")
    assert len(engine.asked) == 40  # the pilot: more requests would only fail too
    assert [each.condition for each in results.gate] == ["failed"]
    again = f"'pondero sweep resume {results.run}' asks them again"
    assert results.why == f"every request failed, 40 of 40: {_DOWN}; {again}"


@pytest.mark.parametrize("past_gate", [False, True])
def test_a_reference_without_answers_recommends_nothing(past_gate):
    results = found(200, failing({1}), past_gate=past_gate)
    assert results.recommend() is None
    assert results.gate[0].stays
    assert "20 of 20 requests to anthropic:claude-opus-5/high, the reference, failed" in results.why
    with pytest.raises(UsageError, match="no graded answer of anthropic:claude-opus-5/high"):
        results.calibration("none", level="high")


def test_a_cheaper_level_without_answers_stops_the_run_and_is_a_caution_past_the_gate():
    assert found(200, failing({0}), past_gate=False).recommend() is None
    results = found(200, failing({0}))
    assert results.recommend().level == "high"
    assert any(label == "caution" and _DOWN in words for label, words in results.findings())


def test_a_connection_that_is_lost_after_the_pilot_does_not_leave_the_reference():
    with begun(200, past_gate=False) as run:
        asyncio.run(runner(run, Scripted(failing({0, 1}, since=25))).finish())
        results = compute_results(run)
        assert (results.recommend(), results.is_gated, results.state) == (None, True, "stopped")
        assert _DOWN in results.why
        again = runner(run, Scripted(failing(())))
        again.retry_errors()
        asyncio.run(again.finish())
        results = compute_results(run)
    assert (results.recommend().level, results.state) == ("low", "done")


def test_requests_that_failed_are_counted_with_the_commonest_error():
    def answer(ask):
        settled = ladder(0.9, 0.9)(ask)
        if ask.arm == 0 and ask.position in (3, 30, 40):
            error = _DOWN if ask.position > 3 else "timed out"
            return TrialResult(key=ask.key, finish="error", error=error)
        return settled

    told = dict(found(200, answer).findings())
    assert told["failed"].startswith(f"low 3: most often {_DOWN}; 'pondero sweep resume ")


# -- questions that tell levels apart --------------------------------------------------------------


def test_a_reference_that_is_always_right_does_not_stop_a_run_if_a_level_is_often_wrong():
    results = found(200, ladder(0.5, 1, 1), levels="off,low,high", past_gate=False)
    assert results.gate == ()
    assert results.recommend().level == "low"


def test_one_wrong_answer_of_a_level_is_not_often():
    results = found(80, lambda ask: answered(ask, ask.arm or ask.position != 3), past_gate=False)
    assert [each.condition for each in results.gate] == ["ceiling"]
    assert f"'pondero sweep resume {results.run} --continue' runs it anyway" in results.table()


def test_offline_the_emulator_that_cannot_answer_is_named_and_not_the_judge():
    def helpless(ask):
        text = 'You asked: "Who?". I am an emulator; this is all I can say to it.'
        return TrialResult(key=ask.key, text=text, usage=Usage(input=1, output=1))

    results = found(200, helpless, past_gate=False)
    assert "the emulator only does sums" in results.why
    assert "the judge" not in results.why
    assert dict(results.findings())["offline"].startswith("40 of 40 answers do not answer")


def test_what_to_expect_is_never_below_the_margin_that_is_shown():
    results = found(600, ladder(0.9, 0.9), margin=0.01)
    assert results.recommend().level == "low"
    assert dict(results.findings())["measured"].endswith(
        "so on other questions expect less, down to the margin of 1 point"
    )


def test_a_level_that_saves_nothing_says_that_either_will_do():
    results = found(200, ladder(0.9, 0.9, prices=(0.004, 0.004)))
    assert results.recommend().level == "low"
    told = "nothing on these questions: $0.0040 an answer, and $0.0040 at high; either will do"
    assert dict(results.findings())["saves"] == told


def test_the_options_that_decide_alike_have_the_pilot_of_this_run():
    assert "--pool 60 --pilot 15 " in (
        decide_options(found(60, ladder(0.9, 0.9), margin=0.1)) or ""
    )


def test_the_table_counts_the_questions_that_a_difference_is_about():
    results = found(400, ladder(0.5, 0.9, 0.9, 0.9), levels=LADDER)
    head, *rows = results.table().split("\n\n")[1].splitlines()
    at = head.split().index("compared")
    figures = [row.split()[at] for row in rows[:4]]
    assert figures == [*(f"{arm.units:,}" for arm in results.arms[:3]), "-"]
