"""The live engine: sends at once, on one event loop, as many requests as each service allows.

Retries are here, so that the limiter sees every rejection and the budget pays every attempt.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from decimal import Decimal
from random import random
from time import monotonic, time

from ...canon import HttpRequest, Reply, ResponseHead
from ...client import AsyncClient
from ...emulator import Emulator, ErrorProneResponder
from ...errors import (
    AuthFailed,
    BillingFailed,
    MissingExtra,
    NotFound,
    PermissionDenied,
    PonderoError,
    QuotaSpent,
    Refused,
    ServerFailed,
    ServiceError,
    TransportError,
    Truncated,
    UsageError,
)
from ...exchange import AsyncResponse, AsyncTransport, Retry, Timeouts, parse_rate_limits
from ...store import list_cost
from ...thinking import Policy
from ..arms import sweep_policy
from ..busy_service import BUSY, PATIENCE, find_pause
from ..charges import may_be_charged
from ..grading.judges import Judge
from .engine import BudgetSpent, CostBudget, Trial, TrialResult, iter_results
from .limiter import START, Limiter

OFFLINE_AT_ONCE = 64
"""Requests in flight to an emulator at the start."""

AHEAD = 8
"""Units in flight: enough to keep a service busy, and at most this many too many at the end."""

ATTEMPTS = 6
"""Attempts of a trial that the service fails; waits for a busy service count separately."""

_SENDING: ContextVar[Trial] = ContextVar("the trial of this task")

_SPREAD = 0.1  # of a wait, so that requests rejected together do not return together

_FATAL = (AuthFailed, BillingFailed, NotFound, PermissionDenied, QuotaSpent, UsageError)
_TRANSIENT = (ServerFailed, TransportError, Truncated)


class LiveEngine:
    """Sends to services or a transport; an emulator's answers cost nothing, but have prices."""

    outlives = False

    def __init__(
        self,
        *,
        transport: Callable[[int], AsyncTransport] | None = None,
        policy: Policy | None = None,
        retry: Retry | None = None,
        start: int = START,
        ahead: int = AHEAD,
        stream: bool = True,
        keys: Mapping[str, str] | None = None,
        limiter: Callable[[str], Limiter] | None = None,
        before_send: Callable[[Trial], Awaitable[None]] | None = None,
        is_free: bool = False,
    ) -> None:
        self._given = transport
        self._is_free = is_free
        self._policy = policy or sweep_policy()
        self._retry = retry or Retry(attempts=ATTEMPTS)
        self._limiter = limiter or (lambda _model: Limiter(start))
        self._ahead = ahead
        self._stream = stream
        self._keys = keys
        self._before_send = before_send or _nothing
        self._shared: AsyncTransport | None = None
        self._lanes: dict[str, _Lane] = {}
        self._change = asyncio.Event()

    def ahead(self, units: int) -> int:
        """Return how many units are asked at once: few, since a decision ends the asking."""
        return min(units, self._ahead)

    def begin(self, _run: str) -> bool:
        """Return whether nothing is charged; else an answer is lost if its process ends."""
        return self._is_free

    def judge(self, judge: Judge) -> Judge:
        """Return the judge: it grades in this process."""
        return judge

    def answers(self, trials: Sequence[Trial], budget: CostBudget) -> AsyncIterator[TrialResult]:
        """Yield the result of each trial; see ``Engine``."""
        done: asyncio.Queue[TrialResult | None] = asyncio.Queue()
        budget.wake = self._change.set
        lanes: dict[str, list[Trial]] = {}
        for trial in trials:
            lanes.setdefault(trial.model, []).append(trial)

        async def ask_all() -> None:
            async with asyncio.TaskGroup() as group:
                for model, own in lanes.items():
                    group.create_task(self._pump(self._lane(model), own, budget, done))

        return iter_results(ask_all, done)

    async def aclose(self) -> None:
        """Close every connection."""
        for lane in self._lanes.values():
            await lane.aclose()
        self._lanes.clear()

    # -- one lane ----------------------------------------------------------------------------------

    async def _pump(
        self,
        lane: "_Lane",
        trials: Iterable[Trial],
        budget: CostBudget,
        done: "asyncio.Queue[TrialResult | None]",
    ) -> None:
        async with asyncio.TaskGroup() as group:
            with suppress(BudgetSpent):
                for trial in trials:
                    await lane.wait_for_place()
                    while not budget.take(trial):
                        await lane.wait_for_change()
                    lane.begin()
                    group.create_task(self._settle(lane, trial, budget, done))

    async def _settle(
        self,
        lane: "_Lane",
        trial: Trial,
        budget: CostBudget,
        done: "asyncio.Queue[TrialResult | None]",
    ) -> None:
        settled = await self._run_trial(lane, trial, budget)
        if settled is None or settled.error is not None:
            lane.leave()
        else:
            lane.end(settled)
        if settled is not None:
            done.put_nowait(settled)

    async def _run_trial(
        self, lane: "_Lane", trial: Trial, budget: CostBudget
    ) -> TrialResult | None:
        """Return the result of a trial, or None if the budget allows no other attempt."""
        tries = waits = 0
        while True:
            began = monotonic()
            try:
                _SENDING.set(trial)
                reply = await lane.ask(trial, stream=self._stream)
            except BUSY as error:
                waits += 1
                lane.slow(error)
                if waits > PATIENCE:
                    return self._fail(trial, error, budget)
                budget.give_back(trial, charged=False)
                await lane.again(find_pause(self._retry, error, waits))
            except _TRANSIENT as error:
                tries += 1
                if not self._retry.again(error, tries):
                    return self._fail(trial, error, budget)
                budget.give_back(trial, charged=may_be_charged(error))
                await lane.again(self._retry.wait(error, tries, random))
            except Refused as error:
                budget.settle(trial, Decimal(0))
                return TrialResult(key=trial.key, finish="refusal", at=time(), text=str(error))
            except _FATAL:
                budget.give_back(trial, charged=False)
                raise
            except PonderoError as error:
                return self._fail(trial, error, budget)
            except BaseException:
                # Cancelled in flight: a service still answers, an emulator does not.
                budget.give_back(trial, charged=not self._is_free)
                raise
            else:
                cost = list_cost(reply)
                budget.settle(trial, None if cost is None else Decimal(cost))
                return _make_result(trial, reply, cost, monotonic() - began)
            if not await lane.take(trial, budget):
                return None

    def _fail(self, trial: Trial, error: PonderoError, budget: CostBudget) -> TrialResult:
        budget.give_back(trial, charged=may_be_charged(error))
        message = f"{type(error).__name__}: {error}"
        return TrialResult(key=trial.key, finish="error", error=message, at=time())

    def _lane(self, model: str) -> "_Lane":
        if model not in self._lanes:
            self._lanes[model] = _Lane(self._limiter(model), self._client, self._change)
        return self._lanes[model]

    def _client(self, repeat: int, on_head: Callable[[ResponseHead], None]) -> AsyncClient:
        if self._given is not None:
            inner = self._given(repeat)
        else:
            inner = self._shared = self._shared or _network()
        return AsyncClient(
            transport=_ReportingTransport(inner, on_head, self._before_send),
            policy=self._policy,
            retry=Retry(attempts=1),
            keys=self._keys,
        )


