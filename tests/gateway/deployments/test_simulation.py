"""The emulator as four accounts with different limits: how 1,000 conversations are shared."""

import json
from collections import Counter
from heapq import heapify, heappop, heappush
from random import Random
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.four_accounts import (
    Account,
    Clock,
    Exchanged,
    FourAccounts,
    deploy,
    make_gateway,
)

from pondero.canon import HttpRequest
from pondero.gateway.server.app import App

WEIGHTS = (4.0, 3.0, 2.0, 1.0)
TURNS = 4


def list_accounts(scale: int = 1, **fields: Any) -> tuple[Account, ...]:
    limits = zip(("north", "south", "east", "west"), WEIGHTS, strict=True)
    return tuple(Account(name, round(30 * weight * scale), **fields) for name, weight in limits)


class Talk:
    """A conversation of a client of the Messages or the Responses API."""

    def __init__(self, number: int, api: str) -> None:
        self.api = api
        self.history: list[Any] = []
        self.questions = 0
        self.answers: list[Came] = []
        self.number = number

    @property
    def accounts(self) -> list[str]:
        return [each.headers["x-pondero-deployment"] for each in self.answers]

    async def ask(self, app: App) -> Came:
        text = f"Talk {self.number}, question {self.questions}: what is 17 * {self.questions}?"
        self.questions += 1
        self.history.append({"role": "user", "content": text})
        if self.api == "messages":
            body = {
                "model": "pool",
                "max_tokens": 2000,
                "thinking": {"type": "adaptive"},
                "messages": self.history,
            }
        else:
            body = {
                "model": "pool",
                "input": self.history,
                "store": False,
                "reasoning": {"effort": "high"},
                "include": ["reasoning.encrypted_content"],
            }
        path = (
            "http://gateway/v1/messages"
            if self.api == "messages"
            else "http://gateway/v1/responses"
        )
        headers = {"content-type": "application/json"}
        answer = await came(app, HttpRequest("POST", path, headers, json.dumps(body).encode()))
        self.answers.append(answer)
        if answer.status == 200:
            said = json.loads(answer.body)
            if self.api == "messages":
                self.history.append({"role": "assistant", "content": said["content"]})
            else:
                self.history += said["output"]
        return answer


async def hold(app: App, clock: Clock, talks: list[Talk], *, seconds: float, dice: Random) -> None:
    """Hold conversations that begin within so many seconds, their turns between each other."""
    start = clock.now
    due = [(start + dice.uniform(0, seconds), talk.number) for talk in talks]
    heapify(due)
    by_number = {talk.number: talk for talk in talks}
    while due:
        at, number = heappop(due)
        clock.now = max(clock.now, at)
        talk = by_number[number]
        await talk.ask(app)
        if talk.questions < TURNS:
            heappush(due, (clock.now + dice.uniform(1, 20), number))


def check_shares(counted: Counter[str]) -> None:
    """Assert that accounts have their weights' shares, within a tenth of them."""
    total = sum(counted.values())
    for (name, count), weight in zip(sorted(counted.items(), key=_order), WEIGHTS, strict=True):
        share = weight / sum(WEIGHTS)
        assert abs(count / total - share) <= 0.1 * share, (name, count, total)


def _order(item: tuple[str, int]) -> int:
    return ("north", "south", "east", "west").index(item[0])


