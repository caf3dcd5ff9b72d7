"""The service reads strictly: what it takes, what it refuses, and in which words."""

import json

import pytest
from msgspec import to_builtins
from tests.plans import plan

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    HttpRequest,
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
from pondero.dialects import Rejected
from pondero.dialects.openai_chat.service import models

from ..making import CHAT

HI = {"role": "user", "content": "hi"}
NOTHING = {"type": "object", "properties": {}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": NOTHING}}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
OPENAI, COMPATIBLE = "openai-chat", "compatible"


def accept(
    body, *, service=OPENAI, headers=None, method="POST", url="https://x.test/v1/chat/completions"
):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"authorization": "Bearer k"} if headers is None else headers
    return CHAT.service().accept(HttpRequest(method, url, headers, data), service)


def asked(model="gpt-5.2", **fields):
    return {"model": model, "messages": [HI], **fields}


def refused(body, **rest):
    with pytest.raises(Rejected) as raised:
        accept(body, **rest)
    response = raised.value.response
    assert response.headers["content-type"] == "application/json"
    error = json.loads(response.body)["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    return response.status, error["message"], error["param"], error["code"]


# -- the door ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": ""}, {"authorization": "Bearer "}, {"authorization": "Basic x"}],
)
def test_without_a_key_nobody_comes_in(headers):
    status, message, _, code = refused(asked(), headers=headers)
    assert (status, code) == (401, None)
    assert message.startswith("You didn't provide an API key.")


def test_only_one_door():
    assert refused(asked(), url="https://x.test/v1/completions")[0] == 404
    assert refused(asked(), method="GET")[0] == 404


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"a":"\\ud800"}', b"[" * 50_000])
def test_what_is_no_json_is_refused(body):
    status, message, *_ = refused(body)
    assert (status, message.partition(" (")[0]) == (
        400,
        "We could not parse the JSON body of your request.",
    )


def test_an_unknown_model_is_not_found():
    status, message, param, code = refused(asked("gpt-9-nope"))
    assert (status, param, code) == (404, None, "model_not_found")
    assert message == "The model `gpt-9-nope` does not exist or you do not have access to it."


@pytest.mark.parametrize("model", ["gpt-5-pro", "gpt-5.4-pro", "o3-pro", "o1-pro-2025-03-19"])
def test_a_model_of_another_surface_says_where_it_is(model):
    status, message, param, _ = refused(asked(model))
    assert (status, param) == (404, "model")
    assert message == "This model is only supported in v1/responses and not in v1/chat/completions."


@pytest.mark.parametrize(
    "model", ["gpt-5.2-2025-12-11", "gpt-4o-2024-08-06", "ft:gpt-4o-mini:acme::x1", "gpt-4-0613"]
)
def test_a_snapshot_or_a_fine_tune_is_its_model(model):
    assert accept(asked(model)).request.model == model


# -- the shape ---------------------------------------------------------------------------------------

