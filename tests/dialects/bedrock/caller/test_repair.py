"""Refusals that name their own cure."""

import json

import pytest
from tests.repairs import repair

from pondero.canon import Message, Signature, Text, Thinking, Tool, ToolCall, ToolResult
from pondero.errors import BadRequest

from ..making import BOUND, CLAUDE, OLDER, ask, encoded

BUDGET = {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}
ADAPTIVE = {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}}
SIGNED = Thinking("hm", Signature("bedrock", "EpMC"))
HIDDEN = Thinking("", Signature("bedrock", "cmVk"), redacted=True)
THREAD = (
    Message("user", (Text("hi"),)),
    Message("assistant", (SIGNED, HIDDEN, Text("So."))),
    Message("user", (Text("go on"),)),
)
LOOP = (
    Message("user", (Text("hi"),)),
    Message("assistant", (SIGNED, ToolCall("t1", "look", {}))),
    Message("user", (ToolResult("t1", (Text("x"),)),)),
)
TOOLS = (Tool("look"),)


def repaired(http, message):
    made = repair("bedrock", http, BadRequest(message, status=400))
    assert made is not None
    return made, json.loads(made.request.body)


def test_thinking_bound_to_another_beginning_is_dropped_by_the_service():
    http = encoded(ask(messages=THREAD, model=BOUND), ADAPTIVE)
    words = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."
    made, body = repaired(http, words)
    own = body["additionalModelRequestFields"]
    assert own["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert own["anthropic_beta"] == ["thinking-binding-controls-2026-08-01"]
    assert body["messages"] == json.loads(http.body)["messages"]
    assert (made.holds_for, made.unsealed) == ("thread", ())
    assert made.adjustment.code == "seal_refused"


@pytest.mark.parametrize(
    "words",
    [
        "The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block",
        "The model returned the following errors: messages.1.content.1: Invalid `data` in `redacted_thinking` block",
        "This model doesn't support the reasoningContent.reasoningText.signature field. Remove it.",
    ],
)
def test_thinking_that_is_not_taken_is_left_out(words):
    made, body = repaired(encoded(ask(messages=THREAD, model=CLAUDE), ADAPTIVE), words)
    assert body["messages"][1]["content"] == [{"text": "So."}]
    assert (made.holds_for, made.unsealed) == ("thread", ("EpMC", "cmVk"))


def test_an_open_tool_loop_goes_on_without_thinking():
    http = encoded(ask(messages=LOOP, model=OLDER, tools=TOOLS), BUDGET)
    made, body = repaired(http, "messages.1.content.0: Invalid `signature` in `thinking` block")
    assert body["additionalModelRequestFields"]["thinking"] == {"type": "disabled"}
    assert "reasoningContent" not in str(body["messages"])
    assert "until its tools have answered" in made.adjustment.why


@pytest.mark.parametrize(
    ("fields", "after"),
    [
        ({"output_config": {"effort": "xhigh"}}, {"output_config": {"effort": "high"}}),
        ({"reasoning_effort": "max"}, {"reasoning_effort": "high"}),
        ({"reasoning": {"effort": "minimal"}}, {"reasoning": {"effort": "low"}}),
        ({"reasoning_config": "xhigh"}, {"reasoning_config": "high"}),
        (
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "max"}},
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}},
        ),
    ],
)
def test_a_word_that_is_not_taken_becomes_the_nearest_of_those_listed(fields, after):
    http = encoded(ask(model="x"), {"additionalModelRequestFields": fields})
    made, body = repaired(http, "'x' is not supported. Supported levels: low, medium, high.")
    assert body["additionalModelRequestFields"] == after
    assert (made.holds_for, made.adjustment.code) == ("model", "unsupported_level")


@pytest.mark.parametrize(
    "words", ["no", "Supported levels: low, medium.", "Supported levels: high."]
)
def test_a_refusal_without_a_cure_stands(words):
    fields = {} if "low" in words else {"reasoning_effort": "high"}
    http = encoded(ask(model="x"), {"additionalModelRequestFields": fields})
    assert repair("bedrock", http, BadRequest(words, status=400)) is None


def test_a_region_that_does_not_know_the_wish_to_be_shown_thinking_is_not_told_it():
    shown = {"thinking": {"type": "adaptive", "display": "summarized"}}
    http = encoded(ask(model=CLAUDE), {"additionalModelRequestFields": shown})
    made, body = repaired(http, "thinking.adaptive.display: Extra inputs are not permitted")
    assert body["additionalModelRequestFields"]["thinking"] == {"type": "adaptive"}
    assert (made.adjustment.code, made.holds_for) == ("summary_refused", "model")


def test_a_refusal_of_a_wish_that_was_not_there_says_no_cure():
    http = encoded(ask(model=CLAUDE), ADAPTIVE)
    words = "thinking.adaptive.display: Extra inputs are not permitted"
    assert repair("bedrock", http, BadRequest(words, status=400)) is None
