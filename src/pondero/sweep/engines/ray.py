"""The ray engine: trials and grades in many processes; only the driver has budget and run."""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from time import time
from typing import Any

from msgspec import Struct

from ...catalog import Provider
from ...errors import MissingExtra, PonderoError, UsageError
from ...extras import install_hint
from ...store import Credentials, load_catalog
from ..grading.judges import Grade, Judge
from ..questions import Question
from ..run.store import sends_path
from .engine import BudgetSpent, CostBudget, Trial, TrialResult, iter_results
from .leases import REQUESTS, Lease, LeaseResult, SendLog, take_lease
from .limiter import START
from .live import ATTEMPTS, OFFLINE_AT_ONCE
from .ray_workers import Account, BudgetActor, DriverLocation, Worker, WorkerSetup, grade_answer

GRADED_THERE = ("python", "command")
"""Judges that may need much processor time, and so grade on the cluster."""

AHEAD = 32
"""Units in flight."""

DEATHS = 5
"""Workers that may die in a row without an answer."""

_GRADES = 256  # that wait for a processor at once
_STORE = 80_000_000  # bytes; nothing large is passed on
_WORKERS = (2, 64)  # minimum and maximum; between them, one per machine
_TICK = 0.2


class ClusterFailed(PonderoError):
    """The cluster failed: workers die, or a part of it is gone."""


class _CrewMember(Struct):
    """A worker and its number of leases."""

    handle: Any
    pid: int
    node: str
    leases: int = 0
    is_dead: bool = False


class _Todo(Struct):
    """The remaining trials of one model, in reverse, and how many are leased."""

    trials: list[Trial]
    leased: int = 0


