"""Several answers and log probabilities reach a client of any API whose own service has them."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gateway import several_answers as wires
from tests.gateway.asgi import Came, came
from tests.gateway.canned import Canned
from tests.gateway.several_answers import Said, text_of

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

MODELS = {
    "chat": "openai-chat:gpt-4.1",
    "gemini": "vertex:gemini-2.5-flash",
    "responses": "openai:gpt-4.1",
    "ollama": "ollama:qwen3",
}
PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "ollama": "/api/chat",
    "gemini": "/v1beta/models/it:{}",
}
VERBS = {False: "generateContent", True: "streamGenerateContent?alt=sse"}
KINDS = {False: "application/json", True: "text/event-stream"}
HELLO = [{"role": "user", "content": "Hello?"}]
SEVERAL = ("chat", "gemini")


@pytest.fixture(scope="module", autouse=True)
def _project() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_CLOUD_PROJECT", "p")
        yield


class Service(Canned):
    needs_key = False

    @property
    def body(self) -> dict[str, Any]:
        (body,) = self.requests
        return json.loads(body)


def ask(
    client: str, upstream: str, service: Any, *, count: int = 1, top: int | None = None, **more: Any
) -> Came:
    """Return the gateway's answer to a client that asks for this."""
    stream = more.pop("stream", False)
    show = {"x-pondero-show": more.pop("show")} if "show" in more else {}
    weighs = {"logprobs": True, "top_logprobs": top} if top is not None else {}
    several = {"n": count} if count > 1 else {}
    chat = {"model": "it", "messages": HELLO, "stream": stream, **weighs}
    config: dict[str, Any] = {"candidateCount": count} if count > 1 else {}
    config |= {"responseLogprobs": True, "logprobs": top} if top is not None else {}
    listed = {"include": ["message.output_text.logprobs"], "top_logprobs": top}
    parts = [{"text": "Hello?"}]
    bodies: dict[str, Any] = {
        "chat": {**chat, **several, **({"stream_options": _COUNTS} if stream else {})},
        "gemini": {"contents": [{"role": "user", "parts": parts}], "generationConfig": config},
        "responses": {"model": "it", "input": "Hello?", "stream": stream},
        "ollama": chat,
    }
    bodies["responses"] |= listed if top is not None else {}
    route = GatewayRoute(match="it", to=(MODELS.get(upstream, upstream),), retries=0)
    app = App(GatewayContext(GatewayConfig(routes=(route,)), service))
    url = "http://gate" + PATHS[client].format(VERBS[stream])
    headers = {"content-type": "application/json", "x-api-key": "k", **show}
    body = json.dumps({**bodies[client], **more}).encode()
    return anyio.run(came, app, HttpRequest("POST", url, headers, body))


_COUNTS = {"include_usage": True}


def split(data: bytes, places: list[int]) -> list[bytes]:
    cuts = sorted({min(each, len(data)) for each in places} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(cuts)]


def answer_with(upstream: str, said: Said, *, weighs: bool, **how: Any) -> Service:
    stream = how.get("stream", False)
    data = getattr(wires, f"write_{upstream}")(said, stream=stream, weighs=weighs)
    kind = "application/x-ndjson" if stream and upstream == "ollama" else KINDS[stream]
    return Service(split(data, how.get("places", [])), content_type=kind)


words = st.text("abcdefghijklmnop 0123456789.,éß漢😀", min_size=1, max_size=4)
chances = st.floats(-30, 0, allow_nan=False).map(lambda each: round(each, 6) or 0.0)


@st.composite
def answers(draw: st.DrawFn, count: int, top: int) -> Said:
    others = st.lists(st.tuples(words, chances), min_size=top, max_size=top).map(tuple)
    token = st.tuples(words, chances, others)
    return [[("So ", -0.5, draw(others)), *draw(st.lists(token, max_size=6))] for _ in range(count)]


PAIRS = [(a, b) for a in MODELS for b in MODELS if a != b]


@pytest.mark.parametrize(("client", "upstream"), PAIRS, ids=lambda each: each)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_answers_tokens_and_counts_are_those_of_the_service(client, upstream, data):
    stream = data.draw(st.booleans(), "stream")
    both = client in SEVERAL and upstream in SEVERAL
    count = data.draw(st.integers(1, 4 if both else 1), "count")
    top = data.draw(st.none() | st.integers(0, 5), "top")
    said = data.draw(answers(count, top or 0), "said")
    places = data.draw(st.lists(st.integers(0, 5000), max_size=12), "places")
    weighs = top is not None
    service = answer_with(upstream, said, weighs=weighs, stream=stream, places=places)

    answer = ask(client, upstream, service, count=count, top=top, stream=stream)

    assert answer.status == 200, answer.body
    assert "dropped_parameter" not in answer.headers.get("x-pondero-adjustments", "")
    got = getattr(wires, f"read_{client}")(answer.body, stream=stream)
    assert got.texts == list(map(text_of, said))
    assert got.tokens == (said if weighs else [[]] * count)
    assert got.finishes == ["stop"] * count
    assert got.usage == wires.USAGE


