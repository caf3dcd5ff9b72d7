"""Answers that are all thinking: told in the client API's words, or asked for once more."""

import json
import re
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.canned import Canned
from tests.gateway.upstream import BACKS, Upstream

from pondero.canon import HttpRequest
from pondero.emulator import Fault
from pondero.gateway.answers import held_beginning
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

KEY = "pk-" + "a" * 40
SMALL = 60
"""Tokens of output, all of which the emulator thinks with at high."""
USER = [{"role": "user", "content": "What is 17 * 23?"}]
PARTS = [{"role": "user", "parts": [{"text": "What is 17 * 23?"}]}]
BLOCKS = [{"role": "user", "content": [{"text": "What is 17 * 23?"}]}]
FRONTS: dict[str, tuple[str, Any, str]] = {
    "messages": ("/v1/messages", lambda n: {"messages": USER, "max_tokens": n}, "max_tokens"),
    "responses": (
        "/v1/responses",
        lambda n: {"input": USER, "max_output_tokens": n},
        "max_output_tokens",
    ),
    "chat": (
        "/v1/chat/completions",
        lambda n: {"messages": USER, "max_completion_tokens": n},
        "length",
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        lambda n: {"contents": PARTS, "generationConfig": {"maxOutputTokens": n}},
        "MAX_TOKENS",
    ),
    "ollama": (
        "/api/chat",
        lambda n: {"messages": USER, "stream": False, "options": {"num_predict": n}},
        "length",
    ),
    "cohere": ("/v2/chat", lambda n: {"messages": USER, "max_tokens": n}, "MAX_TOKENS"),
    "converse": (
        "/model/m/converse",
        lambda n: {"messages": BLOCKS, "inferenceConfig": {"maxTokens": n}},
        "max_tokens",
    ),
    "interactions": (
        "/v1beta/interactions",
        lambda n: {"input": "What is 17 * 23?", "generation_config": {"max_output_tokens": n}},
        "incomplete",
    ),
}
"""By client API: its path, a request with an output limit, and its word for a cut answer."""
STREAMS = {
    "/v1beta/models/m:generateContent": "/v1beta/models/m:streamGenerateContent?alt=sse",
    "/model/m/converse": "/model/m/converse-stream",
}
"""The paths of client APIs that have another one for streams."""


FREE = LevelRules()