class RayEngine:
    """Sends from a Ray cluster: ``address``, else RAY_ADDRESS, else one here that ends with it."""

    outlives = False

    def __init__(
        self,
        *,
        address: str | None = None,
        offline: bool = False,
        seed: int = 0,
        workers: int | None = None,
    ) -> None:
        _check_extra()
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        if self._address is not None and self._address.startswith("ray://"):
            message = (
                f"{self._address} is for Ray's client, which streams nothing; run the sweep on a "
                "machine of the cluster, with HOST:PORT or 'auto'"
            )
            raise UsageError(message)
        self._offline = offline
        self._seed = seed
        self._wanted = workers
        self._ray: Any = None
        self._is_ours = False
        self._crew: list[_CrewMember] = []
        self._accounts: dict[str, list[Account]] = {}  # by model
        self._budgets: dict[str, Any] = {}  # by account
        self._environment: dict[str, str] = {}
        self._numbers = count(1)
        self._deaths = 0
        self._losses: dict[str, int] = {}  # attempts that may have been charged, by trial
        self._hiring = asyncio.Lock()
        self._change = asyncio.Event()
        self._sends_path = sends_path("none")  # of the run that begins
        self._place = DriverLocation(str(Path.cwd()), tuple(sys.path))

    def ahead(self, units: int) -> int:
        """Return how many units are asked at once: enough for many workers."""
        return min(units, AHEAD)

    def begin(self, run: str) -> bool:
        """Return whether it is offline; else an answer is lost, and the run's sends say which."""
        self._sends_path = sends_path(run)
        return self._offline

    @property
    def pids(self) -> list[int]:
        """Return the ids of the workers' processes, each on its own machine."""
        return [each.pid for each in self._crew if not each.is_dead]

    def judge(self, judge: Judge) -> Judge:
        """Return the judge; a slow one grades on the cluster's processors."""
        if judge.kind not in GRADED_THERE:
            return judge

        async def grade(question: Question, answer: str) -> Grade:
            task = self._start().remote(num_cpus=1)(grade_answer)
            found: Grade | PonderoError = await task.remote(
                judge.name, question, answer, self._place
            )
            if isinstance(found, PonderoError):
                raise found
            return found

        return Judge(judge.name, grade, _GRADES)

    def answers(
        self, trials: Sequence[Trial], cost_budget: CostBudget
    ) -> AsyncIterator[TrialResult]:
        """Yield the result of each trial; see ``Engine``."""
        done: asyncio.Queue[TrialResult | None] = asyncio.Queue()
        cost_budget.wake = self._change.set
        todo: dict[str, _Todo] = {}
        for trial in reversed(trials):
            todo.setdefault(trial.model, _Todo([])).trials.append(trial)

        async def ask_all() -> None:
            await self._prepare_workers(todo)
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(self._watch(cost_budget))
                async with asyncio.TaskGroup() as pumps:
                    for model, own in todo.items():
                        for account in self._accounts[model]:
                            pumps.create_task(self._pump(account, model, own, cost_budget, done))
                watch.cancel()

        return iter_results(ask_all, done)

    async def aclose(self) -> None:
        """End the workers and budgets, and the cluster if it was started here."""
        if self._ray is None:
            return
        for handle in (*(each.handle for each in self._crew), *self._budgets.values()):
            self._ray.kill(handle)
        self._crew.clear()
        self._budgets.clear()
        if self._is_ours:
            self._ray.shutdown()
        self._ray = None

    # -- leases ------------------------------------------------------------------------------------

    async def _pump(
        self,
        account: Account,
        model: str,
        todo: _Todo,
        cost_budget: CostBudget,
        done: "asyncio.Queue[TrialResult | None]",
    ) -> None:
        budget = self._budgets[account.name]
        async with asyncio.TaskGroup() as group:
            while (todo.trials or todo.leased) and not cost_budget.closed:
                if not todo.trials:
                    await self._wait_for_change()
                    continue
                places = await _await_places(
                    budget.admit.remote(model, min(len(todo.trials), REQUESTS))
                )
                try:
                    trials = take_lease(todo.trials, cost_budget, places)
                except BudgetSpent:
                    trials = []
                if places > len(trials):
                    budget.leave.remote(model, places - len(trials))
                if trials:
                    self._log_leased(trials)
                    todo.leased += len(trials)
                    lease = Lease(next(self._numbers), account.name, model, tuple(trials))
                    group.create_task(self._follow(lease, todo, cost_budget, done))
                elif places:
                    await self._wait_for_change()  # the budget may be freed by requests in flight

    def _log_leased(self, trials: Iterable[Trial]) -> None:
        log = SendLog(self._sends_path)
        log.add("?", (trial.key for trial in trials))
        log.close()

    async def _follow(
        self,
        lease: Lease,
        todo: _Todo,
        cost_budget: CostBudget,
        done: "asyncio.Queue[TrialResult | None]",
    ) -> None:
        left = {trial.key: trial for trial in lease.trials}
        worker: _CrewMember | None = None
        error: PonderoError | None = None
        try:
            worker = await self._find_idlest()
            async for reference in worker.handle.ask.options(num_returns="streaming").remote(lease):
                result: LeaseResult | PonderoError = await reference
                if isinstance(result, PonderoError):
                    error = result
                else:
                    self._land(lease, left.pop(result.key), result, todo, cost_budget, done)
        except self._ray.exceptions.RayActorError:
            self._bury(worker)
        except self._ray.exceptions.RayError as failed:
            raise ClusterFailed(f"a worker failed: {failed}") from failed
        except asyncio.CancelledError:
            self._kill(worker)
            raise
        finally:
            if worker is not None:
                worker.leases -= 1
            await self._close(lease, left, todo, cost_budget)
        if error is not None:
            raise error

    def _land(
        self,
        lease: Lease,
        trial: Trial,
        result: LeaseResult,
        todo: _Todo,
        cost_budget: CostBudget,
        done: "asyncio.Queue[TrialResult | None]",
    ) -> None:
        result.land(trial, cost_budget)
        settled = result.settled
        if result.charged and settled is None:
            self._losses[trial.key] = self._losses.get(trial.key, 0) + 1
            if self._losses[trial.key] >= ATTEMPTS:
                message = f"{ATTEMPTS} attempts gave no answer; they may have been charged"
                settled = TrialResult(key=trial.key, finish="error", error=message, at=time())
        budget = self._budgets[lease.account]
        if settled is None or settled.error is not None:
            budget.leave.remote(lease.model, 1)
        else:
            self._deaths = 0
            budget.end.remote(lease.model, settled.usage.known_total or None)
        todo.leased -= 1
        if settled is None:
            todo.trials.append(trial)
        else:
            done.put_nowait(settled)
        self._change.set()

    async def _close(
        self, lease: Lease, left: Mapping[str, Trial], todo: _Todo, cost_budget: CostBudget
    ) -> None:
        """End a lease: put back what has no result; what was sent, or may have been, is spent."""
        budget = self._budgets[lease.account]
        try:
            sent = await budget.close.remote(lease.number)
        except self._ray.exceptions.RayError:
            sent = frozenset(left)
        for key, trial in left.items():
            cost_budget.give_back(trial, charged=key in sent and not self._offline)
            todo.trials.append(trial)
        todo.leased -= len(left)
        if left:
            budget.leave.remote(lease.model, len(left))
        self._change.set()

    async def _wait_for_change(self) -> None:
        self._change.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_TICK):
                await self._change.wait()

    async def _watch(self, cost_budget: CostBudget) -> None:
        """When the budget is closed, tell the workers, so that none begins another attempt."""
        while not cost_budget.closed:  # noqa: ASYNC110 - a closed budget sends no event
            await asyncio.sleep(_TICK)
        for worker in self._crew:
            if not worker.is_dead:
                worker.handle.close.remote(cost_budget.closed)

    # -- workers -----------------------------------------------------------------------------------

    async def _prepare_workers(self, models: Iterable[str]) -> None:
        ray = self._start()
        fresh = [model for model in models if model not in self._accounts]
        for model in fresh:
            provider = load_catalog().entry(model).provider
            self._accounts[model] = accounts_of(provider, offline=self._offline)
            self._environment.update(_addresses(provider))
            for account in self._accounts[model]:
                if account.name not in self._budgets:
                    self._budgets[account.name] = self._budget(ray)
        if fresh:
            posts = (self._set_up(worker.handle) for worker in self._crew)
            await asyncio.gather(*posts)
        fewest, most = _WORKERS
        wanted = self._wanted or min(most, max(fewest, sum(n["Alive"] for n in ray.nodes())))
        while len(self._crew) < wanted:
            self._crew.append(await self._hire())

    def _budget(self, ray: Any) -> Any:
        """Return a new budget on this machine, so that it ends with the driver."""
        here = ray.get_runtime_context().get_node_id()
        start = OFFLINE_AT_ONCE if self._offline else START
        return self._actor(BudgetActor, here, soft=False).remote(start, self._sends_path)

    async def _hire(self, *avoided: str) -> _CrewMember:
        """Return a new worker on the node with the fewest, if possible on none of those avoided.

        A node that died is listed as alive for some more seconds.
        """
        nodes = [each["NodeID"] for each in self._ray.nodes() if each["Alive"]]
        taken_up = [each.node for each in self._crew if not each.is_dead]
        node = min(nodes, key=lambda each: (each in avoided, taken_up.count(each)))
        handle = self._actor(Worker, node, soft=True).remote()
        try:
            return _CrewMember(handle, await self._set_up(handle), node)
        except self._ray.exceptions.RayError as error:
            died = isinstance(error, self._ray.exceptions.RayActorError)
            if died and len(avoided) < DEATHS:
                return await self._hire(*avoided, node)
            raise ClusterFailed(f"a worker could not begin: {error}") from error

    def _actor(self, made: type, node: str, *, soft: bool) -> Any:
        strategies = self._ray.util.scheduling_strategies
        place = strategies.NodeAffinitySchedulingStrategy(node, soft=soft)
        return self._ray.remote(num_cpus=0, max_concurrency=10_000, scheduling_strategy=place)(made)

    async def _set_up(self, handle: Any) -> int:
        accounts = {each.name: each for own in self._accounts.values() for each in own}
        post = WorkerSetup(
            tuple(accounts.values()), self._environment, self._place, self._offline, self._seed
        )
        pid: int = await handle.begin.remote(post, self._budgets)
        return pid

    async def _find_idlest(self) -> _CrewMember:
        async with self._hiring:
            for at, worker in enumerate(self._crew):
                if worker.is_dead:
                    self._crew[at] = await self._hire(worker.node)
        found = min(self._crew, key=lambda each: each.leases)
        found.leases += 1
        return found

    def _bury(self, worker: _CrewMember | None) -> None:
        """Count a worker's death once; raise ClusterFailed after too many."""
        if worker is None or worker.is_dead:
            return
        worker.is_dead = True
        self._deaths += 1
        if self._deaths > DEATHS:
            message = f"{self._deaths} workers died one after the other without an answer"
            raise ClusterFailed(message)

    def _kill(self, worker: _CrewMember | None) -> None:
        if worker is not None and not worker.is_dead:
            worker.is_dead = True
            self._ray.kill(worker.handle)

    def _start(self) -> Any:
        if self._ray is None:
            self._ray, self._is_ours = _connect(self._address)
        return self._ray


