"""A gateway in front of the service with all endpoints, with keys of several kinds."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from tests.gateway.endpoint_service import KEY, serving_endpoints

from pondero.gateway.config.model import (
    EndpointRoute,
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    HookConfig,
    LevelRules,
    ProviderOverride,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.run import run_gateway_in_thread
from pondero.transport import FastTransport

PATHS = {
    "openai": "/v1",
    "mistral": "/v1",
    "anthropic": "",
    "google": "/v1beta",
    "google-interactions": "/v1beta",
    "cohere": "",
    "ollama": "",
    "llamacpp": "/v1",
}


def make_gateway_key(name: str, **rules: Any) -> GatewayKey:
    return GatewayKey(name=name, hash=hash_key(secret(name)), **rules)


def secret(name: str) -> str:
    return f"pnd_{name}".ljust(40, "0")


KEYS = (
    make_gateway_key("plain"),
    make_gateway_key("second"),
    make_gateway_key("account", account_state=True),
    make_gateway_key("capped", thinking=LevelRules(cap="low")),
    make_gateway_key("budget", budget=SpendBudget(tokens=1000)),
    make_gateway_key("money", budget=SpendBudget(cost=0.01)),
    make_gateway_key("limited", limit=RateLimitRule(requests=2, per="hour")),
    make_gateway_key("in-capped", group="capped"),
    make_gateway_key("in-budget", group="budget"),
    make_gateway_key("embeds", endpoints=("embeddings",)),
    make_gateway_key("none", endpoints=()),
    make_gateway_key("models", models=("text-embedding-*", "gpt-realtime")),
    make_gateway_key(
        "named",
        thinking=LevelRules(cap="low"),
        budget=SpendBudget(tokens=1000),
        endpoints=("realtime", "batches", "completions", "images", "files", "audio"),
    ),
)
GROUPS = (
    GatewayGroup("capped", thinking=LevelRules(cap="low")),
    GatewayGroup("budget", budget=SpendBudget(tokens=1000)),
)
ROUTES = (
    GatewayRoute(match="alias", to=("openai:text-embedding-3-small",)),
    GatewayRoute(match="whisper", to=("openai:whisper-1",)),
    GatewayRoute(match="rt", to=("openai:gpt-realtime",)),
    GatewayRoute(match="live", to=("google:gemini-live-x",)),
    GatewayRoute(match="g-embed", to=("google:gemini-embedding-001",)),
    GatewayRoute(match="capped", to=("openai:gpt-capped",), thinking=LevelRules(cap="low")),
    GatewayRoute(match="opus", to=("anthropic:claude-opus-5",)),
    GatewayRoute(match="opus-low", to=("anthropic:claude-opus-5",), thinking=LevelRules(cap="low")),
)


@contextmanager
def serving(
    service: Any,
    keys: tuple[GatewayKey, ...] = KEYS,
    routes: tuple[GatewayRoute, ...] = (),
    endpoints: tuple[EndpointRoute, ...] = (),
    groups: tuple[GatewayGroup, ...] = GROUPS,
    providers: tuple[str, ...] = ("openai", "anthropic", "google", "cohere", "ollama"),
    hooks: tuple[HookConfig, ...] = (),
    **server: Any,
) -> Iterator[SimpleNamespace]:
    """Serve in a thread; yield the address and the receipts."""
    seen: list[Any] = []
    config = GatewayConfig(
        ServerConfig(port=0, **server),
        routes,
        providers={
            name: ProviderOverride(
                url=f"{service.url}/{name}{PATHS[name]}",
                key=None if name in ("ollama", "llamacpp") else "env:TEST_PROVIDER_KEY",
            )
            for name in PATHS
        },
        keys=keys,
        groups=groups,
        open=frozenset() if routes else frozenset(providers),
        endpoints=endpoints,
        hooks=hooks,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_PROVIDER_KEY", KEY)
        with run_gateway_in_thread(
            config, transport=FastTransport(), observers=(seen.append,)
        ) as url:
            yield SimpleNamespace(url=url, seen=seen, service=service)


@contextmanager
def both(**more: Any) -> Iterator[SimpleNamespace]:
    """Serve the service and the gateway."""
    with serving_endpoints() as service, serving(service, **more) as gateway:
        yield gateway
