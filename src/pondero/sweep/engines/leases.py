"""Leases: how trials, and the cost budget for them, are given to workers that may die.

The driver records the bounds of a lease before a worker gets it, so all leases never exceed the
cap. A worker reports what it is about to send: if it dies, that counts as its bound, the rest as 0.
"""

import os
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ...canon import dump_json
from ...exchange import RateLimit
from .engine import BudgetSpent, CostBudget, Trial, TrialResult
from .limiter import START, Limiter

REQUESTS = 50
"""The maximum number of trials in one lease."""

TOKENS = 200_000
"""The maximum tokens of the trials in one lease, unless a single trial may need more."""

_USUAL_ANSWER = 4_000  # tokens of an answer without a limit


class Lease(Struct, frozen=True):
    """Trials that one worker may send with one account; the budget already holds their bounds."""

    number: int
    account: str
    model: str
    trials: tuple[Trial, ...]

    @property
    def max_cost(self) -> Decimal:
        """Return the most that the lease can cost."""
        return sum((trial.bound or Decimal(0) for trial in self.trials), Decimal(0))


class LeaseResult(Struct, frozen=True):
    """How a trial ended. ``charged``: it may cost its bound; not ``settled``: may be sent again."""

    key: str
    settled: TrialResult | None = None
    answered: bool = False
    cost: Decimal | None = None
    charged: bool = False

    def land(self, trial: Trial, budget: CostBudget) -> None:
        """Repeat on the run's budget what the worker did to its own."""
        if self.answered:
            budget.settle(trial, self.cost)
        else:
            budget.give_back(trial, charged=self.charged)


class _NoJournal:
    """A journal that records nothing: the driver has recorded the whole lease."""

    def begin(self, key: str, bound: Decimal | None) -> None:
        pass

    def lose(self, key: str, bound: Decimal) -> None:
        pass


class LeaseCostBudget(CostBudget):
    """A worker's budget for one lease: the bound of each trial, once.

    After an attempt that may have been charged, the driver decides about another one.
    ``on_rejection`` is called for attempts without charge.
    """

    def __init__(self, on_rejection: Callable[[str], None]) -> None:
        super().__init__(_NoJournal(), spent=Decimal(0))
        self._on_rejection = on_rejection
        self._results: dict[str, LeaseResult] = {}

    def take(self, trial: Trial) -> bool:
        """Return True; raise BudgetSpent if the bound is used up or the lease is closed."""
        last = self._results.get(trial.key)
        if last is not None and last.charged and trial.bound:
            message = "an attempt may have been charged, and the lease pays for one"
            raise BudgetSpent(message)
        return super().take(trial)

    def settle(self, trial: Trial, cost: Decimal | None) -> None:
        """Keep the cost of an answer for the driver."""
        super().settle(trial, cost)
        self._results[trial.key] = LeaseResult(trial.key, answered=True, cost=cost)

    def give_back(self, trial: Trial, *, charged: bool) -> None:
        """Keep for the driver whether an attempt may have been charged."""
        super().give_back(trial, charged=charged)
        self._results[trial.key] = LeaseResult(trial.key, charged=charged)
        if not charged:
            self._on_rejection(trial.key)

    def make_result(self, key: str, settled: TrialResult | None = None) -> LeaseResult:
        """Return how a trial ended; one that was never begun costs nothing."""
        last = self._results.get(key, LeaseResult(key))
        return LeaseResult(key, settled, last.answered, last.cost, last.charged)


class KeyBudget:
    """The budget of one key for all workers: requests in flight by model, and what was sent."""

    def __init__(self, start: float = START) -> None:
        self._start = start
        self._limiters: dict[str, Limiter] = {}
        self._sent: dict[int, dict[str, int]] = {}
        self._closed: set[int] = set()

    def limiter(self, model: str) -> Limiter:
        """Return the limiter of a model with this key."""
        if model not in self._limiters:
            self._limiters[model] = Limiter(self._start)
        return self._limiters[model]

    def admit(self, model: str, wanted: int, now: float) -> int:
        """Return how many of those wanted may begin now, and count them."""
        limiter, count = self.limiter(model), 0
        while count < min(wanted, REQUESTS) and not limiter.wait(now):
            limiter.begin()
            count += 1
        return count

    def leave(self, model: str, count: int) -> None:
        """Count admitted requests as ended without an answer."""
        for _ in range(count):
            self.limiter(model).fail()

    def end(self, model: str, tokens: int | None) -> None:
        """Count one answered request, with its tokens if known."""
        self.limiter(model).end(tokens)

    def slow(self, model: str, seconds: float | None, now: float) -> None:
        """Slow down after a rejection that a worker got."""
        self.limiter(model).slow(now, seconds)

    def hint(self, model: str, allowances: Iterable[RateLimit], now: float) -> None:
        """Use the rate limits that a worker was told."""
        self.limiter(model).hint(allowances, now)

    def record_send(self, lease: int, key: str, attempt: int) -> bool:
        """Record that a worker is about to send this; return False if its lease is closed."""
        if lease in self._closed:
            return False
        self._sent.setdefault(lease, {})[key] = attempt
        return True

    def record_rejection(self, lease: int, key: str, attempt: int) -> bool:
        """Record that an attempt was rejected; return False if a later one is already recorded."""
        sent = self._sent.get(lease, {})
        if sent.get(key) != attempt:
            return False
        del sent[key]
        return True

    def close(self, lease: int) -> frozenset[str]:
        """Close a lease, and return the keys that were sent."""
        self._closed.add(lease)
        return frozenset(self._sent.pop(lease, ()))


def take_lease(trials: list[Trial], budget: CostBudget, most: int) -> list[Trial]:
    """Move a lease from the end of ``trials``; raise BudgetSpent if nothing ever fits."""
    found: list[Trial] = []
    tokens = 0
    while trials and len(found) < most:
        tokens += tokens_of(trials[-1])
        if found and tokens > TOKENS:
            break
        try:
            if not budget.take(trials[-1]):
                break
        except BudgetSpent:
            if found:
                break
            raise
        found.append(trials.pop())
    return found


def tokens_of(trial: Trial) -> int:
    """Return roughly the most tokens of a trial: a byte of its prompt is at most one."""
    prompt = len(dump_json(trial.prompt).encode()) + len((trial.system or "").encode())
    return prompt + (trial.max_tokens or _USUAL_ANSWER)


SendMark = Literal["?", "+", "-"]
"""What became of a trial: ``?`` it was leased, ``+`` it is being sent, ``-`` it was rejected."""


class SendLog:
    """A file next to a run that outlives the driver: which leased trials were sent.

    Without it, everything leased would count as lost after the driver's death. The driver and the
    budgets on its machine append to it, each line in one write.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def add(self, mark: SendMark, keys: Iterable[str]) -> None:
        """Append a line for each key."""
        lines = "".join(f"{mark}{key}\n" for key in keys)
        os.write(self._file, lines.encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_unsent(path: Path) -> frozenset[str]:
    """Return the keys that were leased and not sent, or rejected; none if there is no file."""
    last: dict[str, str] = {}
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            last[line[1:]] = line[:1]
    return frozenset(key for key, mark in last.items() if mark != "+")