class _Lane:
    """One model with one key: its limiter and its clients."""

    def __init__(
        self,
        limiter: Limiter,
        client: Callable[[int, Callable[[ResponseHead], None]], AsyncClient],
        change: asyncio.Event,
    ) -> None:
        self._limiter = limiter
        self._make = client
        self._clients: dict[int, AsyncClient] = {}
        self._change = change  # of all lanes: they share one budget

    async def ask(self, trial: Trial, *, stream: bool) -> Reply:
        client = self._clients.get(trial.repeat)
        if client is None:
            client = self._clients[trial.repeat] = self._make(trial.repeat, self._read_limits)
        return await client.ask(
            trial.model,
            trial.prompt,
            trial.level,
            system=trial.system,
            max_tokens=trial.max_tokens,
            stream=stream,
        )

    async def wait_for_place(self) -> None:
        """Wait until the limiter lets one more begin."""
        while seconds := self._limiter.wait(monotonic()):
            await self.wait_for_change(seconds)

    async def take(self, trial: Trial, budget: CostBudget) -> bool:
        """Wait until the budget allows another attempt; return False if it never will."""
        try:
            while not budget.take(trial):
                await self.wait_for_change()
        except BudgetSpent:
            return False
        return True

    async def wait_for_change(self, seconds: float = 1.0) -> None:
        """Wait until a request has ended, or for the given seconds."""
        self._change.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, 1.0)):
                await self._change.wait()

    async def again(self, seconds: float) -> None:
        """Leave the lane, wait, and enter it again like any other trial."""
        self.leave()
        pause = max(seconds, self._limiter.pause(monotonic()))
        await asyncio.sleep(pause * (1 + _SPREAD * random()))  # noqa: S311 - a wait
        await self.wait_for_place()
        self._limiter.begin()

    def begin(self) -> None:
        self._limiter.begin()

    def leave(self) -> None:
        self._limiter.fail()
        self._change.set()

    def end(self, settled: TrialResult) -> None:
        self._limiter.end(settled.usage.known_total or None)
        self._change.set()

    def slow(self, error: ServiceError) -> None:
        self._limiter.slow(monotonic(), error.retry_after)

    def _read_limits(self, head: ResponseHead) -> None:
        if found := parse_rate_limits(head.headers, now=time()):
            self._limiter.hint(found, monotonic())

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()


class _ReportingTransport:
    """A transport that reports each trial just before it is sent, and the head of every answer."""

    def __init__(
        self,
        inner: AsyncTransport,
        on_head: Callable[[ResponseHead], None],
        before_send: Callable[[Trial], Awaitable[None]],
    ) -> None:
        self._inner = inner
        self._read_limits = on_head
        self._before_send = before_send

    @property
    def needs_key(self) -> bool:
        return self._inner.needs_key

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        await self._before_send(_SENDING.get())
        answer = await self._inner.send(request, timeouts)
        self._read_limits(answer.head)
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _nothing(_trial: Trial) -> None:
    pass


def emulators(seed: int) -> Callable[[int], Emulator]:
    """Return the emulator of each repeat, with its own seed, so that repeats differ."""
    made: dict[int, Emulator] = {}

    def emulator(repeat: int) -> Emulator:
        responder = ErrorProneResponder(seed * 1_000_003 + repeat)
        return made.setdefault(repeat, Emulator(responder=responder, any_model=True))

    return emulator


def _network() -> AsyncTransport:
    try:
        from ...transport import FastTransport  # noqa: PLC0415 - may not be installed
    except MissingExtra:
        from ...transport import AsyncHttpTransport  # noqa: PLC0415 - only without the other

        return AsyncHttpTransport()
    return FastTransport()


def _make_result(trial: Trial, reply: Reply, cost: str | None, seconds: float) -> TrialResult:
    return TrialResult(
        key=trial.key,
        text=reply.text,
        finish=reply.finish,
        verdict=reply.verdict,
        usage=reply.usage,
        cost=cost,
        seconds=seconds,
        at=time(),
        model=reply.model,
    )
