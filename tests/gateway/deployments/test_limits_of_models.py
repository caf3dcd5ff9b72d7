"""Limits and pauses belong to one model of one account, a provider's usual account included."""

import asyncio
import json
from collections import Counter
from random import Random

import pytest
from msgspec.structs import replace
from tests.gateway.deployments.test_paused_accounts import SERVER, ask
from tests.gateway.four_accounts import (
    Account,
    Clock,
    FourAccounts,
    deploy,
    make_gateway,
    open_state,
)

from pondero.gateway.config.model import GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.state.shared_state import SharedState

BIG, SMALL = "claude-opus-5", "claude-haiku-4-5"
LIMITS = {BIG: 3, SMALL: 50}


class Counts(Account):
    """An account whose service counts each model apart, in any minute, and reports it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.used: Counter[str] = Counter()

    @property
    def model(self) -> str:
        return str(json.loads(self.bodies[-1])["model"])

    def take(self, now: float) -> bool:
        self.times.append(now)
        if self.used[self.model] >= LIMITS[self.model]:
            self.rejected += 1
            return False
        self.used[self.model] += 1
        return True

    def headers(self, now: float) -> dict[str, str]:
        most = LIMITS[self.model]
        return {
            "anthropic-ratelimit-requests-limit": str(most),
            "anthropic-ratelimit-requests-remaining": str(most - self.used[self.model]),
            "anthropic-ratelimit-requests-reset": f"{now + 60:.0f}",
        }


def start(
    monkeypatch, service: FourAccounts, state: SharedState, others: tuple[str, ...] = ()
) -> App:
    deployments = deploy("anthropic", tuple(service.accounts.values()))
    app, gateway = make_gateway(service, deployments, BIG, monkeypatch=monkeypatch, shared=state)
    named = {"small": SMALL} | {model: model for model in others}
    more = (
        GatewayRoute(match, tuple(f"{name}:{model}" for name in service.accounts), retries=0)
        for match, model in named.items()
    )
    gateway.reconfigure(replace(gateway.config, routes=(*gateway.config.routes, *more)))
    gateway.jitter = Random(1).random  # type: ignore[misc]  # the same dice in every run
    return app


def test_a_model_with_nothing_left_holds_up_no_other_and_no_other_hides_it(monkeypatch, address):
    async def run() -> None:
        clock = Clock()
        accounts = (Counts("north"), Counts("south"))
        service = FourAccounts(clock, *accounts)
        async with (
            open_state(SERVER, address, clock) as one,
            open_state(SERVER, address, clock) as other,
        ):
            apps = [start(monkeypatch, service, one)]
            apps.append(start(monkeypatch, service, other) if address else apps[0])
            for number in range(6):
                assert (await ask(apps[0], f"big {number}")).status == 200
            for number in range(12):  # at the same accounts
                answer = await ask(apps[number % 2], f"small {number}", model="small")
                assert answer.status == 200, answer.body
                assert (await ask(apps[number % 2], f"too many {number}")).status == 429
            assert [each.rejected for each in accounts] == [0, 0]
            assert sum(each.used[SMALL] for each in accounts) == 12

    asyncio.run(run())


OPUS = ("claude-opus-4-5", "claude-opus-4-6", "claude-opus-4-8", "claude-opus-4-1-20250805")


class CountsTogether(Counts):
    """An account whose service counts all Opus 4 models as one."""

    @property
    def model(self) -> str:
        return BIG if super().model in OPUS else super().model


@pytest.mark.parametrize("is_told_by", ["headers", "429"])
def test_models_that_share_their_limits_are_full_together(monkeypatch, address, is_told_by):
    async def run() -> None:
        clock = Clock()
        accounts = (CountsTogether("north"), CountsTogether("south"))
        service = FourAccounts(clock, *accounts)
        async with (
            open_state(SERVER, address, clock) as one,
            open_state(SERVER, address, clock) as other,
        ):
            apps = [start(monkeypatch, service, one, OPUS)]
            apps.append(start(monkeypatch, service, other, OPUS) if address else apps[0])
            if is_told_by == "429":  # somebody else has used up the limit
                for each in accounts:
                    each.next_rejections = [(429, {"retry-after": "40"})]
                assert (await ask(apps[0], "first", model=OPUS[0])).status == 429
            else:
                for number in range(6):  # by turns, so each model knows of a part only
                    answer = await ask(apps[0], f"big {number}", model=OPUS[number % 3])
                    assert answer.status == 200, answer.body
            sent = [len(each.bodies) for each in accounts]
            for number, model in enumerate(OPUS * 2):
                answer = await ask(apps[number % 2], f"more {number}", model=model)
                assert answer.status == 429
                assert float(answer.headers["retry-after"]) > 30
            assert [len(each.bodies) for each in accounts] == sent
            assert [each.rejected for each in accounts] == [0, 0]
            assert (await ask(apps[0], "small", model="small")).status == 200

    asyncio.run(run())


def test_a_429_of_one_model_leaves_the_others_of_the_account(monkeypatch, address):
    async def run() -> None:
        clock = Clock()
        accounts = (Account("north"), Account("south"))
        service = FourAccounts(clock, *accounts)
        async with open_state(SERVER, address, clock) as state:
            app = start(monkeypatch, service, state)
            for each in accounts:
                each.next_rejections = [(429, {"retry-after": "40"})]
            assert (await ask(app, "big")).status == 429
            for number in range(4):
                assert (await ask(app, f"small {number}", model="small")).status == 200
            sent = [len(each.bodies) for each in accounts]
            late = await ask(app, "big again")
            assert (late.status, late.headers["retry-after"]) == (429, "40"), late.body
            assert [len(each.bodies) for each in accounts] == sent

    asyncio.run(run())


def test_an_answer_of_a_model_ends_no_pause_of_it(monkeypatch, address):
    async def run() -> None:
        clock = Clock()
        accounts = (Account("north"), Account("south"))
        service = FourAccounts(clock, *accounts)
        async with open_state(SERVER, address, clock) as state:
            app = start(monkeypatch, service, state)
            going = asyncio.Event()

            async def wait(account: Account) -> None:
                if b"slow" in account.bodies[-1]:
                    await going.wait()

            service.before = wait
            slow = [asyncio.ensure_future(ask(app, f"slow {number}")) for number in range(8)]
            await asyncio.sleep(0.05)
            for each in accounts:
                each.next_rejections = [(429, {"retry-after": "40"})]
            assert (await ask(app, "rejected")).status == 429
            going.set()
            assert {each.status for each in await asyncio.gather(*slow)} == {200}
            assert (await ask(app, "too early")).status == 429
            clock.now += 41
            assert (await ask(app, "later")).status == 200

    asyncio.run(run())


@pytest.mark.parametrize("trouble", ["401", "429", "headers"])
def test_a_provider_beside_its_deployments_is_an_account_like_them(monkeypatch, address, trouble):
    class Usual(Account):
        def headers(self, now: float) -> dict[str, str]:
            reset = {"anthropic-ratelimit-requests-reset": f"{now + 40:.0f}"}
            left = {"anthropic-ratelimit-requests-remaining": "0", **reset}
            return left if trouble == "headers" else {}

    async def run() -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-usual")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9100")
        clock = Clock()
        usual, south = Usual("usual"), Account("south")
        service = FourAccounts(clock, usual, south)
        to = (f"anthropic:{BIG}", f"south:{BIG}")
        async with open_state(SERVER, address, clock) as state:
            app, gateway = make_gateway(
                service,
                deploy("anthropic", (south,)),
                BIG,
                monkeypatch=monkeypatch,
                shared=state,
                to=to,
            )
            gateway.jitter = Random(1).random  # type: ignore[misc]  # the same dice in every run
            if trouble == "401":
                usual.status = 401
            elif trouble == "429":
                usual.next_rejections = [(429, {"retry-after": "30"})]
            for number in range(20):
                assert (await ask(app, f"question {number}")).status == 200
            assert len(usual.bodies) == 1
            usual.status = None
            clock.now += 41
            for number in range(20):
                assert (await ask(app, f"later {number}")).status == 200
            assert len(usual.bodies) > 1

    asyncio.run(run())


def test_a_provider_alone_is_never_paused(monkeypatch):
    async def run() -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-usual")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9100")
        usual = Account("usual")
        service = FourAccounts(Clock(), usual)
        app, _ = make_gateway(service, (), BIG, monkeypatch=monkeypatch, to=(f"anthropic:{BIG}",))
        usual.next_rejections = [(429, {"retry-after": "30"})]
        assert [(await ask(app, "Hi")).status for _ in range(2)] == [429, 200]

    asyncio.run(run())
