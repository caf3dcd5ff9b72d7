"""The emulator as the accounts of one provider: one address, a key and limits for each."""

import json
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from msgspec.structs import replace

from pondero.canon import HttpRequest, ResponseHead
from pondero.emulator import Emulator
from pondero.errors import Unreachable
from pondero.exchange import Timeouts
from pondero.gateway.config.model import (
    Deployment,
    GatewayConfig,
    GatewayRoute,
    RateLimitRule,
    ServerConfig,
)
from pondero.gateway.quotas.usage_counter import LocalUsageCounter
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.answer_cache import LocalAnswerCache
from pondero.gateway.state.breakers import Breakers
from pondero.gateway.state.redis import RedisBreakers, RedisSnapshot
from pondero.gateway.state.redis_answer_cache import LocalCopies, RedisAnswerCache
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.redis_usage_counter import RedisUsageCounter
from pondero.gateway.state.shared_state import SharedState, make_shared_state

ADDRESS = "http://127.0.0.1:9100"
_KEY_HEADERS = ("x-api-key", "authorization", "x-goog-api-key", "api-key")


class Clock:
    """A clock that only tests and waits move, in seconds."""

    def __init__(self) -> None:
        self.now = 2_000_000_000.0
        self.slept = 0.0

    def __call__(self) -> float:
        return self.now

    def milliseconds(self) -> int:
        return round(self.now * 1000)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds


class Account:
    """One account at the service: at most ``requests`` in any minute, if it has a limit."""

    def __init__(self, name: str, requests: int | None = None, *, says: bool = False) -> None:
        self.name = name
        self.requests = requests
        self.says = says
        self.is_dead = False
        self.status: int | None = None
        self.next_rejections: list[tuple[int, dict[str, str]]] = []  # status and headers
        self.error: bytes | None = None
        self.more: dict[str, str] = {}  # headers of its errors
        self.bodies: list[bytes] = []
        self.times: deque[float] = deque()
        self.rejected = 0

    def take(self, now: float) -> bool:
        """Count a request; return whether the limit has room for it."""
        while self.times and self.times[0] <= now - 60:
            self.times.popleft()
        if self.requests is not None and len(self.times) >= self.requests:
            self.rejected += 1
            return False
        self.times.append(now)
        return True

    def headers(self, now: float) -> dict[str, str]:
        """Return the rate-limit headers of OpenAI's and Anthropic's services."""
        if not self.says or self.requests is None:
            return {}
        left = str(self.requests - len(self.times))
        wait = self.times[0] + 60 - now if self.times else 0
        return {
            "x-ratelimit-limit-requests": str(self.requests),
            "x-ratelimit-remaining-requests": left,
            "x-ratelimit-reset-requests": f"{wait:.3f}s",
        }


class Exchanged(NamedTuple):
    """A request that an account answered, and the answer's bytes."""

    account: str
    request: bytes
    pieces: list[bytes]

    @property
    def answer(self) -> bytes:
        return b"".join(self.pieces)


class FourAccounts:
    """The emulator behind several keys; ``accounts`` by their names, which are their keys."""

    needs_key = True

    def __init__(self, clock: Clock, *accounts: Account, emulator: Emulator | None = None) -> None:
        self.clock = clock
        self.accounts = {each.name: each for each in accounts}
        self.emulator = emulator or Emulator(clock=clock)
        self.served: Counter[str] = Counter()
        self.before: Callable[[Account], Awaitable[None]] | None = None
        self.exchanges: list[Exchanged] = []

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> Any:
        key = next(request.headers[name] for name in _KEY_HEADERS if name in request.headers)
        account = self.accounts[key.removeprefix("Bearer ").removeprefix("key-of-")]
        account.bodies.append(request.body)
        if self.before is not None:
            await self.before(account)
        if account.is_dead:
            raise Unreachable("connection refused")
        if account.status is not None:
            return _Rejection(account.status, account.more, account.error)
        if account.next_rejections:
            return _Rejection(*account.next_rejections.pop(0))
        if not account.take(self.clock()):
            wait = account.times[0] + 60 - self.clock()
            return _Rejection(429, {"retry-after": f"{wait:.3f}", **account.headers(self.clock())})
        self.served[account.name] += 1
        answer = await self.emulator.send(request, timeouts)
        head = ResponseHead(
            answer.head.status, {**answer.head.headers, **account.headers(self.clock())}
        )
        exchanged = Exchanged(account.name, request.body, [])
        self.exchanges.append(exchanged)
        return _Answer(answer, head, exchanged.pieces)

    async def aclose(self) -> None:
        """Nothing is open."""


