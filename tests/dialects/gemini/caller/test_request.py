"""Requests as this wire says them: golden bodies, and what goes back to whom on turn two."""

import base64
import json

import pytest
from msgspec.structs import replace
from tests.dialects.gemini.making import (
    GOOGLE,
    HELLO,
    NAME,
    NEW,
    OLD,
    URL,
    VERTEX,
    asked,
    body_of,
    call,
    chunk,
    parts_of,
    seal,
    sse,
    streamed,
)
from tests.plans import plan

from pondero.canon import (
    Blob,
    Image,
    Message,
    OutputFormat,
    Request,
    Signature,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.dialects.gemini.caller import CALLER

STAND_IN = "skip_thought_signature_validator"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def sent(request, fields=None, target=GOOGLE, **planned):
    return body_of(CALLER.encode(request, plan(NAME, fields, **planned), target))


def model_parts(*parts, model=NEW, target=GOOGLE):
    """Return the parts of an assistant's turn as they go back, results for its calls behind it."""
    results = tuple(ToolResult(p.id, (Text("ok"),)) for p in parts if isinstance(p, ToolCall))
    follow = Message("user", results or (Text("go on"),))
    messages = (HELLO, Message("assistant", parts), follow)
    contents = body_of(asked(*messages, model=model, target=target))["contents"]
    return next((each["parts"] for each in contents if each["role"] == "model"), [])


# -- address and headers ---------------------------------------------------------------------


def test_the_address_names_model_and_method_and_the_key_is_in_a_header_only():
    http = asked(model="gemini-2.5-pro")
    assert http.method == "POST"
    assert http.url == f"{URL}/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    assert http.headers["x-goog-api-key"] == "k"
    assert "key=" not in http.url


def test_a_whole_answer_is_asked_for_at_another_method():
    request = Request(NEW, (HELLO,), stream=False)
    http = CALLER.encode(request, plan(NAME), GOOGLE)
    assert http.url == f"{URL}/models/{NEW}:generateContent"


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("models/gemini-2.5-pro", "models/gemini-2.5-pro"),
        ("tunedModels/mine", "tunedModels/mine"),
        ("bad model?x=1", "models/bad%20model%3Fx%3D1"),
    ],
)
def test_a_model_named_by_its_path_is_not_given_a_second_one(model, path):
    assert asked(model=model).url == f"{URL}/{path}:streamGenerateContent?alt=sse"


def test_headers_of_plan_and_target_are_joined():
    target = replace(GOOGLE, headers={"x-goog-api-key": "k", "x-beta": "a"})
    http = CALLER.encode(
        Request(NEW, (HELLO,)), plan(NAME, headers={"x-beta": "b", "x-more": "c"}), target
    )
    assert http.headers == {
        "content-type": "application/json",
        "x-goog-api-key": "k",
        "x-beta": "a,b",
        "x-more": "c",
    }


