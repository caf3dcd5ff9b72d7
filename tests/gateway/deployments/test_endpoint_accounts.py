"""Endpoints of a route to deployments: their keys, their limits, and things that they store."""

import asyncio
import json
from collections import Counter
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.deployments.test_bound_ids import Canned
from tests.gateway.four_accounts import Account, Clock, FourAccounts, deploy, make_gateway

from pondero.canon import HttpRequest
from pondero.gateway.config.model import RateLimitRule

_EMBEDDINGS = {
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.1]}],
    "model": "m",
    "usage": {"prompt_tokens": 3, "total_tokens": 3},
}


def begin(monkeypatch, *accounts: Account, provider="openai", model="gpt-5.5", **fields: Any):
    clock, canned = Clock(), Canned()
    canned.answers |= {
        "/embeddings": _EMBEDDINGS,
        "/files": {"id": "file-1", "object": "file", "type": "file"},
        "/files/file-1": {"id": "file-1", "object": "file", "type": "file"},
        "/cachedContents": {"name": "cachedContents/1", "model": "models/m"},
        "/count_tokens": {"input_tokens": 77},
    }
    service = FourAccounts(clock, *accounts, emulator=canned)  # type: ignore[arg-type]  # it sends
    deployments = deploy(provider, accounts)
    app, gateway = make_gateway(service, deployments, model, monkeypatch=monkeypatch, **fields)

    async def send(path: str, body: Any = None, method: str = "POST") -> Came:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "content-length": str(len(data))}
        return await came(app, HttpRequest(method, f"http://gateway{path}", headers, data))

    return send, gateway, service


def embed(send: Any) -> Any:
    return send("/v1/embeddings", {"model": "pool", "input": "Hi"})


_EMBEDDER = "text-embedding-3-small"


