"""What services report of their limits: no request that would be rejected is sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.four_accounts import (
    Account,
    Clock,
    FourAccounts,
    deploy,
    make_gateway,
    make_state,
)

from pondero.canon import HttpRequest
from pondero.gateway.config.model import ServerConfig
from pondero.gateway.server.app import App
from pondero.gateway.state.redis import RedisBreakers, RedisSnapshot
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.shared_state import SharedState


class Windows(Account):
    """An account with at most ``requests`` in each span of ``length`` seconds, which it reports."""

    def __init__(self, name: str, requests: int, length: float, api: str) -> None:
        super().__init__(name, requests, says=True)
        self.length = length
        self.api = api
        self.since = 0.0
        self.used = 0

    def take(self, now: float) -> bool:
        assert self.requests is not None
        if now - self.since >= self.length:
            self.since, self.used = now, 0
        self.times.append(now)
        if self.used >= self.requests:
            self.rejected += 1
            return False
        self.used += 1
        return True

    def headers(self, now: float) -> dict[str, str]:
        assert self.requests is not None
        left, wait = self.requests - self.used, self.since + self.length - now
        if self.api == "anthropic":
            reset = datetime.fromtimestamp(now + wait, UTC).isoformat()
            return {
                "anthropic-ratelimit-requests-limit": str(self.requests),
                "anthropic-ratelimit-requests-remaining": str(left),
                "anthropic-ratelimit-requests-reset": reset,
            }
        if self.api == "openai":
            return {
                "x-ratelimit-limit-requests": str(self.requests),
                "x-ratelimit-remaining-requests": str(left),
                "x-ratelimit-reset-requests": f"{wait * 1000:.0f}ms",
            }
        return {
            "x-ratelimit-remaining": str(left),
            "x-ratelimit-reset": f"{now + wait:.0f}",  # no limit, and a moment in seconds
        }


MODELS = {"anthropic": "claude-opus-5", "openai": "gpt-5.5", "openai-chat": "gpt-5.5"}


async def ask(app: App, text: str, **fields: Any) -> Came:
    body = {
        "model": "pool",
        "max_tokens": 1500,
        "messages": [{"role": "user", "content": text}],
        **fields,
    }
    headers = {"content-type": "application/json"}
    request = HttpRequest("POST", "http://gateway/v1/messages", headers, json.dumps(body).encode())
    return await came(app, request)


def start(
    monkeypatch, service: FourAccounts, provider: str, shared: SharedState | None = None
) -> App:
    deployments = deploy(provider, tuple(service.accounts.values()), limits=False)
    app, gateway = make_gateway(
        service, deployments, MODELS[provider], monkeypatch=monkeypatch, shared=shared
    )
    gateway.jitter = Random(1).random  # type: ignore[misc]  # the same dice in every run
    gateway.sleep = wait_in_vain  # type: ignore[misc]  # only the tests move the clock
    return app


async def wait_in_vain(_seconds: float) -> None:
    """Let the others get on."""
    await asyncio.sleep(0)


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("is_slow", [True, False])
def test_a_burst_after_a_reset_is_no_larger_than_the_limit(monkeypatch, provider, is_slow):
    async def run() -> None:
        clock = Clock()
        accounts = [Windows(name, 5, 20.0, provider) for name in ("north", "south")]
        service = FourAccounts(clock, *accounts)
        app = start(monkeypatch, service, provider)

        async def think(_account: Account) -> None:
            await asyncio.sleep(0.05 if is_slow else 0)

        for number in range(6):
            assert (await ask(app, f"warm {number}")).status == 200
        service.before = think
        for burst in range(3):
            clock.now += 21
            asking = (ask(app, f"burst {burst}, {number}") for number in range(20))
            statuses = sorted([each.status for each in await asyncio.gather(*asking)])
            assert statuses == [200] * statuses.count(200) + [429] * statuses.count(429)
            assert statuses.count(200) >= 8  # of ten that the services would take
            assert [account.rejected for account in accounts] == [0, 0]

    asyncio.run(run())


def test_an_old_answer_does_not_bring_back_what_newer_requests_took(monkeypatch):
    async def run() -> None:
        clock = Clock()
        accounts = [Windows(name, 4, 20.0, "anthropic") for name in ("north", "south")]
        service = FourAccounts(clock, *accounts)
        app = start(monkeypatch, service, "anthropic")
        sent = service.send
        free = asyncio.Event()

        async def answer_late(request: HttpRequest, timeouts: Any) -> Any:
            answer = await sent(request, timeouts)
            if b"slow" in request.body:
                await free.wait()  # its headers are those of its beginning
            return answer

        service.send = answer_late  # type: ignore[method-assign]
        slow = [asyncio.ensure_future(ask(app, f"slow {number}")) for number in range(2)]
        await asyncio.sleep(0.02)
        clock.now += 2
        for number in range(6):
            assert (await ask(app, f"quick {number}")).status == 200
        free.set()
        assert {each.status for each in await asyncio.gather(*slow)} == {200}
        assert (await ask(app, "one too many")).status == 429
        assert [account.rejected for account in accounts] == [0, 0]

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["input-tokens", "output-tokens", "tokens", "requests"])
def test_an_account_that_reports_nothing_left_is_not_asked(monkeypatch, kind):
    class Spent(Account):
        def headers(self, now: float) -> dict[str, str]:
            reset = datetime.fromtimestamp(now + 20, UTC).isoformat()
            return {
                f"anthropic-ratelimit-{kind}-limit": "8000",
                f"anthropic-ratelimit-{kind}-remaining": "0",
                f"anthropic-ratelimit-{kind}-reset": reset,
            }

    async def run() -> None:
        clock = Clock()
        service = FourAccounts(clock, Spent("north"), Account("south"))
        app = start(monkeypatch, service, "anthropic")
        for number in range(20):
            assert (await ask(app, f"question {number}")).status == 200
        assert service.served["north"] == 1
        clock.now += 21
        for number in range(20):
            assert (await ask(app, f"later question {number}")).status == 200
        assert service.served["north"] == 2

    asyncio.run(run())


@pytest.mark.parametrize("jump", [-4000.0, 90.0])
def test_a_clock_that_jumps_neither_ends_nor_lengthens_what_a_service_reported(monkeypatch, jump):
    class Spent(Account):
        def headers(self, now: float) -> dict[str, str]:
            return {
                "x-ratelimit-limit-requests": "80",
                "x-ratelimit-remaining-requests": "0" if self.says else "80",
                "x-ratelimit-reset-requests": "20s",
            }

    async def run() -> None:
        clock = Clock()
        service = FourAccounts(clock, Spent("north", says=True), Spent("south"))
        app = start(monkeypatch, service, "openai-chat")
        for number in range(8):
            assert (await ask(app, f"question {number}")).status == 200
        assert service.served["north"] == 1
        app.gateway.now = lambda: clock.now + jump  # type: ignore[misc]
        for number in range(8):
            assert (await ask(app, f"question after the jump {number}")).status == 200
        assert service.served["north"] == 1
        clock.now += 21
        for number in range(20):
            assert (await ask(app, f"later question {number}")).status == 200
        assert service.served["north"] > 1

    asyncio.run(run())


@pytest.mark.parametrize("later", [2.0, 300 * 86_400.0])
def test_a_moment_of_a_reset_never_locks_an_account(monkeypatch, later):
    """Some services write seconds since 1970, and one may write anything."""

    class Spent(Account):
        is_spent = True

        def headers(self, now: float) -> dict[str, str]:
            if not self.is_spent:
                return {}
            return {"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{now + later:.0f}"}

    async def run() -> None:
        clock = Clock()
        accounts = [Spent("north"), Spent("south")]
        service = FourAccounts(clock, *accounts)
        app = start(monkeypatch, service, "openai-chat")
        for number in range(2):
            assert (await ask(app, f"question {number}")).status == 200
        for account in accounts:
            account.is_spent = False
        clock.now += 0.1
        if later > 5:  # seconds that a request waits
            answer = await ask(app, "too early")
            assert answer.status == 429
            assert float(answer.headers["retry-after"]) <= 3601
        clock.now += min(later, 3600.0) + 1
        service.served.clear()
        for number in range(20):
            assert (await ask(app, f"later question {number}")).status == 200
        assert min(service.served.values()) >= 5

    asyncio.run(run())


def test_replicas_tell_each_other_that_a_service_has_nothing_left(monkeypatch, redis):
    @asynccontextmanager
    async def open_replica(service: FourAccounts) -> AsyncIterator[App]:
        link = RedisLink(redis.url, clock=service.clock.milliseconds)
        snapshot = RedisSnapshot(link)
        state = replace(
            make_state(ServerConfig(ledger="off", log="off"), service.clock),
            breakers=RedisBreakers(link, snapshot),
            look=snapshot.look,
            is_lost=lambda: link.is_away,
            close=link.aclose,
        )
        try:
            yield start(monkeypatch, service, "anthropic", shared=state)
        finally:
            await state.aclose()

    async def run() -> None:
        redis.empty()
        accounts = [Windows(name, 6, 20.0, "anthropic") for name in ("north", "south")]
        service = FourAccounts(Clock(), *accounts)
        async with open_replica(service) as one, open_replica(service) as other:
            apps = (one, other)
            for span in range(3):
                statuses = [
                    (await ask(apps[number % 2], f"span {span}, {number}")).status
                    for number in range(20)
                ]
                assert statuses == [200] * 12 + [429] * 8
                service.clock.now += 21
            assert [account.rejected for account in accounts] == [0, 0]

    asyncio.run(run())
