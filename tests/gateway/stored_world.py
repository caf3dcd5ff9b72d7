"""A gateway that keeps answers, in process, with the emulator or a service of a test behind it."""

import json
from collections.abc import Callable
from typing import Any

from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    ResponsesConfig,
    ServerConfig,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

BACKS = {
    "claude": "anthropic:claude-opus-5",
    "older claude": "anthropic:claude-sonnet-4-5",
    "gemini": "google:gemini-3-flash-preview",
    "deepseek": "deepseek:deepseek-v4-flash",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-6",
    "ollama": "ollama:qwen3",
    "chat": "openai-chat:gpt-5.5",
    "mistral": "mistral:mistral-medium-3-5",
    "openai": "openai:gpt-5.5",
    "gpt-6": "openai:gpt-6-sol",
}
KEYS = {"mine": "pnd_mine-0123456789", "other": "pnd_other-0123456789"}
TOOL = {
    "type": "function",
    "name": "read_note",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
}
CALL = 'What is in it? [emulator: call read_note {"name": "owl"}]'


class World:
    """A gateway with a route for each upstream; ``rows`` are its records."""

    def __init__(
        self,
        *,
        keys: tuple[GatewayKey, ...] = (),
        responses: ResponsesConfig | None = None,
        state: str = "memory",
        service: Any = None,
        routes: tuple[GatewayRoute, ...] | None = None,
    ) -> None:
        self.service: Any = service if service is not None else Emulator()
        self.rows: list[Receipt] = []
        usual = tuple(GatewayRoute(match=name, to=(to,), retries=0) for name, to in BACKS.items())
        config = GatewayConfig(
            server=ServerConfig(state=state),
            routes=routes or usual,
            keys=keys,
            responses=responses or ResponsesConfig(),
        )
        self.gateway = GatewayContext(config, self.service, observers=(self.rows.append,))
        self.app = App(self.gateway)

    async def aclose(self) -> None:
        await self.gateway.runs.aclose()
        if self.gateway.kept is not None:
            await self.gateway.kept.aclose()
        await self.gateway.shared.aclose()

    async def call(
        self, method: str, path: str, body: Any = None, key: str = "any"
    ) -> tuple[int, Any]:
        """Return status and JSON of an answer; its bytes if it is a stream."""
        found = await self.send(method, path, body, key)
        parsed = json.loads(found.body) if found.body.startswith(b"{") else found.body
        return found.status, parsed

    async def send(self, method: str, path: str, body: Any = None, key: str = "any") -> Came:
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        data = b"" if body is None else json.dumps(body).encode()
        return await came(
            self.app, HttpRequest(method, f"http://127.0.0.1/v1{path}", headers, data)
        )

    async def read(
        self, path: str, body: Any, on_piece: Callable[[bytes], None], key: str = "any"
    ) -> None:
        """Give the pieces of an answer to ``on_piece`` as they come."""
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        http = HttpRequest("POST", f"http://127.0.0.1/v1{path}", headers, json.dumps(body).encode())
        await came(self.app, http, on_piece=on_piece)

    async def ask(self, model: str, given: Any, key: str = "any", **more: Any) -> Any:
        """Return an answer, which must be there."""
        body = {"model": model, "input": given, "tools": [TOOL], **more}
        status, answer = await self.call("POST", "/responses", body, key)
        assert status == 200, answer
        return answer if isinstance(answer, dict) else read_stream(answer)[-1]["response"]

    @property
    def sent(self) -> Any:
        """Return the body of the last request to the service."""
        return self.service.log.entries[-1].body


def read_stream(data: bytes) -> list[Any]:
    """Return the events of a stream."""
    lines = data.split(b"\n")
    return [json.loads(line[5:]) for line in lines if line.startswith(b"data:")]


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": text}


def results(answer: Any) -> list[dict[str, Any]]:
    """Return the results of all calls in an answer."""
    return [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "The grey owl."}
        for item in answer["output"]
        if item["type"] == "function_call"
    ]


def make_keys(**more: Any) -> tuple[GatewayKey, ...]:
    return tuple(GatewayKey(name, hash_key(key), **more) for name, key in KEYS.items())
