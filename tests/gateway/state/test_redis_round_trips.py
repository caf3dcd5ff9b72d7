"""With a real Redis behind a counting proxy: one round trip before a request, and one write after.

Counted at the moment when the service gets the request, and when the client has its answer.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.redis_proxy import RedisProxy, redis_proxy

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import (
    Deployment,
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.quotas.quota import find_quotas
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.shared_state import make_shared_state
from pondero.transport import announce_departure

PLAIN = GatewayKey("plain", hash_key("text-of-plain"))
BOUND = GatewayKey(
    "bound",
    hash_key("text-of-bound"),
    limit=RateLimitRule(requests=10_000, tokens=10**9, per="hour"),
    budget=SpendBudget(tokens=10**9, cost=10**4, per="month"),
)
OPEN = GatewayRoute("open", ("anthropic:claude-opus-5",))
ROUTE = GatewayRoute(
    "opus", ("anthropic:claude-opus-5",), budget=SpendBudget(tokens=10**9, per="day")
)
SONNET = replace(ROUTE, match="sonnet", to=("anthropic:claude-sonnet-4-5",))
GPT = replace(ROUTE, match="gpt", to=("openai:gpt-5.5",))
ACCOUNTS = tuple(
    Deployment(name, "anthropic", limit=RateLimitRule(requests=1_000, tokens=10**8, per="minute"))
    for name in ("east", "west")
)
SPREAD = GatewayRoute("spread", ("east:claude-opus-5", "west:claude-opus-5"))
FREE = tuple(Deployment(name, "anthropic") for name in ("north", "south"))
TWINS = GatewayRoute("twins", ("north:claude-opus-5", "south:claude-opus-5"))
EMBEDDING = GatewayRoute("text-*", ("openai:text-embedding-3-small",))


class Service(Emulator):
    """A service that notes how many writes Redis had got when each request arrived."""

    def __init__(self, proxy: RedisProxy) -> None:
        super().__init__()
        self._proxy = proxy
        self.before: list[int] = []
        self.bodies: list[bytes] = []

    def send(self, request: HttpRequest, timeouts: Any = None) -> Any:
        self.before.append(len(self._proxy.trips))
        self.bodies.append(request.body)
        return super().send(request)


class LateService(Service):
    """A service to which a connection has to be opened: ``connect`` lets time pass."""

    connect: Callable[[], None]

    def send(self, request: HttpRequest, timeouts: Any = None) -> Any:
        return self._send_late(request)

    async def _send_late(self, request: HttpRequest) -> Any:
        self.connect()
        await announce_departure()
        return await super().send(request)


class Gateway:
    """One replica whose Redis is behind the proxy."""

    def __init__(self, proxy: RedisProxy, service: Service | None = None) -> None:
        self.proxy = proxy
        self.service = service or Service(proxy)
        self.receipts: list[Receipt] = []
        config = GatewayConfig(
            server=ServerConfig(state=proxy.url),
            routes=(ROUTE, OPEN, SONNET, GPT, SPREAD, TWINS, EMBEDDING),
            keys=(PLAIN, BOUND),
            deployments=(*ACCOUNTS, *FREE),
        )
        self.shared = make_shared_state(config.server)
        self.context = GatewayContext(
            config, self.service, shared=self.shared, observers=[self.receipts.append]
        )
        self.app = App(self.context)

    async def ask(self, path: str, body: dict[str, Any], key: str) -> Came:
        headers = {"content-type": "application/json", "authorization": f"Bearer text-of-{key}"}
        sent = json.dumps(body).encode()
        headers["content-length"] = str(len(sent))
        return await came(self.app, HttpRequest("POST", f"http://g{path}", headers, sent))

    async def warm_up(self, path: str, body: dict[str, Any], key: str) -> None:
        """Ask once: a new process has to connect, and to learn what there is."""
        assert (await self.ask(path, body, key)).status == 200
        await self.settle()

    async def settle(self) -> None:
        await self.shared.state.wait_until_counted()

    async def trips(self, path: str, body: dict[str, Any], key: str) -> tuple[list[Any], list[Any]]:
        """Return the writes before the service got a request, and those until its answer."""
        start = len(self.proxy.trips)
        answer = await self.ask(path, body, key)
        assert answer.status == 200, answer.body
        before = self.service.before[-1]
        await self.proxy.wait_for(before + 1)
        await self.settle()
        return self.proxy.trips[start:before], self.proxy.trips[before:]


def _messages(model: str, words: list[str], **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    turns = [{"role": roles[at % 2], "content": word} for at, word in enumerate(words)]
    return {"model": model, "max_tokens": 2000, "messages": turns, **more}


def _responses(words: list[str], **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    turns = [{"role": roles[at % 2], "content": word} for at, word in enumerate(words)]
    return {"model": "gpt", "input": turns, "store": False, **more}


WORDS = ["What is 17 * 23?"]
LONG = [f"Say {number}." for number in range(79)]
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "passed": ("/v1/messages", _messages("opus", WORDS)),
    "passed stream": ("/v1/messages", _messages("opus", WORDS, stream=True)),
    "translated": ("/v1/chat/completions", _messages("opus", WORDS)),
    "translated stream": ("/v1/chat/completions", _messages("opus", WORDS, stream=True)),
    "responses": ("/v1/responses", _responses(WORDS)),
    "40 turns": ("/v1/messages", _messages("opus", LONG)),
    "40 turns translated": ("/v1/chat/completions", _messages("opus", LONG, stream=True)),
    "40 turns to another": ("/v1/messages", _messages("gpt", LONG)),
}


def _run(port: int, work: Callable[[RedisProxy], Any]) -> None:
    async def run() -> None:
        async with redis_proxy(port) as proxy:
            await work(proxy)

    asyncio.run(run())


@pytest.mark.parametrize("key", ["plain", "bound"])
@pytest.mark.parametrize("name", CALLS)
def test_a_request_takes_one_round_trip_before_and_one_write_after(redis, name, key):
    path, body = CALLS[name]
    body = {**body, "model": "open"} if key == "plain" and body["model"] == "opus" else body

    async def work(proxy: RedisProxy) -> None:
        gateway = Gateway(proxy)
        await gateway.warm_up(path, {**body, "temperature": 1}, key)
        for _ in range(2):
            before, after = await gateway.trips(path, body, key)
            assert len(before) == 1, before
            assert len(after) == 1, after
            assert ("EVALSHA" in before[0]) == (key == "bound" or body["model"] == "gpt")
            assert ("EVALSHA" in after[0]) == ("EVALSHA" in before[0])
            assert "SET" in after[0]
        await gateway.shared.aclose()

    _run(redis.port, work)


def test_the_limit_of_a_deployment_takes_one_more_round_trip(redis):
    path, body = "/v1/messages", _messages("spread", WORDS)

    async def work(proxy: RedisProxy) -> None:
        gateway = Gateway(proxy)
        await gateway.warm_up(path, {**body, "temperature": 1}, "bound")
        before, after = await gateway.trips(path, body, "bound")
        assert [trip.count("EVALSHA") for trip in before] == [1, 1]
        assert len(after) == 1
        await gateway.shared.aclose()

    _run(redis.port, work)


@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_a_request_that_leaves_late_is_counted_again_without_a_wait(redis, seconds):
    path, body = "/v1/messages", _messages("spread", WORDS)

    async def work(proxy: RedisProxy) -> None:
        service = LateService(proxy)
        gateway = Gateway(proxy, service)
        times = [gateway.context.steady()]
        gateway.context.steady = lambda: times[-1]  # type: ignore[misc]  # only a connection takes time
        service.connect = lambda: times.append(times[-1] + seconds)
        await gateway.warm_up(path, {**body, "temperature": 1}, "bound")
        before, after = await gateway.trips(path, body, "bound")
        assert [trip.count("EVALSHA") for trip in before] == [1, 1]
        assert len(after) == (2 if seconds > 0.1 else 1)
        await gateway.shared.aclose()

    _run(redis.port, work)


def test_the_first_request_of_a_session_takes_one_more_round_trip(redis):
    def body(question: str, session: str) -> dict[str, Any]:
        said = {"device_id": "d", "account_uuid": "", "session_id": session}
        return _messages("spread", [question], metadata={"user_id": json.dumps(said)})

    async def work(proxy: RedisProxy) -> None:
        gateway = Gateway(proxy)
        await gateway.warm_up("/v1/messages", body("warm", "0" * 36), "bound")
        new, _ = await gateway.trips("/v1/messages", body("first", "1" * 36), "bound")
        known, after = await gateway.trips("/v1/messages", body("second", "1" * 36), "bound")
        assert len(new) == len(known) + 1
        assert len(after) == 1
        await gateway.shared.aclose()

    _run(redis.port, work)


async def _talk(
    gateways: list[Gateway], model: str, turns: int
) -> list[tuple[list[Any], list[Any]]]:
    """Talk in a Chat client that keeps only texts, each turn at the next replica."""
    messages: list[dict[str, Any]] = []
    trips = []
    for number in range(turns):
        gateway = gateways[number % len(gateways)]
        question = f"What is 17 * {number}? Think about it."
        messages.append({"role": "user", "content": question})
        body = {"model": model, "reasoning_effort": "high", "messages": messages}
        start = len(gateway.proxy.trips)
        answer = await gateway.ask("/v1/chat/completions", body, "bound")
        assert answer.status == 200, answer.body
        before = gateway.service.before[-1]
        await gateway.proxy.wait_for(before + 1)
        trips.append((gateway.proxy.trips[start:before], gateway.proxy.trips[before:]))
        (choice,) = json.loads(answer.body)["choices"]
        messages.append({"role": "assistant", "content": choice["message"]["content"]})
    return trips


@pytest.mark.parametrize(
    ("replicas", "model", "most"),
    [(1, "opus", 1), (1, "sonnet", 1), (3, "sonnet", 1), (3, "opus", 2)],
)
def test_a_conversation_keeps_its_signatures_and_its_one_round_trip_at_any_replica(
    redis, replicas, model, most
):
    """The client drops all thinking: only the answer cache has it, and the next replica reads it.

    If its model takes levels inside the conversation, what these were is read by the turns as they
    are sent, which a replica knows after it has read the thinking: a second round trip.
    """

    async def work(proxy: RedisProxy) -> None:
        async with redis_proxy(redis.port) as second, redis_proxy(redis.port) as third:
            gateways = [Gateway(each) for each in (proxy, second, third)[:replicas]]
            for each in gateways:
                await each.warm_up("/v1/chat/completions", _messages(model, WORDS), "bound")
            trips = await _talk(gateways, model, 9)
            assert [len(after) for _, after in trips] == [1] * 9
            assert [len(before) for before, _ in trips] == [1] + [most] * 8
            last = gateways[8 % replicas].service.bodies[-1]
            assert last.count(b'"signature"') == 8
            for each in gateways:
                await each.settle()
            receipts = [each for gateway in gateways for each in gateway.receipts]
            spent = sum(each.usage.known_total for each in receipts)
            tokens = [each for each in find_quotas(BOUND, None) if each.unit == "tokens"]
            assert await gateways[0].shared.state.current_use(tokens) == [spent, spent]
            for each in gateways:
                await each.shared.aclose()

    _run(redis.port, work)


def test_the_writes_of_a_conversation_do_not_grow_with_its_turns(redis):
    """The levels of its turns are read at each turn, and their times extended now and then."""

    async def work(proxy: RedisProxy) -> None:
        gateway = Gateway(proxy)
        trips = await _talk([gateway], "opus", 9)
        assert [trip.count("MGET") for before, _ in trips[1:] for trip in before] == [2] * 8
        assert [trip.count("PEXPIRE") for _, after in trips for trip in after] == [0] * 9
        await gateway.shared.aclose()

    _run(redis.port, work)


async def _talk_in_messages(
    gateways: list[Gateway], turns: int
) -> list[tuple[list[Any], list[Any]]]:
    """Talk in a client that keeps whole answers, each turn at the next replica."""
    messages: list[dict[str, Any]] = []
    trips = []
    for number in range(turns):
        gateway = gateways[number % len(gateways)]
        messages.append({"role": "user", "content": f"What is 17 * {number}? Think about it."})
        body = {"model": "opus", "max_tokens": 4000, "messages": messages}
        body |= {"thinking": {"type": "adaptive"}}
        start = len(gateway.proxy.trips)
        answer = await gateway.ask("/v1/messages", body, "bound")
        assert answer.status == 200, answer.body
        before = gateway.service.before[-1]
        await gateway.proxy.wait_for(before + 1)
        trips.append((gateway.proxy.trips[start:before], gateway.proxy.trips[before:]))
        messages.append({"role": "assistant", "content": json.loads(answer.body)["content"]})
    return trips


def test_a_client_that_keeps_its_thinking_waits_for_one_round_trip_at_any_replica(redis):
    async def work(proxy: RedisProxy) -> None:
        async with redis_proxy(redis.port) as second:
            gateways = [Gateway(each) for each in (proxy, second)]
            for each in gateways:
                await each.warm_up("/v1/messages", _messages("opus", WORDS), "bound")
            trips = await _talk_in_messages(gateways, 6)
            assert [len(before) for before, _ in trips] == [1] * 6
            assert [len(after) for _, after in trips] == [1] * 6
            for each in gateways:
                await each.shared.aclose()

    _run(redis.port, work)


async def _count_waits(gateway: Gateway, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    """Return the round trips before the service, and the answer."""
    start = len(gateway.proxy.trips)
    answer = await gateway.ask(path, body, "bound")
    assert answer.status == 200, answer.body
    await gateway.settle()
    return gateway.service.before[-1] - start, json.loads(answer.body)


def test_a_stored_answer_takes_two_more_round_trips_at_most(redis):
    """One for the answer that is named, and one for all before it."""

    async def work(proxy: RedisProxy) -> None:
        gateway = Gateway(proxy)
        body: dict[str, Any] = {"model": "opus", "input": "warm", "max_output_tokens": 2000}
        await gateway.warm_up("/v1/responses", body, "bound")
        waits = []
        for number in range(6):
            body["input"] = f"What is 17 * {number}?"
            count, answer = await _count_waits(gateway, "/v1/responses", body)
            waits.append(count)
            body["previous_response_id"] = answer["id"]
        assert waits == [1, 2, 3, 3, 3, 3]
        await gateway.shared.aclose()

    _run(redis.port, work)


def test_levels_on_one_of_several_deployments_take_one_more_round_trip(redis):
    """Which of them is asked is known when Redis has said where the conversation is at home."""

    async def work(proxy: RedisProxy) -> None:
        gateway = Gateway(proxy)
        await gateway.warm_up("/v1/messages", _messages("twins", WORDS), "bound")
        body, waits = _messages("twins", ["First?"]), []
        for _ in range(3):
            count, answer = await _count_waits(gateway, "/v1/messages", body)
            waits.append(count)
            body["messages"] += [
                {"role": "assistant", "content": answer["content"]},
                {"role": "user", "content": "And then?"},
            ]
        assert waits == [1, 2, 2]
        await gateway.shared.aclose()

    _run(redis.port, work)


@pytest.mark.parametrize(("key", "waits"), [("plain", 1), ("bound", 2)])
def test_an_endpoint_with_quotas_takes_one_more_round_trip(redis, key, waits):
    body = {"model": "text-embedding-3-small", "input": "What is 17 * 23?"}

    async def work(proxy: RedisProxy) -> None:
        gateway = Gateway(proxy)
        await gateway.warm_up("/v1/messages", _messages("opus", WORDS), key="bound")
        start = len(proxy.trips)
        answer = await gateway.ask("/v1/embeddings", body, key)
        assert gateway.service.before[-1] - start == waits, answer
        await gateway.settle()
        await gateway.shared.aclose()

    _run(redis.port, work)
