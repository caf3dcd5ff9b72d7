"""Leases of asks and money: what a worker may send, and what comes back from one that died."""

import pickle
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.sweep.runs import begun

from pondero.errors import MissingKey, RateLimited
from pondero.exchange import RateLimit
from pondero.store import load_catalog
from pondero.sweep.engines.engine import BudgetSpent, CostBudget, Trial
from pondero.sweep.engines.leases import (
    REQUESTS,
    TOKENS,
    KeyBudget,
    Lease,
    LeaseCostBudget,
    SendLog,
    take_lease,
    tokens_of,
)
from pondero.sweep.run.store import sends_path

CAP = Decimal(20)


class Ledger:
    def begin(self, key, bound):
        pass

    def lose(self, key, bound):
        pass


def ask_of(number, bound=1, **options):
    bound = None if bound is None else Decimal(bound)
    return Trial(f"k{number}", 0, number, 0, "m", "low", "hi", bound=bound, **options)


def cost_budget_of(cap=None):
    return CostBudget(Ledger(), cap=cap, spent=Decimal(0))


class Held:
    """A lease with a worker: what it has begun, what it sent, and what the driver waits for."""

    def __init__(self, lease, budget):
        self.lease = lease
        self.attempts = dict.fromkeys((ask.key for ask in lease.trials), 0)
        self.cost_budget = LeaseCostBudget(
            lambda key: budget.record_rejection(lease.number, key, self.attempts[key])
        )
        self.left = {ask.key: ask for ask in lease.trials}
        self.flying = {}


class Leasing(RuleBasedStateMachine):
    """Whatever workers send, and whenever they die: no more is charged than the books say.

    ``charged`` is kept apart from all of it, as the service would: the cost of what it answered,
    and the bound of what it took and nobody heard of.
    """

    def __init__(self):
        super().__init__()
        self.cost_budget, self.budget = cost_budget_of(CAP), KeyBudget(start=8)
        self.todo = [ask_of(n, bound=1 + n % 4) for n in range(40)]
        self.held, self.charged, self.leased = [], Decimal(0), 0

    @rule(wanted=st.integers(1, 60))
    def lease(self, wanted):
        places = self.budget.admit("m", wanted, 0.0)
        try:
            asks = take_lease(self.todo, self.cost_budget, places)
        except BudgetSpent:
            asks = []
        self.budget.leave("m", places - len(asks))
        if asks:
            self.leased += 1
            lease = Lease(self.leased, "key", "m", tuple(asks))
            assert lease.max_cost == sum(ask.bound for ask in asks)
            self.held.append(Held(lease, self.budget))

    def one(self, data, *, flying):
        pairs = [
            (held, ask)
            for held in self.held
            for ask in held.left.values()
            if (ask.key in held.flying) is flying
        ]
        return data.draw(st.sampled_from(pairs)) if pairs else (None, None)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def send(self, data):
        held, ask = self.one(data, flying=False)
        if ask is None:
            return
        try:
            assert held.cost_budget.take(ask)
        except BudgetSpent:  # an attempt was charged: it goes back to the driver
            self.land(held, ask)
            self.budget.leave("m", 1)
            self.todo.append(ask)
            return
        held.attempts[ask.key] += 1
        assert self.budget.record_send(held.lease.number, ask.key, held.attempts[ask.key])
        held.flying[ask.key] = ask

    @precondition(lambda self: self.held)
    @rule(data=st.data(), ending=st.sampled_from(["refused", "lost"]))
    def fail(self, data, ending):
        held, ask = self.one(data, flying=True)
        if ask is not None:
            del held.flying[ask.key]
            held.cost_budget.give_back(ask, charged=ending == "lost")
            self.charged += ask.bound if ending == "lost" else 0

    @precondition(lambda self: self.held)
    @rule(data=st.data(), share=st.fractions(0, 1, max_denominator=10))
    def answer(self, data, share):
        held, ask = self.one(data, flying=True)
        if ask is not None:
            cost = ask.bound * share.numerator / share.denominator
            del held.flying[ask.key]
            held.cost_budget.settle(ask, cost)
            self.charged += cost
            self.budget.end("m", 100)
            self.land(held, ask)

    def land(self, held, ask):
        held.cost_budget.make_result(ask.key).land(ask, self.cost_budget)
        del held.left[ask.key]

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def die(self, data):
        held = data.draw(st.sampled_from(self.held))
        self.held.remove(held)
        self.charged += sum(ask.bound for ask in held.flying.values())  # the service goes on
        sent = self.budget.close(held.lease.number)
        never = {key for key, count in held.attempts.items() if not count}
        assert not sent & never
        for key, ask in held.left.items():
            self.cost_budget.give_back(ask, charged=key in sent)
            self.todo.append(ask)
        self.budget.leave("m", len(held.left))
        for key in held.left:  # a worker that was given up while it lives sends nothing more
            assert not self.budget.record_send(held.lease.number, key, 99)

    @invariant()
    def the_books_cover_what_is_charged_and_the_cap_holds(self):
        flying = sum(ask.bound for held in self.held for ask in held.flying.values())
        assert self.charged + flying <= self.cost_budget.spent + self.cost_budget.flying <= CAP

    @invariant()
    def what_is_leased_is_what_is_in_flight(self):
        left = [ask for held in self.held for ask in held.left.values()]
        assert self.cost_budget.flights == self.budget.limiter("m").flying == len(left)
        assert self.cost_budget.flying == sum(ask.bound for ask in left)


