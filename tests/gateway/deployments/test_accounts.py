"""What users and operators see of several accounts: who answers, what is paused, what is told."""

import json
from random import Random

import anyio
import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.four_accounts import Account, Clock, FourAccounts, deploy, make_gateway

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayRoute
from pondero.gateway.observability.access_log import format_line
from pondero.gateway.observability.metrics import Metrics
from pondero.gateway.observability.request_row import load_requests
from pondero.gateway.server.app import App
from pondero.gateway.server.readiness import Readiness


def start(monkeypatch, *accounts: Account, provider="openai", model="gpt-5.5", **fields):
    clock = Clock()
    service = FourAccounts(clock, *accounts)
    deployments = deploy(provider, accounts, limits=fields.pop("limits", True))
    app, gateway = make_gateway(service, deployments, model, monkeypatch=monkeypatch, **fields)
    gateway.jitter = Random(1).random  # type: ignore[misc]  # the same dice in every run
    return app, gateway, service


async def ask(app: App, text: str, **fields) -> Came:
    body = {"model": "pool", "input": text, **fields}
    headers = {"content-type": "application/json"}
    request = HttpRequest("POST", "http://gateway/v1/responses", headers, json.dumps(body).encode())
    return await came(app, request)


def list_accounts(answers: list[Came]) -> list[str]:
    return [each.headers["x-pondero-deployment"] for each in answers]


def test_the_account_is_in_the_headers_the_records_and_the_metrics(monkeypatch):
    app, gateway, _ = start(monkeypatch, Account("north"), Account("south"))
    receipts, metrics = [], Metrics()
    gateway.observers = (receipts.append, metrics.note)
    answer = anyio.run(ask, app, "Hi")
    name = answer.headers["x-pondero-deployment"]
    (receipt,) = receipts
    assert receipt.deployment == name
    assert f'"deployment":"{name}"' in format_line(receipt)
    assert load_requests(receipts)[0].deployment == name
    page = metrics.page().body.decode()
    assert f'pondero_deployment_requests_total{{deployment="{name}"' in page
    assert "key-of" not in page + format_line(receipt) + str(answer.headers)


def test_a_provider_alone_tells_no_deployment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-north")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9100")
    app, gateway, _ = start(monkeypatch, Account("north"), to=("openai:gpt-5.5",))
    receipts = []
    gateway.observers = (receipts.append,)
    answer = anyio.run(ask, app, "Hi")
    assert answer.status == 200
    assert "x-pondero-deployment" not in answer.headers
    assert receipts[0].deployment is None


@pytest.mark.parametrize(("balance", "count"), [("order", 1), ("spread", 2), ("sticky", 1)])
def test_a_route_says_how_its_deployments_are_balanced(monkeypatch, balance, count):
    app, _, _ = start(monkeypatch, Account("north"), Account("south"), balance=balance)

    async def run() -> list[Came]:
        return [await ask(app, "the same beginning") for _ in range(8)]

    assert len({*list_accounts(anyio.run(run))}) == count


def test_other_targets_are_fallbacks_in_order(monkeypatch):
    monkeypatch.setenv("KEY_THIRD", "key-of-third")
    accounts = (Account("north"), Account("south"), Account("third"))
    to = ("north:gpt-5.5", "south:gpt-5.5", "third:gpt-5.4")
    app, _, service = start(monkeypatch, *accounts, to=to)
    assert anyio.run(ask, app, "Hi").headers["x-pondero-deployment"] in ("north", "south")
    service.accounts["north"].is_dead = service.accounts["south"].is_dead = True
    answer = anyio.run(ask, app, "Hi")
    assert (answer.status, answer.headers["x-pondero-model"]) == (200, "openai:gpt-5.4")