def test_cloud_code_assist_is_given_model_and_project_around_the_request():
    target = Target(
        "cca", "https://c.example/v1internal", {}, quirks={"wrapped": True, "project": "p"}
    )
    http = CALLER.encode(Request(NEW, (HELLO,)), plan(NAME), target)
    assert http.url == "https://c.example/v1internal:streamGenerateContent?alt=sse"
    assert body_of(http) == {
        "model": NEW,
        "project": "p",
        "request": {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    }


# -- bodies ----------------------------------------------------------------------------------


def test_a_request_with_everything():
    request = Request(
        NEW,
        (
            HELLO,
            Message("assistant", (Text("Hi"),)),
            Message(
                "user",
                (
                    Text("Look"),
                    Image("image/png", b"hi"),
                    Blob("application/pdf", url="gs://b/f.pdf"),
                ),
            ),
        ),
        system=(Text("Be brief"), Text("Be kind")),
        tools=(Tool("f", "does f", SCHEMA), Tool("google_search", raw={"googleSearch": {}})),
        tool_choice=ToolChoice("tool", "f"),
        output=OutputFormat(SCHEMA),
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        stop=("END",),
        extras={
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
        },
    )
    fields = {
        "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"}}
    }
    assert sent(request, fields) == {
        "contents": [
            {"role": "user", "parts": [{"text": "Hello"}]},
            {"role": "model", "parts": [{"text": "Hi"}]},
            {
                "role": "user",
                "parts": [
                    {"text": "Look"},
                    {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
                    {"fileData": {"fileUri": "gs://b/f.pdf", "mimeType": "application/pdf"}},
                ],
            },
        ],
        "systemInstruction": {"parts": [{"text": "Be brief"}, {"text": "Be kind"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "f", "description": "does f", "parameters": SCHEMA}
                ]
            },
            {"googleSearch": {}},
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {
            "maxOutputTokens": 100,
            "temperature": 0.5,
            "topP": 0.9,
            "topK": 3,
            "stopSequences": ["END"],
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"},
        },
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    }


@pytest.mark.parametrize(
    ("mode", "word"), [("auto", "AUTO"), ("none", "NONE"), ("required", "ANY")]
)
def test_every_tool_choice_has_its_mode(mode, word):
    request = Request(NEW, (HELLO,), tools=(Tool("f"),), tool_choice=ToolChoice(mode))
    assert sent(request)["toolConfig"] == {"functionCallingConfig": {"mode": word}}


def test_the_plan_has_the_last_word_and_the_extras_the_one_before():
    extras = {
        "generationConfig": {
            "seed": 1,
            "maxOutputTokens": 5,
            "thinkingConfig": {"thinkingBudget": 1},
        }
    }
    request = Request(OLD, (HELLO,), max_tokens=9, extras=extras)
    fields = {
        "generationConfig": {"maxOutputTokens": 7, "thinkingConfig": {"includeThoughts": True}}
    }
    assert sent(request, fields)["generationConfig"] == {
        "seed": 1,
        "maxOutputTokens": 7,
        "thinkingConfig": {"thinkingBudget": 1, "includeThoughts": True},
    }
    assert extras["generationConfig"]["maxOutputTokens"] == 5
    assert fields["generationConfig"]["thinkingConfig"] == {"includeThoughts": True}


def test_what_the_plan_dropped_is_not_sent():
    request = Request(NEW, (HELLO,), max_tokens=9, temperature=0.5, top_p=0.5, top_k=4)
    dropped = ("temperature", "top_p", "top_k")
    assert sent(request, dropped=dropped)["generationConfig"] == {"maxOutputTokens": 9}


def test_each_text_of_the_system_prompt_is_a_part_of_the_instruction():
    body = sent(Request(NEW, (HELLO,), system=(Text("a"), Text("b"))))
    assert body["systemInstruction"] == {"parts": [{"text": "a"}, {"text": "b"}]}
    assert [content["role"] for content in body["contents"]] == ["user"]


@pytest.mark.parametrize(
    "schema",
    [
        {**SCHEMA, "additionalProperties": False},
        {**SCHEMA, "$schema": "https://json-schema.org/draft/2020-12/schema"},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"type": "string"}},
        },
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        {"type": "object", "properties": {"a": {"const": "x"}}},
        {"type": "object", "properties": {"a": {"enum": [1, 2]}}},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
        {"type": "array", "items": {"oneOf": [{"type": "string"}]}},
        {"type": "string", "format": "uuid"},
    ],
)
def test_a_schema_beyond_the_wires_own_form_goes_whole_as_json_schema(schema):
    request = Request(
        NEW, (HELLO,), tools=(Tool("f", parameters=schema),), output=OutputFormat(schema)
    )
    body = sent(request)
    assert body["tools"][0]["functionDeclarations"][0] == {
        "name": "f",
        "parametersJsonSchema": schema,
    }
    assert body["generationConfig"]["responseJsonSchema"] == schema


def test_any_json_is_asked_for_by_its_type_alone():
    body = sent(Request(NEW, (HELLO,), output=OutputFormat()))
    assert body["generationConfig"] == {"responseMimeType": "application/json"}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            Image("image/png", b"\xfb\xff"),
            {"inlineData": {"mimeType": "image/png", "data": "+/8="}},
        ),
        (
            Image(url="data:image/gif;base64,aGk="),
            {"inlineData": {"mimeType": "image/gif", "data": "aGk="}},
        ),
        (Image(url="https://x/y.png"), {"fileData": {"fileUri": "https://x/y.png"}}),
        (Blob("audio/wav", b"hi"), {"inlineData": {"mimeType": "audio/wav", "data": "aGk="}}),
        (UnknownPart(NAME, {"videoThing": 1}), {"videoThing": 1}),
    ],
)
def test_media_go_inline_or_by_their_address(part, expected):
    assert body_of(asked(Message("user", (part,))))["contents"][0]["parts"] == [expected]


# -- turn two --------------------------------------------------------------------------------


