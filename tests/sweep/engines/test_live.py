"""The live engine, its limiter and its budget: faults, refusals to go faster, and money."""

import asyncio
import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.sweep.runs import begun, engine, runner, sums

from pondero.canon import Usage
from pondero.emulator import Emulator, ErrorProneResponder, run_emulator_in_thread
from pondero.errors import (
    AuthFailed,
    Malformed,
    RateLimited,
    ServerFailed,
    ServiceTimeout,
    Timeout,
    Truncated,
    Unreachable,
)
from pondero.exchange import RateLimit, Retry
from pondero.store import price_usage
from pondero.sweep.arms import Arm
from pondero.sweep.engines.engine import BudgetSpent, CostBudget, Trial, trial_key
from pondero.sweep.engines.limiter import Limiter
from pondero.sweep.run.prices import max_answer_cost
from pondero.sweep.run.run_plan import make_comparison
from pondero.sweep.run.scores import Scores


@pytest.fixture(autouse=True)
def _own_data(data_dir):
    return data_dir


# -- keys ------------------------------------------------------------------------------------------


def test_a_key_is_that_of_model_fields_messages_and_repeat():
    one = trial_key("m", {"a": 1, "b": 2}, "hi", 0)
    assert one == trial_key("m", {"b": 2, "a": 1}, "hi", 0)
    others = [("n", {"a": 1, "b": 2}, "hi", 0), ("m", {"a": 1}, "hi", 0),
              ("m", {"a": 1, "b": 2}, "ho", 0), ("m", {"a": 1, "b": 2}, "hi", 1)]  # fmt: skip
    assert len({one, *(trial_key(*each) for each in others)}) == 5


# -- a whole run -----------------------------------------------------------------------------------


def test_a_run_asks_every_arm_every_question_once():
    emulator = Emulator()
    with begun(12) as run:
        asyncio.run(runner(run, engine(emulator)).finish())
        assert run.state == "done"
        answers = run.answers()
    assert len(answers) == len(emulator.log.entries) == 24
    assert all(float(each.cost) > 0 for each in answers.values())


def test_questions_with_the_same_words_are_asked_apart():
    from pondero.sweep.questions import Question
    from pondero.sweep.run.store import Run

    with begun(1) as made:
        facts = made.facts
    twins = [Question("a", "What is 2 * 23?", ("46",)), Question("b", "What is 2 * 23?", ("46",))]
    with Run.create(facts.spec, twins, facts.arms, reference=1) as run:
        asyncio.run(runner(run).finish())
        assert len(run.answers()) == 4


def test_faults_are_tried_again_and_what_stays_broken_is_missing():
    emulator = Emulator(faults=[529, 500, "refused", "cut", 429, None, 400])
    with begun(10, once=True, pilot=0) as run:
        now = asyncio.run(runner(run, engine(emulator, start=1)).finish())
        answers = run.answers()
        scores = Scores(run, "numeric")
    failed = [each for each in answers.values() if each.error]
    assert now.is_over
    assert len(answers) == 20
    assert len(failed) == 1
    assert "BadRequest" in failed[0].error
    known = [scores.repeats(arm, at) for arm in (0, 1) for at in range(10)]
    assert known.count([None]) == 1


def test_refusals_are_wrong_and_exhausted_answers_are_missing():
    from pondero.sweep.questions import questions_of
    from pondero.sweep.run.store import Run

    questions = questions_of(
        [
            {"id": "a", "input": "[emulator: refuse] What is 2 * 2?", "target": "4"},
            {"id": "b", "input": "What is 2 * 3?", "target": "6"},
        ]
    )
    with begun(1, max_tokens=20, once=True, pilot=0) as made:
        facts = made.facts
    with Run.create(facts.spec, questions, facts.arms, reference=1) as run:
        asyncio.run(runner(run, engine(Emulator())).finish())
        scores = Scores(run, "numeric")
        answers = run.answers().values()
    assert [scores.score(1, at) for at in (0, 1)] == [0.0, 0.0]
    assert sum(each.is_refused for each in answers) == 2
    assert sum(each.is_exhausted for each in answers) == 2
    assert [scores.repeats(1, at) for at in (0, 1)] == [[0.0], [None]]


