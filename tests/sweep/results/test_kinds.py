"""A level for each kind: decided by its own questions, with an error that the kinds share."""

import asyncio
from random import Random

import pytest
from tests.sweep.runs import Scripted, answered, runner

from pondero.canon import Usage
from pondero.sweep.arms import arms_of
from pondero.sweep.engines.engine import TrialResult
from pondero.sweep.questions import questions_of
from pondero.sweep.results.compute import compute_results
from pondero.sweep.results.kinds import by_kind
from pondero.sweep.run.store import Run, RunFacts
from pondero.sweep.spec import spec_of
from pondero.sweep.statistics.progress import Scores, every_ask

ARMS = arms_of(["claude-opus-5"], "low,high")


@pytest.fixture(autouse=True)
def _own_data(data_dir):
    return data_dir


def questions(count, kinds):
    """Sums of these kinds in turn; None is a question without one."""
    return questions_of(
        {
            "id": f"q{n}",
            "input": f"What is {n} * 23?",
            "target": str(n * 23),
            "metadata": {"kind": kind} if (kind := kinds[n % len(kinds)]) else {},
        }
        for n in range(2, count + 2)
    )


def found(count, kinds, right, looks=1, **options):
    """The results of a run in which ``right`` says which arm answers what rightly."""
    spec = spec_of(
        models=("claude-opus-5",), levels="low,high", judge="numeric", offline=True, **options
    )
    asked = questions(count, kinds)

    def answer(ask):
        question = asked[ask.position]
        cost = ("0.001", "0.004")[ask.arm]
        return answered(ask, right(ask.arm, question), thinking=50 * (ask.arm + 1), cost=cost)

    with Run.create(spec, asked, ARMS, reference=1, looks=looks) as run:
        asyncio.run(runner(run, Scripted(answer, looks=looks)).finish())
        return compute_results(run)


def number(question):
    return int(question.id[1:])


def test_a_kind_for_which_the_cheap_level_is_worse_keeps_the_reference():
    def right(arm, question):
        return arm == 1 or question.metadata["kind"] == "easy" or number(question) % 10 == 1

    results = found(400, ["easy", "easy", "easy", "hard"], right, margin=0.3)
    assert results.recommend().level == "low"
    assert [(each.kind, each.n, each.arm) for each in results.kinds] == [
        ("easy", 300, 0), ("hard", 100, 1),
    ]  # fmt: skip
    easy, hard = results.kinds
    assert (easy.accuracy, easy.difference, hard.accuracy, hard.difference) == (1.0, 0.0, 1.0, None)
    assert easy.lower < 0 < easy.upper
    (said,) = [line for line in results.lines() if "hard" in line]
    assert said == "kind       hard  high is enough: 100.0%; 100 questions"


def test_a_kind_that_its_questions_do_not_decide_has_no_level_of_its_own():
    def right(arm, question):
        return arm == 1 or question.metadata["kind"] == "most" or number(question) % 64 != 3

    results = found(320, ["most", "most", "most", "few"], right)
    assert results.recommend().level == "low"
    assert {each.kind: each.arm for each in results.kinds} == {"most": 0, "few": None}
    assert "kind       few  undecided by its own 80 questions" in results.lines()


def test_what_a_run_that_ended_early_did_not_ask_is_not_counted():
    def kinds(count):
        results = found(count, ["a", "b"], lambda _arm, _question: True, looks=4)
        assert (results.looks, results.recommend().level) == (1, "low")
        return [(each.kind, each.n, each.arm) for each in results.kinds]

    assert kinds(800) == [("a", 100, 0), ("b", 100, 0)]
    assert kinds(560) == [("a", 70, None), ("b", 70, None)]  # enough for all, not for each


def test_fewer_than_thirty_questions_and_names_that_nobody_can_say_are_no_kinds():
    kinds = ["sums", "a/b", "", "sums", "x" * 80, "\x1b[2J", None, 7]
    results = found(116, kinds, lambda _arm, _question: True)
    assert [each.kind for each in results.kinds] == []
    results = found(160, kinds, lambda _arm, _question: True)
    assert [each.kind for each in results.kinds] == ["sums"]


def test_without_a_recommendation_for_all_there_is_none_for_a_kind():
    assert found(20, ["sums"], lambda _arm, _question: True).kinds == ()


class Written:
    """A finished run whose grades are written down; only what ``Scores`` reads of one."""

    state = "done"

    def __init__(self, facts, asked, asks):
        self.facts, self._questions = facts, asked
        usage = Usage(input=1, output=1)
        keys = (ask.key for every in asks.values() for ask in every)
        self._answers = {key: TrialResult(key=key, text="", usage=usage) for key in keys}
        self.scores = {}

    def questions(self):
        return self._questions

    def answers(self):
        return self._answers

    def grades(self, _judge):
        return self.scores


def test_the_kinds_share_the_error_that_one_run_may_have():
    """Each of four kinds is worse by the margin: how often is any of them passed?"""
    asked = questions(400, ["a", "b", "c", "d"])
    spec = spec_of(models=("claude-opus-5",), levels="low,high", judge="numeric", margin=0.1)
    facts = RunFacts(
        run="r", started=0.0, spec=spec, arms=ARMS, reference=1, looks=1, data="d" * 32
    )
    asks = every_ask(facts, asked)
    run, passed = Written(facts, asked, asks), 0
    random, rounds = Random(7), 300
    for _ in range(rounds):
        run.scores = {
            (asked[place].id, ask.key): float(random.random() < (0.8, 0.9)[arm])
            for (arm, place), every in asks.items()
            for ask in every
        }
        found = by_kind(Scores(run, "numeric", asks), 0, lambda arm: (float(arm), arm == 1))
        passed += any(each.arm == 0 for each in found)
    assert passed / rounds < 0.1  # without a share of the error it is 0.17