def test_embeddings_of_a_route_go_to_its_deployments_within_their_limits(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-nobody")  # the provider's own is not named

    async def run() -> tuple[list[Came], FourAccounts]:
        send, _, service = begin(
            monkeypatch, Account("north", 3), Account("south", 3), model=_EMBEDDER
        )
        return [await embed(send) for _ in range(8)], service

    answers, service = anyio.run(run)
    assert Counter(each.status for each in answers) == {200: 6, 429: 2}, answers[0].body
    assert service.served == {"north": 3, "south": 3}
    assert [account.rejected for account in service.accounts.values()] == [0, 0]
    named = {each.headers["x-pondero-deployment"] for each in answers if each.status == 200}
    assert named == {"north", "south"}
    assert 50 <= float(answers[-1].headers["retry-after"]) <= 62


def test_an_endpoint_waits_for_the_first_account_with_room(monkeypatch):
    async def run() -> None:
        send, gateway, service = begin(
            monkeypatch, Account("north", 1), Account("south", 1), model=_EMBEDDER, balance="order"
        )
        clock = service.clock
        assert (await embed(send)).headers["x-pondero-deployment"] == "north"
        clock.now += 30
        assert (await embed(send)).headers["x-pondero-deployment"] == "south"
        too_early = await embed(send)
        assert (too_early.status, too_early.headers["retry-after"]) == (429, "32")
        clock.now += 28
        assert (await embed(send)).headers["x-pondero-deployment"] == "north"  # not the last one
        clock.now += 28

        async def take_the_room_of_south(seconds: float) -> None:
            await clock.sleep(seconds)
            gateway.sleep = clock.sleep
            clock.now += 0.1
            service.accounts["south"].times.clear()
            assert (await embed(send)).headers["x-pondero-deployment"] == "south"

        gateway.sleep, began = take_the_room_of_south, clock.now
        assert (await embed(send)).status == 429
        assert clock.now - began <= 5
        assert [each.rejected for each in service.accounts.values()] == [0, 0]

    anyio.run(run)


@pytest.mark.parametrize("death", ["gone", 401, 429, 500])
def test_an_account_that_fails_leaves_its_endpoints_to_the_next(monkeypatch, death):
    async def run() -> tuple[list[Came], FourAccounts]:
        send, _, service = begin(
            monkeypatch, Account("north"), Account("south"), model=_EMBEDDER, balance="order"
        )
        north = service.accounts["north"]
        north.is_dead, north.status = death == "gone", None if death == "gone" else int(death)
        return [await embed(send) for _ in range(4)], service

    answers, service = anyio.run(run)
    assert {each.status for each in answers} == {200}
    assert service.served == {"south": 4}
    if death == 401:  # it is paused
        assert len(service.accounts["north"].bodies) == 1


_SPENT = {"error": {"message": "no credit", "type": "x", "code": "insufficient_quota"}}
_PAGE = b"<html>maintenance</html>"
NO_ANSWERS = {
    "an error": (json.dumps(_SPENT).encode(), {}),
    "a page": (_PAGE, {"content-type": "text/html"}),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_an_error_with_status_200_leaves_the_endpoint_to_the_next(monkeypatch, name):
    body, headers = NO_ANSWERS[name]

    async def run() -> tuple[list[Came], FourAccounts]:
        send, _, service = begin(
            monkeypatch, Account("north"), Account("south"), model=_EMBEDDER, balance="order"
        )
        north = service.accounts["north"]
        north.status, north.error, north.more = 200, body, headers
        return [await embed(send) for _ in range(4)], service

    answers, service = anyio.run(run)
    assert [json.loads(each.body) for each in answers] == [_EMBEDDINGS] * 4
    assert service.served == {"south": 4}
    if name == "an error":  # its credit is used up, so it is paused
        assert len(service.accounts["north"].bodies) == 1


def test_the_last_account_that_answers_an_error_with_status_200_is_passed_on(monkeypatch):
    async def run() -> Came:
        send, _, service = begin(monkeypatch, Account("north"), model=_EMBEDDER)
        north = service.accounts["north"]
        north.status, north.error = 200, json.dumps(_SPENT).encode()
        return await embed(send)

    assert json.loads(anyio.run(run).body) == _SPENT


def test_an_account_that_was_rejected_is_asked_if_no_other_answers(monkeypatch):
    async def run() -> None:
        send, gateway, service = begin(
            monkeypatch, Account("north"), Account("south"), model=_EMBEDDER, balance="order"
        )
        north, south = service.accounts.values()
        north.status = 401
        assert (await embed(send)).headers["x-pondero-deployment"] == "south"
        north.status, south.is_dead = None, True  # north is healthy again, and nobody knows it
        assert (await embed(send)).headers["x-pondero-deployment"] == "north"
        assert gateway.breakers.find_pause("north") == 0

    anyio.run(run)


class Reporting(Account):
    """An account that reports its limit as OpenAI does, for endpoints too."""

    def __init__(self, name: str, requests: int) -> None:
        super().__init__(name, requests, says=True)


def test_what_a_service_reports_of_an_endpoint_is_obeyed(monkeypatch):
    async def run() -> None:
        accounts = (Reporting("north", 3), Reporting("south", 3))
        clock, canned = Clock(), Canned()
        canned.answers["/embeddings"] = _EMBEDDINGS
        service = FourAccounts(clock, *accounts, emulator=canned)  # type: ignore[arg-type]  # it sends
        deployments = deploy("openai", accounts, limits=False)
        app, _ = make_gateway(service, deployments, _EMBEDDER, monkeypatch=monkeypatch)
        body = json.dumps({"model": "pool", "input": "Hi"}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        http = HttpRequest("POST", "http://gateway/v1/embeddings", headers, body)
        statuses = [(await came(app, http)).status for _ in range(9)]
        assert statuses == [200] * 6 + [429] * 3
        assert [each.rejected for each in accounts] == [0, 0]
        clock.now += 61
        assert (await came(app, http)).status == 200

    anyio.run(run)


_PICTURE = {
    "created": 1,
    "data": [{"b64_json": "aGk="}],
    "usage": {"total_tokens": 1500, "input_tokens": 20, "output_tokens": 1480},
}


def test_pictures_whose_use_only_the_answer_tells_keep_the_limit_of_tokens(monkeypatch):
    async def run() -> None:
        accounts = (Account("north"), Account("south"))
        clock, canned = Clock(), Canned()
        canned.answers["/images/generations"] = _PICTURE
        service = FourAccounts(clock, *accounts, emulator=canned)  # type: ignore[arg-type]  # it sends
        limit = RateLimitRule(tokens=8000)
        deployments = tuple(replace(each, limit=limit) for each in deploy("openai", accounts))
        app, gateway = make_gateway(service, deployments, "gpt-image-1", monkeypatch=monkeypatch)
        gateway.sleep = let_others  # type: ignore[misc]  # only the test moves the clock

        async def draw(_account: Account) -> None:
            await asyncio.sleep(0.3)  # longer than any request waits

        service.before = draw
        body = json.dumps({"model": "pool", "prompt": "a cat"}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        http = HttpRequest("POST", "http://gateway/v1/images/generations", headers, body)
        for _ in range(3):
            answers = await asyncio.gather(*(came(app, http) for _ in range(12)))
            statuses = [each.status for each in answers]
            assert {*statuses} == {200, 429}
            for each in accounts:
                now = clock.now
                assert 1500 * sum(at > now - 60 for at in each.times) <= 8000
            clock.now += 61
        assert service.served.total() >= 14  # the first goes alone, later ones side by side

    asyncio.run(run())


async def let_others(_seconds: float) -> None:
    await asyncio.sleep(0.001)


def test_a_request_that_is_wrong_is_sent_to_one_account(monkeypatch):
    async def run() -> tuple[Came, FourAccounts]:
        send, _, service = begin(
            monkeypatch, Account("north"), Account("south"), model=_EMBEDDER, balance="order"
        )
        north = service.accounts["north"]
        error = {"message": "too long", "type": "invalid_request_error"}
        north.status, north.error = 400, json.dumps({"error": error}).encode()
        return await embed(send), service

    answer, service = anyio.run(run)
    assert (answer.status, json.loads(answer.body)["error"]["message"]) == (400, "too long")
    assert service.accounts["south"].bodies == []


def test_what_a_client_stores_can_be_used_together(monkeypatch):
    async def run() -> None:
        send, gateway, service = begin(monkeypatch, *map(Account, ("a", "b", "c", "d")))
        answers = service.emulator.answers  # of the canned service
        ids = []
        for number in range(12):
            answers["/files"] = {"id": f"file-{number}", "object": "file"}
            made = await send("/v1/files", {"purpose": "assistants"})
            ids.append(json.loads(made.body)["id"])
        answers["/vector_stores"] = {"id": "vs_1", "object": "vector_store"}
        made = await send("/v1/vector_stores", {"file_ids": ids})
        assert made.status == 200, made.body
        part = [{"type": "input_file", "file_id": each} for each in ids]
        body = {"model": "pool", "store": False, "input": [{"role": "user", "content": part}]}
        assert (await send("/v1/responses", body)).status == 200
        home = made.headers["x-pondero-deployment"]
        # An account that cannot be asked has nothing new; what it stored stays there.
        await gateway.accounts._pauses.pause(home, 60)
        other = await send("/v1/vector_stores", {"name": "n"})
        assert other.headers["x-pondero-deployment"] != home

    anyio.run(run)


def test_a_file_stays_with_the_account_that_got_it_and_so_do_requests_with_it(monkeypatch):
    async def run() -> None:
        send, gateway, service = begin(
            monkeypatch, *map(Account, ("north", "south")), balance="spread"
        )
        answers = service.emulator.answers  # of the canned service
        answers["/files/file-2"] = {"id": "file-2", "object": "file"}
        homes = {}
        for id in ("file-1", "file-2"):
            answers["/files"] = {"id": id, "object": "file"}
            made = await send("/v1/files", {"purpose": "user_data"})
            assert made.status == 200, made.body
            homes[id] = made.headers["x-pondero-deployment"]
            await gateway.accounts._pauses.pause(homes[id], 60)
        assert sorted(homes.values()) == ["north", "south"]
        service.clock.now += 61
        for id in ["file-1", "file-2"] * 4:
            read = await send(f"/v1/files/{id}", None, "GET")
            assert read.headers["x-pondero-deployment"] == homes[id]
            part = {"type": "input_file", "file_id": id}
            body = {"model": "pool", "store": False, "input": [{"role": "user", "content": [part]}]}
            answer = await send("/v1/responses", body)
            assert answer.headers["x-pondero-deployment"] == homes[id], answer.body
        assert service.served.total() == 18

    anyio.run(run)


def test_a_cache_is_made_and_used_at_one_account(monkeypatch):
    async def run() -> None:
        send, _, _ = begin(
            monkeypatch,
            *map(Account, ("north", "south")),
            provider="google",
            model="gemini-3-flash-preview",
            balance="spread",
        )
        contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
        for _ in range(6):
            made = await send("/v1beta/cachedContents", {"model": "models/pool"})
            assert made.status == 200, made.body
            home = made.headers["x-pondero-deployment"]
            body = {"cachedContent": "cachedContents/1", "contents": contents}
            answer = await send("/v1beta/models/pool:generateContent", body)
            assert answer.headers["x-pondero-deployment"] == home

    anyio.run(run)


def test_tokens_are_counted_by_another_account_if_one_is_dead(monkeypatch):
    async def run() -> tuple[Came, FourAccounts]:
        send, _, service = begin(
            monkeypatch,
            *map(Account, ("north", "south")),
            provider="anthropic",
            model="claude-opus-5",
        )
        service.accounts["north"].status = 401
        body = {"model": "pool", "messages": [{"role": "user", "content": "Hi"}]}
        return await send("/v1/messages/count_tokens", body), service

    answer, service = anyio.run(run)
    assert json.loads(answer.body) == {"input_tokens": 77}
    assert service.served == {"south": 1}