def test_an_error_that_every_ask_would_meet_ends_the_run_and_says_so():
    with begun(10) as run:
        with pytest.raises(AuthFailed):
            asyncio.run(runner(run, engine(Emulator(faults=[None, 401]), start=1)).finish())
        assert len(run.answers()) == 1


def test_services_are_asked_over_http(monkeypatch):
    """The network's own transport, streams and all, against the emulator as a server."""
    pytest.importorskip("starlette")
    from pondero.sweep.engines.live import LiveEngine

    emulator = Emulator()
    with run_emulator_in_thread(emulator) as url, begun(10, once=True, pilot=0) as run:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
        live = LiveEngine()

        async def whole():
            await runner(run, live).finish()
            await live.aclose()

        asyncio.run(whole())
        answers = run.answers().values()
    assert len(answers) == len(emulator.log.entries) == 20
    assert all(each.usage.thinking and each.seconds > 0 for each in answers)
    assert all(entry.body["stream"] for entry in emulator.log.entries)


# -- money -----------------------------------------------------------------------------------------


class Watch:
    """A service that knows the most that all it was sent can cost: by the bytes of each request.

    What is answered counts as what it cost; the rest as a token a byte, and all of its max_tokens.
    """

    needs_key = False

    def __init__(self, seconds=0.001):
        self.mind, self.seconds = ErrorProneResponder(), seconds
        self.emulator = Emulator(responder=self.answered)
        self.flying = self.most_flying = 0
        self.billed = self.open = self.most = Decimal(0)

    def answered(self, accepted):
        reply = self.mind(accepted)
        self.billed += price_usage("anthropic", "claude-opus-5", reply.usage)
        return reply

    async def send(self, request, timeouts):
        most = json.loads(request.body)["max_tokens"]
        bound = price_usage(
            "anthropic", "claude-opus-5", Usage(input=len(request.body), output=most)
        )
        self.flying += 1
        self.open += bound
        self.most_flying = max(self.most_flying, self.flying)
        self.most = max(self.most, self.billed + self.open)
        await asyncio.sleep(self.seconds)
        self.flying -= 1
        self.open -= bound
        return self.emulator.send(request, timeouts)

    async def aclose(self):
        pass


def test_a_cap_is_never_passed_with_five_hundred_requests_at_once():
    """The cap is checked by the service: bounds of all that is in flight, and the true costs."""
    cap = 2.2
    watch = Watch(0.02)
    with begun(1_000, levels="low,high", once=True, pilot=0, budget=cap, max_tokens=60) as run:
        driver = runner(run, engine(watch, start=500, ahead=1_000))
        asyncio.run(driver.finish())
        assert run.state == "stopped"
        paid = sum(Decimal(each.cost) for each in run.answers().values())
        assert "--budget" in driver.budget.closed
        assert watch.most_flying > 400
    assert watch.most <= Decimal(str(cap))
    assert paid == watch.billed
    assert Decimal(str(cap)) * 9 / 10 < paid <= Decimal(str(cap))


class Unsteady(Watch):
    """A service that answers and bills everything, and fails to deliver each second answer."""

    def __init__(self, error):
        super().__init__(0)
        self.error, self.sent = error, 0

    async def send(self, request, timeouts):
        answer = await super().send(request, timeouts)
        self.sent += 1
        if self.sent % 2:
            raise self.error
        return answer


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("the connection broke"),
        Timeout("nothing came"),
        Malformed("no JSON"),
        Truncated("the stream ended early"),
        ServiceTimeout("upstream took too long", status=504),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_answer_that_was_billed_and_never_came_counts_against_the_cap(error):
    cap = 0.2
    service = Unsteady(error)
    with begun(200, once=True, pilot=0, budget=cap, max_tokens=60) as run:
        asyncio.run(runner(run, engine(service, start=4, ahead=200)).finish())
        assert run.lost[0] >= service.sent // 2
        assert service.billed <= run.spent + run.lost[1] <= Decimal(str(cap))


