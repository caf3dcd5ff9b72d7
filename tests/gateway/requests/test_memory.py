"""A request frees its memory when it ends, without waiting for the garbage collector."""

import asyncio
import gc
import json
import tracemalloc
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest, ResponseHead
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

PIECE = 1024 * 1024
MODELS = {
    "anthropic": ("anthropic:claude-opus-5", "text/event-stream", b"data: "),
    "openai": ("openai:gpt-5.5", "text/event-stream", b"data: "),
    "google": ("google:gemini-3-flash-preview", "text/event-stream", b"data: "),
    "array": ("google:gemini-3-flash-preview", "application/json", b'[{"a": "'),
    "ollama": ("ollama:qwen3", "application/x-ndjson", b'{"a": "'),
    "whole": ("openai:gpt-5.5", "application/json", b'{"a": "'),
}


class Endless:
    """A service whose answer is one frame that never ends."""

    needs_key = False

    def __init__(self, kind: str, begun: bytes) -> None:
        self.head = ResponseHead(200, {"content-type": kind})
        self._begun = begun
        self.sent = 0

    async def send(self, _request, _timeouts):
        return self

    async def _pieces(self) -> AsyncIterator[bytes]:
        yield self._begun
        while True:
            self.sent += PIECE
            yield b"x" * PIECE

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces()

    async def aclose(self) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", MODELS)
def test_a_frame_without_an_end_leaves_nothing_behind(kind, stream):
    model, content, begun = MODELS[kind]
    service = Endless(content, begun)
    config = GatewayConfig(ServerConfig(), (GatewayRoute(match="*", to=(model,), retries=1),))
    app = App(GatewayContext(config, service))
    ask = {"model": "any", "stream": stream, "max_tokens": 99}
    body = HttpRequest(
        "POST",
        "http://gateway/v1/messages",
        {"content-type": "application/json"},
        json.dumps({**ask, "messages": [{"role": "user", "content": "Hi"}]}).encode(),
    )

    async def asked() -> tuple[int, int, int]:
        status = (await came(app, body)).status
        await asyncio.sleep(0)
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        status = (await came(app, body)).status
        await asyncio.sleep(0)
        after, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return status, after - before, most

    status, left, most = asyncio.run(asked())
    assert status >= 400
    assert service.sent > 64 * PIECE  # it was read up to the limit
    assert most > 60 * PIECE  # and that was measured
    assert left < PIECE
