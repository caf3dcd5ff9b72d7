"""A model that judges costs: of every grade, also a failed one, in what is spent and in the cap."""

import asyncio
from decimal import Decimal

import pytest
from msgspec.structs import replace
from tests.sweep.runs import Scripted, answered, begun

from pondero.canon import Message, Reply, Text, Usage
from pondero.client import AsyncClient
from pondero.emulator import Emulator
from pondero.errors import BadParameter, RateLimited, Truncated, Unreachable
from pondero.store import price_usage
from pondero.sweep import compute_results, make_outline, questions_of
from pondero.sweep.grading.judges import make_judge
from pondero.sweep.grading.model_judges import UnpaidRetry
from pondero.sweep.run.prices import max_grade_cost
from pondero.sweep.run.runner import Runner

JUDGES = ("model:claude-opus-5", "rubric:claude-opus-5", "pairwise:claude-opus-5")
VERDICTS = {"model": "GRADE: RIGHT", "rubric": "MET: 1", "pairwise": "BETTER: SAME"}


class Service:
    """The service of a judge: it counts what it was asked, and says what it is told to."""

    def __init__(self, says):
        self.says, self.asked, self.watch = says, 0, lambda: None

    def mind(self, _accepted):
        self.asked += 1
        self.watch()
        return Reply(Message("assistant", (Text(self.says),)), "stop")

    def drive(self, run, other=None):
        transport = Emulator(responder=self.mind)
        judge = make_judge(run.facts.spec.judge, client=lambda: AsyncClient(transport=transport))
        return Runner(run, other or Scripted(lambda ask: answered(ask, right=True)), judge)


def judged_by(name, *, says=None):
    return Service(VERDICTS[name.partition(":")[0]] if says is None else says)


@pytest.mark.parametrize("name", JUDGES)
def test_failed_grades_are_spent_and_stay_spent_when_they_are_tried_again(name, data_dir):
    service = judged_by(name, says="I would rather not say")
    with begun(60, judge=name) as run:
        asyncio.run(service.drive(run).pilot())
        assert all(each.score is None for each in run.grades_by(name).values())
        answers = sum(Decimal(each.cost) for each in run.answers().values())
        first = run.judge_cost(name)
        assert first > 0
        assert run.spent == answers + first
        run.forget_errors()
        assert run.grades_by(name) == {}
        assert run.spent == answers + first  # what was paid stays paid
        asyncio.run(service.drive(run).pilot())
        assert run.judge_cost(name) == 2 * first
        assert compute_results(run).spent == answers + 2 * first


@pytest.mark.parametrize("name", JUDGES)
def test_a_grade_is_asked_only_if_the_budget_pays_for_its_most(name, data_dir):
    service, before = judged_by(name), []
    (question,) = questions_of([{"input": "What is 99 * 23?", "target": "2277"}])
    spec = begun(1, judge=name).facts.spec
    bound = max_grade_cost(spec, None, question, answer="it is 2277")
    budget = float(bound) + 0.1
    with begun(200, judge=name, budget=budget, max_tokens=100) as run:
        service.watch = lambda: before.append(run.spent)
        asyncio.run(service.drive(run).finish())
        assert run.judge_cost(name) > 0
        assert run.spent <= budget
    asks = 2 if name.startswith("pairwise") else 1
    assert len(before) >= 3 * asks
    assert max(before) + bound <= budget + 0.05  # bounds differ a little with the words


