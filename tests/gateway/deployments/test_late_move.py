"""A stream that began with pings before its conversation moved: the client is still told."""

import asyncio
import json

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.deployments.test_accounts import start
from tests.gateway.four_accounts import Account

from pondero.canon import HttpRequest
from pondero.gateway.answers import response_writer

_PATHS = {
    "responses": ("/v1/responses", {"input": "Hi"}),
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}),
    "messages": (
        "/v1/messages",
        {"max_tokens": 2000, "messages": [{"role": "user", "content": "Hi"}]},
    ),
    "gemini": (
        "/v1beta/models/pool:streamGenerateContent?alt=sse",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    ),
}


@pytest.mark.parametrize("front", _PATHS)
def test_a_stream_that_began_with_pings_names_its_account_inside(monkeypatch, front):
    monkeypatch.setattr(response_writer, "SILENCE", 0.05)
    app, gateway, service = start(monkeypatch, Account("north"), Account("south"), balance="order")
    service.accounts["north"].is_dead = True
    path, fields = _PATHS[front]
    receipts = []
    gateway.observers = (receipts.append,)

    async def hang(account: Account) -> None:
        if account.is_dead:
            await asyncio.sleep(0.4)

    service.before = hang

    async def run() -> Came:
        body = json.dumps({"model": "pool", "stream": True, **fields}).encode()
        http = HttpRequest("POST", f"http://x{path}", {"content-type": "application/json"}, body)
        return await came(app, http)

    answer = anyio.run(run)
    assert answer.status == 200
    assert answer.headers["x-pondero-id"] == receipts[0].id
    assert "x-pondero-deployment" not in answer.headers  # it was not known yet
    comments = [line for line in answer.body.split(b"\n") if line.startswith(b": x-pondero")]
    if front == "gemini":  # its clients take a comment for an answer
        assert comments == []
    else:
        assert b": x-pondero-deployment: south" in comments
        assert f": x-pondero-id: {receipts[0].id}".encode() in comments
