"""Answers in the service's exact shape, and what it takes back of them."""

import json

import pytest
from tests.framing.aws import aws_objects
from tests.laws.strategies import told

from pondero.canon import (
    HttpResponse,
    Message,
    PartEnd,
    Reply,
    Text,
    Thinking,
    ToolCall,
    UnknownPart,
    Usage,
)
from pondero.framing import AwsEventsReader

from ..making import BOUND, CLAUDE, WIRE, raw, refusal, said, sent

ADAPTIVE = {"thinking": {"type": "adaptive", "display": "summarized"}}
PATHS = ["/usage/output_tokens_details"]
TOOL = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}
USAGE = Usage(10, 2, 3, 20, 5, 40)
PARTS = (
    Thinking("hm"),
    Thinking("", redacted=True),
    Text("So.", citations=({"title": "t"},)),
    ToolCall("t1", "look", {"a": 1}),
)


def accepted(model=CLAUDE, **fields):
    asked = {"additionalModelRequestFields": ADAPTIVE, "toolConfig": {"tools": [TOOL]}}
    return sent(raw(**asked | fields), model, "converse-stream")


def answered(*parts, given=None, finish="stop", usage=USAGE):
    reply = Reply(Message("assistant", parts), finish, usage)
    return json.loads(WIRE.service().reply(given or accepted(), reply).body)


def streamed(*parts, given=None, finish="stop"):
    stream = WIRE.service().stream(given or accepted())
    reply = Reply(Message("assistant", parts), finish, USAGE)
    return b"".join(map(stream.feed, told(reply))) + stream.eof()


def test_a_part_that_is_sent_whole_has_its_signature_after_its_text():
    stream = WIRE.service().stream(accepted())
    frames = AwsEventsReader().feed(stream.feed(PartEnd(0, Thinking("hm"))))
    deltas = [json.loads(frame.payload).get("delta") for frame in frames]
    assert [list(each["reasoningContent"]) for each in deltas if each] == [["text"], ["signature"]]


def content(*parts, **more):
    return answered(*parts, **more)["output"]["message"]["content"]


def test_a_whole_answer():
    body = answered(*PARTS, finish="tool_calls")
    thought, hidden, cited, call = body.pop("output")["message"]["content"]
    assert thought["reasoningContent"]["reasoningText"]["text"] == "hm"
    assert len(thought["reasoningContent"]["reasoningText"]["signature"]) > 200
    assert hidden["reasoningContent"].keys() == {"redactedContent"}
    assert cited == {
        "citationsContent": {"content": [{"text": "So."}], "citations": [{"title": "t"}]}
    }
    assert call == {"toolUse": {"input": {"a": 1}, "name": "look", "toolUseId": "t1"}}
    assert body == {
        "metrics": {"latencyMs": 100},
        "stopReason": "tool_use",
        "usage": {
            "inputTokens": 10,
            "outputTokens": 25,
            "totalTokens": 40,
            "cacheReadInputTokens": 2,
            "cacheWriteInputTokens": 3,
        },
    }


def test_a_streamed_answer_in_the_recorded_order():
    events = aws_objects(streamed(*PARTS, finish="tool_calls"))
    kinds = [next(iter(event)) for event in events]
    assert kinds == [
        "messageStart",
        *(["contentBlockDelta"] * 3 + ["contentBlockStop"]),  # thinking in two, its signature
        *("contentBlockDelta", "contentBlockStop"),  # what is hidden
        *(["contentBlockDelta"] * 4 + ["contentBlockStop"]),  # words in three, a citation
        *(["contentBlockStart"] + ["contentBlockDelta"] * 3 + ["contentBlockStop"]),  # a call
        *("messageStop", "metadata"),
    ]
    assert all(event[kind]["p"] for event, kind in zip(events, kinds, strict=True))
    assert len({len(event[kind]["p"]) for event, kind in zip(events, kinds, strict=True)}) > 5


def test_thinking_is_counted_apart_only_for_who_asks():
    assert "additionalModelResponseFields" not in answered(Text("x"))
    asked = accepted(additionalModelResponseFieldPaths=PATHS)
    told_apart = answered(Text("x"), given=asked)["additionalModelResponseFields"]
    assert told_apart == {"usage": {"output_tokens_details": {"thinking_tokens": 5}}}