class _Answer:
    def __init__(self, answer: Any, head: ResponseHead, kept: list[bytes]) -> None:
        self.head = head
        self._answer = answer
        self._kept = kept

    async def __aiter__(self):
        async for piece in self._answer:
            self._kept.append(bytes(piece))
            yield piece

    async def aclose(self) -> None:
        await self._answer.aclose()


class _Rejection:
    def __init__(self, status: int, headers: dict[str, str], body: bytes | None = None) -> None:
        self.head = ResponseHead(status, {"content-type": "application/json", **headers})
        kind = {429: "rate_limit_error", 401: "authentication_error"}.get(status, "api_error")
        usual = {"type": "error", "error": {"type": kind, "message": "no", "code": kind}}
        self._body = body or json.dumps(usual).encode()

    async def __aiter__(self):
        yield self._body

    async def aclose(self) -> None:
        """Nothing is open."""


def deploy(
    provider: str, accounts: tuple[Account, ...], weights: tuple[float, ...] = (), **fields: Any
) -> tuple[Deployment, ...]:
    """Return a deployment of each account, with the account's own limit."""
    return tuple(
        Deployment(
            name=each.name,
            provider=provider,
            key=f"env:KEY_{each.name.upper()}",
            url=fields.get("url", ADDRESS),
            weight=weights[at] if weights else 1.0,
            limit=RateLimitRule(requests=each.requests)
            if each.requests and fields.get("limits", True)
            else None,
        )
        for at, each in enumerate(accounts)
    )


def make_gateway(
    service: FourAccounts,
    deployments: tuple[Deployment, ...],
    model: str,
    *,
    monkeypatch: Any,
    shared: SharedState | None = None,
    **fields: Any,
) -> tuple[App, GatewayContext]:
    """Return a gateway with one route, ``pool``, to all deployments of a model."""
    for each in deployments:
        monkeypatch.setenv(f"KEY_{each.name.upper()}", f"key-of-{each.name}")
    to = fields.pop("to", tuple(f"{each.name}:{model}" for each in deployments))
    match = fields.pop("match", "pool")
    route = GatewayRoute(match=match, to=to, retries=fields.pop("retries", 0), **fields)
    server = ServerConfig(ledger="off", log="off")
    config = GatewayConfig(server=server, routes=(route,), deployments=deployments)
    gateway = GatewayContext(config, service, shared=shared or make_state(server, service.clock))
    gateway.now = service.clock  # type: ignore[misc]  # no real time passes
    gateway.steady = service.clock  # type: ignore[misc]
    gateway.sleep = service.clock.sleep  # type: ignore[misc]
    return App(gateway), gateway


def make_state(server: ServerConfig, clock: Clock) -> SharedState:
    """Return a state of this process whose time is the test's."""
    return replace(
        make_shared_state(server),
        state=LocalUsageCounter(clock.milliseconds),
        breakers=Breakers(clock),
        memory=LocalAnswerCache(clock=clock),
    )


@asynccontextmanager
async def open_state(
    server: ServerConfig, url: str | None, clock: Clock
) -> AsyncIterator[SharedState]:
    """Yield a state of this process, or of all replicas on a Redis."""
    state = make_state(server, clock)
    if url is not None:
        link = RedisLink(url, clock=clock.milliseconds)
        snapshot = RedisSnapshot(link)
        state = replace(
            state,
            state=RedisUsageCounter(link),
            breakers=RedisBreakers(link, snapshot),
            memory=RedisAnswerCache(link, LocalCopies(seconds=3600, size=1 << 20), seconds=3600),
            look=snapshot.look,
            is_lost=lambda: link.is_away,
            link=link,
            close=link.aclose,
        )
    try:
        yield state
    finally:
        await state.aclose()