class Unsteady:
    """The network to a judge: of each three replies that the service bills, one is lost."""

    needs_key = False

    def __init__(self, service):
        self.service, self.billed, self.lost = service, Decimal(0), 0
        self.emulator = Emulator(responder=self.answer)

    def answer(self, accepted):
        reply = self.service.mind(accepted)
        usage = Usage(input=400, output=200)
        self.billed += price_usage("anthropic", "claude-opus-5", usage)
        return replace(reply, usage=usage)

    async def send(self, request, timeouts):
        answer = self.emulator.send(request, timeouts)
        if self.service.asked % 3 == 0:
            self.lost += 1
            raise Unreachable("the connection broke")
        return answer

    async def aclose(self):
        pass


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("budget", [None, 40.0])
def test_a_grade_whose_reply_is_lost_counts_with_its_most_and_is_asked_again(
    name, budget, data_dir, monkeypatch
):
    real = asyncio.sleep
    monkeypatch.setattr("pondero.sweep.run.runner.asyncio.sleep", lambda _: real(0))
    network = Unsteady(judged_by(name))
    client = AsyncClient(transport=network, retry=UnpaidRetry())
    judge = make_judge(name, client=lambda: client)
    answers = Scripted(lambda ask: answered(ask, right=True))
    with begun(30, judge=name, budget=budget, max_tokens=100, pilot=7) as run:
        asyncio.run(Runner(run, answers, judge).pilot())
        lost, bound = run.lost
        assert lost == network.lost > 3
        paid = sum(Decimal(each.cost) for each in run.answers().values())
        assert network.billed <= run.judge_cost(name) + bound
        assert run.spent == paid + run.judge_cost(name)
        if budget is not None:
            assert run.spent + bound <= budget


def test_the_client_of_a_judge_tries_nothing_again_that_may_have_been_charged():
    again = UnpaidRetry().again
    assert not again(Unreachable("the connection broke"), 1)
    assert not again(Truncated("the stream ended early"), 1)
    assert again(Unreachable("no route", connected=False), 1)
    assert not again(RateLimited("slow down", status=429), 1)  # the judge itself waits for it


def test_labelled_answers_stop_at_the_budget_too(data_dir):
    service = judged_by("model:claude-opus-5")
    labelled = [{"answer": f"it is {n}", "right": True} for n in range(40)]
    with begun(60, judge="model:claude-opus-5", budget=0.01, max_tokens=1000) as run:
        driver = service.drive(run)
        (first, *_) = run.questions()
        row = {"input": first.prompt, "target": "1", "metadata": {"labelled": labelled}}
        driver._questions = questions_of([row])
        asyncio.run(driver.compare())
        assert service.asked == 0
        assert "the next grade may cost" in driver.budget.closed


def test_answers_of_earlier_runs_are_graded_within_the_budget(data_dir, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    first = Scripted(lambda ask: answered(ask, right=True, model="claude"))
    with begun(60, offline=False) as run:
        asyncio.run(Runner(run, first, make_judge("numeric")).finish())
    name = "model:claude-opus-5"
    service = judged_by(name)
    with begun(60, offline=False, judge=name, budget=0.01, max_tokens=None) as run:
        driver = service.drive(run, Scripted(lambda _: pytest.fail("nothing new is asked")))
        asyncio.run(driver.pilot())
        assert service.asked == 0
        assert "the next grade may cost" in driver.budget.closed


def test_a_pair_is_asked_about_twice_and_criteria_are_read_too():
    plain, pairs, rubric = (
        begun(1, judge=name, max_tokens=100).facts.spec for name in JUDGES[::2] + JUDGES[1:2]
    )
    (question,) = questions_of([{"input": "?", "target": "yes"}])
    (long,) = questions_of([{"input": "?", "target": "yes", "metadata": {"rubric": "x" * 9000}}])
    one = max_grade_cost(plain, None, question, answer="no")
    assert max_grade_cost(pairs, None, question, answer="no") == 2 * one
    assert max_grade_cost(rubric, None, long, answer="no") > one


@pytest.mark.parametrize("name", JUDGES)
def test_a_model_says_it_is_enough_by_its_own_grades(name, data_dir):
    with begun(120, judge=name) as run:
        asyncio.run(judged_by(name).drive(run).finish())
        results = compute_results(run)
    assert results.recommendation.level == "low"
    assert "by this judge's grades" in results.why


def test_once_is_for_answers_that_are_right_or_wrong():
    rows = [{"input": f"{n}?", "target": "yes"} for n in range(80)]
    options = {"models": ["claude-opus-5"], "judge": "rubric:claude-opus-5", "once": True}
    with pytest.raises(BadParameter, match="gives scores"):
        make_outline(rows, options)
