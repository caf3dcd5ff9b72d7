"""What endpoints and sockets cost that read or make sound, pictures and films."""

import json
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from tests.gateway.endpoint_gateway import make_gateway_key, secret, serving
from tests.gateway.endpoint_service import WAIT, Served, serving_endpoints, until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from pondero.gateway.config.model import SpendBudget

pytest.importorskip("genai_prices")

MILLION = 1_000_000
LIVE = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
REALTIME = "/v1/realtime?model=gpt-realtime"
EMBED = "/v1beta/models/gemini-embedding-2:embedContent"
CREATE = json.dumps({"type": "response.create"})
KEYS = (
    make_gateway_key("free"),
    make_gateway_key("money", budget=SpendBudget(cost=0.5), endpoints=("realtime", "embeddings")),
    make_gateway_key("few", budget=SpendBudget(tokens=3_000), endpoints=("embeddings",)),
    make_gateway_key("cents", budget=SpendBudget(cost=0.01), endpoints=("embeddings",)),
)


@pytest.fixture
def gateway() -> Iterator[Any]:
    with serving_endpoints() as service, serving(service, keys=KEYS) as found:
        yield found


def send(gateway: Any, path: str, answer: Any, key: str = "free", **body: Any) -> httpx2.Response:
    gateway.service.answer = lambda _: Served(200, "application/json", json.dumps(answer).encode())
    headers = {"authorization": f"Bearer {secret(key)}", "x-goog-api-key": secret(key)}
    headers |= body.pop("headers", {})
    return httpx2.post(f"{gateway.url}{path}", headers=headers, trust_env=False, **body)


def cost(gateway: Any, number: int = 1) -> Decimal:
    until(lambda: len(gateway.seen) >= number)
    return gateway.seen[number - 1].cost


def opened(gateway: Any, key: str, path: str = REALTIME) -> Any:
    url = f"ws{gateway.url.removeprefix('http')}{path}"
    headers = {"authorization": f"Bearer {secret(key)}"}
    return connect(url, proxy=None, open_timeout=WAIT, additional_headers=headers)


# -- one answer ------------------------------------------------------------------------------------

USAGE: dict[str, Any] = {
    "input_tokens": 100,
    "output_tokens": 1_000,
    "total_tokens": 1_100,
    "input_tokens_details": {"image_tokens": 40, "text_tokens": 60},
}


@pytest.mark.parametrize(
    ("details", "dollars"),
    [
        ({"output_tokens_details": {"image_tokens": 900, "text_tokens": 100}}, 900 * 32 + 100 * 10),
        ({}, 1_000 * 32),  # a service that does not say it made a picture
    ],
)
def test_a_picture_costs_what_pictures_cost(gateway, details, dollars):
    answer = {"created": 1, "data": [{"b64_json": "aGk="}], "usage": {**USAGE, **details}}
    asked = {"model": "gpt-image-1.5", "prompt": "a cat"}
    assert send(gateway, "/v1/images/generations", answer, json=asked).status_code == 200
    assert cost(gateway) == Decimal(60 * 5 + 40 * 8 + dollars) / MILLION


