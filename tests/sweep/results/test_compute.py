"""Verdicts: from written answers to what is recommended, and what honestly cannot be."""

import asyncio
import json
import math
import sqlite3
from random import Random

import pytest
from tests.sweep.runs import Scripted, answered, begun, found, runner

from pondero.canon import Usage
from pondero.sweep.engines.engine import TrialResult
from pondero.sweep.grading.judges import make_judge
from pondero.sweep.results.compute import compute_results
from pondero.sweep.run.runner import Runner
from pondero.sweep.run.store import runs_folder
from pondero.sweep.statistics.looks import boundaries
from pondero.sweep.statistics.progress import Scores, replay_looks

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


def test_the_cheapest_that_is_good_enough_is_recommended():
    results = found(400, ladder(0.5, 0.895, 0.9, 0.9), levels=LADDER)
    assert results.recommend().name == "anthropic:claude-opus-5/low"
    assert verdicts(results) == {
        "off": "worse", "low": "recommended", "medium": "enough", "high": "reference",
    }  # fmt: skip
    assert results.recommend().why == "cheapest not worse than high by more than 5 points"
    assert results.lines()[0].startswith("recommend  anthropic:claude-opus-5/low   cheapest")


def test_a_ladder_that_is_needed_keeps_its_reference():
    results = found(400, ladder(0.5, 0.6, 0.7, 0.9), levels=LADDER)
    assert results.recommend().level == "high"
    assert "no cheaper level" in results.why
    assert verdicts(results)["medium"] == "worse"
    assert verdicts(results)["off"] in ("worse", "untested")


def test_what_is_near_the_margin_is_undecided_and_says_how_many_more_would_help():
    misses = ((3, 9), (5,))  # of medium, and of high
    results = found(
        40, lambda ask: answered(ask, ask.position not in misses[ask.arm]), levels="medium,high"
    )
    (line,) = [line for line in results.lines() if line.startswith("undecided")]
    assert verdicts(results)["medium"] == "undecided"
    assert line == (
        "undecided  medium  -2.5, bounds -10.6..+5.8: about 820 more questions would decide"
    )
    assert results.recommend().level == "high"


def test_arms_that_are_decided_are_not_asked_on():
    with begun(400, levels=LADDER) as run:
        engine = Scripted(ladder(0.4, 0.9, 0.9, 0.9))
        asyncio.run(runner(run, engine).finish())
        now = replay_looks(Scores(run, "numeric"))
    counts = [sum(arm == each for each, _, _ in engine.asked) for arm in range(4)]
    assert counts[0] == 100  # shown to be worse at the first look
    assert counts[3] == now.questions == max(counts)
    assert now.look < 4  # then all is decided, and the reference needs no more either
    assert len(engine.asked) < 4 * 400


def test_a_look_that_could_recommend_nothing_decides_nothing():
    """The first look of 80 has 20 questions; the second has 40, and one of them failed."""

    def answer(ask):
        if (ask.arm, ask.position) == (1, 30):
            return TrialResult(key=ask.key, finish="error", error="ServerFailed: broken")
        return answered(ask, right=True)

    with begun(80, levels=LADDER) as run:
        engine = Scripted(answer)
        asyncio.run(runner(run, engine).finish())
        results = compute_results(run)
    assert results.looks == 3
    assert results.recommend().level == "off"
    assert len(engine.asked) == 4 * 60


def test_thirty_questions_are_the_least():
    results = found(29, ladder(1, 1, 1, 1), levels=LADDER)
    assert results.recommend() is None
    assert results.why == "29 questions are too few to recommend by; 30 are the least"
    assert results.to_json()["recommend"] is None
    assert results.lines()[0].startswith("nothing    29 questions")
    enough = found(120, ladder(1, 1, 1, 1), levels=LADDER)
    assert enough.recommend().level == "off"


@pytest.mark.parametrize(("failures", "recommended"), [(4, True), (5, False)])
def test_more_than_two_percent_missing_is_too_many(failures, recommended):
    """Early stopping is out of the way: nothing is decided before all 200 were asked."""

    def answer(ask):
        if ask.arm == 0 and ask.position % 40 == 7 and ask.position < 40 * failures:
            return TrialResult(key=ask.key, finish="error", error="ServerFailed: broken")
        return ladder(0.89, 0.95)(ask)

    results = found(200, answer, levels="low,high")
    assert (results.recommend() is not None) == recommended
    assert results.dropped == failures
    assert results.questions == 200 - failures
    assert all(arm.n == 200 - failures for arm in results.arms)
    assert ("more than 2%" in results.why) != recommended