# -- the cluster -----------------------------------------------------------------------------------


def _check_extra() -> None:
    if find_spec("ray") is not None:
        return
    how = install_hint("ray")
    if sys.version_info >= (3, 14):
        how = "there is none for Python 3.14 yet, so use Python 3.13 or older and " + how
    message = f"the engine 'ray' needs ray: {how}"
    raise MissingExtra(message)


_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0"}
_ALONE = {  # for a cluster on this machine only; ray reads them when it is imported
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # listen on this machine only
    "RAY_AUTH_MODE": "token",  # for this cluster only, not from the home folder
}


def _connect(address: str | None) -> tuple[Any, bool]:
    """Return ray, and whether this process connected it and must disconnect it."""
    for name, value in (_SETTINGS if address else {**_SETTINGS, **_ALONE}).items():
        os.environ.setdefault(name, value)
    import ray  # noqa: PLC0415 - an extra
    import ray.util.scheduling_strategies  # noqa: PLC0415 - an extra

    if ray.is_initialized():
        return ray, False
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    ray._private.worker._worker_logs_enabled = False  # noqa: SLF001 - it prints deaths on stdout
    try:
        if address is not None:
            ray.init(address, **settings)
        else:
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
            ray.init("local", include_dashboard=False, object_store_memory=_STORE, **settings)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the cluster at {address}" if address else "a cluster on this machine"
        message = f"{where} cannot be used: {error}"
        raise ClusterFailed(message) from error
    return ray, True