TestLeasing = Leasing.TestCase
TestLeasing.settings = settings(max_examples=60, stateful_step_count=40)


# -- one lease -------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 120_000), min_size=1, max_size=80), st.integers(1, 80))
def test_a_lease_has_so_many_asks_and_tokens_at_most(lengths, places):
    asks = [ask_of(n, max_tokens=length) for n, length in enumerate(lengths)]
    todo, cost_budget = list(reversed(asks)), cost_budget_of()
    leases = []
    while todo:
        leases.append(take_lease(todo, cost_budget, min(places, REQUESTS)))
    assert [ask for lease in leases for ask in lease] == asks
    for lease in leases:
        assert len(lease) <= min(places, REQUESTS)
        assert len(lease) == 1 or sum(map(tokens_of, lease)) <= TOKENS


def test_what_one_lease_holds_is_not_there_for_the_next():
    todo, cost_budget = [ask_of(n, bound=2) for n in range(4)], cost_budget_of(Decimal(5))
    first = take_lease(todo, cost_budget, REQUESTS)
    assert len(first) == 2
    assert take_lease(todo, cost_budget, REQUESTS) == []  # for now
    cost_budget.settle(first[0], Decimal("0.5"))
    assert len(take_lease(todo, cost_budget, REQUESTS)) == 1
    for ask in (first[1], ask_of(9, bound=2)):
        cost_budget.give_back(ask, charged=True)
    with pytest.raises(BudgetSpent, match="budget"):
        take_lease(todo, cost_budget, REQUESTS)


def test_a_charged_attempt_goes_back_to_the_driver_and_a_refused_one_does_not():
    refused = []
    cost_budget = LeaseCostBudget(refused.append)
    for _ in range(3):
        assert cost_budget.take(ask_of(1))
        cost_budget.give_back(ask_of(1), charged=False)
    assert refused == ["k1"] * 3
    cost_budget.take(ask_of(1))
    cost_budget.give_back(ask_of(1), charged=True)
    with pytest.raises(BudgetSpent, match="charged"):
        cost_budget.take(ask_of(1))
    assert cost_budget.make_result("k1").charged
    assert not cost_budget.make_result("k2").charged  # never begun


def test_without_a_cap_there_is_no_bound_to_use_up():
    cost_budget = LeaseCostBudget(lambda _key: None)
    cost_budget.take(ask_of(1, bound=None))
    cost_budget.give_back(ask_of(1, bound=None), charged=True)
    assert cost_budget.take(ask_of(1, bound=None))


def test_a_late_word_of_a_refusal_does_not_hide_the_next_attempt():
    budget = KeyBudget()
    budget.record_send(7, "k", 1)
    budget.record_send(7, "k", 2)
    budget.record_rejection(7, "k", 1)
    assert budget.close(7) == {"k"}


# -- one key ---------------------------------------------------------------------------------------


def test_workers_share_what_a_key_allows():
    budget = KeyBudget(start=10)
    assert [budget.admit("m", 6, 0.0) for _ in range(3)] == [6, 4, 0]
    assert budget.admit("another", 6, 0.0) == 6
    budget.slow("m", 30.0, 0.0)  # one worker was refused: all wait
    budget.leave("m", 10)
    assert budget.admit("m", 6, 1.0) == 0
    assert budget.admit("m", 60, 31.0) == 8  # a fifth less than before
    budget.leave("m", 8)
    budget.hint("m", [RateLimit("requests", 3, 60)], 31.0)
    assert budget.admit("m", 6, 32.0) == 3


def test_each_key_of_a_provider_is_an_account_and_is_never_shown(monkeypatch):
    from pondero.sweep.engines.ray_workers import DriverLocation, WorkerSetup

    pytest.importorskip("ray")
    from pondero.sweep.engines.ray import accounts_of

    provider = load_catalog().entry("claude-opus-5").provider
    with pytest.raises(MissingKey):
        accounts_of(provider, offline=False)
    for name, key in (("", "sk-one"), ("_2", "sk-two"), ("_3", "sk-one"), ("_5", "sk-far")):
        monkeypatch.setenv(f"ANTHROPIC_API_KEY{name}", key)
    accounts = accounts_of(provider, offline=False)
    assert [each.key for each in accounts] == ["sk-one", "sk-two"]
    assert [each.name for each in accounts] == ["anthropic", "anthropic 2"]
    post = WorkerSetup(tuple(accounts), {}, DriverLocation("/", ()), offline=False, seed=0)
    assert "sk-" not in repr(accounts) + repr(post) + str(post)
    assert [each.name for each in accounts_of(provider, offline=True)] == ["anthropic"]


def test_errors_of_services_cross_processes():
    error = RateLimited("slow down", status=429, retry_after=2.5)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.retry_after) == (RateLimited, "slow down", 2.5)


def test_after_the_death_of_a_driver_only_what_was_sent_is_lost(data_dir):
    with begun(2, once=True, pilot=0) as run:
        for key in ("leased", "sent", "rejected", "again", "of the driver"):
            run.begin(key, Decimal(1))
        log = SendLog(sends_path(run.facts.run))
        log.add("?", ["leased", "sent", "rejected", "again"])
        log.add("+", ["sent", "rejected", "again"])
        log.add("-", ["rejected", "again"])
        log.add("+", ["again"])
        log.close()
        with run.hold_lock():
            assert run.lost == (3, Decimal(3))
        assert not sends_path(run.facts.run).exists()
        with run.hold_lock():
            assert run.lost == (3, Decimal(3))