class Asked:
    """What came of one request, and what the service counted."""

    def __init__(
        self,
        front: str,
        back: str,
        *,
        on_exhausted: Any = "retry",
        limit: int = SMALL,
        thinking: LevelRules = FREE,
        key: GatewayKey | None = None,
        level: str = "high",
        stream: bool = False,
        show: Any = None,
        transport: Any = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        self.upstream = transport or Upstream()
        records: list[Receipt] = []
        name = BACKS[back].partition(":")[2] if more else "m"
        route = GatewayRoute(
            name, (BACKS[back],), thinking, retries=0, on_exhausted=on_exhausted, show=show
        )
        config = GatewayConfig(routes=(route,), keys=(key,) if key is not None else ())
        gateway = GatewayContext(config, self.upstream, observers=[records.append])
        path, make, self.word = FRONTS[front]
        body = {"model": name, **make(limit), **(more or {})}
        if stream and path in STREAMS:
            path = STREAMS[path]
        elif stream:
            body["stream"] = True
        path = path.replace("/m:", f"/{name}:")
        headers = {"x-api-key": KEY, "host": "127.0.0.1"}
        headers |= {} if more else {"x-pondero-thinking": level}
        http = HttpRequest("POST", f"http://127.0.0.1{path}", headers, json.dumps(body).encode())
        self.answer: Came = anyio.run(came, App(gateway), http)
        (self.record,) = records
        self.adjustments = self.answer.headers.get("x-pondero-adjustments", "")

    @property
    def calls(self) -> int:
        return len(self.upstream.requests)

    @property
    def wrote(self) -> int:
        """Return the tokens that the service wrote, in all its answers."""
        usages = [self.upstream.said(number).usage for number in range(self.calls)]
        return sum((usage.output or 0) + (usage.thinking or 0) for usage in usages)


class FailsLater(Upstream):
    """A service whose second answer fails."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self._fault = fault

    async def send(self, request, timeouts):
        if self.requests:
            self.emulator.faults.append(Fault.parse(self._fault))
        return await super().send(request, timeouts)


def read_kinds(body: bytes) -> list[str]:
    return [line for line in body.decode().split("\n") if line.startswith("event:")]


EFFORTS = ("opus", "gpt", "gemini")
"""Backs that think with all of their output at high."""


@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize("front", FRONTS)
def test_an_answer_that_is_all_thinking_is_told_in_the_words_of_the_client_api(front, back):
    told = Asked(front, back, on_exhausted="tell")
    assert told.answer.status == 200, told.answer.body
    assert told.calls == 1
    if told.record.verdict != "exhausted":
        assert back not in EFFORTS  # the others do not think that much here
        assert "exhausted" not in told.adjustments
        return
    assert told.word in told.answer.body.decode()
    assert "exhausted" in told.adjustments.replace(":", ", ").split(", ")
    assert "exhausted" in told.record.adjustments


@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize("front", FRONTS)
def test_a_retry_asks_once_more_and_both_answers_are_charged(front, back):
    told = Asked(front, back, on_exhausted="tell")
    again = Asked(front, back)
    assert again.answer.status == 200, again.answer.body
    if told.record.verdict != "exhausted":
        assert again.calls == 1
        assert again.answer.body.count(b"= 391") == told.answer.body.count(b"= 391")
        return
    assert again.calls == 2
    assert not again.upstream.refusals()
    usage = again.record.usage
    assert (usage.output or 0) + (usage.thinking or 0) >= again.wrote
    assert again.record.tries == 2
    assert "exhausted_retry" in again.adjustments
    assert "exhausted_retry" in again.record.adjustments
    assert b"= 391" in again.answer.body or "exhausted" in again.record.adjustments


def test_more_room_gives_an_answer():
    again = Asked("messages", "opus")
    assert again.answer.status == 200
    assert "17 * 23 = 391" in again.answer.body.decode()
    first, second = (json.loads(body)["max_tokens"] for body in again.upstream.requests)
    assert first == SMALL < second
    assert "exhausted_retry:max_tokens" in again.adjustments
    assert again.record.verdict == "as_planned"


def test_without_more_room_the_level_is_one_lower():
    """Under a quota of tokens the first limit is reserved, and no more."""
    key = GatewayKey("ci", hash_key(KEY), budget=SpendBudget(tokens=1_000_000))
    again = Asked("messages", "opus", key=key)
    efforts = [json.loads(body)["output_config"]["effort"] for body in again.upstream.requests]
    limits = {json.loads(body)["max_tokens"] for body in again.upstream.requests}
    assert (efforts, limits) == (["high", "medium"], {SMALL})
    assert again.answer.headers["x-pondero-thinking"] == "asked=high; sent=medium; why=exhausted"
    assert "exhausted_retry:thinking" in again.adjustments


def test_a_floor_is_kept_so_there_is_nothing_to_ask_again():
    key = GatewayKey("ci", hash_key(KEY), budget=SpendBudget(tokens=1_000_000))
    told = Asked("messages", "opus", key=key, thinking=LevelRules(floor="high"))
    assert told.calls == 1
    assert "exhausted" in told.record.adjustments


def test_a_budget_that_covers_one_answer_alone_gives_the_first_one():
    key = GatewayKey("ci", hash_key(KEY), budget=SpendBudget(thinking_tokens=SMALL))
    told = Asked("messages", "opus", key=key)
    assert told.answer.status == 200
    assert told.calls == 1
    assert told.record.verdict == "exhausted"
    assert (told.record.sent, told.record.why) == ("high", None)
    assert "exhausted_retry" not in told.adjustments


@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize("front", FRONTS)
def test_a_stream_that_shows_nothing_is_asked_for_once_more(front, back):
    told = Asked(front, back, on_exhausted="tell", stream=True, show="none")
    again = Asked(front, back, stream=True, show="none")
    assert again.answer.status == 200, again.answer.body
    assert not again.upstream.refusals()
    if told.record.verdict != "exhausted":
        assert again.calls == 1
        assert again.answer.body.count(b"= 391") == told.answer.body.count(b"= 391")
        return
    assert again.calls == again.record.tries == 2
    usage = again.record.usage
    assert (usage.output or 0) + (usage.thinking or 0) >= again.wrote
    assert "exhausted_retry" in again.adjustments
    assert "exhausted_retry" in again.record.adjustments
    is_cut = "exhausted" in again.record.adjustments
    assert (b"= 391" in again.answer.body) is not is_cut
    assert len(re.findall(rf': ?"{told.word}"', str(again.answer.body))) == is_cut  # of one attempt


HIDDEN: list[tuple[str, str, dict[str, Any]]] = [
    ("responses", "gpt", {"reasoning": {"effort": "high"}}),
    (
        "messages",
        "opus",
        {
            "thinking": {"type": "adaptive", "display": "omitted"},
            "output_config": {"effort": "high"},
        },
    ),
    (
        "gemini",
        "gemini",
        {
            "generationConfig": {
                "maxOutputTokens": SMALL,
                "thinkingConfig": {"thinkingLevel": "HIGH"},
            }
        },
    ),
]
"""Streams in a service's own API whose thinking the client did not ask to see."""


@pytest.mark.parametrize(("front", "back", "more"), HIDDEN)
def test_a_stream_of_an_api_that_hides_thinking_has_the_second_answer_alone(front, back, more):
    again = Asked(front, back, stream=True, more=more)
    assert again.calls == 2
    assert again.answer.body.count(b"= 391") >= 1
    assert "exhausted_retry" in again.adjustments
    if front == "responses":
        lines = again.answer.body.decode().split("\n")
        events = [json.loads(line[6:]) for line in lines if line[:6] == "data: "]
        assert [each["sequence_number"] for each in events] == list(range(len(events)))
        assert len({each["response"]["id"] for each in events if "response" in each}) == 1


def test_a_stream_under_a_budget_is_asked_for_at_a_lower_level_and_within_the_budget():
    key = GatewayKey("ci", hash_key(KEY), budget=SpendBudget(tokens=1_000_000))
    again = Asked("messages", "opus", key=key, stream=True, show="none")
    efforts = [json.loads(body)["output_config"]["effort"] for body in again.upstream.requests]
    assert efforts == ["high", "medium"]
    assert again.answer.headers["x-pondero-thinking"] == "asked=high; sent=medium; why=exhausted"
    alone = GatewayKey("ci", hash_key(KEY), budget=SpendBudget(thinking_tokens=SMALL))
    told = Asked("messages", "opus", key=alone, stream=True, show="none")
    assert (told.calls, told.record.verdict) == (1, "exhausted")
    assert b'"max_tokens"' in told.answer.body


@pytest.mark.parametrize("fault", ["500", "cut 300"])
def test_if_the_second_stream_fails_the_client_gets_the_first(fault):
    told = Asked("messages", "opus", on_exhausted="tell", stream=True, show="none")
    upstream = FailsLater(fault)
    again = Asked("messages", "opus", stream=True, show="none", transport=upstream)
    assert again.calls == 2
    assert again.answer.status == 200
    assert again.record.verdict == "exhausted"
    assert (again.record.sent, again.record.why) == ("high", None)
    assert "exhausted_retry" not in again.adjustments
    assert again.adjustments == "answer_room:max_tokens, exhausted"
    assert read_kinds(again.answer.body) == read_kinds(told.answer.body)


@pytest.mark.parametrize("most", [0, 100, 500])
def test_a_beginning_that_is_too_long_to_hold_is_written_once(monkeypatch, most):
    told = Asked("messages", "opus", on_exhausted="tell", stream=True, show="none")
    monkeypatch.setattr(held_beginning, "_MOST", most)
    again = Asked("messages", "opus", stream=True, show="none")
    assert again.calls == 1
    assert read_kinds(again.answer.body) == read_kinds(told.answer.body)


def test_a_stream_that_shows_thinking_is_told_because_the_client_has_seen_its_beginning():
    told = Asked("messages", "opus", stream=True)
    assert told.calls == 1
    assert told.record.adjustments == ("answer_room", "exhausted")
    assert b'"max_tokens"' in told.answer.body


def test_an_answer_with_room_is_never_asked_for_again():
    fine = Asked("messages", "opus", limit=20_000)
    assert fine.calls == 1
    assert "exhausted" not in fine.adjustments


def test_several_answers_are_not_asked_for_again_because_one_is_all_thinking(monkeypatch):
    """The service counted, and the client paid for, the whole ones."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-providers-key-0123456789")
    texts = ("", "391")
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop" if text else "length",
        }
        for index, text in enumerate(texts)
    ]
    counts = {"prompt_tokens": 9, "completion_tokens": 120, "total_tokens": 129}
    details = {"completion_tokens_details": {"reasoning_tokens": 110}}
    answer = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-5.5"}
    answer |= {"choices": choices, "usage": {**counts, **details}}
    service = Canned([json.dumps(answer).encode()], content_type="application/json")
    route = GatewayRoute("m", ("openai-chat:gpt-5.5",), retries=0, on_exhausted="retry")
    gateway = GatewayContext(GatewayConfig(routes=(route,)), service)
    body = {"model": "m", "messages": USER, "max_completion_tokens": SMALL, "n": 2}
    headers = {"x-api-key": KEY, "x-pondero-thinking": "high", "host": "127.0.0.1"}
    url = "http://127.0.0.1/v1/chat/completions"
    http = HttpRequest("POST", url, headers, json.dumps(body).encode())
    got = anyio.run(came, App(gateway), http)
    assert got.status == 200, got.body
    assert len(service.requests) == 1
    said = [choice["message"]["content"] for choice in json.loads(got.body)["choices"]]
    assert said == list(texts)
