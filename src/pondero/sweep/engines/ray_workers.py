"""What runs in the processes of a Ray cluster: workers that ask, budgets of keys, and grading.

``ray_engine`` makes actors and tasks of them. Nothing here writes to the run, or has its purse.
"""

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
from .leases import KeyBudget, Lease, LeaseCostBudget, LeaseResult
from .limiter import MOST, Limiter
from .live import LiveEngine, emulators

_ADMITTING = 0.5  # seconds that an admission waits: whoever wants it may have been told to stop


class Account(Struct, frozen=True):
    """One key of one provider. ``name`` tells it from others; the key itself is never shown."""

    name: str
    provider: str
    key: str | None

    def __repr__(self) -> str:
        return f"Account({self.name!r})"


class DriverLocation(Struct, frozen=True):
    """Where the driver is: the folder it works in, and where it finds modules."""

    folder: str
    path: tuple[str, ...]

    def move_in(self) -> None:
        """Work in the same folder and find the same modules, where this machine has them."""
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        sys.path.extend(each for each in self.path if each not in sys.path)


class WorkerSetup(Struct, frozen=True):
    """What a worker is told before it works; it is sent from process to process, and never kept."""

    accounts: tuple[Account, ...]
    environment: Mapping[str, str]
    """Addresses of services; no keys."""
    place: DriverLocation
    offline: bool
    seed: int

    def __repr__(self) -> str:
        return f"Post({self.accounts!r})"


class Worker:
    """Asks what it is leased, as the live engine does; one in each process."""

    def __init__(self) -> None:
        self._engines: dict[str, LiveEngine] = {}
        self._budgets: Mapping[str, Any] = {}
        self._leases: dict[str, Lease] = {}  # by the keys of their asks
        self._attempts: dict[str, int] = {}
        self._purses: set[LeaseCostBudget] = set()

    async def begin(self, post: WorkerSetup, budgets: Mapping[str, Any]) -> int:
        """Make ready to ask with these accounts; return the process's id."""
        post.place.move_in()
        os.environ.update(post.environment)
        self._budgets = budgets
        for account in post.accounts:
            self._engines[account.name] = self._engine(account, post)
        return os.getpid()

    async def ask(self, lease: Lease) -> AsyncIterator[LeaseResult | PonderoError]:
        """Yield how each ask of a lease landed; an error that fails them all comes last."""
        purse = LeaseCostBudget(lambda key: self._refused(lease, key))
        left = {ask.key: ask for ask in lease.asks}
        self._leases.update(dict.fromkeys(left, lease))
        self._purses.add(purse)
        failed: PonderoError | None = None
        try:
            async for settled in self._engines[lease.account].answers(lease.asks, purse):
                del left[settled.key]
                yield purse.landing(settled.key, settled)
        except PonderoError as error:
            failed = error
        finally:
            self._purses.discard(purse)
            for ask in lease.asks:
                self._leases.pop(ask.key, None)
                self._attempts.pop(ask.key, None)
        for key in left:
            yield purse.landing(key)
        if failed is not None:
            yield failed

    async def close(self, why: str) -> None:
        """Begin no other attempt; what is in flight ends as it does."""
        for purse in self._purses:
            purse.close(why)

    def _engine(self, account: Account, post: WorkerSetup) -> LiveEngine:
        def limiter(model: str) -> Limiter:
            return _Relay(self._budgets[account.name], model)

        if post.offline:
            return LiveEngine(
                transport=emulators(post.seed),
                stream=False,
                limiter=limiter,
                sending=self._sending,
            )
        keys = None if account.key is None else {account.provider: account.key}
        return LiveEngine(keys=keys, limiter=limiter, sending=self._sending)

    async def _sending(self, ask: Trial) -> None:
        """Have it written down that this is sent, before it is."""
        lease = self._leases[ask.key]
        attempt = self._attempts[ask.key] = self._attempts.get(ask.key, 0) + 1
        budget = self._budgets[lease.account]
        if not await budget.record_send.remote(lease.number, ask.key, attempt):
            raise BudgetSpent("the lease was closed: this worker was given up")

    def _refused(self, lease: Lease, key: str) -> None:
        budget, attempt = self._budgets[lease.account], self._attempts.get(key, 0)
        budget.record_rejection.remote(lease.number, key, attempt)


class _Relay(Limiter):
    """A worker's limiter of one model: it waits as it is told to, and tells the key's budget.

    How many are in flight is for the budget to say, which leases no more than that.
    """

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
    """The budget of one key as all workers share it: ``KeyBudget`` with a clock."""

    def __init__(self, start: float) -> None:
        self._budget = KeyBudget(start)
        self._change = asyncio.Event()

    async def admit(self, model: str, wanted: int) -> int:
        """Return how many may begin; waits a little until one may."""
        until = monotonic() + _ADMITTING
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
        """See ``KeyBudget``; somebody may wait for the place."""
        self._budget.leave(model, count)
        self._change.set()

    async def end(self, model: str, tokens: int | None) -> None:
        """See ``KeyBudget``; somebody may wait for the place."""
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
        return self._budget.record_send(lease, key, attempt)

    async def record_rejection(self, lease: int, key: str, attempt: int) -> None:
        """See ``KeyBudget``."""
        self._budget.record_rejection(lease, key, attempt)

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
