"""Whole answers of the Messages API become the events their stream would give."""

import json

import pytest
from tests.dialects.anthropic.wiring import (
    START,
    STOP,
    WIRE,
    assembled,
    begin,
    end,
    fed,
    message,
    more,
    sse,
    stop,
    whole,
)

from pondero.canon import (
    Finished,
    ResponseHead,
    Signature,
    Text,
    Thinking,
    ToolCall,
    UnknownPart,
    Usage,
)
from pondero.dialects import AnswerContext
from pondero.errors import Malformed, Overloaded

CONTENT = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "b3A="},
    {"type": "text", "text": "Hello", "citations": [{"type": "x"}]},
    {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "look",
        "input": {"a": [1]},
        "caller": {"type": "direct"},
    },
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
]


def seal(value):
    return Signature("anthropic", value, "asked", "here")


@pytest.mark.parametrize("key", ["thinking", "text", "reasoning"])
def test_a_block_called_reasoning_is_thinking(key):
    content = [{"type": "reasoning", key: "Hm.", "signature": "c2ln"}]
    found, _ = assembled(whole(message(content)))
    assert found.parts == (Thinking("Hm.", seal("c2ln")),)


def test_every_kind_of_block_becomes_its_part():
    found, finished = assembled(whole(message(CONTENT, stop_reason="tool_use")))
    assert found.parts == (
        Thinking("Hm.", seal("c2ln")),
        Thinking("", seal("b3A="), redacted=True),
        Text("Hello", citations=({"type": "x"},)),
        ToolCall("toolu_1", "look", {"a": [1]}),
        UnknownPart("anthropic", CONTENT[4]),
    )
    assert (finished.finish, finished.usage) == ("tool_calls", Usage(10, None, None, 20, None, 30))


def test_thinking_is_read_where_a_stand_in_of_the_service_calls_it_text():
    block = {"type": "thinking", "text": "Hm.", "signature": "c2ln"}
    found, _ = assembled(whole(message([block], stop_reason="end_turn")))
    assert found.parts == (Thinking("Hm.", seal("c2ln")),)


def test_a_whole_answer_says_what_its_stream_says():
    streamed = fed(
        sse(
            START,
            begin(0, {"type": "thinking", "thinking": "", "signature": ""}),
            more(0, type="thinking_delta", thinking="Hm."),
            more(0, type="signature_delta", signature="c2ln"),
            stop(0),
            begin(1, CONTENT[1]),
            stop(1),
            begin(2, {"type": "text", "text": ""}),
            more(2, type="text_delta", text="Hello"),
            more(2, type="citations_delta", citation={"type": "x"}),
            stop(2),
            begin(3, {**CONTENT[3], "input": {}}),
            more(3, type="input_json_delta", partial_json='{"a": [1]}'),
            stop(3),
            begin(4, CONTENT[4]),
            stop(4),
            end("tool_use", input_tokens=12, cache_read_input_tokens=0),
            STOP,
        )
    )
    usage = {"input_tokens": 12, "cache_read_input_tokens": 0, "output_tokens": 20}
    at_once = whole(message(CONTENT, stop_reason="tool_use", usage=usage))
    assert assembled(at_once) == assembled(streamed)


def test_an_empty_refusal_is_an_answer():
    why = {"type": "refusal", "category": None, "explanation": None}
    found, finished = assembled(whole(message([], stop_reason="refusal", stop_details=why)))
    assert found.parts == ()
    assert (finished.finish, finished.safety) == ("refusal", why)


def test_an_answer_without_usage_counts_nothing():
    body = message([])
    del body["usage"]
    assert whole(body)[-1] == Finished("stop", Usage(), "end_turn", "claude-test-1")


def test_the_model_of_a_seal_is_the_one_that_was_asked_else_the_one_that_answered():
    body = message(CONTENT[:1])
    for answered in ("claude-test-1", None):
        found, _ = assembled(whole({**body, "model": answered}))
        assert found.parts[0].signature == Signature("anthropic", "c2ln", "asked", "here")
    data = json.dumps(body).encode()
    events = WIRE.caller().decode(ResponseHead(200), data, AnswerContext(None, "here"))
    found, _ = assembled(events)
    assert found.parts[0].signature == Signature("anthropic", "c2ln", "claude-test-1", "here")


def test_an_error_with_a_good_status_is_raised():
    with pytest.raises(Overloaded):
        whole({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"type": "message"}, "$.content"),
        (message([{"type": "text"}]), "$.content[0]"),
        (
            message([{"type": "text", "text": "a"}, {"type": "tool_use", "id": 1}]),
            "$.content[1].id",
        ),
        (message([], usage={"input_tokens": "x"}), "$.usage.input_tokens"),
        ([], "$"),
    ],
)
def test_a_broken_answer_is_malformed_with_its_path(body, path):
    with pytest.raises(Malformed) as raised:
        whole(body)
    assert raised.value.path == path


CALL = (
    b'{"type":"message","content":[{"type":"tool_use","id":"t","name":"n","input":{"a":"\xff"}}]}'
)


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"{" * 9_999, CALL])
def test_a_body_that_is_no_json_is_malformed(body):
    with pytest.raises(Malformed):
        WIRE.caller().decode(ResponseHead(200), body, AnswerContext())


@pytest.mark.parametrize(
    ("raw", "stream", "sure"),
    [
        (message([]), False, 100),
        (START, True, 100),
        ({"type": "ping"}, True, 50),
        ({"type": "error", "error": {"type": "x"}}, False, 80),
        ({"type": "error", "error": {"type": "x"}}, True, 80),
        ({"type": "response.created"}, True, 0),
        ({"id": "x", "object": "chat.completion", "choices": []}, False, 0),
        ({"type": "message", "role": "assistant"}, False, 0),
        ([], False, 0),
        (None, True, 0),
    ],
)
def test_our_own_json_is_recognised(raw, stream, sure):
    assert WIRE.caller().match_score(json.loads(json.dumps(raw)), stream=stream) == sure
