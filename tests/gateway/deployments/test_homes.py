"""A conversation stays with the account that has its cache and its signatures."""

import asyncio
import json
from random import Random
from typing import Any

import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.four_accounts import (
    Account,
    Clock,
    FourAccounts,
    deploy,
    make_gateway,
    open_state,
)

from pondero.canon import HttpRequest
from pondero.gateway.config.model import ServerConfig
from pondero.gateway.server.app import App

SERVER = ServerConfig(ledger="off", log="off")
SESSION = "00000000-0000-4000-8000-000000000001"


class Agent:
    """A client of the Responses or the Messages API that names its session."""

    def __init__(self, api: str, session: str) -> None:
        self.api = api
        self.session = session
        self.history: list[Any] = []

    async def ask(self, app: App, text: str) -> Came:
        self.history.append({"role": "user", "content": text})
        answer = await self.send(app, self.history)
        if answer.status == 200:
            said = json.loads(answer.body)
            if self.api == "messages":
                self.history.append({"role": "assistant", "content": said["content"]})
            else:
                self.history += said["output"]
        return answer

    async def send(self, app: App, history: list[Any]) -> Came:
        if self.api == "messages":
            said = {"device_id": "d", "account_uuid": "", "session_id": self.session}
            body = {
                "model": "pool",
                "max_tokens": 2000,
                "metadata": {"user_id": json.dumps(said)},
                "messages": history,
            }
        else:
            body = {
                "model": "pool",
                "store": False,
                "include": ["reasoning.encrypted_content"],
                "reasoning": {"effort": "high"},
                "prompt_cache_key": self.session,
                "input": history,
            }
        headers = {"content-type": "application/json"}
        url = f"http://gateway/v1/{self.api}"
        return await came(app, HttpRequest("POST", url, headers, json.dumps(body).encode()))


PROVIDERS = {"responses": ("openai", "gpt-5.5"), "messages": ("anthropic", "claude-opus-5")}


class SlowTitles(FourAccounts):
    """Answers a request about a title after all others, and notes who was asked for what."""

    def __init__(self, clock: Clock, *accounts: Account) -> None:
        super().__init__(clock, *accounts)
        self.ended = asyncio.Event()
        self.before = self._wait

    async def _wait(self, account: Account) -> None:
        if b"TITLE" in account.bodies[-1]:
            await self.ended.wait()
        else:
            await asyncio.sleep(0.01)  # both are on their way at one time


@pytest.mark.parametrize("api", PROVIDERS)
@pytest.mark.parametrize("is_title_first", [True, False])
def test_requests_of_one_session_at_one_time_leave_it_one_home(
    monkeypatch, address, api, is_title_first
):
    provider, model = PROVIDERS[api]

    async def run() -> None:
        clock = Clock()
        service = SlowTitles(clock, Account("north"), Account("south"))
        deployments = deploy(provider, tuple(service.accounts.values()))
        async with (
            open_state(SERVER, address, clock) as one,
            open_state(SERVER, address, clock) as other,
        ):
            apps = [
                make_gateway(service, deployments, model, monkeypatch=monkeypatch, shared=state)[0]
                for state in (one, other if address else one)
            ]
            for number in range(6):
                service.ended.clear()
                agent = Agent(api, f"{SESSION}{number}")
                title = Agent(api, f"{SESSION}{number}")
                asking = [
                    (agent.ask, apps[0], f"question {number}"),
                    (title.ask, apps[1], f"TITLE of question {number}"),
                ]
                if is_title_first:
                    asking.reverse()
                tasks = [asyncio.ensure_future(ask(app, text)) for ask, app, text in asking]
                first = await tasks[1 if is_title_first else 0]
                service.ended.set()
                answers = await asyncio.gather(*tasks)
                assert {each.status for each in answers} == {200}
                homes = {each.headers["x-pondero-deployment"] for each in answers}
                second = await agent.ask(apps[number % 2], "Go on.")
                homes |= {second.headers["x-pondero-deployment"]}
                assert homes == {first.headers["x-pondero-deployment"]}
                assert "account_moved" not in second.headers.get("x-pondero-adjustments", "")
            assert service.served.total() == 18

    asyncio.run(run())


@pytest.mark.parametrize("api", PROVIDERS)
def test_the_account_of_the_last_answer_counts_more_than_that_of_the_session(monkeypatch, api):
    provider, model = PROVIDERS[api]

    async def run() -> None:
        north, south = Account("north"), Account("south")
        service = FourAccounts(Clock(), north, south)
        deployments = deploy(provider, (north, south))
        app, gateway = make_gateway(service, deployments, model, monkeypatch=monkeypatch)
        gateway.jitter = Random(1).random  # type: ignore[misc]  # the same dice in every run
        agent, helper = Agent(api, SESSION), Agent(api, SESSION)
        first = (await agent.ask(app, "a question")).headers["x-pondero-deployment"]
        service.accounts[first].status = 500
        moved = (await helper.ask(app, "another one")).headers["x-pondero-deployment"]
        assert moved != first
        service.accounts[first].status = None
        again = await agent.ask(app, "Go on.")
        assert again.headers["x-pondero-deployment"] == first
        assert "account_moved" not in again.headers.get("x-pondero-adjustments", "")
        again = await helper.ask(app, "Go on.")
        assert again.headers["x-pondero-deployment"] == moved

    asyncio.run(run())


@pytest.mark.parametrize(
    ("headers", "waited"),
    [({"retry-after": "1"}, 1.0), ({"retry-after-ms": "300"}, 0.3), ({}, 1.0)],
)
def test_one_429_with_a_short_delay_moves_no_conversation(monkeypatch, headers, waited):
    async def run() -> None:
        north, south = Account("north"), Account("south")
        service = FourAccounts(Clock(), north, south)
        deployments = deploy("openai", (north, south))
        app, _ = make_gateway(service, deployments, "gpt-5.5", monkeypatch=monkeypatch)
        agent = Agent("responses", SESSION)
        home = (await agent.ask(app, "a question")).headers["x-pondero-deployment"]
        service.accounts[home].next_rejections.append((429, headers))
        answer = await agent.ask(app, "Go on.")
        assert (answer.status, answer.headers["x-pondero-deployment"]) == (200, home)
        assert "account_moved" not in answer.headers.get("x-pondero-adjustments", "")
        assert service.clock.slept == pytest.approx(waited, abs=0.05)
        assert sum(len(each.bodies) for each in (north, south)) == 3
        # A home that has no room for longer, or again, is left.
        service.accounts[home].next_rejections += [(429, headers)] * 2
        answer = await agent.ask(app, "And on.")
        assert answer.headers["x-pondero-deployment"] != home
        assert len(service.accounts[home].bodies) == 5

    asyncio.run(run())


def test_a_429_with_a_long_delay_moves_a_conversation_at_once(monkeypatch):
    async def run() -> None:
        north, south = Account("north"), Account("south")
        service = FourAccounts(Clock(), north, south)
        deployments = deploy("openai", (north, south))
        app, _ = make_gateway(service, deployments, "gpt-5.5", monkeypatch=monkeypatch)
        agent = Agent("responses", SESSION)
        home = (await agent.ask(app, "a question")).headers["x-pondero-deployment"]
        service.accounts[home].next_rejections.append((429, {"retry-after": "4"}))
        answer = await agent.ask(app, "Go on.")
        assert answer.headers["x-pondero-deployment"] != home
        assert service.clock.slept == 0
        assert len(service.accounts[home].bodies) == 2

    asyncio.run(run())
