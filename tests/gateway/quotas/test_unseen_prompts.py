"""What a service reads that is not in the request: a budget reserves the model's window for it."""

import asyncio
import json

import pytest
from tests.gateway.asgi import came
from tests.gateway.generous_service import GenerousService
from tests.gateway.quotas.test_hosted_tools import (
    BY_URL,
    FILES,
    LIMITS,
    MODELS,
    ask,
    write_file,
)

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayKey, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext


@pytest.mark.parametrize(("api", "part"), [(api, part) for api in FILES for part in FILES[api]])
def test_a_file_that_is_not_in_the_request_reserves_the_window(api, part):
    body = write_file(api, part) | {LIMITS.get(api, "max_tokens"): 100}
    if api == "gemini":
        body = write_file(api, part) | {"generationConfig": {"maxOutputTokens": 100}}
    service, (answer,), _ = ask(api, [body], SpendBudget(tokens=100_000))

    assert (answer.status, service.bodies) == (429, [])
    assert b"it names a file by its address" in answer.body
    service, (answer,), _ = ask(api, [body], SpendBudget(tokens=1_100_000))
    assert answer.status == 200
    assert service.total > 1_000_000


def test_a_file_for_a_model_of_another_api_reserves_the_window():
    body = {**write_file("messages", BY_URL), "max_tokens": 100}
    budget = SpendBudget(tokens=100_000)
    service, (answer,), _ = ask("messages", [body], budget, MODELS["responses"])
    assert (answer.status, service.bodies) == (429, [])


def test_a_picture_elsewhere_reserves_no_window():
    """Services limit the size of a picture, wherever it is."""
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    body = {**write_file("messages", picture), "max_tokens": 100}
    _, (answer,), _ = ask("messages", [body], SpendBudget(tokens=6_000))
    assert answer.status == 200


def test_a_text_in_a_document_is_counted_by_its_length():
    source = {"type": "text", "media_type": "text/plain", "data": "word " * 40_000}
    body = {**write_file("messages", {"type": "document", "source": source}), "max_tokens": 100}
    service, (answer,), _ = ask("messages", [body], SpendBudget(tokens=20_000))
    assert (answer.status, service.bodies) == (429, [])


# -- OpenRouter: what a name or a preset adds ----------------------------------------------------

ONLINE = "openrouter:openai/gpt-5.5:online"


@pytest.mark.parametrize("api", ["chat", "messages", "responses"])
def test_a_model_whose_name_asks_for_a_search_reserves_the_window(api):
    body = {LIMITS[api]: 2000}
    service, (answer,), _ = ask(api, [body], SpendBudget(tokens=100_000), ONLINE)
    assert (answer.status, service.bodies) == (429, [])
    assert b":online: the service runs it itself" in answer.body

    free, (answer,), _ = ask(api, [body], SpendBudget(tokens=1_200_000), ONLINE)
    assert answer.status == 200
    assert free.total > 1_050_000
    service, _, _ = ask(api, [body], SpendBudget(tokens=free.total - 1), ONLINE)
    assert service.total < free.total


@pytest.mark.parametrize("extra", [{}, {"n": 2}], ids=["one answer", "two answers"])
def test_a_preset_is_left_out_where_rules_hold(extra):
    body = {"preset": "expensive", "max_tokens": 2000, **extra}
    budget = SpendBudget(tokens=3_000_000)
    service, (answer,), _ = ask("chat", [body], budget, ONLINE)
    assert answer.status == 200, answer
    assert "preset" not in service.bodies[0]
    assert "dropped_parameter:preset" in answer.headers["x-pondero-adjustments"]


@pytest.mark.parametrize("name", ["@preset/deep", "openai/gpt-5.5@preset/deep"])
def test_a_preset_in_a_name_is_rejected_where_rules_hold(name):
    key = GatewayKey("ci", hash_key("the-key"), budget=SpendBudget(tokens=3_000_000))
    service = GenerousService()
    app = App(GatewayContext(GatewayConfig(keys=(key,), open=frozenset({"openrouter"})), service))
    headers = {"authorization": "Bearer the-key", "content-type": "application/json"}
    asked = {"model": f"openrouter:{name}", "messages": [{"role": "user", "content": "Hi"}]}
    url, body = "http://gateway/v1/chat/completions", json.dumps(asked).encode()
    answer = asyncio.run(came(app, HttpRequest("POST", url, headers, body)))

    assert (answer.status, service.bodies) == (403, [])
    assert b"preset" in answer.body