async def _await_places(reference: Any) -> int:
    """Return how many a budget admits; raise ClusterFailed if the budget is gone."""
    try:
        admitted: int = await reference
    except Exception as error:
        message = (
            "the budget of a key is gone, and with it what was sent; use 'pondero sweep resume RUN'"
        )
        raise ClusterFailed(message) from error
    return admitted


# -- keys ------------------------------------------------------------------------------------------


def accounts_of(provider: Provider, *, offline: bool) -> list[Account]:
    """Return an account for every key of a provider: NAME, NAME_2, NAME_3 and so on."""
    first = Credentials().key(provider, needed=not offline)
    keys = [first]
    if not offline and first is not None:
        for name in provider.keys:
            for number in count(2):
                key = os.environ.get(f"{name}_{number}", "").strip()
                if not key:
                    break
                keys.append(Credentials({provider.name: key}).key(provider, needed=True))
    different = list(dict.fromkeys(keys))
    return [
        Account(provider.name if at == 0 else f"{provider.name} {at + 1}", provider.name, key)
        for at, key in enumerate(different)
    ]


def _addresses(provider: Provider) -> dict[str, str]:
    """Return the environment variables with a provider's URLs; never a key."""
    names = {*provider.url_env, *(name for fill in provider.fill.values() for name in fill.env)}
    return {name: os.environ[name] for name in names - {*provider.keys} if name in os.environ}
