"""Raw bytes to what is in them, whoever sent them."""

import json

import pytest
from tests.framing.aws import aws_stream
from tests.laws.wire import wire as wire_row
from tests.plans import plan

import pondero
from pondero.canon import Message, Reply, Request, Text, Thinking, Usage
from pondero.dialects import NAMES, get_dialect
from pondero.errors import BadParameter

_KEYS = [
    "dialect",
    "model",
    "text",
    "thinking",
    "tool_calls",
    "finish",
    "raw_finish",
    "usage",
    "seals",
    "error",
]
_BUCKETS = {"input", "cache_read", "cache_write", "output", "thinking", "total"}

_MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5",
    "content": [
        {"type": "thinking", "thinking": "17 * 23", "signature": "c2lnbmVk"},
        {"type": "text", "text": "391"},
        {"type": "tool_use", "id": "toolu_1", "name": "check", "input": {"n": 391}},
    ],
    "stop_reason": "tool_use", "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 4}},
}  # fmt: skip
_RESPONSE = {
    "id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "17 * 23"}],
         "encrypted_content": "gAAAA"},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": "391", "annotations": []}]},
    ],
    "usage": {"input_tokens": 10, "output_tokens": 7, "total_tokens": 17,
              "output_tokens_details": {"reasoning_tokens": 4}},
}  # fmt: skip
_COMPLETION = {
    "id": "c1", "object": "chat.completion", "model": "some-model",
    "choices": [{"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "391", "reasoning_content": "17 * 23"}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17,
              "completion_tokens_details": {"reasoning_tokens": 4}},
}  # fmt: skip
_CANDIDATE = {
    "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"text": "17 * 23", "thought": True}, {"text": "391", "thoughtSignature": "c2lnbmVk"}]}}],
    "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 4,
                      "totalTokenCount": 17},
    "modelVersion": "gemini-3-pro-preview",
}  # fmt: skip
_V2 = {
    "id": "a", "finish_reason": "COMPLETE",
    "message": {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "17 * 23"}, {"type": "text", "text": "391"}]},
    "usage": {"tokens": {"input_tokens": 10, "output_tokens": 7, "reasoning_tokens": 4}},
}  # fmt: skip
_LOCAL = {
    "model": "qwen3:8b", "created_at": "2026-11-15T12:00:00Z", "done": True, "done_reason": "stop",
    "message": {"role": "assistant", "content": "391", "thinking": "17 * 23"},
    "prompt_eval_count": 10, "eval_count": 7,
}  # fmt: skip
_CONVERSED = {
    "output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "17 * 23", "signature": "c2lnbmVk"}}},
        {"text": "391"}]}},
    "stopReason": "end_turn", "metrics": {"latencyMs": 9},
    "usage": {"inputTokens": 10, "outputTokens": 7, "totalTokens": 17},
}  # fmt: skip
_INTERACTION = {
    "id": "v1_Ch",
    "object": "interaction",
    "model": "gemini-3-flash-preview",
    "status": "completed",
    "steps": [
        {"type": "thought", "signature": "Ctk=", "summary": [{"type": "text", "text": "17 * 23"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "391"}]},
    ],
    "usage": {
        "total_tokens": 17,
        "total_input_tokens": 10,
        "total_output_tokens": 3,
        "total_thought_tokens": 4,
    },
}

_BODIES = {
    "anthropic": _MESSAGE,
    "openai_responses": _RESPONSE,
    "openai_chat": _COMPLETION,
    "gemini": _CANDIDATE,
    "cohere": _V2,
    "ollama": _LOCAL,
    "bedrock": _CONVERSED,
    "interactions": _INTERACTION,
}
_UNCOUNTED = {"ollama", "bedrock"}  # wires that do not say how much of it was thinking


def replied(name: str) -> bytes:
    """Return an answer as the service's side of a dialect writes it."""
    row, wire = wire_row(name), get_dialect(name)
    question = Message("user", (Text("What is 17 * 23?"),))
    request = Request(row.model, (question,), max_tokens=4_096, stream=False)
    sent = wire.caller().encode(request, plan(name, dict(row.thinking)), row.target)
    answer = Message("assistant", (Thinking("17 * 23"), Text("391")))
    usage = Usage(input=10, output=3, thinking=4, total=17)
    reply = Reply(answer, "stop", usage, model=row.model)
    service = wire.service()
    return service.reply(service.accept(sent, row.service), reply).body


