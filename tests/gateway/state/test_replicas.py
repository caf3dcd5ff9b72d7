"""Three replicas over one Redis: they agree to the request and the token, with and without it."""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import sleep

import httpx2
import pytest
from msgspec.structs import replace

from pondero.emulator import Emulator
from pondero.gateway import run_gateway_in_thread
from pondero.gateway.config.model import (
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
from pondero.gateway.state.keys import KeyRing
from pondero.gateway.state.redis import RedisKeys
from pondero.gateway.state.redis_answer_cache import LocalCopies, RedisAnswerCache
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.redis_usage_counter import RedisUsageCounter

OPUS = GatewayRoute("opus", ("anthropic:claude-opus-5",))
CI = GatewayKey("ci", hash_key("the-key"))
HEADERS = {"x-api-key": "the-key"}
QUESTION = {
    "model": "opus",
    "max_tokens": 2000,
    "messages": [{"role": "user", "content": "What is 17 * 23? Think about it."}],
}


def configured(url: str, key: GatewayKey = CI, **server: object) -> GatewayConfig:
    return GatewayConfig(
        server=replace(ServerConfig(port=0, state=url), **server), routes=(OPUS,), keys=(key,)
    )


@contextmanager
def replicas(config: GatewayConfig, receipts: list[Receipt], count: int = 3) -> Iterator[list[str]]:
    """Run some gateways, each in a thread with a loop and connections of its own."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                run_gateway_in_thread(config, transport=Emulator(), observers=[receipts.append])
            )
            for _ in range(count)
        ]


async def _loaded(addresses: Sequence[str], count: int) -> list[httpx2.Response]:
    """Ask so often, a few at once at each replica."""
    limits = httpx2.Limits(max_connections=24)
    async with httpx2.AsyncClient(timeout=60, limits=limits, headers=HEADERS) as client:
        asked = (
            client.post(f"{addresses[number % len(addresses)]}/v1/messages", json=QUESTION)
            for number in range(count)
        )
        return list(await asyncio.gather(*asked))


def taken(url: str, key: GatewayKey) -> list[int]:
    """Return what Redis has counted for a key."""

    async def run() -> list[int]:
        link = RedisLink(url)
        counts = await RedisUsageCounter(link).current_use(find_quotas(key, None))
        await link.aclose()
        return counts

    return asyncio.run(run())


def ask(address: str, key: str = "the-key") -> httpx2.Response:
    headers = {"x-api-key": key}
    return httpx2.post(f"{address}/v1/messages", json=QUESTION, headers=headers, timeout=60)


def test_three_replicas_under_load_agree_on_a_limit_to_the_request(redis):
    key = replace(CI, limit=RateLimitRule(requests=100, per="hour"))
    receipts: list[Receipt] = []
    with replicas(configured(redis.url, key), receipts) as addresses:
        answers = asyncio.run(_loaded(addresses, 240))
        assert [ask(each).status_code for each in addresses] == [429] * 3

    statuses = [each.status_code for each in answers]
    assert (statuses.count(200), statuses.count(429)) == (100, 140)
    assert taken(redis.url, key) == [100]


def test_three_replicas_under_load_agree_on_a_budget_to_the_token(redis):
    key = replace(CI, budget=SpendBudget(tokens=40_000, thinking_tokens=30_000, per="day"))
    receipts: list[Receipt] = []
    with replicas(configured(redis.url, key), receipts) as addresses:
        answers = asyncio.run(_loaded(addresses, 300))

    statuses = [each.status_code for each in answers]
    assert set(statuses) == {200, 429}
    done = [each.usage for each in receipts if each.end == "done"]
    assert len(done) == statuses.count(200)
    spent = [sum(each.known_total for each in done), sum(each.thinking or 0 for each in done)]
    assert sorted(taken(redis.url, key)) == sorted(spent)
    assert spent[0] <= 40_000
    assert spent[1] <= 30_000
    billed = [json.loads(each.content)["usage"] for each in answers if each.status_code == 200]
    assert sum(each["input_tokens"] + each["output_tokens"] for each in billed) == spent[0]


def test_a_key_blocked_at_one_replica_is_blocked_at_all_with_the_next_request(redis):
    async def changed(act: str) -> str | None:
        link = RedisLink(redis.url)
        keys = KeyRing(lambda: (CI,), RedisKeys(link))
        made = None
        if act == "make":
            made = await keys.make("guest")
        else:
            await keys.block("guest")
        await link.aclose()
        return made

    with replicas(configured(redis.url), []) as addresses:
        made = asyncio.run(changed("make"))
        assert made is not None
        assert [ask(each, made).status_code for each in addresses] == [200] * 3
        asyncio.run(changed("block"))
        assert [ask(each, made).status_code for each in addresses] == [401] * 3
        assert [ask(each).status_code for each in addresses] == [200] * 3
    assert made.encode() not in b"".join(redis.texts())


# -- Redis goes and comes back --------------------------------------------------------------------


def _until(address: str, status: int) -> httpx2.Response:
    """Ask until a status comes; a Redis that was away is looked for once a second."""
    for _ in range(100):
        if (answer := ask(address)).status_code == status:
            return answer
        sleep(0.05)
    raise AssertionError(f"no {status} came")


def test_without_redis_a_gateway_may_refuse_and_goes_on_when_it_is_back(redis, caplog):
    config = configured(redis.url, on_state_loss="refuse")
    with replicas(config, [], 1) as (address,):
        assert ask(address).status_code == 200
        redis.kill()
        refused = ask(address)
        assert refused.status_code == 529  # what Messages says where the service is busy
        assert json.loads(refused.content)["error"]["type"] == "overloaded_error"
        assert refused.headers["retry-after"] == "1"
        redis.start()
        _until(address, 200)
    said = [each.message for each in caplog.records if each.name == "pondero.gateway"]
    where = f"127.0.0.1:{redis.port}"
    assert [each for each in said if where in each] == [
        f"the shared state at {where} is gone: ConnectionError",
        f"the shared state at {where} is back",
    ]


def test_without_redis_each_replica_counts_for_itself_and_tells_it_later(redis, caplog):
    caplog.set_level(logging.CRITICAL, "pondero.gateway")
    key = replace(CI, limit=RateLimitRule(requests=4, per="day"), budget=SpendBudget(tokens=90_000))
    receipts: list[Receipt] = []
    with replicas(configured(redis.url, key), receipts, 1) as (address,):
        assert ask(address).status_code == 200
        while not receipts or taken(redis.url, key)[1] != receipts[0].usage.known_total:
            sleep(0.01)  # it is told after the answer
        redis.kill()
        alone = [ask(address).status_code for _ in range(6)]
        assert alone == [200] * 3 + [429] * 3, "it continues from the last count it saw"
        redis.start()  # with nothing in it; no request is needed to tell it
        for _ in range(200):
            requests, tokens = taken(redis.url, key)
            if requests == 4:
                break
            sleep(0.05)
    done = [each for each in receipts if each.end == "done"]
    assert requests == len(done) == 4
    assert tokens == sum(each.usage.known_total for each in done)


# -- a worker dies --------------------------------------------------------------------------------

WORKER = """
import asyncio, sys
import tests
tests.__path__.insert(0, "tests")  # a package of the environment may have this name too
from pondero.emulator import Emulator
from pondero.gateway import run
from tests.gateway.state.test_replicas import CI, SpendBudget, configured, replace

class Hanging(Emulator):
    async def send(self, request, timeouts):
        print("asked", flush=True)
        await asyncio.sleep(600)

key = replace(CI, budget=SpendBudget(tokens=3000, per="day"))
config = configured(sys.argv[1], key, ledger="off", log="off")
run(config, transport=Hanging(), ready=lambda where: print(where, flush=True))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process as only Unix can")
def test_what_a_killed_worker_had_reserved_counts_as_used(redis):
    """Its request hangs at the model, which may serve it: another replica has no room for its own."""
    key = replace(CI, budget=SpendBudget(tokens=3000, per="day"))
    with (
        _worker(redis.url) as (worker, hanging, lines),
        ThreadPoolExecutor() as pool,
        replicas(configured(redis.url, key), [], 1) as (address,),
    ):
        broken = pool.submit(ask, hanging)
        assert next(lines) == "asked\n"
        (reserved,) = taken(redis.url, key)
        assert 2000 < reserved <= 3000
        assert ask(address).status_code == 429
        worker.send_signal(signal.SIGKILL)
        with pytest.raises(httpx2.TransportError):
            broken.result()
        assert ask(address).status_code == 429
        assert taken(redis.url, key) == [reserved]


@contextmanager
def _worker(url: str) -> Iterator[tuple[subprocess.Popen[str], str, Iterator[str]]]:
    """Run a gateway in a process of its own; yield it, where it is, and what it prints."""
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, url],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])},
        cwd=Path(__file__).parents[3],
    ) as worker:
        assert worker.stdout is not None
        try:
            yield worker, worker.stdout.readline().strip(), iter(worker.stdout.readline, "")
        finally:
            worker.kill()


def test_what_one_replica_remembers_the_others_know(redis):
    """What a replica has seen it knows without Redis too."""

    async def run() -> None:
        links = [RedisLink(redis.url) for _ in range(2)]
        one, other = (
            RedisAnswerCache(link, LocalCopies(seconds=60, size=1 << 20), seconds=60)
            for link in links
        )
        await one.put({"a": b"1", "b": b"\x00\xff", "c": b"3"})
        await links[0].send("PING")  # nothing waits for what is put
        assert await other.get(["a", "b", "d"]) == {"a": b"1", "b": b"\x00\xff"}
        redis.kill()
        assert await other.get(["a", "c"]) == {"a": b"1"}
        await other.put({"c": b"4"})
        assert await other.get(["c"]) == {"c": b"4"}
        for link in links:
            await link.aclose()

    asyncio.run(run())
