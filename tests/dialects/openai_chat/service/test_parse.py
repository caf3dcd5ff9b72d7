"""The lenient road: a request is read as it is meant, whatever a provider would say about it."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from pondero.canon import (
    HttpRequest,
    Image,
    Message,
    PartEnd,
    PartStart,
    Reply,
    Started,
    Text,
    Thinking,
    ThinkingDelta,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.dialects import Rejected, ReplyContext
from pondero.thinking import Intent

from ..making import CHAT

HI = {"role": "user", "content": "hi"}
FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object"}}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}


def parse(path="/v1/chat/completions", **fields):
    body: dict[str, Any] = {"model": "nobody/knows-this-1", "messages": [HI], **fields}
    sent = {key: value for key, value in body.items() if value is not ...}
    http = HttpRequest("POST", f"https://x.test{path}", {}, json.dumps(sent).encode())
    return CHAT.service().parse(http)


def test_no_key_and_no_known_model_are_needed():
    parsed = parse()
    assert parsed.request.model == "nobody/knows-this-1"
    assert parsed.request.messages == (Message("user", (Text("hi"),)),)
    assert (parsed.intent, parsed.show, parsed.unknown) == (Intent("unset"), None, ())


def test_a_model_may_stand_in_the_address_or_nowhere():
    path = "/openai/deployments/mine/chat/completions"
    assert parse(path, model=...).request.model == "mine"
    assert parse(model=...).request.model == "default"


def test_unknown_fields_are_listed_wherever_they_stand():
    parsed = parse(
        mood="fine",
        messages=[
            {**HI, "mood": 1},
            {"role": "user", "content": [{"type": "text", "text": "x", "mood": 2}]},
            {"role": "assistant", "tool_calls": [{**CALL, "mood": 3}]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
        ],
        tools=[{"type": "function", "function": {**FUNCTION, "mood": 4}, "defer": True}],
        stream_options={"include_usage": True, "mood": 5},
    )
    assert sorted(parsed.unknown) == [
        "messages.0.mood",
        "messages.1.content.0.mood",
        "messages.2.tool_calls.0.mood",
        "mood",
        "stream_options.mood",
        "tools.0.defer",
        "tools.0.function.mood",
    ]
    assert parsed.request.tools == (Tool("f", "d", {"type": "object"}),)
    assert parsed.request.extras is None
    assert parsed.context.include_usage


def test_fields_that_some_provider_takes_are_kept():
    assert parse(seed=1, user="u").request.extras == {"seed": 1, "user": "u"}


def test_values_of_the_wrong_type_are_passed_over_and_listed():
    parsed = parse(
        temperature="hot",
        tools=[{"type": "function", "function": FUNCTION}],
        tool_choice={"type": "oracle"},
        messages=[{**HI, "name": 5}],
    )
    assert sorted(parsed.unknown) == ["messages.0.name", "temperature", "tool_choice"]
    assert parsed.request.temperature is None


def test_unknown_kinds_of_parts_stay_as_they_are():
    odd = {"type": "hologram", "hologram": {"n": 1}}
    parsed = parse(messages=[{"role": "user", "content": [{"type": "text", "text": "x"}, odd]}])
    assert parsed.request.messages[0].parts == (Text("x"), UnknownPart("openai_chat", odd))
    assert parsed.unknown == ()


def test_a_part_that_lacks_what_it_needs_stays_as_it_is():
    broken = {"type": "image_url"}
    cut = {"type": "image_url", "image_url": {"url": "data:image/png;base64,@@"}}
    parsed = parse(messages=[{"role": "user", "content": [broken, cut]}])
    kinds = [type(part) for part in parsed.request.messages[0].parts]
    assert kinds == [UnknownPart, UnknownPart]


def test_a_picture_in_a_result_is_a_picture():
    picture = {"type": "image_url", "image_url": {"url": "https://x.test/y.png"}}
    turn = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "a", "content": [picture]}
    parsed = parse(messages=[HI, turn, result])
    assert parsed.request.messages[2].parts == (
        ToolResult("a", (Image(url="https://x.test/y.png"),)),
    )


def test_a_message_of_an_unknown_role_is_read_as_a_users():
    parsed = parse(messages=[{"role": "critic", "content": "meh"}])
    assert parsed.request.messages == (Message("user", (Text("meh"),)),)
    assert parsed.unknown == ("messages.0.role",)


def test_pairs_and_seals_are_not_checked():
    details = [{"type": "reasoning.text", "text": "hm", "signature": "forged"}]
    turn = {"role": "assistant", "reasoning_details": details, "tool_calls": [CALL]}
    stray = {"role": "tool", "tool_call_id": "b", "content": "1"}
    parsed = parse(messages=[turn, HI, stray])
    said, _, answered = parsed.request.messages
    assert [type(part) for part in said.parts] == [Thinking, ToolCall]
    assert answered.parts == (ToolResult("b", (Text("1"),)),)


def test_older_and_odd_forms_of_calls_are_read():
    spoken = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}
    older = {"role": "function", "content": [{"type": "text", "text": "1"}]}
    parsed = parse(messages=[HI, spoken, older])
    (call,), (result,) = (message.parts for message in parsed.request.messages[1:])
    assert (call.name, call.arguments, result.call_id) == ("f", {}, call.id)


SEARCH = {"type": "web_search"}
ODD = {"type": "telepathy"}
CUSTOM = {"type": "custom", "custom": {"name": "c", "description": "d"}}
LARK = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: A"}}
GRAMMAR = {"type": "custom", "custom": {"name": "c", "format": LARK}}


@pytest.mark.parametrize(
    ("tool", "read"),
    [
        ({"type": "function", **FUNCTION}, Tool("f", "d", {"type": "object"})),
        ({"function": FUNCTION}, Tool("f", "d", {"type": "object"})),
        ({"type": "function", "function": {"name": "x" * 80}}, Tool("x" * 80)),
        (SEARCH, Tool("web_search", raw=SEARCH, dialect=CHAT.name, kind="web_search")),
        (ODD, Tool("telepathy", raw=ODD, dialect=CHAT.name, kind="other")),
        (CUSTOM, Tool("c", "d", {"type": "string"}, raw=CUSTOM, dialect=CHAT.name, kind="text")),
        (
            GRAMMAR,
            Tool(
                "c",
                "",
                {"type": "string", "description": "Text of this lark grammar:\nstart: A"},
                raw=GRAMMAR,
                dialect=CHAT.name,
                kind="text",
            ),
        ),
    ],
    ids=["flat", "no type", "long name", "search", "unknown kind", "custom", "grammar"],
)
def test_every_tool_is_kept_and_functions_can_be_called(tool, read):
    assert parse(tools=[tool]).request.tools == (read,)


def test_a_forced_tool_in_other_words_is_understood():
    tools = [{"type": "function", "function": FUNCTION}]
    assert parse(tools=tools, tool_choice="any").request.tool_choice == ToolChoice("required")


@pytest.mark.parametrize(
    ("fields", "intent"),
    [
        ({"reasoning_effort": "high"}, Intent("level", "high")),
        ({"reasoning_effort": "none"}, Intent("off")),
        ({"reasoning_effort": False}, Intent("off")),
        ({"reasoning": {"effort": "low"}}, Intent("level", "low")),
        ({"reasoning": {"max_tokens": 2000}}, Intent("budget", None, 2000)),
        ({"reasoning": {"enabled": True}}, Intent("on")),
        ({"thinking": {"type": "disabled"}}, Intent("off")),
        ({"thinking": {"type": "enabled", "budget_tokens": 9}}, Intent("budget", None, 9)),
        ({"disable_reasoning": True}, Intent("off")),
        ({"enable_thinking": True}, Intent("on")),
        ({"chat_template_kwargs": {"enable_thinking": False}}, Intent("off")),
        ({"thinking_budget": 64}, Intent("budget", None, 64)),
    ],
    ids=str,
)
def test_every_providers_way_to_ask_for_thinking_is_read(fields, intent):
    parsed = parse(**fields)
    assert (parsed.intent, parsed.unknown) == (intent, ())


def test_a_wish_that_nobody_understands_is_listed():
    parsed = parse(reasoning_effort="gigantic", thinking={"type": "maybe"}, reasoning_format=[1])
    assert parsed.intent == Intent("unset")
    assert parsed.unknown == ("reasoning_effort", "thinking.type", "reasoning_format")


@pytest.mark.parametrize(
    ("fields", "show", "place"),
    [
        ({}, None, "reasoning_content"),
        ({"reasoning": {"exclude": True}}, False, "none"),
        ({"include_reasoning": True}, True, "reasoning_details"),
        ({"reasoning_format": "hidden"}, False, "none"),
        ({"reasoning_format": "parsed"}, True, "reasoning"),
    ],
    ids=str,
)
def test_whether_and_where_thinking_is_to_be_shown_is_read(fields, show, place):
    parsed = parse(**fields)
    assert (parsed.show, parsed.context.place) == (show, place)


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"messages": []}', b'{"messages": [3]}'])
def test_what_cannot_be_read_at_all_is_refused(body):
    http = HttpRequest("POST", "https://x.test/v1/chat/completions", {}, body)
    with pytest.raises(Rejected):
        CHAT.service().parse(http)


# -- an answer as a gateway writes it ----------------------------------------------------------------


def answering(seal, *, seed=b"one", shown=True, **fields):
    parsed = parse(**fields)
    return ReplyContext(
        request=parsed.request, context=parsed.context, sign=seal, seed=seed, shown=shown
    )


def wrapped(part, shown, _before):
    if isinstance(part, Thinking):
        return f"sealed:{shown}"
    return {"extra_content": {"gateway": part.id}} if isinstance(part, ToolCall) else None


THOUGHT = Thinking("hm")
REPLY = Reply(Message("assistant", (THOUGHT, Text("yes"), ToolCall("a", "f", {}))), "tool_calls")


def message_of(answering):
    return json.loads(CHAT.service().reply(answering, REPLY).body)["choices"][0]["message"]


def test_opaque_slots_hold_what_the_sealer_says():
    message = message_of(answering(wrapped, include_reasoning=True))
    words, sealed = message["reasoning_details"]
    assert (words["text"], sealed["data"]) == ("hm", "sealed:hm")
    assert message["tool_calls"][0]["extra_content"] == {"gateway": "a"}


def test_a_sealer_that_says_nothing_leaves_the_slots_out():
    message = message_of(answering(lambda *_: None, include_reasoning=True))
    assert [detail["type"] for detail in message["reasoning_details"]] == ["reasoning.text"]
    assert message["tool_calls"][0].keys() == {"id", "type", "function"}


def test_a_stream_ends_its_thinking_with_the_same_seal():
    stream = CHAT.service().stream(answering(wrapped, include_reasoning=True, stream=True))
    events = (Started(), PartStart(0, "thinking"), ThinkingDelta(0, "hm"), PartEnd(0, THOUGHT))
    said = b"".join(stream.feed(event) for event in events)
    assert b'"data":"sealed:hm"' in said


def test_ids_come_from_the_seed_alone():
    def id_of(answering):
        return json.loads(CHAT.service().reply(answering, REPLY).body)["id"]

    one = answering(wrapped)
    assert id_of(one) == id_of(answering(wrapped, user="another"))
    assert id_of(one) != id_of(replace(one, seed=b"two"))


def test_thinking_that_is_not_to_be_shown_is_left_out():
    message = message_of(answering(wrapped, shown=False))
    assert not message.keys() & {"reasoning_content", "reasoning"}
    assert [detail["type"] for detail in message["reasoning_details"]] == ["reasoning.encrypted"]
    assert message_of(answering(wrapped))["reasoning_content"] == "hm"
