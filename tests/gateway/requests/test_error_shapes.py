"""A Chat client reads every upstream's error in the Chat API's own format, in streams too.

The errors are those that services are known to send (recordings and vendors' pages); the judge is
OpenAI's own client, which reads ``error.message`` and ``error.type`` or ``error.code``.
"""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest, ResponseHead
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

WORDS = "Unusable temperature: 9"
MODELS = {
    "openai-chat": "openai-chat:gpt-4.1",
    "groq": "groq:openai/gpt-oss-120b",
    "mistral": "mistral:mistral-medium-latest",
    "xai": "xai:grok-4",
    "cerebras": "cerebras:gpt-oss-120b",
    "openrouter": "openrouter:openai/gpt-5",
    "deepseek": "deepseek:deepseek-v4-flash",
    "anthropic": "anthropic:claude-opus-5",
    "google": "google:gemini-3-flash-preview",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "ollama": "ollama:qwen3",
    "openai": "openai:gpt-5.5",
}
NESTED = {"error": {"message": WORDS, "type": "invalid_request_error", "param": None, "code": None}}
ERRORS = {
    "nested": NESTED,
    "nested, no type": {"error": {"message": WORDS, "code": 400}},
    "string": {"code": "Client specified an invalid argument", "error": WORDS},
    "bare string": {"error": WORDS},
    "flat": {"message": WORDS, "type": "invalid_request_error", "param": "x", "code": "wrong"},
    "object": {
        "object": "error",
        "message": WORDS,
        "type": "invalid_request_error",
        "code": "3051",
    },
    "detail": {"detail": [{"type": "less_than", "loc": ["body", "temperature"], "msg": WORDS}]},
    "detail text": {"detail": WORDS},
    "anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": WORDS}},
    "gemini": {"error": {"code": 400, "message": WORDS, "status": "INVALID_ARGUMENT"}},
    "gemini list": [{"error": {"code": 400, "message": WORDS, "status": "INVALID_ARGUMENT"}}],
    "bedrock": {"message": WORDS},
}
CHAT = ("openai-chat", "groq", "mistral", "xai", "cerebras", "openrouter", "deepseek")
OWN = {"anthropic": "anthropic", "google": "gemini", "bedrock": "bedrock", "cohere": "bedrock"}
OWN |= {"ollama": "bare string", "openai": "nested"}
PAIRS = [*((name, shape) for name in CHAT for shape in ERRORS), *OWN.items()]


class Failing:
    """A transport whose answer is these pieces."""

    needs_key = False

    def __init__(self, status: int, kind: str, *pieces: bytes) -> None:
        self.head = ResponseHead(status, {"content-type": kind})
        self._pieces = pieces

    async def send(self, _request: HttpRequest, _timeouts: object) -> "Failing":
        return self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        """Nothing is open."""


def ask(back: str, service: Failing, *, stream: bool) -> Came:
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(MODELS[back],), retries=0),))
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}], "stream": stream}
    http = HttpRequest("POST", "http://gateway/v1/chat/completions", {}, json.dumps(body).encode())
    return asyncio.run(came(App(GatewayContext(config, service)), http))


def check_error(told: object) -> None:
    """Check an error as OpenAI's clients read it."""
    assert isinstance(told, dict)
    error = told["error"]
    assert error["message"] == WORDS or WORDS in error["message"]
    assert isinstance(error.get("type"), str) or error.get("code") is not None


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("back", "shape"), PAIRS)
def test_an_upstreams_error_has_the_chat_format(back, shape, stream):
    service = Failing(400, "application/json", json.dumps(ERRORS[shape]).encode())
    answer = ask(back, service, stream=stream)
    assert answer.status == 400
    check_error(json.loads(answer.body))


NO_EVENTS = {"gemini list", "bedrock"}  # these are not seen inside streams of the Chat API


def delta(text: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    event = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**event, "choices": [choice]}).encode() + b"\n\n"


@pytest.mark.parametrize("shape", [each for each in ERRORS if each not in NO_EVENTS])
@pytest.mark.parametrize("back", ["openai-chat", "mistral"])  # passed through, and translated
def test_an_error_inside_a_stream_has_the_chat_format(back, shape):
    failed = b"event: error\ndata: " + json.dumps(ERRORS[shape]).encode() + b"\n\n"
    service = Failing(200, "text/event-stream", delta("One."), delta("Two."), failed)
    answer = ask(back, service, stream=True)
    lines = [each[6:] for each in answer.body.decode().split("\n") if each.startswith("data: ")]
    events = [json.loads(each) for each in lines if each != "[DONE]"]
    assert answer.status == 200
    *said, last = events
    text = "".join(each["choices"][0]["delta"].get("content") or "" for each in said)
    assert text == "One.Two."
    check_error(last)
    assert "choices" not in last