def test_exhausted_answers_and_refusals_are_wrong_and_listed_apart():
    def answer(ask):
        if ask.arm == 1 and ask.position < 3:
            return TrialResult(key=ask.key, finish="length", verdict="exhausted", cost="0.1")
        if ask.arm == 0 and ask.position < 2:
            return TrialResult(key=ask.key, finish="refusal", cost="0.1")
        return answered(ask, right=True)

    results = found(40, answer, levels="low,high")
    low, high = results.arms
    assert (low.refused, high.exhausted) == (2, 3)
    assert (low.accuracy, high.accuracy) == (38 / 40, 37 / 40)
    text = results.table()
    assert "exhausted  thought and gave no answer; counted as wrong: high 3" in text
    assert "refused    counted as wrong: low 2" in text


# -- the reality check -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("thinking", "verdict", "line"),
    [
        ((0, 50, 50, 200), "no_effect", "no effect  medium thinks no more than low (p = 1.00)"),
        ((0, 50, 40, 200), "inverted", "inverted   medium thinks less than low (p < 0.01)"),
        ((0, 50, None, 200), "enough", None),
    ],
)
def test_a_level_that_thinks_no_more_than_its_neighbour_is_named(thinking, verdict, line):
    results = found(300, ladder(0.5, 0.9, 0.9, 0.9, thinking=thinking), levels=LADDER)
    assert verdicts(results)["medium"] == verdict
    assert line is None or line in results.lines()
    assert results.arms[0].effect.effect == "unknown"
    if None in thinking:
        assert results.arms[2].effect.effect == "unknown"


def test_an_arm_above_the_reference_is_measured_and_not_recommended():
    results = found(
        120,
        ladder(0.9, 0.9, 0.95, thinking=(50, 200, 200)),
        levels="low,high,max",
        reference="high",
    )
    assert verdicts(results) == {"low": "recommended", "high": "reference", "max": "no_effect"}
    assert results.arms[2].difference > 0


# -- several models, clusters, repeats, the best ---------------------------------------------------


@pytest.mark.parametrize("low", [0.88, 0.7])  # what one model fails at says nothing of another
def test_models_are_held_against_one_reference(low):
    results = found(
        400, ladder(low, 0.9, 0.7, 0.895, prices=(0.02, 0.08, 0.001, 0.002)),
        models=["claude-opus-5", "gpt-5.5"], levels="low,high",
    )  # fmt: skip
    assert results.reference.name == "anthropic:claude-opus-5/high"
    assert results.recommend().name == "openai:gpt-5.5/high"
    assert results.recommend().why.startswith(
        "cheapest not worse than anthropic:claude-opus-5/high"
    )
    names = {arm.name: arm.verdict for arm in results.arms}
    assert names["openai:gpt-5.5/low"] == "worse"


def test_against_the_best_no_arm_is_the_reference():
    results = found(400, ladder(0.5, 0.95, 0.95, 0.8), levels=LADDER, against="best")
    assert results.recommend().level == "low"
    assert verdicts(results)["high"] in ("worse", "undecided")
    assert "any other arm" in results.why


def test_against_the_best_one_that_beats_all_others_is_recommended():
    results = found(400, ladder(0.5, 0.6, 0.95, 0.7), levels=LADDER, against="best")
    assert results.recommend().level == "medium"


def clustered(count, groups):
    from pondero.sweep.arms import arms_of
    from pondero.sweep.questions import questions_of
    from pondero.sweep.run.store import Run
    from pondero.sweep.spec import spec_of

    rows = ({"id": str(n), "input": f"What is {n} * 23?", "target": str(n * 23), "page": n % groups}
            for n in range(count))  # fmt: skip
    spec = spec_of(models=["claude-opus-5"], levels="low,high", judge="numeric", cluster="page")
    arms = arms_of(spec.models, spec.levels)
    return Run.create(spec, questions_of(rows), arms, reference=1, looks=4)


@pytest.mark.parametrize(("groups", "why"), [(29, "29 clusters are too few"), (60, "cheapest")])
def test_clusters_are_what_is_counted(groups, why):
    with clustered(300, groups) as run:
        asyncio.run(runner(run, Scripted(ladder(0.9, 0.9))).finish())
        results = compute_results(run)
    assert results.why.startswith(why)


def test_one_cluster_has_no_bounds_and_says_so():
    with clustered(60, 1) as run:
        asyncio.run(runner(run, Scripted(ladder(0.9, 0.9))).finish())
        results = compute_results(run)
    assert results.why == "1 cluster is too few to recommend by; 30 are the least"
    low = results.arms[0]
    assert (low.lower, low.upper, low.verdict) == (None, None, "undecided")
    assert "undecided  low  +1.7: one cluster says nothing about the next" in results.lines()
    assert "inf" not in results.table()


