"""The cost of conversations with sound and pictures: as the service bills it, and never less."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.quotas.media_files import mp3

from pondero.canon import HttpRequest, ResponseHead
from pondero.errors import Unreachable
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.observability.request_row import load_requests
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

pytest.importorskip("genai_prices")

KEY = GatewayKey("ci", hash_key("the-key"))
MILLION = 1_000_000
PICTURE = "google:gemini-2.5-flash-image"
SPEECH = "openai-chat:gpt-audio"
PROMPT, ANSWER = 1_000, 1_290
USER = [{"role": "user", "content": "Draw a cat."}]
CONTENTS = [{"role": "user", "parts": [{"text": "Draw a cat."}]}]
PATHS = {
    "gemini": "/v1beta/models/{}:generateContent",
    "gemini-stream": "/v1beta/models/{}:streamGenerateContent?alt=sse",
    "chat": "/v1/chat/completions",
    "interactions": "/v1beta/interactions",
}


class Service:
    """A service with one answer; ``cut``: it breaks off after its pieces."""

    needs_key = False

    def __init__(self, make: Callable[[Any], list[bytes]], *, cut: bool = False) -> None:
        self.bodies: list[Any] = []
        self._make, self._cut = make, cut
        self.head = ResponseHead(200, {"content-type": "application/json"})
        self._pieces: list[bytes] = []

    async def send(self, request: HttpRequest, timeouts: object) -> "Service":
        self.bodies.append(json.loads(request.body))
        self._pieces = self._make(self.bodies[-1])
        kind = "text/event-stream" if self._pieces[0].startswith(b"data:") else "application/json"
        self.head = ResponseHead(200, {"content-type": kind})
        return self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._cut:
            raise Unreachable("the connection broke")

    async def aclose(self) -> None:
        """Nothing is open."""


class Asked(NamedTuple):
    answers: list[Came]
    receipts: list[Receipt]

    @property
    def cost(self) -> Decimal:
        (receipt,) = self.receipts
        assert receipt.cost is not None
        return receipt.cost


def ask(
    service: Service, api: str, model: str, body: Any, key: GatewayKey = KEY, times: int = 1
) -> Asked:
    receipts: list[Receipt] = []
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(model,)),), keys=(key,))
    app = App(GatewayContext(config, service, observers=[receipts.append]))
    headers = {"authorization": "Bearer the-key", "content-type": "application/json"}
    url = f"http://gateway{PATHS[api].format('any')}"
    named = body if "gemini" in api else {"model": "any", **body}
    http = HttpRequest("POST", url, headers, json.dumps(named).encode())

    async def run() -> list[Came]:
        return [await came(app, http) for _ in range(times)]

    return Asked(asyncio.run(run()), receipts)


def gemini_answer(image: int, text: int = 0, prompt: int = PROMPT, **more: Any) -> Any:
    """An answer of Gemini: one picture with its tokens."""
    inline = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    details = [("TEXT", text), ("IMAGE", image)]
    usage = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": image + text,
        "totalTokenCount": prompt + image + text,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
        "candidatesTokensDetails": [
            {"modality": name, "tokenCount": count} for name, count in details if count
        ],
        **more,
    }
    candidate = {"content": {"role": "model", "parts": [inline]}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "x"}


def draw(body: Any) -> list[bytes]:
    return [json.dumps(gemini_answer(ANSWER)).encode()]


def draw_stream(body: Any) -> list[bytes]:
    last = gemini_answer(ANSWER)
    first = json.loads(json.dumps(last))
    del first["candidates"][0]["finishReason"]
    last["candidates"][0]["content"]["parts"] = [{"text": ""}]
    return [b"data: " + json.dumps(each).encode() + b"\n\n" for each in (first, last)]


def chat_answer(stream: bool) -> Callable[[Any], list[bytes]]:
    usage = {
        "prompt_tokens": 1_000,
        "completion_tokens": 500,
        "total_tokens": 1_500,
        "prompt_tokens_details": {"audio_tokens": 600, "cached_tokens": 0},
        "completion_tokens_details": {"audio_tokens": 400, "reasoning_tokens": 0},
    }
    audio = {"id": "audio_1", "data": "aGk=", "transcript": "Hi.", "expires_at": 9}
    base = {"id": "c1", "created": 1, "model": "gpt-audio", "object": "chat.completion"}

    def make(body: Any) -> list[bytes]:
        said: dict[str, Any] = {"role": "assistant", "content": None, "audio": audio}
        if not stream:
            choice = {"index": 0, "message": said, "finish_reason": "stop"}
            return [json.dumps({**base, "choices": [choice], "usage": usage}).encode()]
        choice = {"index": 0, "delta": said, "finish_reason": "stop"}
        chunks = [{**base, "choices": [choice]}, {**base, "choices": [], "usage": usage}]
        texts = [json.dumps({**each, "object": "chat.completion.chunk"}) for each in chunks]
        return [f"data: {each}\n\n".encode() for each in (*texts, "[DONE]")]

    return make


@pytest.mark.parametrize(("api", "make"), [("gemini", draw), ("gemini-stream", draw_stream)])
def test_a_picture_in_a_conversation_costs_what_pictures_cost(api, make):
    found = ask(Service(make), api, PICTURE, {"contents": CONTENTS})
    assert found.cost == (PROMPT * Decimal("0.3") + ANSWER * 30) / MILLION
    (receipt,) = found.receipts
    assert (receipt.usage.input, receipt.usage.output) == (PROMPT, ANSWER)
    assert not receipt.estimated
    (row,) = load_requests(found.receipts)  # as the ledger has it
    assert Decimal(row.cost or 0) == found.cost
    assert (row.input, row.answer) == (PROMPT, ANSWER)


def test_a_picture_costs_the_same_for_a_client_of_another_api():
    found = ask(Service(draw), "chat", PICTURE, {"messages": USER})
    assert found.cost == (PROMPT * Decimal("0.3") + ANSWER * 30) / MILLION
    usage = json.loads(found.answers[0].body)["usage"]
    assert (usage["prompt_tokens"], usage["total_tokens"]) == (PROMPT, PROMPT + ANSWER)


def test_a_client_of_gemini_reads_how_much_of_another_apis_answer_was_sound():
    found = ask(Service(chat_answer(stream=False)), "gemini", SPEECH, {"contents": CONTENTS})
    usage = json.loads(found.answers[0].body)["usageMetadata"]
    assert (usage["promptTokenCount"], usage["candidatesTokenCount"]) == (1_000, 500)
    assert usage["promptTokensDetails"] == [
        {"modality": "TEXT", "tokenCount": 400},
        {"modality": "AUDIO", "tokenCount": 600},
    ]
    assert usage["candidatesTokensDetails"] == [
        {"modality": "TEXT", "tokenCount": 100},
        {"modality": "AUDIO", "tokenCount": 400},
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_speech_in_a_conversation_costs_what_speech_costs(stream):
    body = {
        "messages": USER,
        "modalities": ["text", "audio"],
        "audio": {"voice": "alloy", "format": "wav"},
        "stream": stream,
        **({"stream_options": {"include_usage": True}} if stream else {}),
    }
    found = ask(Service(chat_answer(stream)), "chat", SPEECH, body)
    expected = 400 * Decimal("2.5") + 600 * 32 + 100 * 10 + 400 * 64
    assert found.cost == expected / MILLION


def test_an_interaction_costs_what_its_media_cost():
    def make(body: Any) -> list[bytes]:
        usage = {
            "total_input_tokens": 100,
            "total_output_tokens": 50,
            "total_thought_tokens": 5,
            "total_tokens": 155,
            "input_tokens_by_modality": [
                {"modality": "text", "tokens": 40},
                {"modality": "audio", "tokens": 60},
            ],
        }
        step = {"type": "model_output", "content": [{"type": "text", "text": "hi"}]}
        base = {"id": "v1_1", "object": "interaction", "model": "x", "status": "completed"}
        return [json.dumps({**base, "usage": usage, "steps": [step]}).encode()]

    model = "google-interactions:gemini-3-flash-preview"
    found = ask(Service(make), "interactions", model, {"input": "Hi"})
    assert found.cost == (40 * Decimal("0.5") + 60 + 55 * 3) / MILLION


def test_an_answer_that_breaks_off_costs_what_a_picture_of_that_length_costs():
    def make(body: Any) -> list[bytes]:
        first = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Here"}]}}]}
        return [b"data: " + json.dumps(first).encode() + b"\n\n"]

    body = {"contents": CONTENTS, "generationConfig": {"maxOutputTokens": 2_000}}
    found = ask(Service(make, cut=True), "gemini-stream", PICTURE, body)
    assert found.receipts[0].estimated
    assert Decimal(2_000 * 30) / MILLION <= found.cost < Decimal(2_000 * 31) / MILLION


def test_pictures_never_cost_more_than_a_budget():
    billed = Decimal(0)

    def make(body: Any) -> list[bytes]:
        nonlocal billed
        most = body["generationConfig"]["maxOutputTokens"]
        billed += Decimal(most * 30) / MILLION
        return [json.dumps(gemini_answer(most, prompt=1)).encode()]

    key = replace(KEY, budget=SpendBudget(cost=0.2))
    body = {"contents": CONTENTS, "generationConfig": {"maxOutputTokens": 4_000}}
    found = ask(Service(make), "gemini", PICTURE, body, key, times=6)
    assert [each.status for each in found.answers] == [200, 200, 429, 429, 429, 429]
    assert Decimal("0.12") < billed <= Decimal("0.2")


@pytest.mark.parametrize(("prompt", "status"), [("sound", 429), ("text", 200)])
def test_only_a_prompt_with_sound_reserves_the_price_of_sound(prompt, status):
    """Each may take about 250,000 tokens: 0.25 dollars as sound, 0.125 as text."""
    sound = {"inlineData": {"mimeType": "audio/mpeg", "data": b64encode(mp3(500)).decode()}}
    part = sound if prompt == "sound" else {"text": "word " * 160_000}
    body = {
        "contents": [{"role": "user", "parts": [part]}],
        "generationConfig": {"maxOutputTokens": 1_024},
    }
    key = replace(KEY, budget=SpendBudget(cost=0.2))
    service = Service(lambda _: [json.dumps(gemini_answer(0, text=5)).encode()])
    found = ask(service, "gemini", "google:gemini-3-flash-preview", body, key)
    assert found.answers[0].status == status
    assert len(service.bodies) == (status == 200)
