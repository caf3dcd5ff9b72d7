"""Requests read without rules, as a gateway reads them."""

import json

import pytest
from msgspec.structs import replace
from tests.dialects.gemini.making import NAME, NEW, URL, call, parts_of, posted, whole

from pondero.canon import (
    HttpRequest,
    Message,
    PartEnd,
    PartStart,
    Reply,
    Signature,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.dialects import Rejected, ReplyContext
from pondero.dialects.gemini.service import SERVICE
from pondero.dialects.gemini.service.parse import Context
from pondero.thinking import UNSET, Intent

USER = {"role": "user", "parts": [{"text": "hi"}]}


def parsed(body, **where):
    return SERVICE.parse(replace(posted({"contents": [USER], **body}, **where), headers={}))


def thinking(**config):
    return parsed({"generationConfig": {"thinkingConfig": config}})


def test_a_request_needs_no_key_and_no_known_model():
    found = parsed({}, model="house-model-1")
    assert found.request.model == "house-model-1"
    assert found.request.messages == (Message("user", (Text("hi"),)),)
    assert (found.intent, found.show, found.unknown) == (UNSET, None, ())


def test_fields_the_wire_does_not_have_are_passed_over_and_listed():
    part = {"text": "hi", "mood": "sunny"}
    declared = {"name": "f", "description": "d", "parameters": {"type": "object"}, "eager": True}
    found = parsed(
        {
            "contents": [{"role": "user", "parts": [part], "turn": 1}],
            "tools": [{"functionDeclarations": [declared]}],
            "generationConfig": {"verve": 3, "temperature": 0.5, "seed": 7},
            "priority": "high",
        }
    )
    assert set(found.unknown) == {
        "contents[0].parts[0].mood",
        "contents[0].turn",
        "tools[0].function_declarations[0].eager",
        "generation_config.verve",
        "priority",
    }
    request = found.request
    assert request.messages == (Message("user", (Text("hi"),)),)
    assert request.tools == (Tool("f", "d", {"type": "object"}),)
    assert request.temperature == 0.5
    assert request.extras == {"generationConfig": {"seed": 7}}


def test_a_schema_beyond_the_wires_own_form_is_kept_whole():
    schema = {
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {"a": {"const": 1}, "b": True},
    }
    tools = [{"functionDeclarations": [{"name": "f", "parameters": schema}]}]
    found = parsed({"tools": tools})
    assert found.request.tools == (Tool("f", "", schema),)
    assert found.unknown


@pytest.mark.parametrize(
    ("own", "common"),
    [
        ({"type": "STRING"}, {"type": "string"}),
        ({"type": "TYPE_UNSPECIFIED", "title": "T"}, {"title": "T"}),
        ({"type": "INTEGER", "nullable": True}, {"type": ["integer", "null"]}),
        ({"nullable": True, "title": "T"}, {"anyOf": [{"title": "T"}, {"type": "null"}]}),
        (
            {"type": "STRING", "format": "enum", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": "1", "max_items": 3},
            {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 3},
        ),
        (
            {
                "type": "OBJECT",
                "properties": {"type": {"type": "BOOLEAN"}, "nullable": {"type": "STRING"}},
                "propertyOrdering": ["type"],
                "required": ["type"],
            },
            {
                "type": "object",
                "properties": {"type": {"type": "boolean"}, "nullable": {"type": "string"}},
                "required": ["type"],
            },
        ),
        (
            {"anyOf": [{"type": "OBJECT"}, {"type": "STRING", "example": "x"}]},
            {"anyOf": [{"type": "object"}, {"type": "string", "examples": ["x"]}]},
        ),
    ],
)
@pytest.mark.parametrize("field", ["parameters", "parametersJsonSchema"])
def test_a_schema_in_the_wires_own_form_is_read_as_json_schema(own, common, field):
    """Clients send capitals in both fields: Gemini CLI asks for an answer in such a schema."""
    tools = [{"functionDeclarations": [{"name": "f", field: own}]}]
    assert parsed({"tools": tools}).request.tools[0].parameters == common
    asked = parsed({"generationConfig": {"responseJsonSchema": own}}).request.output
    assert asked is not None
    assert asked.schema == common


def test_json_schema_stays_as_it_is():
    schema = {
        "type": ["object", "null"],
        "properties": {"a": {"const": None, "default": None}, "b": {"$ref": "#/$defs/c"}},
        "$defs": {"c": {"type": "string", "pattern": "^A$", "examples": ["A"]}},
        "additionalProperties": {"type": "integer", "exclusiveMinimum": 0},
    }
    tools = [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}]
    assert parsed({"tools": tools}).request.tools[0].parameters == schema


@pytest.mark.parametrize(
    ("response", "words", "failed"),
    [
        ({"output": "rain"}, "rain", False),
        ({"error": "no"}, "no", True),
        ({"result": "rain"}, "rain", False),
        ({"output": {"a": 1}}, '{"output":{"a":1}}', False),
        ({"a": 1, "b": None}, '{"a":1,"b":null}', False),
        ({"error": {"code": 5}}, '{"error":{"code":5}}', True),
    ],
)
def test_any_result_is_text(response, words, failed):
    answer = {"functionResponse": {"name": "f", "id": "c", "response": response}}
    found = parsed({"contents": [{"role": "user", "parts": [answer]}]}).request
    assert found.messages[0].parts == (ToolResult("c", (Text(words),), failed, "f"),)


def test_every_tool_that_the_service_brings_says_what_it_is():
    found = parsed({"tools": [{"googleSearch": {}, "codeExecution": {}}, {"url_context": {}}]})
    assert [(tool.name, tool.kind, tool.raw) for tool in found.request.tools] == [
        ("googleSearch", "web_search", {"googleSearch": {}}),
        ("codeExecution", "code_execution", {"codeExecution": {}}),
        ("urlContext", "other", {"urlContext": {}}),
    ]


def test_validated_calls_are_a_free_choice():
    config = {"functionCallingConfig": {"mode": "VALIDATED"}}
    found = parsed({"toolConfig": config}).request
    assert (found.tool_choice, found.extras) == (ToolChoice("auto"), None)


@pytest.mark.parametrize("before", ["/v1beta", "/v1", "", "/v1/projects/p/locations/l"])
@pytest.mark.parametrize(
    ("written", "model"),
    [
        ("gemini-3", "gemini-3"),
        ("google:gemini-3/high", "google:gemini-3/high"),
        ("google%3Agemini-3%2Fhigh", "google:gemini-3/high"),
        ("accounts/f/models/m:0", "accounts/f/models/m:0"),
        ("m%C3%BC@1", "mü@1"),
    ],
)
def test_a_model_may_have_any_name(before, written, model):
    for method in ("generateContent", "streamGenerateContent", "countTokens"):
        http = HttpRequest(
            "POST",
            f"http://127.0.0.1:8787{before}/models/{written}:{method}?alt=sse",
            {},
            json.dumps({"contents": [USER]}).encode(),
        )
        assert SERVICE.parse(http).request.model == model
        assert SERVICE.requested_model(http) == model
        assert SERVICE.requested_model(SERVICE.with_model(http, "x/y:z")) == "x/y:z"
    assert SERVICE.matches_path(f"{before}/models/{written}:generateContent")


def test_unknown_kinds_of_parts_and_tools_are_kept_as_they_are():
    contents = [{"role": "user", "parts": [{"hologram": {"depth": 3}}]}]
    found = parsed({"contents": contents, "tools": [{"teleport": {}}]})
    assert found.request.messages[0].parts == (UnknownPart(NAME, {"hologram": {"depth": 3}}),)
    other = Tool("teleport", raw={"teleport": {}}, dialect=NAME, kind="other")
    assert found.request.tools == (other,)
    assert found.unknown == ("contents[0].parts[0].hologram", "tools[0].teleport")


@pytest.mark.parametrize(
    ("config", "intent", "show"),
    [
        ({"thinkingLevel": "HIGH"}, Intent("level", "high"), None),
        ({"thinkingLevel": "low", "includeThoughts": True}, Intent("level", "low"), True),
        ({"thinkingBudget": 0, "includeThoughts": False}, Intent("off", tokens=0), False),
        ({"thinkingBudget": -1}, Intent("on", tokens=-1), None),
        ({"thinkingBudget": 99_999_999}, Intent("budget", tokens=99_999_999), None),
        ({"include_thoughts": True}, Intent("on"), True),
        ({}, UNSET, None),
    ],
)
def test_the_wish_is_read_whatever_the_model_would_say(config, intent, show):
    found = thinking(**config)
    assert (found.intent, found.show, found.unknown) == (intent, show, ())


def test_a_level_nobody_knows_is_listed_and_no_wish():
    found = thinking(thinkingLevel="COLOSSAL")
    assert found.intent == UNSET
    assert found.unknown == ("generation_config.thinking_config.thinking_level",)


def test_seals_are_not_verified_and_pairs_and_ranges_not_checked():
    answer = {"name": "g", "response": {"output": "ok"}}
    found = parsed(
        {
            "contents": [
                {"role": "model", "parts": [call("f", id="a", signature="not base64!")]},
                {"role": "user", "parts": [{"functionResponse": answer}]},
            ],
            "generationConfig": {"temperature": 9, "stopSequences": ["x"] * 6},
        }
    )
    made, result = (message.parts[0] for message in found.request.messages)
    assert made == ToolCall("a", "f", {}, Signature(NAME, "not base64!", NEW))
    assert result == ToolResult("g", (Text("ok"),), name="g")
    assert (found.request.temperature, len(found.request.stop)) == (9, 6)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"contents": ["hi"]}', b'{"contents": [{"parts": "hi"}]}']
)
def test_what_cannot_be_read_is_refused(body):
    with pytest.raises(Rejected):
        SERVICE.parse(HttpRequest("POST", f"{URL}/models/m:generateContent", {}, body))