def test_seals_go_back_byte_for_byte_on_their_own_parts_and_never_inside_a_call():
    parts = model_parts(
        Thinking("hm"),
        Text("a", seal("S1")),
        UnknownPart(NAME, {"executableCode": {"code": "1"}}, seal("S2")),
        ToolCall("id-1", "f", {"x": 1}, seal("S3")),
        ToolCall("id-2", "g", {}),
        Text("", seal("S4")),
        Image("image/png", b"hi", signature=seal("S5")),
    )
    assert parts == [
        {"text": "hm", "thought": True},
        {"text": "a", "thoughtSignature": "S1"},
        {"executableCode": {"code": "1"}, "thoughtSignature": "S2"},
        {"functionCall": {"name": "f", "args": {"x": 1}, "id": "id-1"}, "thoughtSignature": "S3"},
        {"functionCall": {"name": "g", "args": {}, "id": "id-2"}},
        {"text": "", "thoughtSignature": "S4"},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "S5"},
    ]


@pytest.mark.parametrize("model", [NEW, "gemini-3.1-pro-preview", "gemini-4-argon", "gemini-9-pro"])
def test_an_unsigned_first_call_gets_the_stand_in_from_gemini_3_on(model):
    parts = model_parts(ToolCall("a", "f", {}), ToolCall("b", "g", {}), model=model)
    assert [part.get("thoughtSignature") for part in parts] == [STAND_IN, None]


@pytest.mark.parametrize("model", [OLD, "gemini-2.5-pro", "gemini-2.0-flash", "gemma-3-27b-it"])
def test_an_older_model_never_gets_the_stand_in(model):
    assert "thoughtSignature" not in model_parts(ToolCall("a", "f", {}), model=model)[0]


def test_an_alias_takes_the_generation_of_the_family_it_was_planned_for():
    messages = (HELLO, Message("assistant", (ToolCall("a", "f", {}),)))
    planned = replace(plan(NAME), family="gemini-3.6-flash")
    body = body_of(CALLER.encode(Request("gemini-flash-latest", messages), planned, GOOGLE))
    assert body["contents"][1]["parts"][0]["thoughtSignature"] == STAND_IN


def test_every_step_has_its_own_first_call():
    step = (
        Message("assistant", (ToolCall("a", "f", {}),)),
        Message("user", (ToolResult("a", (Text("1"),)),)),
    )
    contents = body_of(asked(HELLO, *step, *step))["contents"]
    assert [contents[n]["parts"][0]["thoughtSignature"] for n in (1, 3)] == [STAND_IN, STAND_IN]


def test_the_stand_in_is_never_put_on_words():
    assert model_parts(Text("a"), Thinking("b")) == [{"text": "a"}, {"text": "b", "thought": True}]


@pytest.mark.parametrize(
    "foreign", [Signature("anthropic", "S", NEW, "google"), seal("S", route="vertex")]
)
def test_a_seal_of_another_dialect_or_route_never_leaves(foreign):
    parts = model_parts(
        Text("a", foreign),
        Text("", foreign),
        ToolCall("c", "f", {}, foreign),
        UnknownPart(NAME, {"toolCall": {}}, foreign),
        Image("image/png", b"hi", signature=foreign),
    )
    assert [part.get("thoughtSignature") for part in parts] == [None, STAND_IN, None, None]


def test_thinking_of_another_dialect_is_left_out_and_that_of_another_route_goes_unsigned():
    assert model_parts(Thinking("a", Signature("anthropic", "S")), Text("b")) == [{"text": "b"}]
    assert model_parts(Thinking("a", seal("S", route="vertex"))) == [{"text": "a", "thought": True}]


def test_a_seal_goes_back_to_the_surface_that_made_it():
    parts = model_parts(ToolCall("c", "f", {}, seal("S", route="vertex")), target=VERTEX)
    assert parts[0]["thoughtSignature"] == "S"


def test_parts_of_another_dialect_are_left_out():
    assert model_parts(UnknownPart("anthropic", {"type": "x"}), Text("a")) == [{"text": "a"}]


def test_an_id_we_minted_is_sent_on_neither_side_and_a_given_one_on_both():
    minted = ToolCall("m" * 22, "f", {}, seal(), minted=True)
    given = ToolCall("abcd1234", "g", {})
    results = (ToolResult("abcd1234", (Text("2"),)), ToolResult("m" * 22, (Text("1"),)))
    contents = body_of(
        asked(HELLO, Message("assistant", (minted, given)), Message("user", results))
    )["contents"]
    assert [part["functionCall"].get("id") for part in contents[1]["parts"]] == [None, "abcd1234"]
    assert contents[2]["parts"] == [
        {"functionResponse": {"name": "g", "response": {"output": "2"}, "id": "abcd1234"}},
        {"functionResponse": {"name": "f", "response": {"output": "1"}}},
    ]