def asked_of(upstream: str, body: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a request asks of its answers, in its own fields."""
    config = body.get("generationConfig", {})
    return {
        "chat": (body.get("n"), body.get("logprobs"), body.get("top_logprobs")),
        "gemini": tuple(map(config.get, ("candidateCount", "responseLogprobs", "logprobs"))),
        "responses": (None, body.get("include"), body.get("top_logprobs")),
        "ollama": (None, body.get("logprobs"), body.get("top_logprobs")),
    }[upstream]


@pytest.mark.parametrize(("client", "upstream"), PAIRS, ids=lambda each: each)
def test_the_service_is_asked_in_its_own_fields(client, upstream):
    token = ("Hi", -0.5, (("Hi", -0.5), ("Ho", -2.0)))
    count = 2 if client in SEVERAL and upstream in SEVERAL else 1
    service = answer_with(upstream, [[token]] * count, weighs=True)
    assert ask(client, upstream, service, count=count, top=2).status == 200
    switch = ["message.output_text.logprobs"] if upstream == "responses" else True
    assert asked_of(upstream, service.body) == (2 if count == 2 else None, switch, 2)


# -- what a service or a model does not have -------------------------------------------------------

LACKING = {
    "n of Claude": ("chat", "anthropic:claude-opus-5", {"count": 2}, "n"),
    "n of Responses": ("chat", "responses", {"count": 2}, "n"),
    "n of Ollama": ("chat", "ollama", {"count": 2}, "n"),
    "n of Gemini 3": ("chat", "google:gemini-3-flash-preview", {"count": 2}, "n"),
    "n of Groq": ("gemini", "groq:openai/gpt-oss-120b", {"count": 2}, "candidateCount"),
    "n of DeepSeek": ("gemini", "deepseek:deepseek-v4-flash", {"count": 2}, "candidateCount"),
    "nine of Gemini": ("chat", "gemini", {"count": 9}, "n: 9 is more"),
    "tokens of Claude": ("responses", "anthropic:claude-opus-5", {"top": 2}, "include"),
    "tokens of Cohere": ("chat", "cohere:command-a-reasoning-08-2025", {"top": 2}, "logprobs"),
    "tokens of Gemini 2.5": ("chat", "google:gemini-2.5-flash", {"top": 2}, "logprobs"),
    "streamed by Google": (
        "chat",
        "google:gemini-2.0-flash",
        {"top": 2, "stream": True},
        "logprobs",
    ),
    "of a thinking model": ("chat", "openai:gpt-5.5", {"top": 2}, "logprobs"),
    "without the switch": ("chat", "gemini", {"top_logprobs": 2}, "top_logprobs: it needs"),
    "of hidden thinking": ("chat", "gemini", {"top": 2, "show": "none"}, "logprobs"),
}


@pytest.mark.parametrize(("client", "upstream", "wish", "field"), LACKING.values(), ids=LACKING)
def test_what_the_model_lacks_is_rejected_by_its_name(client, upstream, wish, field):
    service = Service([])
    answer = ask(client, upstream, service, **wish)
    assert answer.status == 400, answer.body
    assert field in json.loads(answer.body)["error"]["message"]
    assert service.requests == []


def test_several_answers_are_given_where_thinking_is_hidden():
    thought = {"text": "Hm.", "thought": True}
    candidates = [
        {
            "content": {"parts": [thought, {"text": text}], "role": "model"},
            "index": at,
            "finishReason": "STOP",
        }
        for at, text in enumerate(("one", "two"))
    ]
    body = json.dumps({"candidates": candidates}).encode()
    answer = ask("chat", "gemini", Service([body]), count=2, show="none")
    assert b"Hm." not in answer.body
    assert [each["message"]["content"] for each in json.loads(answer.body)["choices"]] == [
        "one",
        "two",
    ]


def test_log_probabilities_are_told_only_to_clients_that_ask():
    said = [[("Hi", -0.5, ())]]
    for stream in (False, True):
        service = answer_with("responses", said, weighs=True, stream=stream)  # as xAI's does
        answer = ask("chat", "responses", service, stream=stream)
        assert wires.read_chat(answer.body, stream=stream).tokens == [[]]


# -- answers that are missing or broken ------------------------------------------------------------


@pytest.mark.parametrize("upstream", ["chat", "gemini"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_the_service_does_not_give_is_an_error(upstream, stream):
    client = {"chat": "gemini", "gemini": "chat"}[upstream]
    service = answer_with(upstream, [[("Hi", -0.5, ())]], weighs=False, stream=stream)
    answer = ask(client, upstream, service, count=2, stream=stream)
    # Gemini's stream has begun; that of Chat is here in one piece, and nothing of it is written.
    assert answer.status == (200 if stream and upstream == "gemini" else 502)
    assert b'"error"' in answer.body
    assert b'"finish_reason":"stop"' not in answer.body
    assert b'"finishReason"' not in answer.body


def test_a_stream_that_ends_before_all_its_answers_is_an_error():
    frames = [
        {"candidates": [{"content": {"parts": [{"text": "one"}]}, "finishReason": "STOP"}]},
        {"candidates": [{"content": {"parts": [{"text": "tw"}]}, "index": 1}]},
    ]
    data = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in frames)
    service = Service([data], content_type="text/event-stream")
    answer = ask("chat", "gemini", service, count=2, stream=True)
    assert b'"error"' in answer.body
    assert b"[DONE]" not in answer.body
    assert b'"finish_reason":"stop"' not in answer.body


def test_candidates_without_an_index_are_in_order():
    """Protobuf's JSON leaves out zeros, and Vertex the index of an answer in one piece."""
    parts = [[{"text": "one"}], [{"text": "two"}, {"executableCode": {"code": "1"}}]]
    candidates = [{"content": {"parts": each}, "finishReason": "STOP"} for each in parts]
    body = json.dumps({"candidates": candidates}).encode()
    choices = json.loads(ask("chat", "gemini", Service([body]), count=2).body)["choices"]
    assert [each["message"]["content"] for each in choices] == ["one", "two"]


def test_a_blocked_prompt_has_no_answer_whatever_the_number():
    blocked = json.dumps({"promptFeedback": {"blockReason": "SAFETY"}}).encode()
    answer = ask("chat", "gemini", Service([blocked]), count=3)
    choices = json.loads(answer.body)["choices"]
    assert [each["finish_reason"] for each in choices] == ["content_filter"] * 3


# -- the next turn ---------------------------------------------------------------------------------


def test_a_client_may_go_on_from_any_answer():
    """Calls of several answers have ids of their own, and each keeps its own signature."""
    candidates = [
        {
            "content": {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"name": "look", "args": {"city": "Bern"}},
                        "thoughtSignature": f"c2lnbmF0dXJlLW9mLWFuc3dlci0{at}",
                    }
                ],
            },
            "index": at,
            "finishReason": "STOP",
        }
        for at in range(2)
    ]
    body = json.dumps({"candidates": candidates}).encode()
    service = Service([body])
    route = GatewayRoute(match="it", to=(MODELS["gemini"],), retries=0)
    app = App(GatewayContext(GatewayConfig(routes=(route,)), service))
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}

    def turn(messages: list[Any], **more: Any) -> Any:
        fields = {"model": "it", "messages": messages, "tools": [tool], **more}
        headers = {"content-type": "application/json", "x-api-key": "k"}
        url = "http://gate/v1/chat/completions"
        request = HttpRequest("POST", url, headers, json.dumps(fields).encode())
        answer = anyio.run(came, app, request)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    first = turn(HELLO, n=2)
    calls = [choice["message"]["tool_calls"][0] for choice in first["choices"]]
    assert calls[0]["id"] != calls[1]["id"]
    for at, call in enumerate(calls):
        bare = {"id": call["id"], "type": "function", "function": call["function"]}
        said = {"role": "assistant", "content": None, "tool_calls": [bare]}
        told = {"role": "tool", "tool_call_id": call["id"], "content": "Sunny."}
        turn([*HELLO, said, told])
        assert f"c2lnbmF0dXJlLW9mLWFuc3dlci0{at}".encode() in service.requests[-1]
        assert f"c2lnbmF0dXJlLW9mLWFuc3dlci0{1 - at}".encode() not in service.requests[-1]


