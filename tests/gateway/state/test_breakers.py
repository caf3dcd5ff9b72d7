"""A deployment that keeps failing is rested, then probed once: in this process, and in Redis."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.gateway.asgi import came

from pondero.canon import HttpRequest, ResponseHead
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.breakers import FAILURES, PROBE, REST, WITHIN, Breakers
from pondero.gateway.state.redis import RedisBreakers, RedisSnapshot
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.shared_state import BreakerStore, SharedState, make_shared_state


class Clock:
    now = 2_000_000_000.0

    def __call__(self) -> float:
        return self.now

    def milliseconds(self) -> int:
        return round(self.now * 1000)


class Looking:
    """Breakers in Redis that look before each question, as the application does."""

    def __init__(self, link: RedisLink) -> None:
        self._board = RedisSnapshot(link)
        self._breakers = RedisBreakers(link, self._board)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._breakers, name)

    async def is_open(self, name: str) -> bool:
        await self._board.look()
        return await self._breakers.is_open(name)


@pytest.fixture(params=["here", "redis"])
def play(request):
    """Run a test's coroutine with breakers of either kind."""

    def played(test: Callable[[BreakerStore, Clock], Coroutine[Any, Any, None]]) -> None:
        async def run() -> None:
            clock = Clock()
            if request.param == "here":
                await test(Breakers(clock), clock)
                return
            redis = request.getfixturevalue("redis")
            link = RedisLink(redis.url, clock=clock.milliseconds)
            await test(Looking(link), clock)
            await link.aclose()

        asyncio.run(run())

    return played


async def _fail(
    breakers: BreakerStore, clock: Clock, times: int = FAILURES, every: float = 1.0, name: str = "a"
) -> None:
    for _ in range(times):
        clock.now += every
        await breakers.record_failure(name)


def test_the_fifth_failure_within_half_a_minute_opens_it(play):
    async def run(breakers: BreakerStore, clock: Clock) -> None:
        await _fail(breakers, clock, FAILURES - 1)
        assert not await breakers.is_open("a")
        await _fail(breakers, clock, 1)
        assert await breakers.is_open("a")
        await _fail(breakers, clock, every=WITHIN / 2, name="slow")
        assert not await breakers.is_open("slow")
        assert not await breakers.is_open("another")

    play(run)


def test_after_the_rest_one_request_probes(play):
    async def run(breakers: BreakerStore, clock: Clock) -> None:
        await _fail(breakers, clock)
        clock.now += REST
        assert [await breakers.is_open("a") for _ in range(3)] == [False, True, True]
        await breakers.record_failure("a")
        assert await breakers.is_open("a")
        clock.now += REST
        assert not await breakers.is_open("a")
        await breakers.record_success("a")
        assert [await breakers.is_open("a") for _ in range(3)] == [False] * 3

    play(run)


def test_a_probe_that_the_client_left_makes_room_for_another(play):
    async def run(breakers: BreakerStore, clock: Clock) -> None:
        await _fail(breakers, clock)
        clock.now += REST
        assert not await breakers.is_open("a")
        await breakers.cancel_probe("a")
        assert not await breakers.is_open("a")

    play(run)


def test_a_probe_without_a_result_expires(play):
    async def run(breakers: BreakerStore, clock: Clock) -> None:
        await _fail(breakers, clock)
        clock.now += REST
        assert not await breakers.is_open("a")
        clock.now += PROBE - 1
        assert await breakers.is_open("a")
        clock.now += 1
        assert [await breakers.is_open("a") for _ in range(2)] == [False, True]

    play(run)


def test_a_clock_that_jumps_back_does_not_prolong_a_pause(play):
    async def run(breakers: BreakerStore, clock: Clock) -> None:
        await _fail(breakers, clock)
        assert await breakers.is_open("a")
        clock.now -= 86_400
        assert not await breakers.is_open("a")
        await breakers.record_failure("a")
        clock.now += REST
        assert not await breakers.is_open("a")

    play(run)