def test_repeats_are_means_and_say_how_often_all_and_any_are_right():
    def answer(ask):
        return answered(ask, right=ask.repeat <= ask.position % 3)

    results = found(60, answer, levels="low,high", repeats=3)
    low = results.arms[0]
    assert low.accuracy == pytest.approx(2 / 3, abs=0.02)
    assert low.always_right == pytest.approx(1 / 3, abs=0.02)
    assert low.ever_right == 1
    assert results.arms[0].n == results.questions


# -- by another route ------------------------------------------------------------------------------


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
        gained, lost = differences.count(1), differences.count(-1)
        n = len(differences)
        centre = (gained - lost) / (n + 2)
        error = math.sqrt(gained + lost + 1 - (gained - lost) ** 2 / (n + 2)) / (n + 2)
        z = boundaries(4, 0.05)[arm.look - 1]
        assert arm.difference == pytest.approx((gained - lost) / n)
        assert arm.lower == pytest.approx(centre - z * error)
        assert arm.upper == pytest.approx(centre + z * error)
        worse, good = arm.upper < -0.05, arm.lower > -0.05
        assert (arm.verdict == "worse") == worse
        assert not good or arm.verdict in ("recommended", "enough")
    assert float(results.spent) == pytest.approx(sum(float(b["cost"]) for b in answers.values()))


def test_the_ratio_of_costs_is_that_of_the_sums():
    results = found(60, ladder(0.9, 0.9, thinking=(50, 200)), levels="low,high")
    ratio = results.ratio(0, "cost")
    assert ratio.value == pytest.approx(results.arms[0].cost / results.arms[1].cost)
    assert ratio.low <= ratio.value <= ratio.high
    assert results.ratio(0, "thinking").value == pytest.approx(0.25)


def test_a_pareto_front_has_no_arm_that_another_beats():
    every = (2, 10, 7, 10)  # that many questions apart, each arm is wrong once

    def answer(ask):
        return answered(ask, ask.position % every[ask.arm] > 0, cost=str(PRICES[ask.arm]))

    results = found(200, answer, levels=LADDER)
    assert [arm.level for arm in results.pareto()] == ["off", "low"]


# -- another judge ---------------------------------------------------------------------------------


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


def test_a_judge_that_fails_leaves_the_question_missing():
    def breaks(answer, question):
        raise ValueError(answer)

    import tests.sweep.results.test_compute as module

    module.breaks_sometimes = lambda answer, question: (
        breaks(answer, question) if question.id == "q5" else True
    )
    results = found(
        40, ladder(1, 1), levels="low,high", judge=f"python:{module.__name__}:breaks_sometimes"
    )
    assert results.dropped == 1
    assert "2.5%" in results.why


# -- shapes ----------------------------------------------------------------------------------------


def test_the_json_has_the_keys_that_are_promised():
    results = found(40, ladder(0.9, 0.9), levels="low,high")
    told = results.to_json()
    assert list(told) == ["run", "arms", "recommend", "why"]
    assert all(
        list(arm) == ["model", "levels", "fields", "n", "accuracy", "low", "high",
                      "thinking_tokens", "cost", "seconds", "difference", "lower", "upper",
                      "verdict"]
        for arm in told["arms"]
    )  # fmt: skip
    assert set(told["recommend"]) == {"model", "level", "why"}
    assert json.loads(json.dumps(told)) == told


def test_unknown_counts_are_unknown_and_not_nothing():
    def answer(ask):
        settled = answered(ask, right=True, thinking=None, cost=None)
        return TrialResult(key=settled.key, text=settled.text, usage=Usage(), seconds=1.0)

    results = found(40, answer, levels="low,high")
    assert results.arms[0].thinking_tokens is None
    assert results.arms[0].cost is None
    assert "unknown" in results.table()
    assert results.ratio(0, "cost") is None


def test_what_was_not_compared_is_not_said_to_lie_on_the_margin():
    with begun(40, levels="off,low,high") as run:
        told = "\n".join(compute_results(run).lines())
    assert "undecided  low  not compared yet" in told
    assert "it lies on the margin" not in told


def test_against_the_best_the_declared_reference_is_an_arm_as_any():
    def answer(ask):
        return answered(ask, right=ask.position % 7 != ask.arm, thinking=100 * ask.arm)

    told = found(40, answer, levels="off,low,high", against="best").lines()
    assert "undecided  high  not shown to be good enough against every other arm" in told
    assert "it lies on the margin" not in "\n".join(told)