@pytest.mark.parametrize("says", [True, False])
def test_a_transcript_costs_what_its_sound_costs(gateway, says):
    details = {"input_token_details": {"audio_tokens": 90, "text_tokens": 10}} if says else {}
    usage = {"type": "tokens", "input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    answer = {"text": "hello", "usage": {**usage, **details}}
    form = {"data": {"model": "gpt-4o-transcribe"}, "files": {"file": ("a.wav", b"RIFF")}}
    assert send(gateway, "/v1/audio/transcriptions", answer, **form).status_code == 200
    sound = 90 if says else 100
    expected = sound * 6 + (100 - sound) * Decimal("2.5") + 10 * 10
    assert cost(gateway) == expected / MILLION


def test_an_embedding_costs_what_its_media_cost(gateway):
    details = [{"modality": "VIDEO", "tokenCount": 70}, {"modality": "TEXT", "tokenCount": 30}]
    usage = {"promptTokenCount": 100, "promptTokensDetails": details}
    answer = {"embedding": {"values": [0.5]}, "usageMetadata": usage}
    asked = {"content": {"parts": [{"text": "hi"}]}}
    assert send(gateway, EMBED, answer, json=asked).status_code == 200
    assert cost(gateway) == (70 * 12 + 30 * Decimal("0.2")) / MILLION


IMAGE = "data:image/png;base64,iVBORw0KGgo="
PICTURED = [
    {"images": [IMAGE]},
    {"inputs": [{"content": [{"type": "image_url", "image_url": {"url": IMAGE}}]}]},
]


@pytest.mark.parametrize("asked", PICTURED)
@pytest.mark.parametrize(
    ("units", "tokens"),
    [
        ({"images": 1, "image_tokens": 1_610}, 1_610),
        ({"input_tokens": 0, "image_tokens": 1_610}, 1_610),
        ({"input_tokens": 3, "image_tokens": 1_610}, 1_613),
    ],
)
def test_an_embedded_picture_counts_beside_the_text(gateway, asked, units, tokens):
    answer = {"id": "c", "embeddings": {"float": [[0.5]]}, "meta": {"billed_units": units}}
    body = {"model": "embed-v4.0", "input_type": "image", "embedding_types": ["float"], **asked}
    statuses = [
        send(gateway, "/v2/embed", answer, key="few", json=body).status_code for _ in range(3)
    ]
    assert statuses == [200, 200, 429]
    until(lambda: len(gateway.seen) == 3)
    assert [each.usage.known_total for each in gateway.seen] == [tokens, tokens, 0]


@pytest.mark.parametrize("field", ["inlineData", "inline_data", "inl\\u0069neData"])
def test_a_small_picture_reserves_the_most_that_it_can_use(gateway, field):
    """A picture of one colour has few bytes, and as many tokens as any."""
    begin, end = '{"content": {"parts": [', "]}}"
    part = f'{{"{field}": {{"mimeType": "image/png", "data": "iVBORw0KGgo="}}}}'
    answer = {"embedding": {"values": [0.5]}, "usageMetadata": {"promptTokenCount": 1}}
    asking = {"key": "few", "headers": {"content-type": "application/json"}}
    assert send(gateway, EMBED, answer, content=begin + part + end, **asking).status_code == 429
    assert gateway.service.asked == []
    text = begin + '{"text": "hi"}' + end
    assert send(gateway, EMBED, answer, content=text, **asking).status_code == 200


@pytest.mark.parametrize(
    ("part", "status"),
    [
        ({"text": "a" * 4_000}, 200),  # a token of it costs 0.2 dollars for a million
        ({"inlineData": {"mimeType": "video/mp4", "data": "a" * 4_000}}, 429),
        ({"inline_data": {"mime_type": "video/mp4", "data": "a" * 4_000}}, 429),
    ],
)
def test_an_embedding_with_media_reserves_their_price(gateway, part, status):
    answer = {"embedding": {"values": [0.5]}, "usageMetadata": {"promptTokenCount": 1}}
    asked = {"content": {"parts": [part]}}
    assert send(gateway, EMBED, answer, "cents", json=asked).status_code == status
    assert len(gateway.service.asked) == (status == 200)


# -- sockets ---------------------------------------------------------------------------------------

SPOKEN = {
    "total_tokens": 3_000,
    "input_tokens": 2_000,
    "output_tokens": 1_000,
    "input_token_details": {
        "cached_tokens": 500,
        "text_tokens": 400,
        "audio_tokens": 1_600,
        "cached_tokens_details": {"text_tokens": 100, "audio_tokens": 400},
    },
    "output_token_details": {"text_tokens": 200, "audio_tokens": 800},
}
ANSWER_COST = (Decimal(300 * 4 + 1_200 * 32 + 200 * 16 + 800 * 64) + 500 * Decimal("0.4")) / MILLION


def speak(usage: Any) -> Any:
    async def answer(message: Any, send: Any) -> None:
        if json.loads(message)["type"] != "response.create":
            return
        begun = {"type": "response.created", "response": {"id": "r"}}
        ended = {"type": "response.done", "response": {"id": "r", "usage": usage}}
        for event in (begun, ended) if usage is not None else (begun,):
            await send({"type": "websocket.send", "text": json.dumps(event)})

    return answer


def finish_answer(client: Any, kind: str = "response.done") -> None:
    while json.loads(client.recv(WAIT))["type"] != kind:
        pass


def test_an_answer_of_a_socket_costs_what_its_sound_costs(gateway):
    gateway.service.speak = speak(SPOKEN)
    with opened(gateway, "free") as client:
        for _ in range(2):
            client.send(CREATE)
            finish_answer(client)
    assert cost(gateway) == 2 * ANSWER_COST
    (row,) = gateway.seen
    assert (row.usage.input, row.usage.cache_read, row.usage.output) == (3_000, 1_000, 2_000)


def test_an_answer_of_a_socket_without_details_was_sound(gateway):
    gateway.service.speak = speak({"input_tokens": 100, "output_tokens": 50})
    with opened(gateway, "free") as client:
        client.send(CREATE)
        finish_answer(client)
    assert cost(gateway) == Decimal(100 * 32 + 50 * 64) / MILLION


def test_an_answer_that_is_left_costs_what_that_much_sound_costs(gateway):
    gateway.service.speak = speak(None)
    with opened(gateway, "free") as client:
        client.send(CREATE)
        finish_answer(client, "response.created")
    assert cost(gateway) >= Decimal(4_096 * 64) / MILLION
    assert gateway.seen[0].estimated


def test_a_socket_exceeds_a_cost_budget_by_one_answer_at_most(gateway):
    gateway.service.speak = speak(SPOKEN)
    answered = 0
    with suppress(ConnectionClosed), opened(gateway, "money") as client:
        for _ in range(50):
            client.send(CREATE)
            finish_answer(client)
            answered += 1
    assert Decimal("0.5") - ANSWER_COST <= answered * ANSWER_COST <= Decimal("0.5") + ANSWER_COST
    assert cost(gateway) == answered * ANSWER_COST


def test_a_live_turn_costs_what_its_media_cost(gateway):
    usage = {
        "promptTokenCount": 300,
        "responseTokenCount": 50,
        "promptTokensDetails": [
            {"modality": "AUDIO", "tokenCount": 100},
            {"modality": "VIDEO", "tokenCount": 150},
            {"modality": "TEXT", "tokenCount": 50},
        ],
        "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": 50}],
    }

    async def answer(message: Any, send: Any) -> None:
        turn = {"serverContent": {"turnComplete": True}, "usageMetadata": usage}
        event = turn if "clientContent" in message else {"setupComplete": {}}
        await send({"type": "websocket.send", "text": json.dumps(event)})

    gateway.service.speak = answer
    turn = {"turns": [{"role": "user", "parts": [{"text": "hi"}]}], "turnComplete": True}
    with opened(gateway, "free", LIVE) as client:
        client.send(json.dumps({"setup": {"model": "models/gemini-3.1-flash-live-preview"}}))
        client.recv(WAIT)
        client.send(json.dumps({"clientContent": turn}))
        client.recv(WAIT)
    expected = 100 * 3 + 150 * 1 + 50 * Decimal("0.75") + 50 * 12
    assert cost(gateway) == expected / MILLION