def test_its_state_can_be_seen(play):
    async def run(breakers: BreakerStore, clock: Clock) -> None:
        await _fail(breakers, clock)
        await breakers.is_open("a")
        assert breakers.states() == {"a": "open"}

    play(run)


BODY = b'{"model":"opus","max_tokens":99,"messages":[{"role":"user","content":"?"}]}'
REQUEST = HttpRequest("POST", "http://x/v1/messages", {}, BODY)
OPUS, SONNET = "anthropic:claude-opus-5", "anthropic:claude-sonnet-4-5"


TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
}


class Statuses:
    """A service that answers with these statuses, then with 200; ``asked`` counts its requests."""

    needs_key = False

    def __init__(self, *statuses: int) -> None:
        self._statuses = list(statuses)
        self._healthy = Emulator()
        self.asked = 0

    async def send(self, request, timeouts):
        self.asked += 1
        status = self._statuses.pop(0) if self._statuses else 200
        if status == 200:
            return await self._healthy.send(request, timeouts)
        return Failure(status)


class Failure:
    """An error of the Messages API."""

    def __init__(self, status: int) -> None:
        self.head = ResponseHead(status, {"content-type": "application/json"})

    async def __aiter__(self) -> AsyncIterator[bytes]:
        error = {"type": TYPES[self.head.status], "message": f"status {self.head.status}"}
        yield json.dumps({"type": "error", "error": error}).encode()

    async def aclose(self) -> None:
        pass


def _gateway(transport: Any, *to: str, shared: SharedState | None = None) -> GatewayContext:
    route = GatewayRoute(match="opus", to=to, retries=0)
    return GatewayContext(GatewayConfig(routes=(route,)), transport, shared=shared)


@pytest.fixture(params=["here", "redis"])
def state(request, data_dir):
    """Return a function that makes the shared state of a gateway, of either kind."""
    where = "memory" if request.param == "here" else request.getfixturevalue("redis").url
    return lambda: make_shared_state(ServerConfig(state=where))


def test_a_client_is_told_when_the_pause_is_over(state):
    async def run() -> None:
        gate = _gateway(Emulator(), OPUS, SONNET, shared=state())
        for name in (OPUS, SONNET):
            for _ in range(FAILURES):
                await gate.breakers.record_failure(name)
        answer = await came(App(gate), REQUEST)
        assert answer.status == 529  # how this API says that a service is overloaded
        assert 0 < float(answer.headers["retry-after"]) <= REST
        await gate.shared.aclose()

    asyncio.run(run())


def test_a_route_with_one_target_passes_the_errors_of_its_service_on(state):
    """To pause it helps no client: there is no other target to ask."""

    async def run() -> list[int]:
        service = Statuses(*[500] * 3 * FAILURES)
        gate = _gateway(service, OPUS, shared=state())
        app = App(gate)
        statuses = [(await came(app, REQUEST)).status for _ in range(3 * FAILURES + 1)]
        assert service.asked == 3 * FAILURES + 1
        await gate.shared.look()
        assert gate.breakers.states() == {}
        await gate.shared.aclose()
        return statuses

    assert asyncio.run(run()) == [500] * 3 * FAILURES + [200]


@pytest.mark.parametrize("status", [status for status in TYPES if status < 500])
def test_a_rejection_of_the_request_proves_that_the_service_is_healthy(state, status, monkeypatch):
    """The probe after a pause that ends in a 4xx closes the breaker."""
    monkeypatch.setattr("pondero.gateway.state.breakers.REST", 0.0)
    monkeypatch.setattr("pondero.gateway.state.redis.REST", 0.0)

    async def run() -> list[int]:
        gate = _gateway(Statuses(status), OPUS, SONNET, shared=state())
        for _ in range(FAILURES):
            await gate.breakers.record_failure(OPUS)
        app = App(gate)
        await came(app, REQUEST)
        await gate.shared.look()
        assert OPUS not in gate.breakers.states()
        statuses = [(await came(app, REQUEST)).status for _ in range(3)]
        await gate.shared.aclose()
        return statuses

    assert asyncio.run(run()) == [200] * 3


