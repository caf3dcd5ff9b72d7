"""Requests read without rules, as a gateway reads them."""

import json

import pytest
from tests.dialects.cohere.making import NAME, THINKER, call
from tests.laws.strategies import told

from pondero.canon import (
    HttpRequest,
    Message,
    Reply,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    UnknownPart,
    Usage,
)
from pondero.dialects import Rejected, ReplyContext
from pondero.dialects.cohere.service import SERVICE
from pondero.thinking import UNSET, Intent

USER = {"role": "user", "content": "Hello"}
FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object"}}


def posted(raw):
    return HttpRequest("POST", "https://x/v2/chat", {}, json.dumps(raw).encode())


def parsed(**more):
    return SERVICE.parse(posted({"model": "house-model-1", "messages": [USER], **more}))


def test_a_request_needs_no_key_and_no_known_model():
    found = parsed(stream=True, seed=3)
    assert (found.request.model, found.request.stream) == ("house-model-1", True)
    assert found.request.messages == (Message("user", (Text("Hello"),)),)
    assert found.request.extras == {"seed": 3}
    assert (found.intent, found.show, found.unknown) == (UNSET, None, ())


def test_fields_the_wire_does_not_have_are_passed_over_and_listed():
    found = parsed(
        messages=[{"role": "user", "content": [{"type": "text", "text": "hi", "mood": 1}]}],
        tools=[{"type": "function", "function": FUNCTION | {"strict": True}, "eager": True}],
        verve=3,
        seed=7,
    )
    assert set(found.unknown) == {
        "messages.0.content.0.mood",
        "tools.0.function.strict",
        "tools.0.eager",
        "verve",
    }
    assert found.request.messages == (Message("user", (Text("hi"),)),)
    assert found.request.tools == (Tool("f", "d", {"type": "object"}),)
    assert found.request.extras == {"seed": 7}


def test_unknown_kinds_of_parts_and_tools_are_kept_as_they_are():
    scent = {"type": "scent", "note": "pine"}
    search = {"type": "web_search", "depth": 2}
    found = parsed(
        messages=[
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}, scent]},
            {"role": "user", "content": [scent, {"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [scent], "tool_calls": [call()]},
            {"role": "tool", "tool_call_id": "f_1", "content": [scent]},
        ],
        tools=[search, {"type": "function", "function": FUNCTION}],
    )
    other = UnknownPart(NAME, scent)
    assert found.request.system == (Text("Be brief."),)
    assert found.request.messages == (
        Message("user", (other, Text("hi"))),
        Message("assistant", (other, ToolCall("f_1", "f", {}))),
        Message("user", (ToolResult("f_1", (other,)),)),
    )
    own, function = found.request.tools
    assert own == Tool("web_search", raw=search, dialect=NAME, kind="other")
    assert function == Tool("f", "d", {"type": "object"})
    assert "messages.0.content.1" in found.unknown


@pytest.mark.parametrize(
    ("thinking", "intent"),
    [
        (None, UNSET),
        ({"type": "enabled"}, Intent("on")),
        ({"type": "disabled"}, Intent("off")),
        ({"type": "enabled", "token_budget": 512}, Intent("budget", tokens=512)),
        ({"type": "enabled", "token_budget": -5}, Intent("budget", tokens=-5)),
    ],
)
def test_the_wish_is_read_whatever_the_model_would_say(thinking, intent):
    assert parsed(thinking=thinking).intent == intent


def test_pairs_ranges_and_company_are_not_checked():
    result = {"role": "tool", "tool_call_id": "gone", "content": "ok"}
    found = parsed(
        messages=[{"role": "assistant"}, result],
        temperature=9,
        p=1.0,
        k=900,
        stop_sequences=["x"] * 9,
        max_tokens=0,
        tool_choice="AUTO",
        safety_mode="NEW",
    )
    assert found.request.messages == (
        Message("assistant", ()),
        Message("user", (ToolResult("gone", (Text("ok"),)),)),
    )
    assert (found.request.temperature, found.request.top_p, found.request.top_k) == (9, 1, 900)
    assert found.request.tool_choice is None
    assert found.unknown == ("tool_choice",)


@pytest.mark.parametrize(
    "raw", [[], {"messages": [USER]}, {"model": "m", "messages": ["hi"]}, {"model": "m"}]
)
def test_what_cannot_be_read_is_refused(raw):
    with pytest.raises(Rejected):
        SERVICE.parse(posted(raw))


def test_a_body_that_is_not_json_is_refused():
    with pytest.raises(Rejected):
        SERVICE.parse(HttpRequest("POST", "https://x/v2/chat", {}, b"{"))


def test_a_gateway_chooses_the_ids_and_whether_thinking_is_shown():
    found = parsed(model=THINKER)
    reply = Reply(Message("assistant", (Thinking("hm"), Text("yes"))), "stop", Usage(1, output=1))

    def answering(seed):
        return ReplyContext(request=found.request, context=found.context, seed=seed, shown=True)

    one = json.loads(SERVICE.reply(answering(b"one"), reply).body)
    two = json.loads(SERVICE.reply(answering(b"two"), reply).body)
    assert [part["type"] for part in one["message"]["content"]] == ["thinking", "text"]
    assert one["id"] != two["id"]
    stream = SERVICE.stream(answering(b"one"))
    first = stream.feed(told(reply, pieces=1)[0])
    assert json.loads(first.partition(b"data: ")[2])["id"] == one["id"]
    assert first.startswith(b"event: message-start\n")


def test_documents_in_a_result_are_its_words():
    documents = [
        {"type": "document", "document": {"data": {"answer": 4}}},
        {"type": "document", "document": {"data": "plain", "id": "1"}},
    ]
    found = parsed(
        messages=[
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [call()]},
            {"role": "tool", "tool_call_id": "f_1", "content": documents},
        ]
    )
    (result,) = found.request.messages[-1].parts
    assert result == ToolResult("f_1", (Text('{"answer":4}'), Text("plain")))
