"""What runs in the processes of a Ray cluster: workers, budgets of keys, and grading."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec import Struct

from ...errors import PonderoError
from ...exchange import RateLimit
from ..grading.judges import Grade, Judge, make_judge
from ..questions import Question
from .engine import BudgetSpent, Trial
from .leases import KeyBudget, Lease, LeaseCostBudget, LeaseResult, SendLog
from .limiter import MOST, Limiter
from .live import LiveEngine, emulators

_ADMISSION_WAIT = 0.5  # seconds; then the driver may have been told to stop


class Account(Struct, frozen=True):
    """One key of one provider. ``name`` identifies it; the key is never shown."""

    name: str
    provider: str
    key: str | None

    def __repr__(self) -> str:
        return f"Account({self.name!r})"


class DriverLocation(Struct, frozen=True):
    """The working folder of the driver, and its module path."""

    folder: str
    path: tuple[str, ...]

    def move_in(self) -> None:
        """Use the same folder and module path, if this machine has them."""
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        sys.path.extend(each for each in self.path if each not in sys.path)


class WorkerSetup(Struct, frozen=True):
    """The setup of a worker; it is sent between processes and never stored."""

    accounts: tuple[Account, ...]
    environment: Mapping[str, str]
    """Addresses of services; no keys."""
    place: DriverLocation
    offline: bool
    seed: int

    def __repr__(self) -> str:
        return f"WorkerSetup({self.accounts!r})"


class Worker:
    """Runs the trials of its leases with a live engine; one in each process."""

    def __init__(self) -> None:
        self._engines: dict[str, LiveEngine] = {}
        self._budgets: Mapping[str, Any] = {}
        self._leases: dict[str, Lease] = {}  # by the keys of their trials
        self._attempts: dict[str, int] = {}
        self._cost_budgets: set[LeaseCostBudget] = set()

    async def begin(self, post: WorkerSetup, budgets: Mapping[str, Any]) -> int:
        """Set up an engine for each account; return the process id."""
        post.place.move_in()
        os.environ.update(post.environment)
        self._budgets = budgets
        for account in post.accounts:
            self._engines[account.name] = self._engine(account, post)
        return os.getpid()

    async def ask(self, lease: Lease) -> AsyncIterator[LeaseResult | PonderoError]:
        """Yield the result of each trial of a lease; an error that fails them all comes last."""
        cost_budget = LeaseCostBudget(lambda key: self._record_rejection(lease, key))
        left = {trial.key: trial for trial in lease.trials}
        self._leases.update(dict.fromkeys(left, lease))
        self._cost_budgets.add(cost_budget)
        failed: PonderoError | None = None
        try:
            async for settled in self._engines[lease.account].answers(lease.trials, cost_budget):
                del left[settled.key]
                yield cost_budget.make_result(settled.key, settled)
        except PonderoError as error:
            failed = error
        finally:
            self._cost_budgets.discard(cost_budget)
            for trial in lease.trials:
                self._leases.pop(trial.key, None)
                self._attempts.pop(trial.key, None)
        for key in left:
            yield cost_budget.make_result(key)
        if failed is not None:
            yield failed

    async def close(self, why: str) -> None:
        """Begin no other attempt."""
        for cost_budget in self._cost_budgets:
            cost_budget.close(why)

    def _engine(self, account: Account, post: WorkerSetup) -> LiveEngine:
        def limiter(model: str) -> Limiter:
            return _Relay(self._budgets[account.name], model)

        if post.offline:
            return LiveEngine(
                transport=emulators(post.seed),
                stream=False,
                limiter=limiter,
                before_send=self._record_send,
                is_free=True,
            )
        keys = None if account.key is None else {account.provider: account.key}
        return LiveEngine(keys=keys, limiter=limiter, before_send=self._record_send)

    async def _record_send(self, trial: Trial) -> None:
        lease = self._leases[trial.key]
        attempt = self._attempts[trial.key] = self._attempts.get(trial.key, 0) + 1
        budget = self._budgets[lease.account]
        if not await budget.record_send.remote(lease.number, trial.key, attempt):
            raise BudgetSpent("the lease was closed: this worker was given up")

    def _record_rejection(self, lease: Lease, key: str) -> None:
        budget, attempt = self._budgets[lease.account], self._attempts.get(key, 0)
        budget.record_rejection.remote(lease.number, key, attempt)


class _Relay(Limiter):
    """A worker's limiter of one model: it only waits, and tells the key's budget what it learns."""

    def __init__(self, budget: Any, model: str) -> None:
        super().__init__(MOST)
        self._budget = budget
        self._model = model

    def slow(self, now: float, seconds: float | None) -> None:
        super().slow(now, seconds)
        self._budget.slow.remote(self._model, seconds)

    def hint(self, allowances: Iterable[RateLimit], now: float) -> None:
        found = tuple(allowances)
        super().hint(found, now)
        self._budget.hint.remote(self._model, found)


class BudgetActor:
    """The budget of one key that all workers share: ``KeyBudget`` with a clock."""

    def __init__(self, start: float, sends: Path) -> None:
        self._budget = KeyBudget(start)
        self._sends = SendLog(sends)
        self._change = asyncio.Event()

    async def admit(self, model: str, wanted: int) -> int:
        """Return how many may begin; wait a little until one may."""
        until = monotonic() + _ADMISSION_WAIT
        while not (count := self._budget.admit(model, wanted, monotonic())):
            wait = self._budget.limiter(model).wait(monotonic())
            left = min(wait, until - monotonic())
            if left <= 0:
                return 0
            self._change.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._change.wait()
        return count

    async def leave(self, model: str, count: int) -> None:
        """See ``KeyBudget``; wake those that wait for the place."""
        self._budget.leave(model, count)
        self._change.set()

    async def end(self, model: str, tokens: int | None) -> None:
        """See ``KeyBudget``; wake those that wait for the place."""
        self._budget.end(model, tokens)
        self._change.set()

    async def slow(self, model: str, seconds: float | None) -> None:
        """See ``KeyBudget``."""
        self._budget.slow(model, seconds, monotonic())

    async def hint(self, model: str, allowances: tuple[RateLimit, ...]) -> None:
        """See ``KeyBudget``."""
        self._budget.hint(model, allowances, monotonic())

    async def record_send(self, lease: int, key: str, attempt: int) -> bool:
        """See ``KeyBudget``."""
        allowed = self._budget.record_send(lease, key, attempt)
        if allowed:
            self._sends.add("+", [key])
        return allowed

    async def record_rejection(self, lease: int, key: str, attempt: int) -> None:
        """See ``KeyBudget``."""
        if self._budget.record_rejection(lease, key, attempt):
            self._sends.add("-", [key])

    async def close(self, lease: int) -> frozenset[str]:
        """See ``KeyBudget``."""
        return self._budget.close(lease)


def grade_answer(
    judge: str, question: Question, answer: str, place: DriverLocation
) -> Grade | PonderoError:
    """Return a judge's grade, or why there is none."""

    async def grade() -> Grade:
        return await _judge(judge, place).grade(question, answer)

    try:
        return asyncio.run(grade())
    except PonderoError as error:
        return error


@cache
def _judge(name: str, place: DriverLocation) -> Judge:
    place.move_in()
    return make_judge(name)