@pytest.mark.parametrize("name", NAMES)
def test_what_the_service_replies_is_recognised_and_read(name):
    made = pondero.decode(replied(name)).to_json()
    assert list(made) == _KEYS
    assert (made["dialect"], made["text"], made["thinking"]) == (name, "391", ["17 * 23"])
    assert set(made["usage"]) == _BUCKETS
    assert (made["usage"]["total"], made["error"]) == (17, None)
    counted = "thinking" in wire_row(name).buckets  # others may say it, or leave it unknown
    assert made["usage"]["thinking"] in ((4,) if counted else (4, None))


@pytest.mark.parametrize("name", _BODIES)
def test_the_dialect_is_named_and_the_answer_read(name):
    found = pondero.decode(json.dumps(_BODIES[name]).encode())
    made = found.to_json()
    assert list(made) == _KEYS
    assert (made["dialect"], made["text"], made["thinking"]) == (name, "391", ["17 * 23"])
    assert set(made["usage"]) == _BUCKETS
    thought = None if name in _UNCOUNTED else 4
    assert (made["usage"]["thinking"], made["usage"]["total"], made["error"]) == (thought, 17, None)


def test_tool_calls_seals_and_the_raw_finish_are_there():
    made = pondero.decode(json.dumps(_MESSAGE).encode()).to_json()
    assert made["tool_calls"] == [{"id": "toolu_1", "name": "check", "arguments": {"n": 391}}]
    assert (made["finish"], made["raw_finish"]) == ("tool_calls", "tool_use")
    assert made["seals"][0]["value"] == "c2lnbmVk"


@pytest.mark.parametrize("framing", ["data: {}\n\n", "[{}]", "[{},\r\n{}]", "{}\n"])
def test_every_framing_of_gemini_is_a_stream_or_a_body(framing):
    body = json.dumps(_CANDIDATE)
    text = framing.replace("{}", body, 1).replace("{}", body)
    found = pondero.decode(text.encode())
    assert (found.dialect, found.error) == ("gemini", None)
    assert found.text.startswith("391")


def test_a_binary_stream_is_recognised():
    events = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "391"}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    found = pondero.decode(aws_stream(events))
    assert (found.dialect, found.text, found.finish) == ("bedrock", "391", "stop")


def test_an_error_status_gives_the_error_and_no_answer():
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    made = pondero.decode(
        json.dumps(body).encode(), status=429, headers={"Retry-After": "7"}
    ).to_json()
    assert made["error"] == {
        "type": "RateLimited",
        "category": "rate_limit",
        "status": 429,
        "code": "rate_limit_error",
        "message": "slow down",
        "retry_after": 7.0,
    }
    assert (made["text"], made["finish"], made["usage"]) == ("", None, None)


def test_a_cut_stream_gives_what_came_and_says_so():
    start = {"type": "message_start", "message": {**_MESSAGE, "content": []}}
    text = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
    delta = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "39"},
    }
    data = "".join(f"data: {json.dumps(event)}\n\n" for event in (start, text, delta))
    found = pondero.decode(data.encode())
    assert (found.text, type(found.error).__name__) == ("39", "Truncated")


def test_a_page_of_html_is_an_error_of_its_status():
    found = pondero.decode(b"<html>Bad gateway</html>", dialect="openai_chat", status=502)
    assert (type(found.error).__name__, found.error.status) == ("ServerFailed", 502)


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"<html>", b'{"a": 1}', b"\xff\xfe", b'{"a":"\xff"}']
)
def test_what_nobody_recognises_is_a_clear_error(data):
    with pytest.raises(BadParameter, match=r"was not recognised; name it .*anthropic"):
        pondero.decode(data)


def test_bad_arguments_are_ours():
    with pytest.raises(BadParameter, match="takes bytes, not str"):
        pondero.decode("text")
    with pytest.raises(BadParameter, match="unknown dialect 'klingon'"):
        pondero.decode(b"{}", dialect="klingon")