def test_after_a_429_with_a_delay_the_account_is_paused_for_that_delay(monkeypatch):
    app, _, service = start(
        monkeypatch, Account("north", 1), Account("south"), limits=False, balance="order"
    )

    async def run() -> list[Came]:
        first = [await ask(app, f"question {number}") for number in range(4)]
        asked = len(service.accounts["north"].bodies)
        service.clock.now += 30
        first.append(await ask(app, "meanwhile"))
        assert len(service.accounts["north"].bodies) == asked == 2  # the second was rejected
        service.clock.now += 31
        first.append(await ask(app, "after it"))
        return first

    answers = anyio.run(run)
    assert {each.status for each in answers} == {200}
    assert list_accounts(answers) == ["north", *["south"] * 4, "north"]


@pytest.mark.parametrize("status", [401, 500])
def test_errors_of_one_account_never_pause_the_other(monkeypatch, status):
    app, gateway, service = start(monkeypatch, Account("north"), Account("south"))
    service.accounts["north"].status = status

    async def run() -> list[Came]:
        return [await ask(app, f"question {number}") for number in range(30)]

    answers = anyio.run(run)
    assert {each.status for each in answers} == {200}
    assert {*list_accounts(answers)} == {"south"}
    assert len(service.accounts["north"].bodies) <= 5
    states = gateway.breakers.states()
    assert not any(name.startswith("south") for name in states)
    assert any(name.startswith("north") for name in states)


def test_if_every_account_is_full_the_client_is_told_when_to_come_again(monkeypatch):
    app, _, service = start(monkeypatch, Account("north", 1), Account("south", 1))

    async def run() -> list[Came]:
        return [await ask(app, f"question {number}") for number in range(3)]

    *first, last = anyio.run(run)
    assert {each.status for each in first} == {200}
    assert last.status == 429
    assert 50 <= float(last.headers["retry-after"]) <= 62
    assert [account.rejected for account in service.accounts.values()] == [0, 0]


def test_a_gateway_whose_accounts_all_rest_is_not_ready(monkeypatch):
    app, gateway, service = start(monkeypatch, Account("north"), Account("south"))
    ready = Readiness(gateway, None)

    async def run() -> tuple[int, bytes]:
        assert (await ready.answer()).status == 200
        for account in service.accounts.values():
            account.is_dead = True
        for number in range(12):
            await ask(app, f"question {number}")
        answer = await Readiness(gateway, None).answer()
        return answer.status, answer.body

    status, body = anyio.run(run)
    assert status == 503
    assert json.loads(body)["away"] == ["deployments"]


def test_a_stored_answer_is_continued_on_the_account_that_stores_it(monkeypatch):
    app, _, _ = start(monkeypatch, Account("north"), Account("south"), balance="spread")

    async def run() -> list[tuple[str, ...]]:
        found = []
        for number in range(6):
            first = await ask(app, f"question {number}")
            id = json.loads(first.body)["id"]
            then = await ask(app, "Go on.", previous_response_id=id)
            assert then.status == 200, then.body
            found.append(tuple(list_accounts([first, then])))
        return found

    pairs = anyio.run(run)
    assert len({one for one, _ in pairs}) == 2
    assert all(one == then for one, then in pairs)


def test_an_account_that_is_new_does_not_get_all_conversations(monkeypatch):
    accounts = (Account("north"), Account("south"), Account("east"))
    monkeypatch.setenv("KEY_EAST", "key-of-east")
    app, gateway, service = start(monkeypatch, *accounts)
    config = gateway.config
    route = GatewayRoute(match="pool", to=("north:gpt-5.5", "south:gpt-5.5"))
    gateway.reconfigure(replace(config, deployments=config.deployments[:2], routes=(route,)))

    async def run() -> list[Came]:
        for number in range(40):
            await ask(app, f"question {number}")
        gateway.reconfigure(config)
        return [await ask(app, f"later question {number}") for number in range(30)]

    later = list_accounts(anyio.run(run))
    assert 5 <= later.count("east") <= 15
    assert service.served.total() == 70