SHAPES = [
    (
        {"messages": [HI]},
        "Missing required parameter: 'model'.",
        "model",
        "missing_required_parameter",
    ),
    (
        {"model": "gpt-5.2"},
        "Missing required parameter: 'messages'.",
        "messages",
        "missing_required_parameter",
    ),
    (asked(foo=1), "Unrecognized request argument supplied: foo", None, None),
    (
        asked(messages=[HI | {"foo": 1}]),
        "Unknown parameter: 'messages[0].foo'.",
        "messages[0].foo",
        "unknown_parameter",
    ),
    (
        asked(messages=[{"role": "user", "content": {"a": 1}}]),
        "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got an object instead.",
        "messages[0].content",
        "invalid_type",
    ),
    (
        asked(model=3),
        "Invalid type for 'model': expected a string, but got an integer instead.",
        "model",
        "invalid_type",
    ),
    (
        asked(messages=[]),
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "messages",
        "empty_array",
    ),
    (
        asked(messages=[HI, {"role": "assistant", "tool_calls": []}]),
        "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "messages[1].tool_calls",
        "empty_array",
    ),
    (
        asked(messages=[{"role": "robot", "content": "x"}]),
        "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
        "messages[0].role",
        "invalid_value",
    ),
    (asked(top_k=3), "Unrecognized request argument supplied: top_k", None, None),
    (
        asked(messages=[HI, {"role": "assistant", "content": "x", "reasoning_content": "y"}]),
        "Unknown parameter: 'messages[1].reasoning_content'.",
        "messages[1].reasoning_content",
        "unknown_parameter",
    ),
    (
        asked(
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
                    ],
                }
            ]
        ),
        "Unknown parameter: 'messages[0].content[0].cache_control'.",
        "messages[0].content[0].cache_control",
        "unknown_parameter",
    ),
    (
        asked(
            messages=[
                HI,
                {
                    "role": "assistant",
                    "tool_calls": [CALL | {"function": {"name": "f", "arguments": {}}}],
                },
            ]
        ),
        "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead.",
        "messages[1].tool_calls[0].function.arguments",
        "invalid_type",
    ),
    (
        asked(messages=[HI, {"role": "assistant", "tool_calls": [CALL | {"extra_content": {}}]}]),
        "Unknown parameter: 'messages[1].tool_calls[0].extra_content'.",
        "messages[1].tool_calls[0].extra_content",
        "unknown_parameter",
    ),
]


@pytest.mark.parametrize(("body", "message", "param", "code"), SHAPES)
def test_a_wrong_shape_is_refused_and_says_where(body, message, param, code):
    assert refused(body) == (400, message, param, code)


# -- ranges and company ------------------------------------------------------------------------------

RULES = [
    (
        asked("gpt-4o", temperature=99),
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99.0 instead.",
        "temperature",
        "decimal_above_max_value",
    ),
    (
        asked("gpt-4o", temperature=-1),
        "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1.0 instead.",
        "temperature",
        "decimal_below_min_value",
    ),
    (
        asked("gpt-4o", max_tokens=1, max_completion_tokens=1),
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        "max_tokens",
        "invalid_parameter_combination",
    ),
    (
        asked("gpt-5", max_tokens=1),
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens",
        "unsupported_parameter",
    ),
    (
        asked("gpt-4o", max_tokens=20480),
        "max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided 20480.",
        "max_tokens",
        "invalid_value",
    ),
    (
        asked("gpt-4o", max_tokens=0),
        "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
        "max_tokens",
        "integer_below_min_value",
    ),
    (
        asked("o3", stop=["x"]),
        "Unsupported parameter: 'stop' is not supported with this model.",
        "stop",
        "unsupported_parameter",
    ),
    (
        asked(stream_options={"include_usage": True}),
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "stream_options",
        None,
    ),
    (
        asked(parallel_tool_calls=True),
        "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
        "parallel_tool_calls",
        None,
    ),
    (
        asked(tool_choice="auto"),
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        "tool_choice",
        None,
    ),
]


@pytest.mark.parametrize(("body", "message", "param", "code"), RULES)
def test_a_broken_rule_is_refused_in_the_services_words(body, message, param, code):
    assert refused(body) == (400, message, param, code)


# -- thinking ---------------------------------------------------------------------------------------

EFFORTS = {
    "gpt-4o": "",
    "gpt-5-chat-latest": "",
    "o3": "low medium high",
    "gpt-5": "minimal low medium high",
    "gpt-5.1": "none low medium high",
    "gpt-5.1-codex-max": "low medium high xhigh",
    "gpt-5.2-chat-latest": "medium",
    "gpt-5.2": "none low medium high xhigh",
    "gpt-5.4-mini": "none low medium high xhigh",
    "gpt-5.5": "none low medium high xhigh",
    "gpt-5.6-terra": "none low medium high xhigh",
    "gpt-6-luna": "none low medium high xhigh",
    "gpt-6-astra": "low medium high xhigh",
}
WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@pytest.mark.parametrize("model", EFFORTS)
def test_each_model_takes_its_own_words(model):
    taken = EFFORTS[model].split()
    for word in WORDS:
        if word in taken:
            accepted = accept(asked(model, reasoning_effort=word))
            assert accepted.thinks == (word != "none")
            assert not accepted.shown
            assert (accepted.intent.kind, accepted.intent.level) == (
                ("off", None) if word == "none" else ("level", word)
            )
        else:
            status, message, _, code = refused(asked(model, reasoning_effort=word))
            assert status == 400
            if taken:
                assert message.startswith(
                    f"Unsupported value: 'reasoning_effort' does not support '{word}' with this model. Supported"
                )
                assert code == "unsupported_value"
            else:
                assert message == "Unrecognized request argument supplied: reasoning_effort"


