"""A request that finds no room waits for the first account that has some, whichever that is."""

import asyncio
import json
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.deployments.test_accounts import ask, start
from tests.gateway.four_accounts import (
    Account,
    Clock,
    FourAccounts,
    deploy,
    make_gateway,
    open_state,
)

from pondero.canon import HttpRequest
from pondero.gateway.config.model import RateLimitRule, ServerConfig
from pondero.gateway.deployments.accounts import AccountFull
from pondero.gateway.deployments.room_wait import RoomWait


def test_of_accounts_whose_room_others_take_the_next_one_is_waited_for(monkeypatch):
    app, gateway, service = start(
        monkeypatch, Account("north", 1), Account("south", 1), balance="order", retries=2
    )
    clock = service.clock
    began: list[float] = []

    async def take_the_room_of_north(seconds: float) -> None:
        await clock.sleep(seconds)
        gateway.sleep = clock.sleep
        assert (await ask(app, "another client")).headers["x-pondero-deployment"] == "north"

    async def run() -> Came:
        assert (await ask(app, "first")).headers["x-pondero-deployment"] == "north"
        clock.now += 2
        assert (await ask(app, "second")).headers["x-pondero-deployment"] == "south"
        clock.now += 57
        began.append(clock.now)
        gateway.sleep = take_the_room_of_north
        return await ask(app, "third")

    answer = asyncio.run(run())
    assert (answer.status, answer.headers["x-pondero-deployment"]) == (200, "south")
    assert clock.now - began[0] <= 5
    assert [each.rejected for each in service.accounts.values()] == [0, 0]


def test_a_request_waits_five_seconds_at_most_whoever_takes_the_room(monkeypatch):
    app, gateway, service = start(
        monkeypatch, Account("north", 1), Account("south", 1), balance="order", retries=2
    )
    clock = service.clock

    async def be_late(seconds: float) -> None:
        await clock.sleep(seconds)
        if seconds > 0.1:
            gateway.sleep = clock.sleep
            for number in range(2):
                await ask(app, f"another client {number}")
            gateway.sleep = be_late

    async def run() -> tuple[Came, float]:
        for text in ("first", "second"):
            assert (await ask(app, text)).status == 200
        clock.now += 58
        gateway.sleep, began = be_late, clock.now
        return await ask(app, "third"), clock.now - began

    answer, seconds = asyncio.run(run())
    assert (answer.status, seconds <= 5) == (429, True)
    assert float(answer.headers["retry-after"]) > 50
    assert [each.rejected for each in service.accounts.values()] == [0, 0]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_running_requests_reserve_is_waited_for_with_any_number_of_accounts(
    monkeypatch, count
):
    async def run() -> None:
        clock = Clock()
        accounts = tuple(Account(name) for name in ("north", "south", "west")[:count])
        service = FourAccounts(clock, *accounts)
        limit = RateLimitRule(tokens=40_000)
        deployments = [replace(each, limit=limit) for each in deploy("anthropic", accounts)]
        app, gateway = make_gateway(
            service, tuple(deployments), "claude-opus-5", monkeypatch=monkeypatch, retries=2
        )
        begun, end = asyncio.Semaphore(0), asyncio.Event()

        async def wait_for_the_end(_: Account) -> None:
            begun.release()
            await end.wait()

        async def sleep(seconds: float) -> None:
            await clock.sleep(seconds)
            if clock.slept >= 1:
                end.set()
            for _ in range(50):  # those that are answered go on
                await asyncio.sleep(0)

        service.before = wait_for_the_end
        gateway.sleep = sleep  # type: ignore[misc]
        asked = [
            asyncio.ensure_future(_ask_for_many(app, f"question {number}"))
            for number in range(2 * count)
        ]
        for _ in asked:
            await begun.acquire()
        last = await _ask_for_many(app, "one more, while all they have is reserved")
        assert last.status == 200, last.body
        assert clock.slept < 5
        assert {(await each).status for each in asked} == {200}

    asyncio.run(run())


def test_what_requests_of_another_replica_reserve_is_waited_for(monkeypatch, redis):
    async def run() -> None:
        redis.empty()
        clock = Clock()
        service = FourAccounts(clock, Account("north"))
        (deployment,) = deploy("anthropic", (service.accounts["north"],))
        limited = (replace(deployment, limit=RateLimitRule(tokens=20_000)),)
        begun, end = asyncio.Event(), asyncio.Event()

        async def wait_for_the_end(_: Account) -> None:
            begun.set()
            await end.wait()

        async def sleep(seconds: float) -> None:
            await clock.sleep(seconds)
            end.set()
            await asked
            await busy.state.wait_until_counted()

        service.before = wait_for_the_end
        server = ServerConfig(ledger="off", log="off")
        async with (
            open_state(server, redis.url, clock) as busy,
            open_state(server, redis.url, clock) as idle,
        ):
            app, _ = make_gateway(
                service, limited, "claude-opus-5", monkeypatch=monkeypatch, shared=busy
            )
            other, gateway = make_gateway(
                service, limited, "claude-opus-5", monkeypatch=monkeypatch, shared=idle
            )
            gateway.sleep = sleep  # type: ignore[misc]
            asked = asyncio.ensure_future(_ask_for_many(app, "a question"))
            await begun.wait()
            assert (await _ask_for_many(other, "to another replica")).status == 200
            assert (await asked).status == 200

    asyncio.run(run())


async def _ask_for_many(app, text: str) -> Came:
    question = [{"role": "user", "content": text}]
    body = {"model": "pool", "max_tokens": 16_000, "messages": question}
    headers = {"content-type": "application/json"}
    request = HttpRequest("POST", "http://gateway/v1/messages", headers, json.dumps(body).encode())
    return await came(app, request)


@given(waits=st.lists(st.floats(0, 6), min_size=1, max_size=400), is_early=st.booleans())
def test_a_wait_ends_whatever_the_accounts_say(waits, is_early):
    room, said, total, rounds = RoomWait(), cycle(waits), 0.0, 0

    def make_full(left: float) -> AccountFull:
        full = AccountFull("no room", status=429, retry_after=next(said))
        full.left, full.may_end_early = left, is_early
        return full

    for name in ("north", "south"):
        room.add(name, make_full(0.0))
    while (chosen := room.choose()) is not None:
        name, patience = chosen
        assert patience > 0
        full = make_full(patience)  # it asked at once, and found a longer wait
        room.note_end(full)
        room.add(name, full)
        rounds, total = rounds + 1, total + patience - full.left
        assert room.waited == pytest.approx(total)  # what was not waited is left
    assert (rounds <= 60, total <= 5) == (True, True)


@pytest.mark.parametrize("delays", [(60, 10), (10, 60)])
@pytest.mark.parametrize("balance", ["order", "sticky"])
def test_a_client_is_told_when_the_first_account_has_room(monkeypatch, delays, balance):
    accounts = (Account("north"), Account("south"))
    app, _, service = start(monkeypatch, *accounts, balance=balance)

    async def run() -> list[Came]:
        for account, delay in zip(accounts, delays, strict=True):
            account.next_rejections = [(429, {"retry-after": str(delay)})]
        answers = [await ask(app, "both reject it")]
        service.clock.now += 4
        return [*answers, await ask(app, "both are paused")]

    answers = asyncio.run(run())
    assert [each.status for each in answers] == [429, 429]
    assert [each.headers["retry-after"] for each in answers] == ["10", "6"]
    assert [len(each.bodies) for each in accounts] == [1, 1]