def test_failures_at_one_replica_rest_a_deployment_at_all(redis):
    async def run() -> None:
        clock = Clock()
        links = [RedisLink(redis.url, clock=clock.milliseconds) for _ in range(3)]
        replicas = [Looking(link) for link in links]
        for each in (0, 1, 2, 0, 1):
            assert not any([await replica.is_open("a") for replica in replicas])
            await replicas[each].record_failure("a")
        assert all([await replica.is_open("a") for replica in replicas])
        clock.now += REST
        assert [await replica.is_open("a") for replica in replicas] == [False, True, True]
        clock.now += PROBE  # the one that probed has died
        assert [await replica.is_open("a") for replica in replicas] == [False, True, True]
        for link in links:
            await link.aclose()

    asyncio.run(run())


steps = st.lists(
    st.sampled_from(
        [
            "record_failure",
            "record_success",
            "cancel_probe",
            "is_open",
            "open for 3",
            "open for 40",
            1.0,
            8.0,
            REST,
            -9.0,
        ]
    )
)


async def _played(breakers: BreakerStore, clock: Clock, moves: Sequence[str | float]) -> list[bool]:
    said = []
    for move in moves:
        if isinstance(move, float):
            clock.now += move
        elif move == "is_open":
            said.append(await breakers.is_open("a"))
        elif move.startswith("open for"):
            await breakers.open("a", float(move.removeprefix("open for")))
        else:
            await getattr(breakers, move)("a")
    return said


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps)
def test_a_breaker_in_redis_does_what_one_here_does(redis, moves):
    async def run() -> None:
        redis.empty()
        here, there = Clock(), Clock()
        link = RedisLink(redis.url, clock=there.milliseconds)
        looking = Looking(link)
        moves_ = [
            each for move in moves for each in (("is_open", move) if move != 1.0 else (move,))
        ]
        expected = await _played(Breakers(here), here, moves_)
        assert await _played(looking, there, moves_) == expected
        await link.aclose()

    asyncio.run(run())


@given(
    st.lists(
        st.sampled_from(["record_failure", "record_success", "asked", "probed", "waited", "back"])
    )
)
def test_it_is_never_shut_for_good(moves):
    async def run() -> None:
        clock = Clock()
        breakers = Breakers(clock)
        for move in moves:
            match move:
                case "waited":
                    clock.now += REST
                case "back":
                    clock.now -= 10 * REST
                case "probed":  # and its request told nothing
                    await breakers.is_open("a")
                case "asked":
                    if not await breakers.is_open("a"):
                        await breakers.record_failure("a")
                case _:
                    await getattr(breakers, move)("a")
        clock.now += REST + PROBE
        assert not await breakers.is_open("a")

    asyncio.run(run())


def test_an_account_is_paused_for_as_long_as_its_service_asked(play):
    async def test(breakers: BreakerStore, clock: Clock) -> None:
        await breakers.pause("north", 30)
        await breakers.pause("north", 5)  # a longer pause stays
        assert await breakers.is_open("south") is False  # which looks at Redis
        assert breakers.find_pause("north") == pytest.approx(30, abs=0.01)
        assert breakers.states() == {"north": "paused"}
        assert breakers.find_pause("south") == 0
        clock.now += 29
        assert breakers.find_pause("north") == pytest.approx(1, abs=0.01)
        clock.now += 1.1
        await breakers.is_open("south")
        assert breakers.find_pause("north") <= 0
        assert breakers.states().get("north", "closed") == "closed"

    play(test)


def test_a_pause_outlasts_the_failures_of_others(play):
    async def test(breakers: BreakerStore, clock: Clock) -> None:
        await breakers.pause("north", 3600)
        await breakers.record_failure("south:m")
        clock.now += 1800
        await breakers.is_open("south:m")
        assert breakers.find_pause("north") == pytest.approx(1800, abs=0.01)

    play(test)