def test_the_words_are_listed_as_the_service_lists_them():
    message = refused(asked("gpt-5.1", reasoning_effort="minimal"))[1]
    assert message.endswith("Supported values are: 'none', 'low', 'medium', and 'high'.")


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        ("gpt-4o", False),
        ("o3", True),
        ("gpt-5", True),
        ("gpt-5.2", False),
        ("gpt-5.5", True),
        ("gpt-6-astra", True),
    ],
)
def test_whether_a_model_thinks_unasked(model, thinks):
    accepted = accept(asked(model))
    assert (accepted.intent.kind, accepted.thinks) == ("unset", thinks)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"temperature": 0.2},
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        ),
        (
            {"top_p": 0.5},
            "Unsupported value: 'top_p' does not support 0.5 with this model. Only the default (1) value is supported.",
        ),
        ({"logprobs": True}, "Unsupported parameter: 'logprobs' is not supported with this model."),
    ],
)
def test_sampling_goes_only_with_a_model_that_does_not_think(fields, message):
    assert refused(asked("gpt-5.2", reasoning_effort="low", **fields))[1] == message
    assert accept(asked("gpt-5.2", reasoning_effort="none", **fields))
    assert accept(asked("gpt-4o", **fields))


def test_the_default_temperature_is_no_sampling():
    assert accept(asked("gpt-5", temperature=1))


@pytest.mark.parametrize("model", ["gpt-5.4", "gpt-5.5", "gpt-5.6-terra", "gpt-6-sol"])
def test_function_tools_and_thinking_are_refused_together_from_5_4_on(model):
    assert accept(asked(model, tools=[TOOL], reasoning_effort="none"))
    status, message, param, code = refused(asked(model, tools=[TOOL], reasoning_effort="low"))
    assert (status, param, code) == (400, "reasoning_effort", None)
    assert message == (
        f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. "
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    )


def test_function_tools_alone_are_refused_where_the_model_thinks_unasked():
    assert refused(asked("gpt-5.5", tools=[TOOL]))[0] == 400
    assert refused(asked("gpt-6-astra", tools=[TOOL]))[0] == 400
    assert accept(asked("gpt-5.4", tools=[TOOL]))
    assert accept(asked("gpt-5", tools=[TOOL], reasoning_effort="high"))


@pytest.mark.parametrize(
    ("fields", "kind", "thinks"),
    [
        ({}, "unset", True),
        ({"reasoning_effort": "low"}, "level", True),
        ({"reasoning_effort": "none"}, "off", False),
        ({"reasoning": {"effort": "high"}}, "level", True),
        ({"reasoning": {"enabled": True}}, "on", True),
        ({"reasoning": {"max_tokens": 2000}}, "budget", True),
        ({"thinking": {"type": "disabled"}}, "off", False),
        ({"enable_thinking": False}, "off", False),
        ({"chat_template_kwargs": {"enable_thinking": True}}, "on", True),
    ],
)
def test_a_compatible_service_has_many_knobs(fields, kind, thinks):
    accepted = accept(asked("any/model", **fields), service=COMPATIBLE)
    assert (accepted.intent.kind, accepted.thinks, accepted.shown) == (kind, thinks, thinks)
    assert accepted.request.extras is None


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_effort": "huge"},
        {"thinking": {"type": "x"}},
        {"thinking_budget": -5},
        {"thinking_budget": True},
    ],
)
def test_a_knob_turned_wrong_is_refused(fields):
    assert refused(asked("m", **fields), service=COMPATIBLE)[0] == 400


def test_a_service_nobody_described_is_a_compatible_one():
    assert accept(asked("m", whatever=1), service="somebody").request.extras == {"whatever": 1}