def test_an_address_that_is_not_the_wires_is_refused():
    with pytest.raises(Rejected):
        SERVICE.parse(HttpRequest("POST", f"{URL}/models/m:embedContent", {}, b"{}"))


def test_what_an_answer_must_know_stands_in_the_context():
    inner = {"model": "m", "project": "p", "request": {"contents": [USER]}}
    wrapped = HttpRequest(
        *("POST", "https://x/v1internal:streamGenerateContent?alt=sse", {}),
        json.dumps(inner).encode(),
    )
    found = SERVICE.parse(wrapped)
    assert (found.request.model, found.request.stream) == ("m", True)
    assert found.context == Context("sse", wrapped=True)


# -- answers of a gateway ------------------------------------------------------------------------

PARTS = (Thinking("hm"), Text("yes"), ToolCall("c1", "f", {"a": 1}))


def answering(found, seen, **how):
    def seal(part, shown, before, /):
        seen.append((type(part).__name__, shown, len(before)))
        return "AAAA" if isinstance(part, ToolCall) else None

    return ReplyContext(request=found.request, context=found.context, sign=seal, shown=True, **how)


def test_a_gateway_fills_the_opaque_slots_and_chooses_the_ids():
    seen = []
    found = parsed({}, model="house-model-1")
    reply = Reply(Message("assistant", PARTS), "tool_calls")
    body = json.loads(SERVICE.reply(answering(found, seen, seed=b"one"), reply).body)
    assert seen == [("Thinking", "hm", 0), ("Text", "yes", 1), ("ToolCall", "", 2)]
    assert [part.get("thoughtSignature") for part in body["candidates"][0]["content"]["parts"]] == [
        *(None, None, "AAAA")
    ]
    assert parts_of(whole(body))[-1].signature.value == "AAAA"
    other = json.loads(SERVICE.reply(answering(found, [], seed=b"two"), reply).body)
    assert body["responseId"] != other["responseId"]


def test_a_gateways_stream_asks_for_seals_with_the_same_parts_before():
    seen = []
    stream = SERVICE.stream(answering(parsed({}), seen, seed=b"one"))
    for number, part in enumerate(PARTS):
        stream.feed(PartStart(number, "text"))
        stream.feed(PartEnd(number, part))
    assert seen == [("Thinking", "hm", 0), ("Text", "yes", 1), ("ToolCall", "", 2)]
