"""The service's answers have its exact shape."""

import json

import pytest
from tests.dialects.anthropic.wiring import WIRE, raw, sent

from pondero.canon import (
    Finished,
    Message,
    PartEnd,
    PartStart,
    Reply,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    UnknownPart,
    Usage,
)

SHOWN = {"thinking": {"type": "adaptive", "display": "summarized"}}
USAGE = Usage(10, 20, 30, 40, 50, 150)


def accepted(model="claude-opus-5", **fields):
    return sent(raw(model=model, **(fields or SHOWN)))


def frames(*events, **fields):
    stream = WIRE.service().stream(accepted(**fields))
    data = b"".join(stream.feed(event) for event in events) + stream.eof()
    found = []
    for frame in data.decode().split("\n\n")[:-1]:
        name, payload = frame.split("\n")
        event = json.loads(payload.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return [event for event in found if event["type"] != "ping"]


def test_a_whole_answer():
    parts = (Thinking("Hm."), Text("Hello"), ToolCall("toolu_1", "look", {"a": 1}))
    response = WIRE.service().reply(
        accepted(), Reply(Message("assistant", parts), "tool_calls", USAGE)
    )
    body = json.loads(response.body)
    signature = body["content"][0].pop("signature")
    assert len(signature) >= 230
    assert signature.startswith("CAIS")
    assert body == {
        "id": body["id"],
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [
            {"type": "thinking", "thinking": "Hm."},
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 30,
            "cache_read_input_tokens": 20,
            "cache_creation": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 90,
            "output_tokens_details": {"thinking_tokens": 50},
            "service_tier": "standard",
        },
    }
    assert response.status == 200
    assert response.headers["request-id"].startswith("req_")
    assert body["id"].startswith("msg_")


def test_thinking_is_withheld_where_it_was_not_asked_to_be_shown():
    reply = Reply(Message("assistant", (Thinking("Hm."),)), "stop")
    body = json.loads(WIRE.service().reply(accepted(thinking={"type": "adaptive"}), reply).body)
    assert body["content"][0]["thinking"] == ""
    assert body["content"][0]["signature"]


def test_two_thoughts_have_two_signatures_even_where_neither_is_shown():
    reply = Reply(Message("assistant", (Thinking("a"), Thinking("b"))), "stop")
    body = json.loads(WIRE.service().reply(accepted(thinking={"type": "adaptive"}), reply).body)
    assert body["content"][0]["signature"] != body["content"][1]["signature"]


def test_a_stream_has_the_frames_of_the_real_one():
    found = frames(
        Started("claude-opus-5"),
        PartStart(0, "thinking"),
        ThinkingDelta(0, "Hm"),
        ThinkingDelta(0, "."),
        PartEnd(0, Thinking("Hm.")),
        PartStart(1, "text"),
        TextDelta(1, "Hello"),
        PartEnd(1, Text("Hello")),
        PartStart(2, "tool_call", "toolu_1", "look"),
        ToolDelta(2, '{"a":1}'),
        PartEnd(2, ToolCall("toolu_1", "look", {"a": 1})),
        Finished("tool_calls", USAGE),
    )
    assert [event["type"] for event in found] == [
        "message_start",
        "content_block_start",
        *("content_block_delta",) * 3,
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        *("content_block_delta",) * 2,  # the first says nothing
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert [event["index"] for event in found if "index" in event] == [0] * 5 + [1] * 3 + [2] * 4
    assert found[1]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    assert found[4]["delta"]["type"] == "signature_delta"
    assert found[9]["content_block"] == {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "look",
        "input": {},
    }
    assert "".join(event["delta"]["partial_json"] for event in found[10:12]) == '{"a":1}'
    assert found[-2]["delta"] == {
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "stop_details": None,
    }
    assert found[-2]["usage"]["output_tokens"] == 90


def test_a_part_that_is_sent_whole_has_its_signature_after_its_text():
    found = frames(Started(), PartEnd(0, Thinking("Hm.")), Finished("stop"))
    deltas = [event["delta"]["type"] for event in found if event["type"] == "content_block_delta"]
    assert deltas == ["thinking_delta", "signature_delta"]


def test_thinking_that_is_not_shown_streams_its_signature_only():
    found = frames(
        Started(),
        PartStart(0, "thinking"),
        ThinkingDelta(0, "secret"),
        PartEnd(0, Thinking("secret")),
        Finished("stop"),
        thinking={"type": "adaptive"},
    )
    assert [event.get("delta", {}).get("type") for event in found] == [
        None,
        None,
        "signature_delta",
        None,
        None,
        None,
    ]
    assert "secret" not in str(found)


def test_redacted_thinking_and_unknown_blocks_come_whole_in_their_start():
    block = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    found = frames(
        Started(),
        PartStart(0, "thinking"),
        PartEnd(0, Thinking("", redacted=True)),
        PartStart(1, "other"),
        PartEnd(1, UnknownPart("anthropic", block)),
        PartStart(2, "other"),
        PartEnd(2, UnknownPart("gemini", {"x": 1})),
        Finished("stop"),
    )
    kinds = [event["type"] for event in found]
    assert kinds == [
        "message_start",
        *("content_block_start", "content_block_stop") * 2,
        "message_delta",
        "message_stop",
    ]
    assert found[1]["content_block"].keys() == {"type", "data"}
    assert found[3]["content_block"] == block


def test_a_text_told_only_at_its_end_is_still_streamed():
    cite = {"type": "char_location", "cited_text": "x"}
    found = frames(
        Started(),
        PartStart(0, "text"),
        PartEnd(0, Text("whole", citations=(cite,))),
        Finished("stop"),
    )
    assert [e["delta"] for e in found if e["type"] == "content_block_delta"] == [
        {"type": "text_delta", "text": "whole"},
        {"type": "citations_delta", "citation": cite},
    ]


@pytest.mark.parametrize(
    ("status", "code", "kind", "details"),
    [
        (429, None, "rate_limit_error", None),
        (
            429,
            "enforced_spend_limit_reached",
            "rate_limit_error",
            {"error_code": "enforced_spend_limit_reached"},
        ),
        (529, None, "overloaded_error", None),
        (500, "overloaded_error", "overloaded_error", None),
        (418, None, "invalid_request_error", None),
        (599, None, "api_error", None),
    ],
)
def test_errors_have_the_services_shape(status, code, kind, details):
    response = WIRE.service().error(status, "words", code=code, retry_after=1.5)
    body = json.loads(response.body)
    assert body["type"] == "error"
    assert body["error"] == {"type": kind, "message": "words", "details": details}
    assert response.headers["request-id"] == body["request_id"]
    assert response.headers["retry-after"] == "1.5"


def test_a_spend_limit_is_not_worth_another_try_and_a_rate_limit_is():
    error = WIRE.service().error
    spent = error(429, "words", code="insufficient_quota", retry_after=None)
    assert spent.headers["x-should-retry"] == "false"
    assert error(429, "words", code=None, retry_after=1).headers["x-should-retry"] == "true"