# -- pairs -------------------------------------------------------------------------------------------


def test_a_result_without_its_call_is_refused():
    for before in ([HI], [HI, {"role": "assistant", "content": "x"}]):
        body = asked(messages=[*before, {"role": "tool", "tool_call_id": "a", "content": "x"}])
        assert refused(body) == (
            400,
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
            f"messages.[{len(before)}].role",
            None,
        )


@pytest.mark.parametrize(
    "after",
    [[], [HI], [{"role": "assistant", "content": "x"}], [{"role": "system", "content": "x"}]],
)
def test_a_call_without_its_result_is_refused(after):
    body = asked(messages=[HI, {"role": "assistant", "tool_calls": [CALL]}, *after])
    status, message, param, _ = refused(body)
    assert (status, param) == (400, "messages")
    assert message.endswith("The following tool_call_ids did not have response messages: a")


def test_a_result_must_name_its_call():
    body = asked(
        messages=[HI, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": "x"}]
    )
    assert refused(body)[2:] == ("messages[2].tool_call_id", "missing_required_parameter")


def test_a_compatible_service_pairs_calls_without_ids_by_their_place():
    nameless = {key: value for key, value in CALL.items() if key != "id"}
    body = asked(
        "m",
        messages=[
            HI,
            {"role": "assistant", "tool_calls": [nameless]},
            {"role": "tool", "content": "x"},
        ],
    )
    _, turn, results = accept(body, service=COMPATIBLE).request.messages
    assert turn.parts[0].minted
    assert results.parts[0].call_id == turn.parts[0].id


# -- the canon it stands for --------------------------------------------------------------------------


def made(request, *, service, quirks=None, fields=None):
    target = Target("r", "https://x.test/v1", {"authorization": "Bearer k"}, quirks=quirks or {})
    http = CHAT.caller().encode(request, plan("openai_chat", fields), target)
    return CHAT.service().accept(http, service).request


def ours(value):
    return Signature("openai_chat", value)


def test_what_openai_is_asked_comes_out_as_it_was_meant():
    request = Request(
        model="gpt-4o",
        messages=(
            Message(
                "user",
                (
                    Text("a"),
                    Text("b"),
                    Image("image/png", b"\x89PNG\r\n\x1a\n", detail="low"),
                    Image(url="https://x.test/i"),
                ),
            ),
            Message(
                "assistant",
                (
                    Text("Let me see"),
                    ToolCall("a", "f", {"x": [1, None]}),
                    ToolCall("b", "g", "{oops"),
                ),
            ),
            Message(
                "user",
                (
                    ToolResult("a", (Text("1"),)),
                    ToolResult("b", (Text("2"), Text("3"))),
                    Text("go on"),
                ),
            ),
            Message("assistant", (Text("no", ours({"refusal": True})),)),
            Message("system", (Text("now"),)),
            Message("user", (Blob("application/pdf", b"%PDF", name="a.pdf"),)),
            Message("assistant", (ToolCall("c", "shell", "ls", ours({"type": "custom"})),)),
            Message("user", (ToolResult("c", ()),)),
            Message("assistant", (UnknownPart("openai_chat", {"audio": {"id": "au"}}),)),
            Message(
                "user",
                (UnknownPart("openai_chat", {"type": "file", "file": {"file_id": "file-1"}}),),
            ),
        ),
        system=(Text("x"), Text("y")),
        tools=(
            Tool("f", "does f", {"type": "object", "additionalProperties": False}, strict=True),
            Tool(
                "shell",
                raw={"type": "custom", "custom": {"name": "shell"}},
                dialect="openai_chat",
                kind="text",
            ),
        ),
        tool_choice=ToolChoice("tool", "f", parallel=False),
        output=OutputFormat({"type": "object"}, "shape", strict=False),
        max_tokens=9,
        temperature=0.5,
        top_p=0.25,
        stop=("x", "y"),
        stream=True,
        extras={"seed": 3, "user": "u"},
    )
    assert (
        made(request, service=OPENAI, quirks={"refusals": True, "text_tools": True}, fields={})
        == request
    )


def test_sound_comes_out_as_it_was_meant():
    heard = Message("user", (Blob("audio/wav", b"x"), Text("what is it?")))
    request = Request("gpt-4o-audio-preview", (heard,))
    assert made(request, service=OPENAI, fields={}) == request


def test_cache_marks_arrive_in_either_form():
    for service, marks in ((OPENAI, "prompt_cache_breakpoint"), (COMPATIBLE, "cache_control")):
        parts = (
            Text("a", cache=CacheBreakpoint()),
            Image(url="https://x.test", cache=CacheBreakpoint("30m")),
        )
        request = Request(
            "gpt-4o", (Message("user", parts),), (Text("s", cache=CacheBreakpoint()),)
        )
        assert made(request, service=service, quirks={"cache_marks": marks}) == request


@pytest.mark.parametrize(
    "sealed",
    [
        {"reasoning_content": True},
        {"reasoning": True},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm", "index": 0}]},
        {"chunk": {"closed": True}},
    ],
)
def test_thinking_sent_to_a_compatible_service_comes_out_with_its_seal(sealed):
    turn = Message("assistant", (Thinking("Hm", ours(sealed)), Text("Yes"), ToolCall("a", "f", {})))
    request = Request(
        "m",
        (Message("user", (Text("hi"),)), turn, Message("user", (ToolResult("a", (Text("1"),)),))),
    )
    assert made(request, service=COMPATIBLE) == request


def test_what_a_call_carries_comes_out_with_it():
    sealed = ours({"extra_content": {"google": {"thought_signature": "c2ln"}}})
    turn = Message("assistant", (ToolCall("a", "f", {}, sealed),))
    request = Request("m", (turn, Message("user", (ToolResult("a", (Text("1"),)),))))
    assert made(request, service=COMPATIBLE) == request


# -- another service is another table ----------------------------------------------------------------


@pytest.fixture
def services(monkeypatch):
    """Two services made up for the purpose."""
    knobs = (models.Knob(("thinking", "type"), "toggle", ("enabled",), ("disabled",)),)
    strict = models.Provider(
        name="strict",
        thinking="reasoning_content",
        strict=True,
        words=("reasoning_content",),
        knob=knobs,
        other=models.Model(thinks="on"),
        must_replay=True,
    )
    stringy = models.Provider(name="s", thinking="none", error="string")
    flat = models.Provider(name="f", thinking="none", error="flat")
    described = {"strict": strict, "stringy": stringy, "flat": flat}
    models.provider_of.cache_clear()
    monkeypatch.setattr(models, "_table", lambda name: to_builtins(described[name]))
    yield
    models.provider_of.cache_clear()


@pytest.mark.usefixtures("services")
def test_a_call_that_lost_its_thinking_is_refused_where_it_must_come_back():
    def body(thinking, **fields):
        turn = {"role": "assistant", "tool_calls": [CALL], **fields}
        answer = {"role": "tool", "tool_call_id": "a", "content": "1"}
        return {"model": "m", "messages": [HI, turn, answer], "thinking": {"type": thinking}}

    assert refused(body("enabled"), service="strict")[1].startswith("The `reasoning_content`")
    assert accept(body("enabled", reasoning_content=""), service="strict")
    assert accept(body("disabled"), service="strict")
    spare = body("enabled", reasoning_content="", reasoning="x")
    assert refused(spare, service="strict")[3] == "unknown_parameter"


@pytest.mark.usefixtures("services")
@pytest.mark.parametrize(
    ("service", "said"),
    [
        (
            "stringy",
            {
                "code": "model_not_found",
                "error": "The model `m` does not exist or you do not have access to it.",
            },
        ),
        (
            "flat",
            {
                "message": "The model `m` does not exist or you do not have access to it.",
                "type": "invalid_request_error",
                "param": None,
                "code": "model_not_found",
            },
        ),
    ],
)
def test_errors_have_the_shape_of_their_service(service, said):
    with pytest.raises(Rejected) as raised:
        accept(asked("m"), service=service)
    assert json.loads(raised.value.response.body) == said
