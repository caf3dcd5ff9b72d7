"""The lenient road: a gateway reads what newer clients send, and answers in its own name."""

import json

import pytest
from tests.dialects.anthropic.wiring import WIRE, raw, refusal

from pondero.canon import (
    Blob,
    Finished,
    HttpRequest,
    Image,
    Message,
    PartEnd,
    Reply,
    Started,
    Text,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from pondero.dialects import Rejected
from pondero.dialects.dialect import ReplyContext
from pondero.thinking import UNSET, Intent

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def parsed(body, path="/v1/messages"):
    http = HttpRequest("POST", f"https://gateway{path}", {}, json.dumps(body).encode())
    return WIRE.service().parse(http)


def user(*content):
    return {"role": "user", "content": list(content)}


def assistant(*content):
    return {"role": "assistant", "content": list(content)}


# -- what is passed over ---------------------------------------------------------------------


def test_a_plain_request_is_read_without_key_version_or_known_model():
    found = parsed(raw(model="claude-of-tomorrow", system="Be brief."))

    assert found.request.model == "claude-of-tomorrow"
    assert found.request.system == (Text("Be brief."),)
    assert found.request.messages == (Message("user", (Text("hi"),)),)
    assert found.unknown == ()


def test_unknown_fields_are_listed_wherever_they_stand():
    body = raw(
        user({"type": "text", "text": "hi", "tone": "warm"}),
        mood="good",
        metadata={"user_id": "u", "team": "t"},
        system=[{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "at": 1}}],
        tools=[{"name": "look", "input_schema": SCHEMA, "colour": "red"}],
    )
    found = parsed(body)

    assert set(found.unknown) == {
        *("mood", "metadata.team", "system.0.cache_control.at"),
        *("messages.0.content.0.tone", "tools.0.colour"),
    }
    assert found.request.messages[0].parts == (Text("hi"),)
    assert found.request.extras == {"metadata": {"user_id": "u"}}
    assert refusal(body)[2].endswith("Extra inputs are not permitted")


def test_a_known_field_with_an_unknown_value_is_left_out_and_listed():
    found = parsed(raw(service_tier="flex", thinking={"type": "sometimes"}, top_k=-7))

    assert {"service_tier", "thinking"} <= set(found.unknown)
    assert found.request.extras is None
    assert found.request.top_k == -7
    assert found.intent == UNSET


def test_functions_stay_functions_whatever_else_they_carry():
    tool = {"name": "look", "description": "Looks.", "input_schema": SCHEMA, "type": "custom"}
    found = parsed(raw(tools=[tool | {"defer_loading": True}, {"type": "search_9", "name": "s"}]))
    function, server = found.request.tools

    assert (function.name, function.description) == ("look", "Looks.")
    assert (function.parameters, function.raw) == (SCHEMA, None)
    assert server.raw == {"type": "search_9", "name": "s"}
    assert found.unknown == ("tools.0.defer_loading",)


def test_a_function_without_a_schema_is_kept_as_it_came():
    found = parsed(raw(tools=[{"name": "look"}]))

    assert found.request.tools[0].raw == {"name": "look"}
    assert found.unknown == ("tools.0",)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "hologram", "data": "x"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}},
    ],
)
def test_a_block_that_nobody_can_read_is_kept_as_it_came(block):
    found = parsed(raw(user(block, {"type": "text", "text": "hi"})))

    assert found.request.messages[0].parts == (UnknownPart("anthropic", block), Text("hi"))
    assert "messages.0.content.0" in found.unknown


def test_calls_and_results_are_read_unpaired_and_with_the_ids_of_other_services():
    call = {"type": "tool_use", "id": "functions.look:0", "name": "a.b", "input": {"x": 1}}
    image = {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}
    odd = {"type": "thinking", "thinking": "", "signature": "s"}
    result = {"type": "tool_result", "tool_use_id": "other:1", "content": [image, odd], "new": 1}
    found = parsed(raw(assistant(call), user(result)))

    assert found.request.messages[0].parts == (ToolCall("functions.look:0", "a.b", {"x": 1}),)
    assert found.request.messages[1].parts == (
        ToolResult("other:1", (Image(url="https://x/y.png"), UnknownPart("anthropic", odd))),
    )
    assert set(found.unknown) == {"messages.1.content.0.new", "messages.1.content.0.content.1"}


@pytest.mark.parametrize("given", ["not an object", ["a"], {"INVALID_JSON": "{"}])
def test_arguments_that_are_no_object_are_a_calls_all_the_same(given):
    call = {"type": "tool_use", "id": "c", "name": "look", "input": given}
    (part,) = parsed(raw(assistant(call))).request.messages[0].parts

    assert isinstance(part, ToolCall)
    assert part.arguments == ("{" if isinstance(given, dict) else given)


def test_a_cap_need_not_be_sent():
    body = raw()
    del body["max_tokens"]
    assert parsed(body).request.max_tokens is None
    assert parsed(body | {"max_tokens": None}).request.max_tokens is None
    assert parsed(body | {"max_tokens": 0}).request.max_tokens == 0


