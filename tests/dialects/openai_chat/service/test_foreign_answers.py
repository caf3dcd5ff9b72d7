"""Answers of other wires on this one: where thinking stands, what seals it, and what comes back."""

import json

import pytest
from tests.dialects.openai_chat.making import CHAT

from pondero.canon import (
    Finished,
    HttpRequest,
    Image,
    Message,
    PartEnd,
    PartStart,
    Reply,
    ResponseHead,
    Signature,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    ToolResult,
    UnknownPart,
    Usage,
)
from pondero.dialects import AnswerContext
from pondero.dialects.dialect import ReplyContext

HI = {"role": "user", "content": "hi"}
SHELL = {"type": "custom", "custom": {"name": "shell"}}
ENVELOPE = Signature("pondero", "cG5kRXYx")
CALL = ToolCall("call_1", "look", {"a": 1}, ENVELOPE)


def parsed(**fields):
    body = {"model": "opus", "messages": [HI], "stream": True, **fields}
    url = "http://here/v1/chat/completions"
    return CHAT.service().parse(HttpRequest("POST", url, {}, json.dumps(body).encode()))


def carried(part, _shown, _before):
    seal = getattr(part, "signature", None)
    return seal.value if seal is not None and seal.dialect == "pondero" else None


def answering(place=None, **fields):
    read = parsed(**fields)
    return ReplyContext(
        request=read.request, context=read.context, sign=carried, seed=b"1", shown=True, place=place
    )


def deltas(asked, *events):
    """Return the deltas of an answer's chunks, as far as they say something."""
    stream = CHAT.service().stream(asked)
    sent = b"".join(stream.feed(event) for event in (Started("opus"), *events))
    chunks = [json.loads(line[6:]) for line in sent.decode().splitlines() if line]
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]][1:]


def thinking(text="hm", seal=None, index=0):
    return (
        PartStart(index, "thinking"),
        ThinkingDelta(index, text),
        PartEnd(index, Thinking(text, seal)),
    )


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (None, [{"reasoning_content": "hm"}]),
        ("reasoning_content", [{"reasoning_content": "hm"}]),
        ("reasoning", [{"reasoning": "hm"}]),
        ("both", [{"reasoning_content": "hm", "reasoning": "hm"}]),
        ("tags", [{"content": "<think>\nhm"}, {"content": "\n</think>\n\n"}]),
        ("none", []),
    ],
)
def test_thinking_stands_where_the_gateway_says(place, said):
    assert deltas(answering(place), *thinking()) == said
    reply = Reply(Message("assistant", (Thinking("hm"), Text("so"))), "stop")
    body = json.loads(CHAT.service().reply(answering(place), reply).body)
    message = body["choices"][0]["message"]
    fields = {key: value for each in said for key, value in each.items() if key != "content"}
    shown = {key: value for key, value in message.items() if key.startswith("reasoning")}
    assert shown == fields
    tagged = "<think>\nhm\n</think>\n\nso" if place == "tags" else "so"
    assert message["content"] == tagged


def test_thinking_after_words_is_tagged_anew():
    said = deltas(answering("tags"), *thinking(), *thinking("so", index=1))
    assert "".join(delta["content"] for delta in said) == (
        "<think>\nhm\n</think>\n\n<think>\nso\n</think>\n\n"
    )


def test_what_seals_thinking_is_a_detail_even_where_no_thinking_is_shown():
    for place in (None, "tags", "none"):
        (details,) = [
            delta["reasoning_details"]
            for delta in deltas(answering(place), *thinking(seal=ENVELOPE))
            if "reasoning_details" in delta
        ]
        assert [(each["type"], each["data"]) for each in details] == [
            ("reasoning.encrypted", ENVELOPE.value)
        ]


