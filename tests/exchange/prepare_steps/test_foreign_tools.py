"""Tools of another wire are offered as what a service has, and their calls come back as given."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import (
    Message,
    PartEnd,
    PartStart,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolDelta,
    ToolResult,
)
from pondero.client import load_catalog
from pondero.exchange import TextCalls, compose, plan
from pondero.thinking import Policy, RequestParameters, parse_intent

SEARCH = Tool("web_search", raw={"type": "web_search_9"}, dialect="elsewhere", kind="web_search")
PATCH = Tool("apply_patch", "Patches.", {"type": "string", "description": "A grammar."},
             raw={"type": "custom"}, dialect="elsewhere", kind="text")  # fmt: skip
ODD = Tool("computer", raw={"type": "computer"}, dialect="elsewhere", kind="other")
PLAIN = Tool("look", "Looks.", {"type": "object"}, raw={"name": "look"}, dialect="elsewhere")
CALLED = Message("assistant", (ToolCall("call_1", "apply_patch", "*** Begin"),))
DONE = Message("user", (ToolResult("call_1", (Text("ok"),)),))


def composed(model, *tools, choice=None):
    entry = load_catalog().entry(model)
    request = Request(
        entry.model,
        (Message("user", (Text("hi"),)), CALLED, DONE),
        tools=tools,
        tool_choice=choice,
    )
    made = plan(entry, parse_intent(None), asked=RequestParameters(), policy=Policy())
    exchange = compose(entry, request, made, url="http://here")
    return exchange, json.loads(exchange.http.body)


def codes(exchange):
    return [(note.code, note.asked) for note in exchange.plan.adjustments]


@pytest.mark.parametrize(
    ("model", "search"),
    [
        ("openai:gpt-5.5", {"type": "web_search"}),
        ("xai-responses:grok-4", {"type": "web_search"}),
        ("anthropic:claude-opus-5", {"type": "web_search_20250305", "name": "web_search"}),
        ("google:gemini-3-flash-preview", {"googleSearch": {}}),
    ],
)
def test_a_search_becomes_the_service_s_own(model, search):
    exchange, body = composed(model, SEARCH)
    assert body["tools"] == [search]
    assert codes(exchange) == [("tool_replaced", "web_search")]


@pytest.mark.parametrize("model", ["deepseek:deepseek-v4-flash", "cohere:command-a-03-2025"])
def test_a_search_is_left_out_where_the_service_has_none(model):
    exchange, body = composed(model, SEARCH, choice=ToolChoice("tool", "web_search"))
    assert "tools" not in body
    assert "tool_choice" not in body
    assert ("tool_left_out", "web_search") in codes(exchange)


def test_the_choice_of_a_tool_follows_it():
    _, body = composed("anthropic:claude-opus-5", SEARCH, choice=ToolChoice("tool", "web_search"))
    assert body["tool_choice"]["name"] == "web_search"
    exchange, body = composed("openai:gpt-5.5", ODD, PLAIN, choice=ToolChoice("tool", "computer"))
    assert body["tool_choice"] == "auto"
    assert ("dropped_parameter", "computer") in codes(exchange)
    assert [tool["name"] for tool in body["tools"]] == ["look"]


@pytest.mark.parametrize("model", ["openai:gpt-5.5", "deepseek:deepseek-v4-flash"])
def test_a_tool_that_takes_a_text_becomes_a_function_with_one(model):
    exchange, body = composed(model, PATCH)
    function = body["tools"][0].get("function", body["tools"][0])
    assert function["parameters"]["properties"] == {"input": PATCH.parameters}
    assert exchange.texts == {"apply_patch"}
    assert json.dumps(json.dumps({"input": "*** Begin"}, separators=(",", ":"))) in json.dumps(body)


def test_a_tool_of_the_same_wire_stays_as_it_was_written():
    own = Tool("web_search", raw={"type": "web_search", "x": 1}, dialect="openai_responses",
               kind="web_search")  # fmt: skip
    exchange, body = composed("openai:gpt-5.5", own)
    assert body["tools"] == [own.raw]
    assert not codes(exchange)


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.integers(0, 200), max_size=6),
    st.booleans(),
)
def test_the_text_of_a_call_comes_as_its_json_does(text, cuts, escaped):
    whole = json.dumps({"input": text}, ensure_ascii=escaped)
    at = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[begin:end] for begin, end in pairwise(at)]
    calls = TextCalls(frozenset({"apply_patch"}))
    events = [PartStart(0, "tool_call", "call_1", "apply_patch")]
    events += [ToolDelta(0, piece) for piece in pieces]
    events.append(PartEnd(0, ToolCall("call_1", "apply_patch", {"input": text})))
    got = [each for event in events for each in calls.take([event])]
    assert "".join(event.json for event in got if isinstance(event, ToolDelta)) == text
    assert got[-1] == PartEnd(0, ToolCall("call_1", "apply_patch", text))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"input": "a", "more": 1}, "a"),
        ({"patch": "a"}, '{"patch":"a"}'),
        ("a", "a"),
        (["a"], '["a"]'),
    ],
)
def test_odd_arguments_are_a_text_too(arguments, text):
    calls = TextCalls(frozenset({"apply_patch"}))
    (end,) = calls.take([PartEnd(0, ToolCall("call_1", "apply_patch", arguments))])
    assert end == PartEnd(0, ToolCall("call_1", "apply_patch", text))


def test_calls_of_other_tools_stay():
    calls = TextCalls(frozenset({"apply_patch"}))
    events = [
        PartStart(0, "tool_call", "call_1", "look"),
        ToolDelta(0, '{"input": "a"}'),
        PartEnd(0, ToolCall("call_1", "look", {"input": "a"})),
    ]
    assert calls.take(events) == events