@pytest.mark.parametrize(
    "error", [Unreachable("no route", connected=False), ServerFailed("oops", status=500)],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_an_attempt_that_the_service_never_had_or_rejected_costs_nothing(error):
    service = Unsteady(error)
    with begun(20, once=True, pilot=0, budget=5, max_tokens=60) as run:
        asyncio.run(runner(run, engine(service, start=1)).finish())
        assert len(run.answers()) == 40
        assert run.lost == (0, Decimal(0))


class Storm:
    """A service that says "too many requests, try now" a number of times to every request."""

    needs_key = False

    def __init__(self, seconds):
        self.emulator, self.seconds, self.now = Emulator(), seconds, 0.0

    async def send(self, request, timeouts):
        if self.now < self.seconds:
            raise RateLimited("slow down", status=429, retry_after=0.0)
        return self.emulator.send(request, timeouts)

    async def aclose(self):
        pass


def test_a_short_storm_whose_retry_after_is_zero_makes_no_answer_missing(monkeypatch):
    """The clock is the storm's own: every wait of the engine moves it on."""
    storm, real = Storm(30.0), asyncio.sleep

    async def sleep(seconds, *rest):
        storm.now += seconds
        await real(0, *rest)

    monkeypatch.setattr("pondero.sweep.engines.live.asyncio.sleep", sleep)
    with begun(8, once=True, pilot=0) as run:
        asyncio.run(runner(run, engine(storm, retry=Retry(attempts=6))).finish())
        answers = run.answers().values()
    assert len(answers) == 16
    assert [each.error for each in answers if each.error] == []


class Ledger:
    def begin(self, key, bound):
        pass

    def lose(self, key, bound):
        pass


class Spending(RuleBasedStateMachine):
    """Whatever is asked, answered, lost and given back: spent and in flight stay under the cap."""

    def __init__(self):
        super().__init__()
        self.budget = CostBudget(Ledger(), cap=Decimal(10), spent=Decimal(0))
        self.flying = []

    @rule(bound=st.integers(0, 12))
    def take(self, bound):
        ask = Trial("k", 0, 0, 0, "m", "low", "hi", bound=Decimal(bound))
        try:
            if self.budget.take(ask):
                self.flying.append(ask)
            else:
                assert self.flying
        except BudgetSpent:
            assert not self.flying or self.budget.closed

    @rule(share=st.floats(0, 1))
    def settle(self, share):
        if self.flying:
            ask = self.flying.pop()
            self.budget.settle(ask, ask.bound * Decimal(str(share)))

    @rule(charged=st.booleans())
    def give_back(self, charged):
        if self.flying:
            self.budget.give_back(self.flying.pop(), charged=charged)

    @invariant()
    def the_cap_holds(self):
        assert self.budget.spent + self.budget.flying <= 10
        assert self.budget.flights == len(self.flying)


TestSpending = Spending.TestCase
TestSpending.settings = settings(max_examples=40, stateful_step_count=25)


@pytest.mark.parametrize("level", ["off", "low", "max"])
def test_no_answer_costs_more_than_its_bound(level):
    with begun(80, levels=level, max_tokens=400, budget=500) as run:
        asyncio.run(runner(run).finish())
        arm = run.facts.arms[0]
        bound = min(
            max_answer_cost(arm, each, system=None, max_tokens=400) for each in run.questions()
        )
        assert all(Decimal(each.cost) <= bound for each in run.answers().values())


def test_a_bound_is_the_price_of_all_the_bytes_and_the_longest_answer():
    (question,) = sums(1)
    with begun(1) as run:
        arm = run.facts.arms[0]
    bound = max_answer_cost(arm, question, system="x" * 100, max_tokens=1_000)
    words = len(question.input) + 2 + 100 + 512
    assert bound == price_usage("anthropic", "claude-opus-5", Usage(input=words, output=1_000))


def test_the_longest_answer_of_a_model_that_draws_is_a_picture():
    (question,) = sums(1)
    arm = Arm("google:gemini-2.5-flash-image", "off", ("off",), {}, 0)
    bound = max_answer_cost(arm, question, system=None, max_tokens=1_000)
    assert 0 < bound - Decimal("0.03") < Decimal("0.001")


def test_what_was_in_flight_when_a_process_was_killed_counts_as_spent():
    with begun(4, budget=1, max_tokens=100) as run:
        run.begin("a key", Decimal("0.25"))
        with run.hold_lock():
            assert run.spent == 0
            assert run.lost == (1, Decimal("0.25"))


# -- how fast --------------------------------------------------------------------------------------


def test_the_limit_grows_by_a_twentieth_a_clean_round_and_falls_by_a_fifth():
    limiter = Limiter(start=20)
    for _ in range(20):
        limiter.begin()
        limiter.end()
    assert limiter.limit == pytest.approx(21)
    limiter.slow(100.0, None)
    limiter.slow(101.0, None)
    assert limiter.limit == pytest.approx(21 * 0.8)
    limiter.slow(116.0, None)
    assert limiter.limit == pytest.approx(21 * 0.64)


@given(st.lists(st.sampled_from(["begin", "end", "slow", "fail"]), max_size=200))
def test_the_limit_stays_between_one_and_the_most(steps):
    limiter, now = Limiter(start=4, most=10), 0.0
    for step in steps:
        now += 5
        if step == "begin" and limiter.wait(now) == 0:
            limiter.begin()
        elif step == "slow":
            limiter.slow(now, None)
        elif step in ("end", "fail") and limiter.flying:
            getattr(limiter, step)()
        assert 1 <= limiter.limit <= 10
        assert limiter.flying <= 10


def test_what_the_service_says_comes_first():
    limiter = Limiter(start=100)
    assert limiter.wait(0.0) == 0
    limiter.slow(0.0, 7.0)
    assert limiter.wait(2.0) == 5
    assert limiter.wait(7.0) == 0
    limiter.hint([RateLimit("requests", 2, 30)], 10.0)
    limiter.begin()
    limiter.hint([RateLimit("requests", 3, 30)], 10.0)  # older, though it came later
    limiter.begin()
    assert limiter.wait(11.0) == 29
    assert limiter.wait(41.0) == 0


def test_tokens_are_counted_by_what_answers_took():
    limiter = Limiter(start=100)
    limiter.begin()
    limiter.end(tokens=500)
    limiter.hint([RateLimit("tokens", 900, 60)], 0.0)
    assert limiter.wait(1.0) == 0
    limiter.begin()
    assert limiter.wait(1.0) == 59


class Strict:
    """A transport that answers 429 to whatever goes beyond so many at once."""

    needs_key = False

    def __init__(self, most):
        self.emulator, self.most = Emulator(), most
        self.flying = self.refused = self.sent = 0

    async def send(self, request, timeouts):
        self.sent += 1
        self.flying += 1
        try:
            await asyncio.sleep(0)
            if self.flying > self.most:
                self.refused += 1
                raise RateLimited("slow down", status=429)
            return self.emulator.send(request, timeouts)
        finally:
            self.flying -= 1

    async def aclose(self):
        pass


def test_refusals_to_go_faster_cost_no_question():
    strict = Strict(4)
    with begun(60, once=True, pilot=0) as run:
        asyncio.run(runner(run, engine(strict, start=16, ahead=60)).finish())
        answers = run.answers().values()
    assert strict.refused > 0
    assert len(answers) == 120
    assert not any(each.error for each in answers)


# -- stopping --------------------------------------------------------------------------------------


def test_a_run_that_is_told_to_stop_keeps_what_is_in_flight_and_goes_on_later():
    with begun(40, once=True, pilot=0) as run:
        begins = asyncio.Event()
        watch = Watch()
        driver = runner(run, engine(watch, start=8), progress=lambda _: begins.set())

        async def stopped():
            task = asyncio.create_task(driver.finish())
            await begins.wait()
            flying = driver.budget.flights
            driver.stop("enough")
            await task
            return flying

        flying = asyncio.run(stopped())
        kept = len(run.answers())
        assert run.state == "stopped"
        assert 0 < flying <= kept < 40
        assert driver.budget.flights == 0
        emulator = Emulator()
        asyncio.run(runner(run, engine(emulator)).finish())
        assert run.state == "done"
        assert len(emulator.log.entries) == 80 - kept
        assert make_comparison(Scores(run, "numeric")).advance().is_over
