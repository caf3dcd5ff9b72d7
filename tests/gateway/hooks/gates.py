"""A gateway with hooks, in process, and the library as its client on any API."""

import asyncio
import json
from collections.abc import AsyncIterator

from tests.gateway.asgi import came
from tests.gateway.upstream import Upstream

from pondero.canon import HttpRequest, ResponseHead
from pondero.exchange import Timeouts
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, HookConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

FRONTS = {
    "anthropic": "anthropic:claude-opus-5",
    "openai_responses": "openai:gpt-5.5",
    "openai_chat": "deepseek:deepseek-v4-flash",
    "gemini": "google:gemini-3-flash-preview",
    "gemini_interactions": "google-interactions:gemini-3-flash-preview",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "ollama": "ollama:qwen3",
}
"""A model whose own API each client speaks; the gateway asks another."""


class Gate:
    """A gateway on the strict emulator: what it was asked, and its records."""

    def __init__(
        self,
        *hooks: HookConfig,
        to: str = "anthropic:claude-opus-5",
        keys: tuple[GatewayKey, ...] = (),
    ) -> None:
        self.upstream = Upstream()
        self.receipts: list[Receipt] = []
        routes = (GatewayRoute(match="*", to=(to,)),)
        config = GatewayConfig(routes=routes, hooks=hooks, keys=keys)
        self.context = GatewayContext(config, self.upstream, observers=(self.receipts.append,))
        self.app = App(self.context)

    def ask(self, http: HttpRequest):
        return asyncio.run(came(self.app, http))

    def post(self, path: str, body: dict[str, object], *, key: str = ""):
        """Return the answer to a request of a key with this name."""
        return asyncio.run(came(self.app, make_post(path, body, key=key)))


def make_key(name: str, **rules) -> GatewayKey:
    return GatewayKey(name, hash_key(f"pnd_{name}"), **rules)


def make_post(path: str, body: dict[str, object], *, key: str = "") -> HttpRequest:
    sent = {"content-type": "application/json", "host": "127.0.0.1"}
    if key:
        sent["authorization"] = f"Bearer pnd_{key}"
    return HttpRequest("POST", f"http://127.0.0.1{path}", sent, json.dumps(body).encode())


class Through:
    """A transport of the library whose services are all this gateway."""

    needs_key = False

    def __init__(self, app: App) -> None:
        self._app = app

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "_Answer":
        return _Answer(await came(self._app, request))

    async def aclose(self) -> None:
        """Nothing is open."""


class _Answer:
    def __init__(self, answer) -> None:
        self.head = ResponseHead(answer.status, answer.headers)
        self._body = answer.body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body

    async def aclose(self) -> None:
        """Nothing is open."""
