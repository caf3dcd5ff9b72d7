"""The live engine: asks now, on one event loop, as many at once as each service lets it.

Every model has a lane with its own limiter and client. Attempts are tried again here and not in
the client, so that the limiter sees every refusal and the purse pays for every attempt.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from random import random
from time import monotonic, time
from typing import cast

from ...canon import HttpRequest, Reply, ResponseHead
from ...client import AsyncClient, reply_cost
from ...emulator import Emulator, ErrorProneResponder
from ...errors import (
    AuthFailed,
    BillingFailed,
    MissingExtra,
    NotFound,
    Overloaded,
    PermissionDenied,
    PonderoError,
    QuotaSpent,
    RateLimited,
    Refused,
    ServerFailed,
    ServiceError,
    Timeout,
    Truncated,
    Unreachable,
    UsageError,
)
from ...exchange import AsyncResponse, AsyncTransport, Retry, Timeouts, parse_rate_limits
from ...thinking import Policy, ThinkingLike
from ..arms import sweep_policy
from ..grading.judges import Judge
from ..statistics.looks import LOOKS
from .engine import BudgetSpent, CostBudget, Trial, TrialResult, iter_results
from .limiter import START, Limiter

OFFLINE_AT_ONCE = 64
"""How many are asked of an emulator at once, to begin with."""

ATTEMPTS = 6
"""How often an ask is tried that fails for reasons of the service's; refusals to wait are apart."""

PATIENCE = 40
"""How often in a row a service may tell one ask to wait."""

_SPREAD = 0.1  # of a wait: those who were refused together do not come back together

_FATAL = (AuthFailed, BillingFailed, NotFound, PermissionDenied, QuotaSpent, UsageError)
_BUSY = (RateLimited, Overloaded)
_MAY_BE_CHARGED = (Timeout, Truncated)
_TRANSIENT = (ServerFailed, Unreachable, *_MAY_BE_CHARGED)


class LiveEngine:
    """Asks services, or what ``transport`` returns for a repeat, such as an emulator.

    An emulator's answers cost nothing; they are priced as the service's would be. ``keys`` are by
    provider. ``limiter`` makes that of a model, and ``sending`` is awaited before each attempt.
    """

    looks = LOOKS
    outlives = False

    def __init__(
        self,
        *,
        transport: Callable[[int], AsyncTransport] | None = None,
        policy: Policy | None = None,
        retry: Retry | None = None,
        start: int = START,
        stream: bool = True,
        keys: Mapping[str, str] | None = None,
        limiter: Callable[[str], Limiter] | None = None,
        sending: Callable[[Trial], Awaitable[None]] | None = None,
    ) -> None:
        self._given = transport
        self._policy = policy or sweep_policy()
        self._retry = retry or Retry(attempts=ATTEMPTS)
        self._limiter = limiter or (lambda _model: Limiter(start))
        self._stream = stream
        self._keys = keys
        self._sending = sending or _nothing
        self._shared: AsyncTransport | None = None
        self._lanes: dict[str, _Lane] = {}
        self._change = asyncio.Event()

    def begin(self, _run: str) -> bool:
        """Return False: an answer that nobody waits for is lost."""
        return False

    def judge(self, judge: Judge) -> Judge:
        """Return the judge: it grades in this process."""
        return judge

    def answers(self, asks: Sequence[Trial], purse: CostBudget) -> AsyncIterator[TrialResult]:
        """Return each ask as it is settled; see ``Engine``."""
        done: asyncio.Queue[TrialResult | None] = asyncio.Queue()
        lanes: dict[str, list[Trial]] = {}
        for ask in asks:
            lanes.setdefault(ask.model, []).append(ask)

        async def ask_all() -> None:
            async with asyncio.TaskGroup() as group:
                for model, own in lanes.items():
                    group.create_task(self._pump(self._lane(model), own, purse, done))

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
        asks: Iterable[Trial],
        purse: CostBudget,
        done: "asyncio.Queue[TrialResult | None]",
    ) -> None:
        """Begin one ask after the other as the lane and the purse allow, and wait for them all."""
        async with asyncio.TaskGroup() as group:
            with suppress(BudgetSpent):
                for ask in asks:
                    await lane.admitted()
                    while not purse.take(ask):
                        await lane.changed()
                    lane.begin()
                    group.create_task(self._settle(lane, ask, purse, done))

    async def _settle(
        self,
        lane: "_Lane",
        ask: Trial,
        purse: CostBudget,
        done: "asyncio.Queue[TrialResult | None]",
    ) -> None:
        settled = await self._asked(lane, ask, purse)
        if settled is None or settled.error is not None:
            lane.leave()
        else:
            lane.end(settled)
        if settled is not None:
            done.put_nowait(settled)

    async def _asked(self, lane: "_Lane", ask: Trial, purse: CostBudget) -> TrialResult | None:
        """Return how an ask ended; None where the purse has nothing for another attempt."""
        tries = waits = 0
        while True:
            began = monotonic()
            try:
                await self._sending(ask)
                reply = await lane.ask(ask, stream=self._stream)
            except _BUSY as error:
                waits += 1
                lane.slow(error)
                if waits > PATIENCE:
                    return self._failed(ask, error, purse)
                purse.give_back(ask, charged=False)
                await lane.again(self._retry.wait(error, min(waits, 8), random))
            except _TRANSIENT as error:
                tries += 1
                charged = isinstance(error, _MAY_BE_CHARGED)
                if not self._retry.again(error, tries):
                    return self._failed(ask, error, purse, charged=charged)
                purse.give_back(ask, charged=charged)
                await lane.again(self._retry.wait(error, tries, random))
            except Refused as error:
                purse.settle(ask, Decimal(0))
                return TrialResult(key=ask.key, finish="refusal", at=time(), text=str(error))
            except _FATAL:
                purse.give_back(ask, charged=False)
                raise
            except PonderoError as error:
                return self._failed(ask, error, purse)
            except BaseException:
                purse.give_back(ask, charged=True)  # cancelled in flight: the service goes on
                raise
            else:
                cost = reply_cost(reply)
                purse.settle(ask, None if cost is None else Decimal(cost))
                return _settled(ask, reply, cost, monotonic() - began)
            if not await lane.taken(ask, purse):
                return None

    def _failed(
        self, ask: Trial, error: PonderoError, purse: CostBudget, *, charged: bool = False
    ) -> TrialResult:
        purse.give_back(ask, charged=charged)
        said = f"{type(error).__name__}: {error}"
        return TrialResult(key=ask.key, finish="error", error=said, at=time())

    def _lane(self, model: str) -> "_Lane":
        if model not in self._lanes:
            self._lanes[model] = _Lane(self._limiter(model), self._client, self._change)
        return self._lanes[model]

    def _client(self, repeat: int, heard: Callable[[ResponseHead], None]) -> AsyncClient:
        if self._given is not None:
            inner = self._given(repeat)
        else:
            inner = self._shared = self._shared or _network()
        return AsyncClient(
            transport=_Listening(inner, heard),
            policy=self._policy,
            retry=Retry(attempts=1),
            keys=self._keys,
        )


