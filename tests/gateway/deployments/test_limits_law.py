"""No account is asked for more than its limit, in any order of requests and on any replicas."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.asgi import came
from tests.gateway.deployments.test_bound_ids import Canned
from tests.gateway.four_accounts import (
    Account,
    Clock,
    FourAccounts,
    deploy,
    make_gateway,
    make_state,
)

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import RateLimitRule, ServerConfig
from pondero.gateway.server.app import App
from pondero.gateway.state.redis import RedisBreakers, RedisSnapshot
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.redis_usage_counter import RedisUsageCounter
from pondero.gateway.state.shared_state import SharedState
from pondero.transport import announce_departure

MINUTE = 60.0
END = 1_000  # steps, after the last request
SERVER = ServerConfig(ledger="off", log="off")

# Requests: seconds since the one before, the replica, how long a connection takes, and how long the
# service thinks about it.
STEPS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.0, 0.0, 0.5, 3.0, 20.0, 45.0]),
        st.integers(0, 1),
        st.sampled_from([0, 0, 0, 1, 2, 4]),
        st.integers(0, 6),
    ),
    min_size=1,
    max_size=30,
)
LIMITS = st.tuples(st.integers(1, 5), st.integers(1, 5))
TOKENS = st.sampled_from([None, 3_000, 9_000])


class Judge(FourAccounts):
    """Notes when each account is asked, and what it served."""

    def __init__(self, clock: Clock, *accounts: Account, emulator: Any = None) -> None:
        super().__init__(clock, *accounts, emulator=emulator)
        self.connects: list[int] = []
        self.pauses: list[int] = []
        self.step = 0
        self.waiting = 0
        self.before = self._connect_and_think
        self.asked: list[tuple[str, float]] = []

    async def _connect_and_think(self, account: Account) -> None:
        """Take the request some steps later, and answer some steps after that."""
        connects = self.connects.pop() if self.connects else 0
        pauses = self.pauses.pop() if self.pauses else 0
        await self._wait(connects)
        await announce_departure()
        self.asked.append((account.name, self.clock()))
        await self._wait(pauses)

    async def _wait(self, steps: int) -> None:
        until = min(self.step + steps, END)
        self.waiting += 1
        while self.step < until:  # noqa: ASYNC110 - every step of the loop is an interleaving
            await asyncio.sleep(0)
        self.waiting -= 1


def most_in_a_minute(events: Iterable[tuple[float, int]]) -> int:
    """Return the largest sum of amounts in any span of a minute."""
    known = sorted(events)
    return max(
        (sum(amount for at, amount in known if start <= at < start + MINUTE) for start, _ in known),
        default=0,
    )


async def ask(app: App, number: int) -> int:
    body = {
        "model": "pool",
        "max_tokens": 1_500,
        "messages": [{"role": "user", "content": f"What is 17 * {number}?"}],
    }
    headers = {"content-type": "application/json"}
    request = HttpRequest("POST", "http://gateway/v1/messages", headers, json.dumps(body).encode())
    return (await came(app, request)).status


async def embed(app: App, number: int) -> int:
    headers = {"content-type": "application/json"}
    body = json.dumps({"model": "pool", "input": f"word {number}"}).encode()
    headers["content-length"] = str(len(body))
    request = HttpRequest("POST", "http://gateway/v1/embeddings", headers, body)
    return (await came(app, request)).status


class Asks(NamedTuple):
    """How a client asks, and which model of which provider."""

    ask: Callable[[App, int], Awaitable[int]]
    provider: str
    model: str


MESSAGES = Asks(ask, "anthropic", "claude-opus-5")
EMBEDDINGS = Asks(embed, "openai", "text-embedding-3-small")


def make_judge(clock: Clock, asks: Asks) -> Judge:
    """Return two accounts at a service that has what is asked for."""
    canned = Canned()
    canned.answers["/embeddings"] = {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.1]}],
        "model": "m",
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    }
    emulator: Any = canned if asks is EMBEDDINGS else Emulator(clock=clock)
    return Judge(clock, Account("north"), Account("south"), emulator=emulator)


async def play(
    states: list[SharedState],
    service: Judge,
    steps,
    limits,
    tokens,
    patch,
    asks: Asks = MESSAGES,
) -> None:
    accounts = tuple(service.accounts.values())
    deployments = tuple(
        replace(each, limit=RateLimitRule(requests=most, tokens=tokens))
        for each, most in zip(deploy(asks.provider, accounts), limits, strict=True)
    )
    apps: list[App] = []
    for state in states:
        app, gateway = make_gateway(
            service, deployments, asks.model, monkeypatch=patch, shared=state
        )
        gateway.sleep = wait_in_vain  # type: ignore[misc]  # only the steps move the clock
        apps.append(app)
    running: list[asyncio.Task[int]] = []
    for number, (gap, replica, connects, pauses) in enumerate(steps):
        if gap:  # no time passes between a reservation and the request
            while sum(not each.done() for each in running) > service.waiting:  # noqa: ASYNC110
                await asyncio.sleep(0)
        service.clock.now += gap
        service.step = number
        service.connects.append(connects)
        service.pauses.append(pauses)
        running.append(asyncio.ensure_future(asks.ask(apps[replica % len(apps)], number)))
    service.connects.clear()
    service.pauses.clear()
    service.step = END  # nobody waits any longer
    statuses = await asyncio.gather(*running)
    assert set(statuses) <= {200, 429}
    for name, limit in zip(service.accounts, limits, strict=True):
        assert most_in_a_minute((at, 1) for each, at in service.asked if each == name) <= limit
        if tokens is not None:
            assert most_in_a_minute(iter_tokens(service, name)) <= tokens


async def wait_in_vain(_seconds: float) -> None:
    """Let the others get on."""
    await asyncio.sleep(0)


def iter_tokens(service: Judge, name: str) -> Iterable[tuple[float, int]]:
    times = [at for each, at in service.asked if each == name]
    answers = [each for each in service.exchanges if each.account == name]
    for at, each in zip(times, answers, strict=True):
        usage = json.loads(each.answer)["usage"]
        yield at, usage["input_tokens"] + usage["output_tokens"]


@given(steps=STEPS, limits=LIMITS, tokens=TOKENS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_order_of_requests_exceeds_the_limits_of_an_account(
    monkeypatch_module, steps, limits, tokens
):
    clock = Clock()
    service = Judge(clock, Account("north"), Account("south"))
    state = make_state(SERVER, clock)
    asyncio.run(play([state], service, steps, limits, tokens, monkeypatch_module))


@asynccontextmanager
async def open_replica(url: str, clock: Clock) -> AsyncIterator[SharedState]:
    link = RedisLink(url, clock=clock.milliseconds)
    snapshot = RedisSnapshot(link)
    state = replace(
        make_state(SERVER, clock),
        state=RedisUsageCounter(link),
        breakers=RedisBreakers(link, snapshot),
        look=snapshot.look,
        is_lost=lambda: link.is_away,
        close=link.aclose,
    )
    try:
        yield state
    finally:
        await state.aclose()


@given(steps=STEPS, limits=LIMITS, tokens=TOKENS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
def test_two_replicas_on_one_redis_keep_the_limits_together(
    redis, monkeypatch_module, steps, limits, tokens
):
    async def run() -> None:
        redis.empty()
        clock = Clock()
        service = Judge(clock, Account("north"), Account("south"))
        async with open_replica(redis.url, clock) as one, open_replica(redis.url, clock) as other:
            await play([one, other], service, steps, limits, tokens, monkeypatch_module)

    asyncio.run(run())


@given(steps=STEPS, limits=LIMITS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
def test_two_replicas_on_one_redis_keep_the_limits_of_endpoints_together(
    redis, monkeypatch_module, steps, limits
):
    async def run() -> None:
        redis.empty()
        clock = Clock()
        service = make_judge(clock, EMBEDDINGS)
        async with open_replica(redis.url, clock) as one, open_replica(redis.url, clock) as other:
            states = [one, other]
            await play(states, service, steps, limits, None, monkeypatch_module, EMBEDDINGS)

    asyncio.run(run())


@pytest.mark.parametrize("asks", [MESSAGES, EMBEDDINGS], ids=["messages", "embeddings"])
@pytest.mark.parametrize(
    ("seconds", "order"), [(0.9, "south north"), (1.1, "south north"), (2.0, "north south")]
)
def test_a_request_that_can_be_written_only_much_later_moves_on(monkeypatch, asks, seconds, order):
    """Of a limit per second, at 0.9 it is still counted, at 1.1 it is reserved again."""

    async def run() -> list[tuple[str, float]]:
        clock = Clock()
        service = make_judge(clock, asks)
        service.connects = [1]
        deployments = tuple(
            replace(each, limit=RateLimitRule(requests=1, per="second"))
            for each in deploy(asks.provider, tuple(service.accounts.values()))
        )
        app, gateway = make_gateway(
            service, deployments, asks.model, monkeypatch=monkeypatch, balance="order"
        )
        gateway.sleep = wait_in_vain  # type: ignore[misc]  # only the test moves the clock
        slow = asyncio.ensure_future(asks.ask(app, 1))
        while not service.waiting:  # noqa: ASYNC110 - it connects
            await asyncio.sleep(0)
        clock.now += seconds
        assert await asks.ask(app, 2) == 200
        service.step = END
        assert await slow == 200
        assert await asks.ask(app, 3) == 429
        return service.asked

    assert [name for name, _ in asyncio.run(run())] == order.split()


@pytest.mark.parametrize("per", ["second", "minute"])
@pytest.mark.parametrize("is_shared", [False, True])
def test_requests_that_take_time_to_arrive_keep_the_limit_at_the_service(
    request, monkeypatch, per, is_shared
):
    length = {"second": 1.0, "minute": MINUTE}[per]

    async def run() -> None:
        clock = Clock()
        slot = length / 50
        clock.now += slot - clock.now % slot - 0.001  # the end of a slot of the plain length
        service = FourAccounts(clock, Account("north"), Account("south"))
        came_in: list[tuple[str, float]] = []
        arrived = asyncio.Event()

        async def travel(account: Account) -> None:
            await arrived.wait()
            came_in.append((account.name, clock()))

        service.before = travel
        deployments = tuple(
            replace(each, limit=RateLimitRule(requests=5, per=per))
            for each in deploy("anthropic", tuple(service.accounts.values()))
        )
        async with AsyncExitStack() as stack:
            state = make_state(SERVER, clock)
            if is_shared:
                redis = request.getfixturevalue("redis")
                redis.empty()
                state = await stack.enter_async_context(open_replica(redis.url, clock))
            app, gateway = make_gateway(
                service, deployments, "claude-opus-5", monkeypatch=monkeypatch, shared=state
            )
            gateway.sleep = wait_in_vain  # type: ignore[misc]  # only the test moves the clock
            start = clock.now
            first = [asyncio.ensure_future(ask(app, number)) for number in range(10)]
            await asyncio.sleep(0.1)
            clock.now += 0.2  # new connections
            arrived.set()
            assert await asyncio.gather(*first) == [200] * 10
            for later in (1.0, 1.03, 1.15, 1.3, 1.6, 3.0):
                clock.now = start + length - 1.0 + later
                await asyncio.gather(*(ask(app, number) for number in range(20, 40)))
        for name in service.accounts:
            times = [at for each, at in came_in if each == name]
            assert max(sum(at <= each < at + length for each in times) for at in times) <= 5
            assert len(times) >= 10  # there is room again, soon after

    asyncio.run(run())


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch
