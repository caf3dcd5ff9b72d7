"""The service's side of a request: what it takes, and its own words for what it does not."""

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
    accepted,
    asked,
    posted,
    refusal,
    signed,
)
from tests.plans import plan

import pondero
from pondero.canon import (
    Blob,
    HttpRequest,
    Image,
    Message,
    OutputFormat,
    Request,
    Signature,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.dialects import Rejected
from pondero.dialects.gemini.caller import CALLER
from pondero.dialects.gemini.service import SERVICE
from pondero.errors import AuthFailed, NotFound

USER = {"role": "user", "parts": [{"text": "hi"}]}


def thinking(level=None, budget=None, *, shown=None):
    config = {"thinkingLevel": level, "thinkingBudget": budget, "includeThoughts": shown}
    given = {name: value for name, value in config.items() if value is not None}
    return {"contents": [USER], "generationConfig": {"thinkingConfig": given}}


def turns(*contents):
    return {"contents": [USER, *contents]}


def called(*calls, role="model"):
    return {"role": role, "parts": list(calls)}


def function(name="f", **beside):
    return {"functionCall": {"name": name, "args": {}}, **beside}


def answered(*names):
    parts = [{"functionResponse": {"name": name, "response": {"output": "1"}}} for name in names]
    return {"role": "user", "parts": parts}


# -- address and key -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "status", "message"),
    [
        (
            "gemini-3.6-flahs",
            404,
            (
                "models/gemini-3.6-flahs is not found for API version v1beta, or is not supported for generateContent. "
                "Call ModelService.ListModels to see the list of available models and their supported methods."
            ),
        ),
        ("bad%20model", 400, "* GenerateContentRequest.model: unexpected model name format\n"),
    ],
)
def test_a_model_nobody_has_is_refused(model, status, message):
    assert refusal({"contents": [USER]}, model=model)[:2] == (status, message)


def test_a_model_of_tomorrow_is_taken_for_the_newest():
    assert accepted(thinking("LOW"), model="gemini-9-pro").intent.level == "low"


@pytest.mark.parametrize("path", ["/v1beta/models", "/v1beta/models/x:countCats", "/v1/nothing"])
def test_another_address_is_not_found(path):
    with pytest.raises(Rejected) as refused:
        SERVICE.accept(HttpRequest("POST", f"https://x{path}", {"x-goog-api-key": "k"}), "google")
    assert refused.value.response.status == 404


def test_nobody_is_refused_as_each_surface_does_it():
    http = replace(posted({"contents": [USER]}), headers={})
    for service, status in (("google", 403), ("vertex", 401)):
        with pytest.raises(Rejected) as refused:
            SERVICE.accept(http, service)
        assert refused.value.response.status == status


def test_a_bad_key_is_a_400_with_the_reason_in_its_details():
    status, message, error = refusal({"contents": [USER]}, x_goog_api_key="invalid")
    assert (status, message) == (400, "API key not valid. Please pass a valid API key.")
    assert error["details"][0]["reason"] == "API_KEY_INVALID"


def test_a_key_in_the_address_or_a_token_is_taken_too():
    http = posted({"contents": [USER]})
    SERVICE.accept(replace(http, url=f"{http.url}?key=k", headers={}), "google")
    SERVICE.accept(replace(http, headers={"authorization": "Bearer t"}), "vertex")


# -- fields ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message", "field"),
    [
        (
            {"contents": [USER], "reasoning": 1},
            'Unknown name "reasoning": Cannot find field.',
            None,
        ),
        (
            {"contents": [USER], "generationConfig": {"includeThoughts": True}},
            "Unknown name \"includeThoughts\" at 'generation_config': Cannot find field.",
            "generation_config",
        ),
        (
            turns(called({"functionCall": {"name": "f", "thoughtSignature": "UyE="}})),
            "Unknown name \"thoughtSignature\" at 'contents[1].parts[0].function_call': Cannot find field.",
            "contents[1].parts[0].function_call",
        ),
        (
            {
                "contents": [USER],
                "tools": [
                    {
                        "functionDeclarations": [
                            {"name": "f", "parameters": {"additionalProperties": False}}
                        ]
                    }
                ],
            },
            "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
            "tools[0].function_declarations[0].parameters",
        ),
        (
            {
                "contents": [USER],
                "generationConfig": {
                    "responseSchema": {"type": "object", "properties": {"a": {"const": 1}}}
                },
            },
            "Unknown name \"const\" at 'generation_config.response_schema.properties[0].value': Cannot find field.",
            "generation_config.response_schema.properties[0].value",
        ),
        (
            {
                "contents": [USER],
                "generationConfig": {"responseSchema": {"type": ["string", "null"]}},
            },
            (
                "Unknown name \"type\" at 'generation_config.response_schema': "
                "Proto field is not repeating, cannot start list."
            ),
            "generation_config.response_schema",
        ),
    ],
)
def test_a_field_the_service_does_not_know_is_refused(body, message, field):
    status, told, error = refusal(body)
    assert (status, told) == (400, f"Invalid JSON payload received. {message}")
    (violation,) = error["details"][0]["fieldViolations"]
    assert violation.get("field") == field


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"contents": [USER], "generationConfig": {"temperature": "hot"}},
            "Invalid value at 'generation_config.temperature' (TYPE_FLOAT), \"hot\"",
        ),
        (
            turns({"role": "model", "parts": [{"text": "a", "thoughtSignature": "ab!c"}]}),
            (
                "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), "
                'Base64 decoding failed for "ab!c"'
            ),
        ),
        (
            {"contents": [{"role": "user", "parts": [{"text": 7}]}]},
            "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 7",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(body, message):
    assert refusal(body)[:2] == (400, message)


def test_a_level_that_is_no_word_of_the_wire_is_refused():
    assert refusal(thinking("XHIGH"))[1].startswith(
        "Invalid value at 'generation_config.thinking_config.thinking_level' (type.googleapis.com/"
    )


def test_all_that_is_wrong_is_told_at_once():
    _, message, error = refusal({"contents": [USER], "a": 1, "b": 2})
    assert len(message.splitlines()) == len(error["details"][0]["fieldViolations"]) == 2


def test_snake_case_lower_case_and_single_objects_are_taken():
    body = {
        "contents": {"role": "user", "parts": {"text": "hi"}},
        "system_instruction": {"parts": [{"text": "be"}]},
        "generation_config": {
            "max_output_tokens": "50",
            "thinking_config": {"include_thoughts": True, "thinking_level": "high"},
        },
        "tools": {
            "function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object"}}]
        },
        "tool_config": {"function_calling_config": {"mode": "any"}},
    }
    found = accepted(body)
    assert found.request.messages == (Message("user", (Text("hi"),)),)
    assert found.request.system == (Text("be"),)
    assert found.request.max_tokens == 50
    assert found.request.tools == (Tool("f", parameters={"type": "object"}),)
    assert found.request.tool_choice == ToolChoice("required")
    assert (found.intent.kind, found.intent.level, found.shown) == ("level", "high", True)


def test_what_is_no_json_object_is_refused():
    for body in (b"{", b"[]", b"\xff"):
        with pytest.raises(Rejected) as refused:
            SERVICE.accept(replace(posted({}), body=body), "google")
        assert refused.value.response.status == 400


# -- thinking --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "body", "message"),
    [
        (
            NEW,
            thinking("LOW", 100),
            "You can only set only one of thinking budget and thinking level.",
        ),
        (OLD, thinking("LOW"), "Thinking level is not supported for this model."),
        (
            "gemini-3.7-flash",
            thinking("MINIMAL"),
            "Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.",
        ),
        (
            "gemini-3-pro-preview",
            thinking("MEDIUM"),
            "Thinking level MEDIUM is not supported for this model. Please retry with other thinking level.",
        ),
        (
            "gemini-3.1-flash-image",
            thinking("LOW"),
            "Thinking level LOW is not supported for this model. Please retry with other thinking level.",
        ),
        (
            OLD,
            thinking(budget=52428),
            "The thinking budget (52428) is invalid. Please choose a value between 0 and 24576.",
        ),
        (
            "gemini-2.5-pro",
            thinking(budget=64),
            "The thinking budget (64) is invalid. Please choose a value between 128 and 32768.",
        ),
        (
            "gemini-2.5-flash-lite",
            thinking(budget=128),
            "The thinking budget (128) is invalid. Please choose a value between 0 and 24576.",
        ),
        (
            "gemini-2.5-pro",
            thinking(budget=0),
            "Budget 0 is invalid. This model only works in thinking mode.",
        ),
        (
            "gemini-3.1-pro-preview",
            thinking(budget=0),
            "Budget 0 is invalid. This model only works in thinking mode.",
        ),
        (
            "gemini-4-argon",
            thinking(budget=100),
            "Thinking budget is not supported for this model.",
        ),
        (
            OLD,
            thinking(budget=0, shown=True),
            "Thinking_config.include_thoughts is only enabled when thinking is enabled.",
        ),
        (
            "gemini-2.5-flash-lite",
            thinking(shown=True),
            "Thinking_config.include_thoughts is only enabled when thinking is enabled.",
        ),
        ("gemini-2.0-flash", thinking(shown=True), "Thinking is not enabled for this model"),
        ("gemini-2.5-flash-image", thinking(budget=100), "Thinking is not enabled for this model"),
        ("gemini-2.0-flash", thinking("HIGH"), "Thinking is not enabled for this model"),
    ],
)
def test_a_wish_the_model_cannot_take_is_refused_in_the_services_words(model, body, message):
    status, told, error = refusal(body, model=model)
    assert (status, told, error["status"]) == (400, message, "INVALID_ARGUMENT")


def test_vertex_words_it_in_its_own_way():
    told = refusal(thinking("MEDIUM"), model="gemini-3-pro-preview", provider="vertex")[1]
    assert told.startswith(
        "Unable to submit request because thinking_level MEDIUM is not supported by this model."
    )


@pytest.mark.parametrize(
    ("model", "body", "expected"),
    [
        (NEW, thinking("MINIMAL", shown=True), ("level", "minimal", None, True, True)),
        (NEW, thinking(budget=512), ("budget", None, 512, True, False)),
        (NEW, thinking(shown=True), ("on", None, None, True, True)),
        (NEW, thinking("THINKING_LEVEL_UNSPECIFIED"), ("unset", None, None, True, False)),
        (NEW, {"contents": [USER]}, ("unset", None, None, True, False)),
        (OLD, thinking(budget=0), ("off", None, 0, False, False)),
        (OLD, thinking(budget=-1, shown=True), ("on", None, -1, True, True)),
        (OLD, thinking(budget=24576), ("budget", None, 24576, True, False)),
        ("gemini-2.5-flash-lite", {"contents": [USER]}, ("unset", None, None, False, False)),
        (
            "gemini-2.5-flash-lite",
            thinking(budget=512, shown=True),
            ("budget", None, 512, True, True),
        ),
        ("gemini-2.5-flash-preview-09-2025", thinking(budget=1), ("budget", None, 1, True, False)),
        ("gemini-2.0-flash-exp", thinking(budget=0), ("off", None, 0, False, False)),
        ("gemini-flash-latest", thinking(budget=0, shown=False), ("off", None, 0, False, False)),
    ],
)
def test_a_wish_the_model_takes_is_read(model, body, expected):
    found = accepted(body, model=model)
    assert (
        found.intent.kind,
        found.intent.level,
        found.intent.tokens,
        found.thinks,
        found.shown,
    ) == expected


WISHES = (
    None,
    "off",
    "on",
    "minimal",
    "low",
    "medium",
    "high",
    "xhigh",
    "max",
    0,
    1,
    300,
    5000,
    10**6,
)


@pytest.mark.parametrize("entry", pondero.models("google"), ids=lambda entry: entry.model)
def test_every_wish_for_every_catalogued_model_is_accepted(entry):
    for wish in WISHES:
        for cap in (None, 1000, 9000):
            planned = pondero.plan(entry.id, wish, max_tokens=cap, temperature=0.5, top_k=3)
            request = Request(entry.model, (HELLO,), max_tokens=cap, temperature=0.5, top_k=3)
            found = SERVICE.accept(CALLER.encode(request, planned, GOOGLE), "google")
            assert found.thinks is planned.will_think or planned.will_think is None


# -- the rest of the configuration -----------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "model", "message"),
    [
        ({"temperature": 3}, OLD, "temperature must be in the range [0.0, 2.0]"),
        ({"topP": 1.5}, OLD, "top_p must be in the range [0.0, 1.0]"),
        (
            {"maxOutputTokens": 100_000},
            OLD,
            "supported range is from 1 (inclusive) to 65537 (exclusive)",
        ),
        ({"maxOutputTokens": 0}, OLD, "maxOutputTokens value of 0"),
        ({"stopSequences": list("abcdef")}, OLD, "more than 5 stop sequences"),
        ({"presencePenalty": 1.0}, "gemini-3.6-flash", "Penalty is not enabled for this model"),
        ({"responseSchema": {"type": "object"}}, OLD, "`response_mime_type`"),
        (
            {
                "responseSchema": {},
                "responseJsonSchema": {},
                "responseMimeType": "application/json",
            },
            OLD,
            "Only one of",
        ),
    ],
)
def test_a_configuration_out_of_range_is_refused(config, model, message):
    assert message in refusal({"contents": [USER], "generationConfig": config}, model=model)[1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"tools": [{"functionDeclarations": [{"name": "1f"}]}]}, "Invalid function name"),
        (
            {"tools": [{"functionDeclarations": [{"name": "f"}, {"name": "f"}]}]},
            "Duplicate function declaration found: f",
        ),
        (
            {
                "tools": [
                    {
                        "functionDeclarations": [
                            {"name": "f", "parameters": {}, "parametersJsonSchema": {}}
                        ]
                    }
                ]
            },
            "only one of parameters",
        ),
        (
            {
                "tools": [{"functionDeclarations": [{"name": "f"}]}],
                "toolConfig": {
                    "functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["f"]}
                },
            },
            "mode is ANY",
        ),
        (
            {
                "tools": [{"functionDeclarations": [{"name": "g"}]}],
                "toolConfig": {
                    "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}
                },
            },
            "not among",
        ),
    ],
)
def test_tools_that_do_not_fit_are_refused(body, message):
    assert message in refusal({"contents": [USER], **body})[1]


# -- the conversation ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "* GenerateContentRequest.contents: contents is not specified\n"),
        (
            {"contents": [{"role": "assistant", "parts": [{"text": "a"}]}]},
            "Please use a valid role: user, model.",
        ),
        (
            {"contents": [{"role": "user", "parts": []}]},
            "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n",
        ),
        (
            turns({"role": "model", "parts": [{"thoughtSignature": "UyE="}]}),
            "* GenerateContentRequest.contents[1].parts[0].data: required oneof field 'data' must have one initialized field\n",
        ),
        (
            turns({"role": "model", "parts": [function() | {"text": "a"}]}),
            "oneof field 'data' is already set",
        ),
        (turns(called(function(""))), "function_call.name: Name cannot be empty."),
        (
            turns(answered("f")),
            "function response turn comes immediately after a function call turn.",
        ),
        (
            turns(called(function(), function("g")), answered("f")),
            "the number of function response parts is equal to the number of function call parts",
        ),
    ],
)
def test_a_conversation_out_of_order_is_refused(body, message):
    status, told, _ = refusal(body, model=OLD)
    assert status == 400
    assert message in told


def test_neighbours_of_one_role_count_as_one_and_unanswered_calls_pass():
    accepted(
        turns(called(function()), called(function("g")), answered("f"), answered("g")), model=OLD
    )
    accepted(turns(called(function()), USER), model=OLD)


def test_an_answer_begun_by_the_caller_is_refused_by_newer_models_only():
    body = turns({"role": "model", "parts": [{"text": "So"}]})
    assert accepted(body, model=OLD)
    assert refusal(body, model="gemini-3.6-flash")[0] == 400


# -- signatures ------------------------------------------------------------------------------


def test_an_unsigned_first_call_of_the_current_turn_is_refused_from_gemini_3_on():
    body = turns(called(function("look")), answered("look"))
    status, message, _ = refusal(body)
    assert status == 400
    assert message.startswith("Function call is missing a thought_signature in functionCall parts.")
    assert message.endswith("function call `default_api:look` , position 2.")
    assert accepted(body, model=OLD)


def test_every_step_needs_its_own_signature_and_earlier_turns_need_none():
    one = [called(function(thoughtSignature=signed())), answered("f")]
    bare = [called(function()), answered("f")]
    assert accepted(turns(*one, *one))
    assert refusal(turns(*one, *bare))[0] == 400
    assert accepted(turns(*bare, {"role": "model", "parts": [{"text": "so"}]}, USER, *one))


def test_only_the_first_of_parallel_calls_needs_it():
    assert accepted(
        turns(called(function(thoughtSignature=signed()), function("g")), answered("f", "g"))
    )


@pytest.mark.parametrize(
    "stand_in",
    [
        "skip_thought_signature_validator",
        "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
        "context_engineering_is_the_way_to_go",
    ],
)
def test_the_documented_stand_ins_are_taken_and_are_no_seal(stand_in):
    found = accepted(turns(called(function(thoughtSignature=stand_in)), answered("f")))
    assert found.request.messages[1].parts[0].signature is None


@pytest.mark.parametrize("alphabet", [lambda s: s, lambda s: s.replace("+", "-").replace("/", "_")])
def test_a_signature_of_our_own_is_taken_in_either_alphabet(alphabet):
    assert accepted(turns(called(function(thoughtSignature=alphabet(signed()))), answered("f")))


@pytest.mark.parametrize(
    "signature",
    [
        "EqoeCqceAdHtim9uZSBvZiBvdXJz",
        signed("vertex"),
        signed()[:-8] + "AAAAAAA=",
        "A" + signed()[1:],
        "",
    ],
)
@pytest.mark.parametrize("model", [NEW, "gemini-3.1-pro-preview"])
def test_a_foreign_or_changed_signature_is_refused(signature, model):
    message = refusal(
        turns(called(function(thoughtSignature=signature)), answered("f")), model=model
    )[1]
    assert message == "Corrupted thought signature." or (not signature and "missing" in message)