class _Lane:
    """One model with one key: its limiter, its clients, and who waits for what."""

    def __init__(
        self,
        limiter: Limiter,
        client: Callable[[int, Callable[[ResponseHead], None]], AsyncClient],
        change: asyncio.Event,
    ) -> None:
        self._limiter = limiter
        self._make = client
        self._clients: dict[int, AsyncClient] = {}
        self._change = change  # of all lanes: they share one purse

    async def ask(self, ask: Trial, *, stream: bool) -> Reply:
        client = self._clients.get(ask.repeat)
        if client is None:
            client = self._clients[ask.repeat] = self._make(ask.repeat, self._heard)
        return await client.ask(
            ask.model,
            ask.prompt,
            cast("ThinkingLike", ask.level),
            system=ask.system,
            max_tokens=ask.max_tokens,
            stream=stream,
        )

    async def admitted(self) -> None:
        """Wait until the limiter lets one more begin."""
        while seconds := self._limiter.wait(monotonic()):
            await self.changed(seconds)

    async def taken(self, ask: Trial, purse: CostBudget) -> bool:
        """Wait until the purse pays for another attempt; False where it never will."""
        try:
            while not purse.take(ask):
                await self.changed()
        except BudgetSpent:
            return False
        return True

    async def changed(self, seconds: float = 1.0) -> None:
        """Wait until something has ended, or so many seconds."""
        self._change.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, 1.0)):
                await self._change.wait()

    async def again(self, seconds: float) -> None:
        """Leave the lane, wait, and come in again as any other ask; some later than others."""
        self.leave()
        pause = max(seconds, self._limiter.pause(monotonic()))
        await asyncio.sleep(pause * (1 + _SPREAD * random()))  # noqa: S311 - a wait
        await self.admitted()
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

    def _heard(self, head: ResponseHead) -> None:
        if found := parse_rate_limits(head.headers, now=time()):
            self._limiter.hint(found, monotonic())

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()


class _Listening:
    """A transport that tells what the head of every answer says."""

    def __init__(self, inner: AsyncTransport, heard: Callable[[ResponseHead], None]) -> None:
        self._inner = inner
        self._heard = heard

    @property
    def needs_key(self) -> bool:
        return self._inner.needs_key

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        answer = await self._inner.send(request, timeouts)
        self._heard(answer.head)
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _nothing(_ask: Trial) -> None:
    """Do nothing before an attempt."""


def emulators(seed: int) -> Callable[[int], Emulator]:
    """Return the emulator of each repeat: each has its own seed, so that repeats differ."""
    made: dict[int, Emulator] = {}

    def emulator(repeat: int) -> Emulator:
        mind = ErrorProneResponder(seed * 1_000_003 + repeat)
        return made.setdefault(repeat, Emulator(responder=mind, any_model=True))

    return emulator


def _network() -> AsyncTransport:
    """Return the quicker transport where its library is installed."""
    try:
        from ...transport import FastTransport  # noqa: PLC0415 - may not be installed
    except MissingExtra:
        from ...transport import AsyncHttpTransport  # noqa: PLC0415 - only where the other is not

        return AsyncHttpTransport()
    return FastTransport()


def _settled(ask: Trial, reply: Reply, cost: str | None, seconds: float) -> TrialResult:
    return TrialResult(
        key=ask.key,
        text=reply.text,
        finish=reply.finish,
        verdict=reply.verdict,
        usage=reply.usage,
        cost=cost,
        seconds=seconds,
        at=time(),
        model=reply.model,
    )