def test_a_thousand_conversations_are_shared_by_weight_and_stay_at_home(monkeypatch):
    clock, accounts = Clock(), list_accounts()
    service = FourAccounts(clock, *accounts)
    deployments = deploy("anthropic", accounts, WEIGHTS)
    app, gateway = make_gateway(service, deployments, "claude-opus-5", monkeypatch=monkeypatch)
    gateway.jitter = Random(1).random
    talks = [Talk(number, "messages") for number in range(1000)]
    # All limits together have room for 300 requests a minute; these are 75 % of it.
    anyio.run(lambda: hold(app, clock, talks, seconds=4000 * 60 / 225, dice=Random(2)))
    assert {answer.status for talk in talks for answer in talk.answers} == {200}
    assert [account.rejected for account in accounts] == [0, 0, 0, 0]
    check_shares(Counter(talk.accounts[0] for talk in talks))
    check_shares(Counter(name for talk in talks for name in talk.accounts))
    at_home = sum(name == talk.accounts[0] for talk in talks for name in talk.accounts)
    assert at_home >= 0.95 * sum(len(talk.accounts) for talk in talks)


@pytest.mark.parametrize("limits", [True, False], ids=["configured", "from headers"])
def test_no_account_rejects_what_its_limit_or_its_headers_predict(monkeypatch, limits):
    clock, accounts = Clock(), list_accounts(says=not limits)
    service = FourAccounts(clock, *accounts)
    deployments = deploy("openai", accounts, WEIGHTS, limits=limits)
    app, gateway = make_gateway(service, deployments, "gpt-5.5", monkeypatch=monkeypatch)
    gateway.jitter = Random(1).random
    talks = [Talk(number, "responses") for number in range(150)]
    # Twice what all limits together have room for.
    anyio.run(lambda: hold(app, clock, talks, seconds=60, dice=Random(2)))
    assert [account.rejected for account in accounts] == [0, 0, 0, 0]
    assert {answer.status for talk in talks for answer in talk.answers} <= {200, 429}


def find_signed(answer: bytes) -> set[str]:
    """Return the opaque texts in an answer."""
    found: set[str] = set()

    def look(value: Any, name: str = "") -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                look(inner, key)
        elif isinstance(value, list):
            for inner in value:
                look(inner, name)
        elif name in ("encrypted_content", "signature") and isinstance(value, str) and value:
            found.add(value)

    look(json.loads(answer))
    return found


@pytest.mark.parametrize(
    ("provider", "model", "api", "is_bound"),
    [("anthropic", "claude-opus-5", "messages", False), ("openai", "gpt-5.5", "responses", True)],
)
def test_an_account_that_dies_loses_no_answer_and_only_what_is_bound_to_it(
    monkeypatch, provider, model, api, is_bound
):
    clock, accounts = Clock(), list_accounts()
    service = FourAccounts(clock, *accounts)
    deployments = deploy(provider, accounts, WEIGHTS)
    app, gateway = make_gateway(service, deployments, model, monkeypatch=monkeypatch)
    gateway.jitter = Random(1).random
    talks = [Talk(number, api) for number in range(60)]
    dead = accounts[0]

    async def run() -> None:
        for turn in range(TURNS):
            dead.is_dead = turn >= 2
            for talk in talks:
                clock.now += 0.5
                await talk.ask(app)

    anyio.run(run)
    assert {answer.status for talk in talks for answer in talk.answers} == {200}
    moved = [talk for talk in talks if talk.accounts[0] == dead.name]
    assert len(moved) > 10
    for talk in talks:
        asked = [find_exchange(service, talk.number, question) for question in range(TURNS)]
        before = [(each.account, find_signed(each.answer)) for each in asked[:-1]]
        own = {text for _, signed in before for text in signed}
        lost = {text for name, signed in before if name == dead.name for text in signed}
        lost = lost if is_bound and talk in moved else set()
        assert {text for text in own if text.encode() in asked[-1].request} == own - lost
        adjusted = talk.answers[-1].headers.get("x-pondero-adjustments", "")
        assert ("account_moved:history" in adjusted) == bool(lost)


def find_exchange(service: FourAccounts, talk: int, question: int) -> Exchanged:
    """Return what an account was asked and answered in a turn of a conversation."""
    this, later = (f"Talk {talk}, question {each}:".encode() for each in (question, question + 1))
    return next(
        each for each in service.exchanges if this in each.request and later not in each.request
    )
