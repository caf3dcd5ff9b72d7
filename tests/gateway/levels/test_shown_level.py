"""A key that a client writes in place of a level or a model is not shown."""

import json

import anyio
import pytest
from tests.gateway.asgi import came
from tests.gateway.canned import Canned

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ProviderOverride
from pondero.gateway.observability.receipt import Observer, Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

KEY = "sk-" + "proj-SHAPESEC0123456789abcdefghij"
OWN = "a-secret-without-a-shape-Z9"
ANSWER = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-99",
    "status": "completed",
    "output": [],
    "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
}


def _app(*observers: Observer) -> App:
    service = Canned([json.dumps(ANSWER).encode()], content_type="application/json")
    override = ProviderOverride(url="http://service", key="env:SOMETHING")
    routes = (GatewayRoute(match="gpt-99", to=("openai:gpt-99",), retries=0),)
    config = GatewayConfig(routes=routes, providers={"openai": override})
    return App(GatewayContext(config, service, observers=observers))


def test_the_record_of_a_request_without_a_level_says_what_its_header_says(monkeypatch):
    monkeypatch.setenv("SOMETHING", "a-providers-key-0123456789")
    body = {"model": "gpt-99", "input": "Hello?"}
    headers = {"content-type": "application/json"}
    http = HttpRequest("POST", "http://gate/v1/responses", headers, json.dumps(body).encode())
    receipts: list[Receipt] = []
    answer = anyio.run(came, _app(receipts.append), http)
    assert answer.headers["x-pondero-thinking"].startswith("asked=nothing; sent=nothing")
    assert [(each.asked, each.sent) for each in receipts] == [("nothing", "nothing")]


@pytest.mark.parametrize(
    ("effort", "shown"), [(KEY, "unknown"), (OWN, "unknown"), ("high", "high"), ("ultra", "ultra")]
)
def test_only_a_word_is_shown_as_the_level(monkeypatch, effort, shown):
    monkeypatch.setenv("SOMETHING", "a-providers-key-0123456789")
    body = {"model": "gpt-99", "input": "Hello?", "reasoning": {"effort": effort}}
    headers = {"content-type": "application/json"}
    http = HttpRequest("POST", "http://gate/v1/responses", headers, json.dumps(body).encode())
    answer = anyio.run(came, _app(), http)
    assert answer.status == 200, answer.body
    said = answer.headers["x-pondero-thinking"]
    assert said.startswith(f"asked={shown};"), said
    assert effort == shown or effort not in json.dumps(dict(answer.headers))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"/v1/models/{KEY}", b""),
        ("GET", f"/v1beta/models/{KEY}", b""),
        ("POST", "/api/show", json.dumps({"model": KEY}).encode()),
    ],
)
def test_an_unknown_model_is_named_without_a_key(method, path, body):
    http = HttpRequest(method, f"http://gate{path}", {"content-type": "application/json"}, body)
    answer = anyio.run(came, _app(), http)
    assert answer.status == 404
    assert KEY.encode() not in answer.body
    assert b"REDACTED" in answer.body