def test_thinking_without_a_signature_is_thinking():
    shown = {"type": "thinking", "thinking": "hm"}
    found = parsed(raw(assistant(shown, shown | {"signature": ""}))).request.messages[0]
    assert found.parts == (Thinking("hm"), Thinking("hm"))


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "tool_reference", "tool_name": "Bash"}, "[The tool Bash can be called now.]"),
        (
            {
                "type": "search_result",
                "title": "T",
                "source": "https://x",
                "content": [{"type": "text", "text": "found"}],
            },
            "T\nhttps://x\nfound",
        ),
    ],
)
def test_what_only_this_service_has_in_results_keeps_its_words(block, words):
    result = {"type": "tool_result", "tool_use_id": "c", "content": [block]}
    (part,) = parsed(raw(user(result))).request.messages[0].parts
    assert part == ToolResult("c", (Text(words),))


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "compaction", "content": "So far."}, "So far."),
        (
            {
                "type": "document",
                "title": "D",
                "source": {"type": "content", "content": [{"type": "text", "text": "inside"}]},
            },
            "D\ninside",
        ),
    ],
)
def test_what_only_this_service_has_in_messages_keeps_its_words(block, words):
    assert parsed(raw(user(block))).request.messages[0].parts == (Text(words),)


def test_a_document_with_settings_is_a_document():
    source = {"type": "text", "media_type": "text/plain", "data": "words"}
    block = {"type": "document", "source": source, "citations": {"enabled": True}, "context": "c"}
    found = parsed(raw(user(block)))
    parts = (Blob("text/plain", b"words", context="c", cited=True),)
    assert found.request.messages[0].parts == parts
    assert not found.unknown


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        ("web_search_20250305", "web_search"),
        ("web_search_20260318", "web_search"),
        ("code_execution_20250825", "code_execution"),
        ("bash_20250124", "function"),  # the client runs it, so that any model can be offered it
        ("search_9", "other"),
    ],
)
def test_a_tool_that_the_service_brings_says_what_it_is(named, kind):
    (tool,) = parsed(raw(tools=[{"type": named, "name": "t"}])).request.tools
    assert (tool.kind, tool.dialect) == (kind, "anthropic")


def test_seals_are_not_verified():
    block = {"type": "thinking", "thinking": "hm", "signature": "made elsewhere"}
    part = parsed(raw(assistant(block))).request.messages[0].parts[0]

    assert isinstance(part, Thinking)
    assert part.signature is not None
    assert part.signature.value == "made elsewhere"


def test_the_address_names_the_model_and_whether_to_stream():
    path = "/v1/projects/p/locations/l/publishers/anthropic/models/claude%40x:streamRawPredict"
    body = raw() | {"anthropic_version": "any"}
    found = parsed(body, path)

    assert (found.request.model, found.request.stream) == ("claude@x", True)
    assert found.unknown == ()


@pytest.mark.parametrize(
    "body", [[], {"model": "m"}, {"model": "m", "max_tokens": 1, "messages": "hi"}]
)
def test_what_is_no_request_at_all_is_refused(body):
    with pytest.raises(Rejected):
        parsed(body)


# -- the wish --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "intent", "show"),
    [
        ({}, UNSET, None),
        ({"thinking": {"type": "disabled"}}, Intent("off"), None),
        ({"thinking": {"type": "between_tools"}}, Intent("off"), None),
        ({"thinking": {"type": "adaptive"}}, Intent("on"), None),
        ({"thinking": {"type": "adaptive", "display": "summarized"}}, Intent("on"), True),
        ({"output_config": {"effort": "low"}}, Intent("level", "low"), None),
        (
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
            Intent("level", "max"),
            None,
        ),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 7, "display": "omitted"}},
            Intent("budget", None, 7),
            False,
        ),
    ],
)
def test_the_wish_is_read_without_a_model(fields, intent, show):
    found = parsed(raw(model="anything", **fields))

    assert (found.intent, found.show) == (intent, show)


# -- a gateway's answer ----------------------------------------------------------------------


def answering(seal, **more):
    found = parsed(raw())
    return ReplyContext(request=found.request, context=found.context, sign=seal, **more)


def test_a_gateway_seals_its_answers_itself():
    asked = []

    def seal(part, shown, before, /):
        asked.append((type(part).__name__, shown, [block["type"] for block in before]))
        return f"sealed {shown}" if isinstance(part, Thinking) else None

    parts = (Thinking("hm"), Thinking("", redacted=True), Text("yes"), ToolCall("c", "f", {}))
    reply = Reply(Message("assistant", parts), "tool_calls")
    first = WIRE.service().reply(answering(seal, seed=b"one", shown=True), reply)
    other = WIRE.service().reply(answering(seal, seed=b"two", shown=True), reply)
    body = json.loads(first.body)

    assert body["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sealed hm"},
        {"type": "redacted_thinking", "data": "sealed "},
        {"type": "text", "text": "yes"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {}},
    ]
    assert asked[:3] == [
        ("Thinking", "hm", []),
        ("Thinking", "", ["thinking"]),
        ("ToolCall", "", ["thinking", "redacted_thinking", "text"]),
    ]
    assert body["id"] != json.loads(other.body)["id"]


def test_an_answer_without_seals_leaves_their_slots_empty():
    found = answering(lambda *_: None, shown=True)
    parts = (Thinking("hm"), Thinking("", redacted=True), Text("yes"))
    body = json.loads(WIRE.service().reply(found, Reply(Message("assistant", parts), "stop")).body)
    stream = WIRE.service().stream(found)
    events = [
        *(Started("m"), ThinkingDelta(0, "hm"), PartEnd(0, parts[0]), PartEnd(1, parts[1])),
        *(PartEnd(2, parts[2]), Finished("stop")),
    ]
    data = b"".join(stream.feed(event) for event in events)

    assert body["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "yes"},
    ]
    assert b"signature_delta" not in data
    assert b"redacted_thinking" not in data
    assert data.count(b"event: content_block_stop") == 2
