"""A request to an endpoint asks no model but those that the rules of its key and route allow."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.gateway.endpoint_gateway import GROUPS, make_gateway_key, secret, serving
from tests.gateway.endpoint_service import Served, serving_endpoints, until

from pondero.gateway.config.model import EndpointRoute, RateLimitRule, SpendBudget

KEYS = (
    make_gateway_key("plain"),
    make_gateway_key("models", models=("text-*", "gpt-image-*", "openrouter*", "gpt-6-sol")),
    make_gateway_key("limited", limit=RateLimitRule(requests=900, per="hour")),
    make_gateway_key("budget", budget=SpendBudget(tokens=20_000), endpoints=("images",)),
)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    endpoints = (EndpointRoute("*", "openai"),)
    with (
        serving_endpoints() as service,
        serving(service, keys=KEYS, endpoints=endpoints, groups=GROUPS) as found,
        httpx.Client(base_url=found.url, timeout=60) as http,
    ):
        found.http = http
        yield found


@pytest.fixture(autouse=True)
def _fresh(gateway) -> None:
    gateway.service.reset()
    gateway.seen.clear()


def ask(gateway: Any, path: str, key: str, **more: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {secret(key)}"}
    return gateway.http.post(path, headers=headers, **more)


EMBED = {"model": "text-embedding-3-small", "input": "hi"}


@pytest.mark.parametrize("key", ["models", "limited"])
@pytest.mark.parametrize(
    "more",
    [
        {"models": ["openai/gpt-6-sol-pro"]},
        {"Models": ["openai/gpt-6-sol-pro"]},
        {"fallbacks": [{"model": "x"}]},
        {"preset": "mine"},
        {"compound_custom": {"models": {"answering_model": "x"}}},
        {"plugins": [{"id": "fusion"}]},
    ],
    ids=str,
)
def test_fields_that_ask_other_models_do_not_leave_under_rules(gateway, key, more):
    answer = ask(gateway, "/v1/embeddings", key, json=EMBED | more)
    assert answer.status_code == 403
    assert next(iter(more)).lower().partition("_")[0] in answer.json()["error"]["message"]
    assert gateway.service.asked == []
    assert ask(gateway, "/v1/embeddings", "plain", json=EMBED | more).status_code == 200
    assert json.loads(gateway.service.asked[0].body) == EMBED | more


def test_a_field_that_is_there_twice_is_seen(gateway):
    body = json.dumps(EMBED)[:-1] + ', "models": ["x"], "models": null}'
    answer = ask(gateway, "/v1/embeddings", "models", content=body)
    assert answer.status_code == 400
    assert gateway.service.asked == []


@pytest.mark.parametrize("model", ["openrouter/fusion", "openrouter:@preset/mine"])
def test_a_preset_is_no_model_of_a_list(gateway, model):
    answer = ask(gateway, "/v1/embeddings", "models", json=EMBED | {"model": model})
    assert answer.status_code == 403
    assert gateway.service.asked == []


SVG = {"model": "gpt-image-2", "prompt": "a cat", "output_format": "svg"}


@pytest.mark.parametrize(("author", "status"), [("gpt-6-sol", 200), ("gpt-6-sol-pro", 403)])
@pytest.mark.parametrize("name", ["svg", "SVG"])
def test_the_model_that_writes_an_svg_is_of_the_keys_list(gateway, author, status, name):
    body = SVG | {name: {"model": author}}
    answer = ask(gateway, "/v1/images/generations", "models", json=body)
    assert answer.status_code == status, answer.text
    assert len(gateway.service.asked) == (status == 200)
    assert ask(gateway, "/v1/images/generations", "plain", json=body).status_code == 200


@pytest.mark.parametrize("name", ["svg", "svg[model]", "svg.model", "Svg[model]"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_form_names_no_further_model(gateway, name, order):
    value = '{"model": "gpt-6-sol-pro"}' if name == "svg" else "gpt-6-sol-pro"
    fields = {"model": SVG["model"], "prompt": "x", name: value}
    parts = [(each, (None, text)) for each, text in fields.items()]
    parts.append(("image", ("a.png", b"abc")))
    answer = ask(gateway, "/v1/images/edits", "models", files=parts[::order])
    assert answer.status_code in (400, 403)
    assert gateway.service.asked == []
    assert ask(gateway, "/v1/images/edits", "plain", files=parts[::order]).status_code == 200


def test_what_the_author_of_an_svg_used_is_counted(gateway):
    usage = {"input_tokens": 9, "output_tokens": 100, "total_tokens": 109}
    author = {"input_tokens": 1000, "output_tokens": 5000, "total_tokens": 6000, "model": "a"}
    answer = json.dumps({"created": 1, "data": [], "usage": usage, "svg_usage": author})
    gateway.service.answer = lambda _: Served(200, "application/json", answer.encode())
    assert ask(gateway, "/v1/images/generations", "budget", json=SVG).status_code == 200
    until(lambda: gateway.seen)
    (row,) = gateway.seen
    assert (row.usage.input, row.usage.output) == (1009, 5100)
    assert row.usage.media.output_image == 100
