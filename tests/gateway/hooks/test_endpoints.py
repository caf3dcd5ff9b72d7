"""Endpoints whose texts no hook sees: closed to the clients of a hook that has to see all."""

import asyncio

import httpx
import pytest
from tests.gateway.asgi import came
from tests.gateway.recorder import Recorder
from tests.gateway.requests.test_endpoint_laws import CALLS, make_call

from pondero.canon import HttpRequest
from pondero.gateway import Hook, Reject
from pondero.gateway.config.model import (
    EndpointRoute,
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    HookConfig,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext


class Guard(Hook):
    """Has to see every text."""

    def on_request(self, call, /) -> None:
        return None


class Refuser(Hook):
    def on_request(self, call, /) -> Reject:
        return Reject("no")


class Cache(Guard):
    sees_all = False


def _hook(name: str, **settings) -> HookConfig:
    return HookConfig(use=f"{__name__}:{name}", name="the guard", **settings)


def _ask(hook: HookConfig, http: HttpRequest, *, key: str = "plain", routes=(), names=()):
    """Return the answer to a request, and what left for a service."""
    service = Recorder()
    places = ("openai", "anthropic", "google", "cohere", "ollama")
    config = GatewayConfig(
        routes=routes,
        keys=(
            GatewayKey("plain", hash_key("pnd_plain"), account_state=True),
            GatewayKey("named", hash_key("pnd_named"), account_state=True, endpoints=names),
        ),
        open=frozenset() if routes else frozenset(places),
        endpoints=tuple(EndpointRoute("*", name) for name in places),
        hooks=(hook,),
    )
    context = GatewayContext(config, service)
    headers = {**http.headers, "authorization": f"Bearer pnd_{key}", "host": "127.0.0.1"}
    sent = HttpRequest(http.method, http.url, headers, http.body)
    answer = asyncio.run(came(App(context), sent))
    context.close_hooks()
    return answer, service.bodies


def _write(method: str, path: str, **more) -> HttpRequest:
    made = httpx.Request(method, f"http://127.0.0.1{path}", **more)
    return HttpRequest(method, str(made.url), dict(made.headers), made.read())


@pytest.mark.parametrize(("row", "call"), CALLS, ids=lambda each: getattr(each, "name", each))
def test_no_endpoint_carries_a_text_past_a_hook_unless_the_key_names_it(row, call):
    method, path, more = make_call(row, call)
    http = _write(method, path, **more)

    answer, sent = _ask(_hook("Guard"), http)
    if http.method in ("GET", "DELETE"):
        assert (answer.status, len(sent)) == (400, 1)  # nothing but ids goes there
    else:
        assert (answer.status, sent) == (403, [])
        assert b"the guard" in answer.body
        assert row.name.encode() in answer.body

    for hook, key in ((_hook("Guard"), "named"), (_hook("Cache"), "plain")):
        answer, sent = _ask(hook, http, key=key, names=(row.name,))
        assert (answer.status, len(sent)) == (400, 1)


def _embed(model: str = "alias") -> HttpRequest:
    return _write("POST", "/v1/embeddings", json={"model": model, "input": "hi"})


ROUTES = (
    GatewayRoute(match="alias", to=("openai:text-embedding-3-small",)),
    GatewayRoute(match="other", to=("openai:text-embedding-3-small",)),
)


@pytest.mark.parametrize(
    ("settings", "is_closed"),
    [
        ({"routes": ("alias",)}, True),
        ({"routes": ("other",)}, False),
        ({"keys": ("plain",)}, True),
        ({"keys": ("batch-*",)}, False),
        ({"routes": ("a*",), "keys": ("pl*",)}, True),
    ],
)
def test_a_hook_closes_the_endpoints_of_its_routes_and_keys_alone(settings, is_closed):
    answer, sent = _ask(_hook("Guard", **settings), _embed(), routes=ROUTES)
    assert (answer.status, len(sent)) == ((403, 0) if is_closed else (400, 1))


EMBEDDERS = ("text-embedding-3-small", "openai:text-embedding-3-small", "Text-Embedding-3-Small")


@pytest.mark.parametrize("model", EMBEDDERS)
def test_a_hook_of_a_model_without_a_route_knows_it_by_each_of_its_names(model):
    hook = _hook("Guard", routes=("text-embedding-*",))
    answer, sent = _ask(hook, _embed(model))
    assert (answer.status, sent) == (403, [])


NAMES = ("claude-opus-5", "anthropic:claude-opus-5", "Claude-Opus-5", "claude-opus-5/high")


@pytest.mark.parametrize("route", ["claude-*", "anthropic:claude-*"])
@pytest.mark.parametrize("model", NAMES)
def test_no_name_of_a_model_goes_around_a_hook(model, route):
    said = [{"role": "user", "content": "hi"}]
    body = {"model": model, "max_tokens": 9_000, "messages": said}

    answer, sent = _ask(
        _hook("Refuser", routes=(route,)), _write("POST", "/v1/messages", json=body)
    )

    assert (answer.status, sent) == (403, [])


def test_a_request_without_a_model_may_be_for_the_route_of_any_hook():
    http = _write("POST", "/v1/moderations", json={"input": "hi"})
    answer, left = _ask(_hook("Guard", routes=("opus",)), http)
    assert (answer.status, left) == (403, [])


def test_a_body_does_not_pass_a_hook_with_a_method_that_needs_none():
    http = _write("DELETE", "/v1/files/file-1", json={"input": "hi"})
    answer, left = _ask(_hook("Guard"), http)
    assert (answer.status, left) == (403, [])