def test_results_in_messages_of_their_own_stand_in_one_content_with_the_role_of_the_user():
    calls = Message("assistant", (ToolCall("a", "f", {}, seal()), ToolCall("b", "g", {})))
    one, two = (Message("user", (ToolResult(id, (Text(id),)),)) for id in "ab")
    contents = body_of(asked(HELLO, calls, one, two, HELLO))["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user", "user"]
    assert [part["functionResponse"]["name"] for part in contents[2]["parts"]] == ["f", "g"]


@pytest.mark.parametrize(
    ("result", "response"),
    [
        (ToolResult("a", (Text("1"),)), {"output": "1"}),
        (ToolResult("a", (Text("1"), Text("2"))), {"output": ["1", "2"]}),
        (ToolResult("a", (Text("no"),), error=True), {"error": "no"}),
        (ToolResult("a", (), error=True), {"error": ""}),
        (ToolResult("a", ()), {}),
        (ToolResult("a", (UnknownPart(NAME, {"result": [1]}),)), {"result": [1]}),
    ],
)
def test_a_result_is_an_output_or_an_error(result, response):
    messages = (HELLO, Message("assistant", (ToolCall("a", "f", {}),)), Message("user", (result,)))
    part = body_of(asked(*messages))["contents"][2]["parts"][0]
    assert part["functionResponse"]["response"] == response


@pytest.mark.parametrize("model", [NEW, OLD])
def test_a_picture_in_a_result_stands_where_the_generation_takes_it(model):
    result = ToolResult("a", (Text("here"), Image("image/png", b"hi")))
    messages = (HELLO, Message("assistant", (ToolCall("a", "f", {}),)), Message("user", (result,)))
    parts = body_of(asked(*messages, model=model))["contents"][2]["parts"]
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    if model == NEW:
        assert parts[0]["functionResponse"]["parts"] == [picture]
    else:
        assert parts[1] == picture
        assert "parts" not in parts[0]["functionResponse"]


def test_a_result_of_a_call_nobody_knows_still_has_a_name():
    contents = body_of(asked(HELLO, Message("user", (ToolResult("x", (Text("1"),), name="f"),))))[
        "contents"
    ]
    assert contents[1]["parts"][0]["functionResponse"] == {"name": "f", "response": {"output": "1"}}


def test_arguments_that_are_no_object_are_made_one():
    parts = model_parts(ToolCall("a", "f", '{"x": '), ToolCall("b", "f", None))
    assert [part["functionCall"]["args"] for part in parts] == [{"arguments": '{"x": '}, {}]


def test_an_empty_message_is_left_out():
    contents = body_of(asked(HELLO, Message("assistant", (Text(""),)), HELLO))["contents"]
    assert [content["role"] for content in contents] == ["user", "user"]


@pytest.mark.parametrize(
    "loose",
    [
        {"text": "", "thoughtSignature": "S"},
        {"thoughtSignature": "S"},
        {"text": "", "thought": True, "thoughtSignature": "S"},
    ],
)
def test_a_signature_that_came_in_a_piece_before_its_call_goes_back_on_the_call(loose):
    parts = parts_of(streamed(sse(chunk(loose, finish=None), chunk(call(id="a")))))
    assert model_parts(*parts) == [
        {"functionCall": {"name": "f", "args": {}, "id": "a"}, "thoughtSignature": "S"}
    ]


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "a"}, {"text": "", "thoughtSignature": "S"}],
        [{"text": "a", "thoughtSignature": "S"}, {"text": "b"}],
        [{"text": "hm", "thought": True}, call(id="a", signature="S"), call("g", id="b")],
        [call("f", signature="S", x=1)],
        [
            {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB"}, "thoughtSignature": "S"},
            {"toolResponse": {"id": "t", "response": {"x": 1}}, "thoughtSignature": "T"},
            {"text": "so"},
        ],
        [
            {"executableCode": {"code": "1"}, "thoughtSignature": "S"},
            {"codeExecutionResult": {"output": "1"}},
        ],
        [
            {
                "inlineData": {"mimeType": "image/png", "data": base64.b64encode(b"hi").decode()},
                "thoughtSignature": "S",
            }
        ],
    ],
)
def test_an_answer_goes_back_as_it_came(parts):
    assert model_parts(*parts_of(streamed(sse(chunk(*parts))))) == parts


def test_the_body_is_compact():
    http = asked()
    assert http.body == json.dumps(json.loads(http.body), separators=(",", ":")).encode()