def test_what_seals_a_call_comes_with_its_first_delta_in_both_slots():
    first, *rest = deltas(
        answering(),
        PartStart(0, "tool_call", "call_1", "look", ENVELOPE),
        ToolDelta(0, '{"a":1}'),
        PartEnd(0, CALL),
    )
    (call,) = first["tool_calls"]
    assert call["extra_content"] == {"google": {"thought_signature": ENVELOPE.value}}
    (detail,) = first["reasoning_details"]
    assert (detail["id"], detail["data"]) == ("call_1", ENVELOPE.value)
    assert rest == [{"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]}]


def test_what_seals_a_call_comes_at_its_end_where_it_was_not_known_before():
    *_, late, detail = deltas(
        answering(), PartStart(0, "tool_call", "call_1", "look"), PartEnd(0, CALL)
    )
    assert late["tool_calls"][0]["extra_content"]["google"]["thought_signature"] == ENVELOPE.value
    assert detail["reasoning_details"][0]["id"] == "call_1"


def test_a_call_of_a_tool_that_takes_a_text_is_a_custom_call():
    call = ToolCall("call_1", "shell", "ls -l")
    asked = answering(tools=[SHELL])
    begin = PartStart(0, "tool_call", "call_1", "shell")
    pieces = (ToolDelta(0, "ls"), ToolDelta(0, " -l"))
    for middle in (pieces, ()):
        first, *rest = deltas(asked, begin, *middle, PartEnd(0, call))
        assert first["tool_calls"][0]["custom"] == {"name": "shell", "input": ""}
        assert first["tool_calls"][0]["type"] == "custom"
        more = [delta["tool_calls"][0]["custom"]["input"] for delta in rest]
        assert "".join(more) == "ls -l"
    reply = Reply(Message("assistant", (call,)), "tool_calls")
    body = json.loads(CHAT.service().reply(asked, reply).body)
    (told,) = body["choices"][0]["message"]["tool_calls"]
    assert told["custom"] == {"name": "shell", "input": "ls -l"}


def test_pictures_and_pages_are_said_and_what_only_another_wire_has_is_not():
    parts = (
        Text(
            "so",
            citations=({"type": "web_search_result_location", "url": "https://x", "title": "X"},),
        ),
        Image("image/png", b"1"),
        UnknownPart("elsewhere", {"secret": 1}),
    )
    body = json.loads(
        CHAT.service().reply(answering(), Reply(Message("assistant", parts), "stop")).body
    )
    message = body["choices"][0]["message"]
    assert message["annotations"][0]["url_citation"]["url"] == "https://x"
    assert message["images"][0]["image_url"]["url"] == "data:image/png;base64,MQ=="
    assert "secret" not in json.dumps(body)


@pytest.mark.parametrize("finish", ["refusal", "paused", "context_full", "error", "other"])
def test_a_finish_of_another_wire_is_a_word_of_this_one(finish):
    stream = CHAT.service().stream(answering())
    events = (Started(), PartStart(0, "text"), TextDelta(0, "a"), PartEnd(0, Text("a")))
    sent = b"".join(stream.feed(event) for event in (*events, Finished(finish, Usage())))
    words = {"refusal": "content_filter", "context_full": "length", "error": "error"}
    assert f'"finish_reason":"{words.get(finish, "stop")}"'.encode() in sent


# -- and back ------------------------------------------------------------------------------------


def turn(**fields):
    return parsed(messages=[HI, {"role": "assistant", **fields}, HI]).request.messages[1]


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "so", "reasoning_content": "hm"},
        {"content": "so", "reasoning": "hm"},
        {"content": "so", "reasoning": "hm", "reasoning_content": "hm"},
        {"content": "<think>\nhm\n</think>\n\nso"},
        {"content": [{"type": "text", "text": "<think>\nhm\n</think>\n\nso"}]},
        {"content": "so", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {
            "content": "so",
            "reasoning_content": "hm",
            "reasoning_details": [{"type": "reasoning.encrypted", "id": "rs_0", "data": "x"}],
        },
    ],
    ids="+".join,
)
def test_thinking_that_comes_back_is_thinking_in_any_shape(fields):
    thought, said = turn(**fields).parts
    assert isinstance(thought, Thinking)
    assert (thought.text, said.text) == ("hm", "so")


def test_what_seals_a_part_comes_back_with_it():
    details = [{"type": "reasoning.encrypted", "id": "call_1", "data": ENVELOPE.value}]
    extra = {"google": {"thought_signature": ENVELOPE.value}}
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    thought, called = turn(
        reasoning_details=details, tool_calls=[{**call, "extra_content": extra}]
    ).parts
    assert thought.signature.value == {"reasoning_details": details}
    assert called.signature.value == {"extra_content": extra}


def test_a_body_of_the_responses_api_is_read_at_this_address():
    items = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
         "encrypted_content": "x"},
        {"type": "message", "role": "assistant",
         "content": [{"type": "output_text", "text": "so"}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
    ]  # fmt: skip
    tool = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    body = {
        "model": "opus",
        "input": items,
        "instructions": "Be brief.",
        "tools": [tool],
        "tool_choice": {"type": "function", "name": "look"},
        "max_output_tokens": 9,
        "reasoning": {"effort": "high"},
        "text": {"format": {"type": "json_schema", "name": "shape", "schema": {"type": "object"}}},
        "stream": True,
    }
    http = HttpRequest("POST", "http://here/v1/chat/completions", {}, json.dumps(body).encode())
    read = CHAT.service().parse(http)
    request = read.request
    assert [part.text for part in request.system] == ["Be brief."]
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "user"]
    thought, said, call = request.messages[2].parts
    assert (thought.text, said.text, call.name, call.arguments) == ("hm", "so", "look", {"a": 1})
    assert request.messages[3].parts == (ToolResult("c1", (Text("done"),)),)
    assert (request.max_tokens, request.tool_choice.name, request.output.name) == (
        9,
        "look",
        "shape",
    )
    assert read.intent.level == "high"
    assert request.tools[0].parameters == {"type": "object"}


def test_the_seal_of_a_call_is_told_as_it_begins():
    call = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": ""},
        "extra_content": {"google": {"thought_signature": "s"}},
    }
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    stream = CHAT.caller().stream(ResponseHead(200), AnswerContext("m", "r"))
    events = stream.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    (start,) = [event for event in events if isinstance(event, PartStart)]
    assert start.signature.value == {"extra_content": call["extra_content"]}