def test_what_is_not_shown_is_signed_all_the_same():
    hidden = {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}}
    given = accepted("us.anthropic.claude-opus-5", **hidden)
    (block,) = content(Thinking("hm"), given=given)
    assert block["reasoningContent"]["reasoningText"]["text"] == ""
    assert len(block["reasoningContent"]["reasoningText"]["signature"]) > 200


@pytest.mark.parametrize(
    ("model", "fields", "blocks"),
    [
        (
            "amazon.nova-2-lite-v1:0",
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}},
            [{"reasoningContent": {"reasoningText": {"text": "[REDACTED]"}}}],
        ),
        (
            "openai.gpt-oss-20b-1:0",
            {"reasoning_effort": "low"},
            [{"reasoningContent": {"reasoningText": {"text": "hm"}}}],
        ),
        ("xai.grok-4.7", {"reasoning": {"effort": "low"}}, []),
    ],
)
def test_each_maker_shows_its_thinking_its_own_way(model, fields, blocks):
    given = accepted(model, additionalModelRequestFields=fields)
    assert content(Thinking("hm"), given=given) == blocks


def test_what_only_the_service_knows_is_said_as_it_is():
    result = {"toolResult": {"toolUseId": "t", "type": "x", "content": [{"text": "y"}]}}
    part = UnknownPart("bedrock", result)
    assert content(part) == [result]
    start, delta = aws_objects(streamed(part))[1:3]
    assert start["contentBlockStart"]["start"] == {"toolResult": {"toolUseId": "t", "type": "x"}}
    assert delta["contentBlockDelta"]["delta"] == {"toolResult": [{"text": "y"}]}


def test_an_error_after_all_was_well_is_an_exception_frame():
    error = WIRE.service().error(429, "slow down", code=None, retry_after=None)
    (frame,) = AwsEventsReader().feed(WIRE.service().stream(accepted()).fail(error))
    assert frame.headers[":exception-type"] == "throttlingException"
    assert (frame.headers[":message-type"], frame.payload) == ("exception", error.body)


def test_an_error_has_its_name_in_a_header():
    error = WIRE.service().error(503, "busy", code=None, retry_after=2.5)
    assert isinstance(error, HttpResponse)
    assert error.headers["x-amzn-errortype"] == "ServiceUnavailableException"
    assert error.headers["retry-after"] == "2.5"
    named = WIRE.service().error(429, "later", code="ModelNotReadyException", retry_after=None)
    assert named.headers["x-amzn-errortype"] == "ModelNotReadyException"


# -- what it takes back ----------------------------------------------------------------------------


def second(blocks, model=CLAUDE, **changed):
    asked = {"additionalModelRequestFields": ADAPTIVE, "toolConfig": {"tools": [TOOL]}} | changed
    first = said("user", {"text": "hi"})
    return raw(first, said("assistant", *blocks), said("user", {"text": "go on"}), **asked), model


def test_its_own_thinking_is_taken_back_and_no_other():
    blocks = content(Thinking("hm"), Thinking("", redacted=True), Text("So."))
    sent(*second(blocks))
    blocks[0]["reasoningContent"]["reasoningText"]["text"] += "!"
    assert "Invalid `signature`" in refusal(*second(blocks))


@pytest.mark.parametrize(
    "changed",
    [
        {"system": [{"text": "another"}]},
        {"toolConfig": {"tools": [TOOL, {"toolSpec": {**TOOL["toolSpec"], "name": "see"}}]}},
    ],
)
def test_newer_thinking_is_bound_to_what_came_before_it(changed):
    blocks = content(Thinking("hm"), Text("So."), given=accepted(BOUND))
    sent(*second(blocks, BOUND))
    assert "bound to a different conversation" in refusal(*second(blocks, BOUND, **changed))
    dropping = {
        "thinking": {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        },
    }
    body, model = second(blocks, BOUND, **changed, additionalModelRequestFields=dropping)
    assert "Extra inputs are not permitted" in refusal(body, model)
    dropping["anthropic_beta"] = ["thinking-binding-controls-2026-08-01"]
    sent(body, model)


def test_older_thinking_is_not():
    blocks = content(Thinking("hm"), Text("So."))
    sent(*second(blocks, system=[{"text": "another"}]))


def test_marks_for_the_cache_change_nothing():
    blocks = content(Thinking("hm"), Text("So."), given=accepted(BOUND))
    body, model = second(blocks, BOUND)
    body["messages"][0]["content"].append({"cachePoint": {"type": "default"}})
    body["toolConfig"] = {"tools": [TOOL, {"cachePoint": {"type": "default"}}]}
    sent(body, model)
