"""A Converse answer in one piece."""

import json

import pytest

from pondero.canon import ResponseHead, Signature, Text, Thinking, ToolCall, UnknownPart, Usage
from pondero.dialects import AnswerContext
from pondero.errors import Malformed

from ..making import (
    START,
    WIRE,
    answer,
    assembled,
    begin,
    end,
    fed,
    metadata,
    more,
    stop,
    thought,
    whole,
)

CITED = {"title": "facts", "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 9}}}


def seal(value):
    return Signature("bedrock", value, "asked", "here")


def test_every_kind_of_block():
    message, finished = assembled(
        whole(
            answer(
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "EpMC"}}},
                {"reasoningContent": {"redactedContent": "cmVk"}},
                {"text": "Let me look."},
                {"citationsContent": {"content": [{"text": "So."}], "citations": [CITED]}},
                {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"a": [1]}}},
                {"guardContent": {"text": {"text": "x"}}},
                stopReason="tool_use",
            )
        )
    )
    assert message.parts == (
        Thinking("hm", seal("EpMC")),
        Thinking("", seal("cmVk"), redacted=True),
        Text("Let me look."),
        Text("So.", citations=(CITED,)),
        ToolCall("t1", "look", {"a": [1]}),
        UnknownPart("bedrock", {"guardContent": {"text": {"text": "x"}}}),
    )
    assert (finished.finish, finished.raw_finish, finished.model) == (
        "tool_calls",
        "tool_use",
        "asked",
    )
    assert finished.usage == Usage(input=10, output=20, total=30)


def test_words_may_stand_before_the_thinking():
    thinking = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    message, _ = assembled(whole(answer({"text": "391"}, thinking)))
    assert message.parts == (Text("391"), Thinking("hm", seal("")))


def test_an_answer_may_be_nothing_but_thinking():
    message, finished = assembled(
        whole(answer({"reasoningContent": {"reasoningText": {"text": "hm"}}}))
    )
    assert (message.text, finished.finish) == ("", "stop")


def test_a_guardrails_trace_and_what_else_is_told_are_kept():
    trace = {"guardrail": {"actionReason": "blocked"}}
    body = answer({"text": "no"}, stopReason="guardrail_intervened", trace=trace)
    body |= {"serviceTier": {"type": "default"}}
    _, finished = assembled(whole(body))
    assert finished.finish == "content_filter"
    assert finished.safety == {"actionReason": "blocked"}
    assert finished.extras == {"metrics": {"latencyMs": 7}, "serviceTier": {"type": "default"}}


def test_the_model_a_router_chose_is_told():
    trace = {"promptRouter": {"invokedModelId": "arn:aws:bedrock:x:y/z"}}
    assert assembled(whole(answer({"text": "x"}, trace=trace)))[1].model == "arn:aws:bedrock:x:y/z"


def test_counts_that_are_missing_are_unknown():
    assert assembled(whole(answer({"text": "x"}, usage=None)))[1].usage == Usage()
    partly = assembled(whole(answer({"text": "x"}, usage={"outputTokens": 5})))[1].usage
    assert partly == Usage(output=5, total=5)


def test_whole_and_streamed_are_one():
    content = (
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "EpMC"}}},
        {"text": "So."},
        {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"a": 1}}},
    )
    streamed = fed(
        START,
        thought(0, text="hm"),
        thought(0, signature="EpMC"),
        stop(0),
        more(1, text="So."),
        stop(1),
        begin(2, toolUse={"toolUseId": "t1", "name": "look"}),
        more(2, toolUse={"input": '{"a": 1}'}),
        stop(2),
        end("tool_use"),
        metadata(),
    )
    assert streamed == whole(answer(*content, stopReason="tool_use"))


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$"),
        ({"output": {}, "stopReason": "x"}, "$.output"),
        (answer({"text": 1}), "$.output.message.content[0].text"),
        (answer({"text": "a"}, {"toolUse": {}}), "$.output.message.content[1].toolUse"),
        (answer("x"), "$.output.message.content[0]"),
    ],
)
def test_a_broken_answer_says_where(body, path):
    with pytest.raises(Malformed) as raised:
        whole(body)
    assert raised.value.path == path


def test_the_dialect_knows_its_own():
    recognises = WIRE.caller().match_score
    assert recognises(answer({"text": "x"}), stream=False) == 100
    assert recognises({"contentBlockIndex": 0, "delta": {"text": "x"}}, stream=True) == 100
    assert recognises({"output": [], "stopReason": "x"}, stream=False) == 0
    assert recognises([], stream=True) == 0
    with pytest.raises(Malformed):
        WIRE.caller().decode(ResponseHead(200), json.dumps([]).encode(), AnswerContext())