# -- answers that must be restored -----------------------------------------------------------------

WRAPPED = {
    "type": "json_schema",
    "json_schema": {
        "name": "numbers",
        "strict": True,
        "schema": {"type": "array", "items": {"type": "integer"}},
    },
}


@pytest.mark.parametrize("stream", [False, True])
def test_each_of_several_answers_has_the_form_that_was_asked_for(stream):
    """A list is asked for inside an object, which no answer shows."""
    said = [[('{"result":', -0.5, ()), (f"[{number}]}}", -0.5, ())] for number in range(3)]
    service = answer_with("chat", said, weighs=False, stream=stream)
    fields = {"response_format": WRAPPED, "stream": stream}
    answer = ask("chat", "mistral:mistral-medium-3-5", service, count=3, **fields)
    assert wires.read_chat(answer.body, stream=stream).texts == ["[0]", "[1]", "[2]"]
    assert service.body["n"] == 3


def test_tokens_of_a_text_that_the_client_does_not_see_are_rejected():
    service = Service([])
    fields = {"response_format": WRAPPED, "top": 1}
    answer = ask("chat", "mistral:mistral-medium-3-5", service, **fields)
    assert answer.status == 400
    assert b"logprobs: mistral:mistral-medium-3-5 needs another schema" in answer.body
    assert service.requests == []
