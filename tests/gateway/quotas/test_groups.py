"""Keys in groups: all of a group draw from one budget besides their own, and never overdraw it."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from itertools import count
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.counting_service import CountingService
from tests.gateway.redis_server import RedisServer, redis_server

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.exchange import AsyncTransport
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.quotas.quota import QuotaUse, find_quotas
from pondero.gateway.quotas.usage_counter import LocalUsageCounter, UsageCounter
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.redis_usage_counter import RedisUsageCounter

OPUS = GatewayRoute("opus", ("anthropic:claude-opus-5",))
RESEARCH = GatewayGroup("research")
NAMES = ("ann", "ben", "cara")
KEYS = tuple(GatewayKey(name, hash_key(name), group="research") for name in NAMES)
OTHER = GatewayKey("dan", hash_key("dan"))


def asked(key: str, *, most: int = 2000, thinking: str | None = None) -> HttpRequest:
    body = {
        "model": "opus",
        "max_tokens": most,
        "messages": [{"role": "user", "content": "What is 17 * 23? Think about it."}],
    }
    headers = {"x-api-key": key, "content-type": "application/json"}
    if thinking is not None:
        headers["x-pondero-thinking"] = thinking
    return HttpRequest("POST", "http://gateway/v1/messages", headers, json.dumps(body).encode())


class Served:
    """A gateway with three keys in a group and one that is in none."""

    def __init__(
        self,
        group: GatewayGroup = RESEARCH,
        keys: Sequence[GatewayKey] = (*KEYS, OTHER),
        transport: AsyncTransport | None = None,
    ) -> None:
        self.receipts: list[Receipt] = []
        config = GatewayConfig(ServerConfig(), (OPUS,), keys=tuple(keys), groups=(group,))
        network = transport or Emulator()
        self.gate = GatewayContext(config, network, observers=[self.receipts.append])
        self._app = App(self.gate)

    async def came(self, http: HttpRequest) -> Came:
        return await came(self._app, http)

    def status(self, key: str) -> int:
        return asyncio.run(self.came(asked(key))).status


def test_the_keys_of_a_group_share_its_limit_and_the_rejection_names_the_group():
    served = Served(replace(RESEARCH, limit=RateLimitRule(requests=3)))

    statuses = [served.status(name) for name in ("ann", "ben", "ann", "cara", "ben", "dan")]

    assert statuses == [200, 200, 200, 429, 429, 200]
    answer = asyncio.run(served.came(asked("cara")))
    message = json.loads(answer.body)["error"]["message"]
    assert message.startswith("group research may take 3 requests per minute")


def test_a_spent_budget_of_a_group_refuses_all_its_keys_and_no_other():
    served = Served(replace(RESEARCH, budget=SpendBudget(tokens=9_000, per="day")))

    while served.status("ann") == 200:
        pass

    assert [served.status(name) for name in NAMES] == [429] * 3
    assert served.status("dan") == 200
    message = json.loads(asyncio.run(served.came(asked("ben"))).body)["error"]["message"]
    assert "group research may take 9,000 tokens per day" in message


def test_a_key_has_its_own_budget_besides_that_of_its_group():
    poor = replace(KEYS[0], limit=RateLimitRule(requests=1))
    served = Served(replace(RESEARCH, limit=RateLimitRule(requests=3)), (poor, *KEYS[1:]))

    assert [served.status(name) for name in ("ann", "ann", "ben", "ben", "ben")] == [
        *(200, 429, 200, 200),
        429,  # the rejected request of ann took nothing from the group
    ]


@pytest.mark.parametrize("unit", ["tokens", "thinking_tokens"])
def test_parallel_requests_of_all_keys_take_no_more_than_the_group_has(unit):
    service = CountingService()
    budget = SpendBudget(**{unit: 12_000}, per="day")
    served = Served(replace(RESEARCH, budget=budget), transport=service)

    async def ask_all() -> list[Came]:
        return await asyncio.gather(
            *(served.came(asked(NAMES[number % 3], most=3_000)) for number in range(30))
        )

    statuses = [each.status for each in asyncio.run(ask_all())]

    assert set(statuses) <= {200, 429}
    assert 200 in statuses
    taken = sum(each.total if unit == "tokens" else each.thinking for each in service.served)
    assert taken <= 12_000
    (bound,) = find_quotas(served.gate.config.groups[0])
    (counted,) = asyncio.run(served.gate.state.current_use([bound]))
    assert counted == taken


def test_a_cap_of_a_group_holds_for_its_keys_alone():
    served = Served(replace(RESEARCH, thinking=LevelRules(cap="low")))

    said = {
        name: asyncio.run(served.came(asked(name, most=30_000, thinking="high"))).headers
        for name in ("ann", "dan")
    }

    assert "sent=low; why=cap" in said["ann"]["x-pondero-thinking"]
    assert "sent=high" in said["dan"]["x-pondero-thinking"]


def test_the_record_has_the_group_that_the_key_was_in():
    served = Served()
    assert [served.status(name) for name in ("ann", "dan")] == [200, 200]
    moved = replace(served.gate.config, keys=(replace(KEYS[0], group=None),))
    served.gate.reconfigure(moved)
    assert served.status("ann") == 200

    assert [(each.key, each.group) for each in served.receipts] == [
        ("ann", "research"),
        ("dan", None),
        ("ann", None),
    ]


def test_a_key_whose_group_is_gone_is_refused_until_it_is_back():
    served = Served()
    config = served.gate.config

    served.gate.reconfigure(replace(config, groups=()))
    answer = asyncio.run(served.came(asked("ann")))
    assert answer.status == 403
    assert (
        "'research', which gateway.toml does not have"
        in json.loads(answer.body)["error"]["message"]
    )
    assert served.status("dan") == 200

    served.gate.reconfigure(config)
    assert served.status("ann") == 200


# -- the law ---------------------------------------------------------------------------------------

GROUPS = (
    GatewayGroup("g0", budget=SpendBudget(tokens=100, per="day")),
    GatewayGroup("g1", budget=SpendBudget(tokens=60, per="day")),
)
MEMBERS = (
    GatewayKey("k0", hash_key("0"), group="g0", budget=SpendBudget(tokens=70, per="day")),
    GatewayKey("k1", hash_key("1"), group="g0"),
    GatewayKey("k2", hash_key("2"), group="g1", budget=SpendBudget(tokens=90, per="day")),
)
STEPS = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(0, 2), st.integers(0, 50), st.none() | st.floats(0, 1)
    ),
    max_size=25,
)
_runs = count()


def group_of(key: GatewayKey) -> GatewayGroup:
    return next(group for group in GROUPS if group.name == key.group)


def find_most(holder: GatewayKey | GatewayGroup) -> float:
    return inf if holder.budget is None else holder.budget.tokens or 0


async def check_law(
    counters: Sequence[UsageCounter], steps: Sequence[tuple[int, int, int, float | None]]
) -> None:
    """Reserve for keys, settle some at once and some never; count what was let in ourselves."""
    run, used = next(_runs), dict.fromkeys((key.name for key in MEMBERS), 0)
    for number, (which, member, amount, share) in enumerate(steps):
        key, counter = MEMBERS[member], counters[which % len(counters)]
        quotas = find_quotas(key, group_of(key))
        id = f"{run}-{number}"
        full = await counter.reserve(id, [QuotaUse(quota, amount) for quota in quotas])
        group = [each.name for each in MEMBERS if each.group == key.group]
        fits = sum(used[name] for name in group) + amount <= find_most(group_of(key))
        fits = fits and used[key.name] + amount <= find_most(key)
        assert (full is None) == (fits or amount == 0)
        if full is not None:
            continue
        took = amount if share is None else round(amount * share)
        if share is not None:
            counter.settle(id, [QuotaUse(quota, took) for quota in quotas])
            await counter.wait_until_counted()
        used[key.name] += took


@given(STEPS)
def test_no_order_of_requests_overdraws_a_key_or_its_group(steps):
    asyncio.run(check_law([LocalUsageCounter()], steps))


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@given(steps=STEPS)
def test_no_order_of_requests_of_two_replicas_overdraws_a_key_or_its_group(redis, steps):
    async def check() -> None:
        redis.empty()
        links = [RedisLink(redis.url) for _ in range(2)]
        counters = [RedisUsageCounter(link, alone=False) for link in links]
        try:
            await check_law(counters, steps)
        finally:
            for counter, link in zip(counters, links, strict=True):
                await counter.aclose()
                await link.aclose()

    asyncio.run(check())


def test_replicas_that_ask_at_once_take_no_more_than_the_group_has(redis):
    async def check() -> int:
        redis.empty()
        links = [RedisLink(redis.url) for _ in range(3)]
        counters = [RedisUsageCounter(link, alone=False) for link in links]
        asks = [
            counters[number % 3].reserve(
                f"at-once-{number}",
                [QuotaUse(quota, 7) for quota in find_quotas(key, group_of(key))],
            )
            for number, key in enumerate(MEMBERS[:2] * 20)
        ]
        try:
            return sum(full is None for full in await asyncio.gather(*asks))
        finally:
            for counter, link in zip(counters, links, strict=True):
                await counter.aclose()
                await link.aclose()

    assert asyncio.run(check()) == 100 // 7