def test_a_corrupted_signature_on_words_is_refused_too():
    body = turns({"role": "model", "parts": [{"text": "a", "thoughtSignature": "aGVsbG8="}]}, USER)
    assert refusal(body)[1] == "Corrupted thought signature."
    assert "Thought signature is not valid" in refusal(body, provider="vertex")[1]


# -- what was meant --------------------------------------------------------------------------


def test_what_is_encoded_is_accepted_as_it_was_meant_down_to_the_seals():
    own = Signature(NAME, signed(), NEW, "google")
    request = Request(
        NEW,
        (
            Message(
                "user",
                (
                    Text("a"),
                    Image("image/png", b"hi"),
                    Blob("application/pdf", url="https://f.test/f.pdf"),
                ),
            ),
            Message(
                "assistant",
                (
                    Thinking("hm"),
                    Text("so", own),
                    UnknownPart(NAME, {"executableCode": {"code": "1", "language": "PYTHON"}}, own),
                    ToolCall("i1", "f", {"x": [1, None]}, own),
                    ToolCall("i2", "g", {}),
                ),
            ),
            Message(
                "user",
                (ToolResult("i2", (Text("2"),)), ToolResult("i1", (Text("no"),), error=True)),
            ),
            Message("assistant", (Text("done"), Text("", own))),
            HELLO,
        ),
        system=(Text("be"),),
        tools=(
            Tool("f", "d", {"type": "object", "properties": {}}),
            Tool("g"),
            Tool("googleSearch", raw={"googleSearch": {}}),
        ),
        tool_choice=ToolChoice("tool", "f"),
        output=OutputFormat({"type": "object", "additionalProperties": False}),
        max_tokens=10,
        temperature=0.5,
        top_p=0.5,
        top_k=5,
        stop=("a",),
        stream=False,
        extras={
            "serviceTier": "standard",
            "generationConfig": {"seed": 3, "responseModalities": ["TEXT"]},
            "toolConfig": {"includeServerSideToolInvocations": True},
        },
    )
    http = CALLER.encode(request, plan(NAME), GOOGLE)
    assert SERVICE.accept(http, "google").request == request


def test_a_choice_among_some_tools_is_kept_in_the_extras_too():
    config = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}}
    tools = [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}]
    found = accepted({"contents": [USER], "tools": tools, "toolConfig": config}).request
    assert found.tool_choice == ToolChoice("required", allowed=("f", "g"))
    assert found.extras == {
        "toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["f", "g"]}}
    }


def test_results_without_ids_find_their_calls_by_name_and_order():
    calls = called(function(thoughtSignature=signed()), function(), function("g"))
    message = accepted(turns(calls, answered("f", "g", "f"))).request.messages
    ids = [part.id for part in message[1].parts]
    assert [part.call_id for part in message[2].parts] == [ids[0], ids[2], ids[1]]
    assert all(len(id) == 22 for id in ids)


def test_a_request_around_the_request_is_unwrapped():
    body = {"model": NEW, "project": "p", "request": {"contents": [USER], "session_id": "s"}}
    http = HttpRequest(
        "POST",
        "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse",
        {"authorization": "Bearer t"},
        json.dumps(body).encode(),
    )
    found = SERVICE.accept(http, "google")
    assert (found.request.model, found.request.stream, found.context.wrapped) == (
        NEW,
        True,
        True,
    )


def test_the_framing_is_the_one_asked_for():
    for query, framing in (
        ("?alt=sse", "sse"),
        ("", "array"),
        ("?alt=json", "array"),
        ("?alt=ndjson", "ndjson"),
    ):
        http = posted({"contents": [USER]}, method="streamGenerateContent")
        found = SERVICE.accept(replace(http, url=http.url + query), "google")
        assert (found.context.framing, found.request.stream) == (framing, True)


def test_vertex_addresses_are_understood():
    found = SERVICE.accept(
        asked(target=replace(VERTEX, url=f"{URL}1/projects/p/locations/global/publishers/google")),
        "vertex",
    )
    assert found.request.model == NEW


def test_refusals_decode_to_our_own_errors():
    from pondero.canon import ResponseHead

    for where, kind in (({"x_goog_api_key": "bad"}, AuthFailed), ({"model": "nope"}, NotFound)):
        with pytest.raises(Rejected) as refused:
            accepted({"contents": [USER]}, **where)
        answer = refused.value.response
        assert type(CALLER.error(ResponseHead(answer.status, answer.headers), answer.body)) is kind
