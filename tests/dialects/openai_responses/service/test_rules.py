"""What the service takes, and what it refuses in its own words."""

import json

import pytest
from tests.dialects.openai_responses.making import (
    HELLO,
    MODEL,
    NAME,
    TARGET,
    accepted,
    asking,
    plan,
    posted,
    refused,
)

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Message,
    OutputFormat,
    Request,
    Text,
    Tool,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.dialects import Rejected
from pondero.dialects.openai_responses.caller import CALLER
from pondero.dialects.openai_responses.service import SERVICE

NOTHING = object()


def test_the_smallest_request():
    found = accepted({"model": MODEL, "input": "Hello"})

    assert found.request == Request(MODEL, HELLO, stream=False)
    assert (found.intent.kind, found.intent.level, found.thinks, found.shown) == (
        "unset",
        None,
        True,
        False,
    )


@pytest.mark.parametrize(
    ("model", "reasoning", "kind", "level", "thinks", "shown"),
    [
        ("gpt-5.6-sol", None, "unset", None, True, False),
        ("gpt-5.6-sol", {"effort": "none"}, "off", None, False, False),
        ("gpt-5.6-sol", {"effort": "max", "summary": "auto"}, "level", "max", True, True),
        ("gpt-5.2", None, "unset", None, False, False),
        ("gpt-5.2", {"summary": "auto"}, "unset", None, False, False),
        ("gpt-5-mini", {"effort": "minimal"}, "level", "minimal", True, False),
        ("o3", {"summary": "detailed"}, "unset", None, True, True),
        ("o3", {"generate_summary": "auto"}, "unset", None, True, True),
        ("gpt-4o", None, "unset", None, False, False),
        ("gpt-4o", {"effort": None}, "unset", None, False, False),
        ("o4-mini-2025-04-16", {"effort": "low"}, "level", "low", True, False),
        ("ft:gpt-4.1:acme::1", None, "unset", None, False, False),
    ],
)
def test_the_wish_is_read(model, reasoning, kind, level, thinks, shown):
    body = {"model": model, "input": "Hello"}
    found = accepted(body if reasoning is None else body | {"reasoning": reasoning})

    assert (found.intent.kind, found.intent.level, found.thinks, found.shown) == (
        kind,
        level,
        thinks,
        shown,
    )


def test_a_full_request_is_what_it_was():
    request = Request(
        "gpt-4.1",
        (
            Message(
                "user",
                (
                    Text("Look", cache=CacheBreakpoint("30m")),
                    Image("image/png", data=b"\x01", detail="low"),
                    Image(url="https://x.example/a.png", cache=CacheBreakpoint()),
                    Blob("application/pdf", data=b"\x02", name="a.pdf"),
                    Blob("application/pdf", url="https://x.example/a.pdf"),
                    Blob("audio/wav", data=b"\x03"),
                    UnknownPart(NAME, {"type": "input_file", "file_id": "file-1"}),
                ),
            ),
            Message("system", (Text("Now in French."),)),
            Message("user", (Text("And again"),)),
        ),
        system=(Text("Be brief."), Text("Be kind.")),
        tools=(
            Tool("weather", "Tell it.", {"type": "object", "properties": {}}, strict=False),
            Tool("web_search", raw={"type": "web_search"}, dialect=NAME, kind="web_search"),
            Tool("sh", raw={"type": "custom", "name": "sh"}, dialect=NAME, kind="text"),
        ),
        tool_choice=ToolChoice("tool", "sh", parallel=True),
        output=OutputFormat(
            {"type": "object", "additionalProperties": False}, "thing", strict=True
        ),
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        stream=True,
        extras={"metadata": {"a": "b"}, "store": True, "text": {"verbosity": "medium"}},
    )
    http = CALLER.encode(request, plan(will_think=False), TARGET)

    assert SERVICE.accept(http, "openai").request == request


@pytest.mark.parametrize(
    "choice", [None, ToolChoice("required"), ToolChoice("none", parallel=False)]
)
def test_tool_choices_are_what_they_were(choice):
    request = Request(MODEL, HELLO, tools=(Tool("f", parameters={}),), tool_choice=choice)

    http = CALLER.encode(request, plan(), TARGET)

    assert SERVICE.accept(http, "openai").request == request


def test_a_choice_beyond_the_canon_is_kept():
    choice = {"type": "allowed_tools", "mode": "auto", "tools": []}
    found = accepted({"model": MODEL, "input": "Hi", "tool_choice": choice})

    assert found.request.extras == {"tool_choice": choice}


def test_knobs_beyond_the_canon_are_kept():
    body = {
        "model": MODEL,
        "input": "Hi",
        "reasoning": {"effort": "low", "context": "all_turns", "mode": "pro"},
        "include": ["reasoning.encrypted_content", "web_search_call.action.sources"],
        "text": {"format": {"type": "json_schema", "name": "a", "schema": {}, "description": "d"}},
    }

    assert accepted(body).request.extras == {
        "reasoning": {"context": "all_turns", "mode": "pro"},
        "include": ["web_search_call.action.sources"],
        "text": {"format": {"description": "d"}},
    }


def test_the_effective_thinking_is_echoed():
    body = {"model": MODEL, "input": "Hi", "reasoning": {"summary": "auto"}}

    assert accepted(body).context.reasoning == {
        "effort": "medium",
        "summary": "detailed",
        "context": "all_turns",
        "mode": "standard",
    }


def test_an_item_may_change_the_effort_where_the_model_takes_it():
    update = {"type": "configuration_update", "reasoning": {"effort": "none"}}

    taken = accepted(asking(update, model="gpt-6-sol"))
    assert taken.thinks is False
    assert taken.context.reasoning["effort"] == "medium"
    assert refused(asking(update))["param"] == "input[1].type"
    low = update | {"reasoning": {"effort": "minimal"}}
    assert refused(asking(low, model="gpt-6-sol"))["code"] == "unsupported_value"


def test_a_deployment_whose_rules_nobody_knows_takes_any_model():
    found = accepted({"model": "any/thing", "input": "Hi"}, provider="lmstudio")

    assert found.request.model == "any/thing"


# -- refusals ------------------------------------------------------------------------------------


def test_no_key_is_401():
    with pytest.raises(Rejected) as caught:
        SERVICE.accept(posted({"model": MODEL, "input": "Hi"}, authorization=""), "openai")

    assert caught.value.response.status == 401
    assert b"You didn't provide an API key" in caught.value.response.body


def test_a_key_may_come_the_other_way():
    assert accepted({"model": MODEL, "input": "Hi"}, authorization="", api_key="k")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"5", b"[" * 5000])
def test_what_is_no_json_is_refused(body):
    assert refused(body)["message"].startswith("We could not parse the JSON body")


@pytest.mark.parametrize(
    ("change", "message", "param", "code"),
    [
        (
            {"model": "gpt-9"},
            "The requested model 'gpt-9' does not exist.",
            "model",
            "model_not_found",
        ),
        (
            {"model": "o1-mini"},
            "The requested model 'o1-mini' is not supported with the Responses API.",
            "model",
            "model_not_found",
        ),
        (
            {"model": NOTHING},
            "Missing required parameter: 'model'.",
            "model",
            "missing_required_parameter",
        ),
        (
            {"stop": ["x"]},
            "Unknown parameter: 'stop'. Did you mean 'store'?",
            "stop",
            "unknown_parameter",
        ),
        (
            {"reasoning": {"depth": 3}},
            "Unknown parameter: 'reasoning.depth'.",
            "reasoning.depth",
            "unknown_parameter",
        ),
        (
            {"stream": "yes"},
            "Invalid type for 'stream': expected a boolean, but got a string instead.",
            "stream",
            "invalid_type",
        ),
        (
            {"model": "gpt-4o", "temperature": -1},
            "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
            "temperature",
            "decimal_below_min_value",
        ),
        (
            {"model": "gpt-4o", "temperature": 2.5},
            "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
            "temperature",
            "decimal_above_max_value",
        ),
        (
            {"max_output_tokens": 10},
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 10 instead.",
            "max_output_tokens",
            "integer_below_min_value",
        ),
        (
            {"model": "gpt-4o", "max_output_tokens": 20000},
            "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 16384, but got 20000 instead.",
            "max_output_tokens",
            "integer_above_max_value",
        ),
        (
            {"reasoning": {"effort": "ultra"}},
            "Invalid value: 'ultra'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.",
            "reasoning.effort",
            "invalid_value",
        ),
        (
            {"model": "o4-mini", "reasoning": {"effort": "minimal"}},
            "Unsupported value: 'minimal' is not supported with the 'o4-mini' model. Supported values are: 'low', 'medium', and 'high'.",
            "reasoning.effort",
            "unsupported_value",
        ),
        (
            {"model": "gpt-5.1", "reasoning": {"effort": "minimal"}},
            "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.",
            "reasoning.effort",
            "unsupported_value",
        ),
        (
            {"model": "gpt-5-pro", "reasoning": {"effort": "low"}},
            "Unsupported value: 'low' is not supported with the 'gpt-5-pro' model. Supported values are: 'high'.",
            "reasoning.effort",
            "unsupported_value",
        ),
        (
            {"model": "gpt-4o", "reasoning": {"effort": "low"}},
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            "reasoning.effort",
            "unsupported_parameter",
        ),
        (
            {"model": "gpt-4o", "include": ["reasoning.encrypted_content"]},
            "Encrypted content is not supported with this model.",
            "include",
            None,
        ),
        (
            {"model": "gpt-5", "reasoning": {"summary": "concise"}},
            "Unsupported value: 'concise' is not supported with the 'gpt-5' model. Supported values are: 'auto' and 'detailed'.",
            "reasoning.summary",
            "unsupported_value",
        ),
        (
            {"model": "gpt-5.2", "reasoning": {"context": "all_turns"}},
            "Unsupported value: 'all_turns' is not supported with the 'gpt-5.2' model. Supported values are: 'auto' and 'current_turn'.",
            "reasoning.context",
            "unsupported_value",
        ),
        (
            {"model": "gpt-5.5", "reasoning": {"mode": "pro"}},
            "Unsupported value: 'pro' is not supported with the 'gpt-5.5' model. Supported values are: 'standard'.",
            "reasoning.mode",
            "unsupported_value",
        ),
        (
            {"temperature": 0.2},
            "Unsupported parameter: 'temperature' is not supported with this model.",
            "temperature",
            "unsupported_parameter",
        ),
        (
            {"top_p": 0.2},
            "Unsupported parameter: 'top_p' is not supported with this model.",
            "top_p",
            "unsupported_parameter",
        ),
        (
            {"top_logprobs": 2},
            "logprobs are not supported with reasoning models.",
            "top_logprobs",
            "unsupported_parameter",
        ),
        (
            {"include": ["everything"]},
            None,
            "include[0]",
            "invalid_value",
        ),
        (
            {"tool_choice": "any"},
            "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
            "tool_choice",
            "invalid_value",
        ),
        ({"tool_choice": "required"}, None, "tool_choice", None),
        ({"tool_choice": {"type": "function", "name": "f"}}, None, "tool_choice", None),
        (
            {"tool_choice": {"type": "function"}},
            None,
            "tool_choice.name",
            "missing_required_parameter",
        ),
        ({"tools": [{"name": "f"}]}, None, "tools[0].type", "missing_required_parameter"),
        ({"tools": [{"type": "function"}]}, None, "tools[0].name", "missing_required_parameter"),
        ({"tools": [{"type": 5}]}, None, "tools[0].type", "invalid_type"),
        ({"text": {"format": {"type": "xml"}}}, None, "text.format.type", "invalid_value"),
        (
            {"text": {"format": {"type": "json_schema", "name": "a"}}},
            "Missing required parameter: 'text.format.schema'.",
            "text.format.schema",
            "missing_required_parameter",
        ),
        (
            {"model": "o3-deep-research", "tools": [{"type": "function", "name": "f"}]},
            "Deep research models only support the 'web_search_preview', 'code_interpreter', 'mcp', and 'file_search' tools.",
            "tools",
            None,
        ),
        (
            {"previous_response_id": "resp_x"},
            "Previous response with id 'resp_x' not found.",
            "previous_response_id",
            "previous_response_not_found",
        ),
        ({"input": NOTHING}, None, "input", "missing_required_parameter"),
        ({"input": []}, None, None, "missing_required_parameter"),
        (
            {"input": [5]},
            "Invalid type for 'input[0]': expected an object, but got an integer instead.",
            "input[0]",
            "invalid_type",
        ),
    ],
)
def test_what_is_wrong_with_a_body_is_said_as_the_service_says_it(change, message, param, code):
    body = {"model": MODEL, "input": "Hi"} | change
    error = refused({key: value for key, value in body.items() if value is not NOTHING})

    assert error["status"] == 400
    assert error["type"] == "invalid_request_error"
    assert (error["param"], error["code"]) == (param, code)
    if message is not None:
        assert error["message"] == message


def test_sampling_is_taken_where_there_is_no_thinking():
    body = {"model": MODEL, "input": "Hi", "temperature": 0.2, "top_p": 0.5, "top_logprobs": 1}

    assert accepted(body | {"reasoning": {"effort": "none"}}).request.temperature == 0.2


def test_an_unverified_organisation_gets_no_summaries():
    body = {"model": MODEL, "input": "Hi", "reasoning": {"summary": "auto"}}

    error = refused(body, openai_organization="org-unverified")

    assert error["param"] == "reasoning.summary"
    assert error["message"].startswith("Your organization must be verified")
    assert accepted(body | {"reasoning": {"effort": "low"}}, openai_organization="org-unverified")


def test_another_address_is_not_there():
    with pytest.raises(Rejected) as caught:
        SERVICE.accept(
            CALLER.encode(Request(MODEL, HELLO), plan(), TARGET).__class__(
                "GET", "https://api.openai.com/v1/responses", {"authorization": "Bearer k"}
            ),
            "openai",
        )

    assert caught.value.response.status == 404


# -- other deployments -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "grok-0"}, "Model not found: grok-0"),
        (
            {"model": "grok-4.20-0309-reasoning", "reasoning": {"effort": "low"}},
            "Model grok-4.20-0309-reasoning does not support parameter reasoningEffort.",
        ),
        ({"model": "grok-4.3", "seed": 1}, "Unknown parameter: 'seed'."),
    ],
)
def test_a_deployment_says_no_in_its_own_shape(change, message):
    with pytest.raises(Rejected) as caught:
        accepted({"input": "Hi"} | change, provider="xai-responses")

    assert caught.value.response.status == 400
    assert json.loads(caught.value.response.body) == {"code": "invalid-argument", "error": message}


def test_no_key_is_400_there():
    with pytest.raises(Rejected) as caught:
        accepted({"model": "grok-4.3", "input": "Hi"}, provider="xai-responses", authorization="")

    assert caught.value.response.status == 400


@pytest.mark.parametrize(
    ("model", "thinks", "shown"),
    [
        ("grok-4.3", True, True),
        ("grok-4.20-reasoning", True, True),
        ("grok-4.20-non-reasoning", False, False),
    ],
)
def test_a_deployment_thinks_and_shows_in_its_own_way(model, thinks, shown):
    found = accepted({"model": model, "input": "Hi"}, provider="xai-responses")

    assert (found.thinks, found.shown) == (thinks, shown)


# -- items -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "message", "param", "code"),
    [
        (
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"},
            "Missing required parameter: 'input[1].summary'.",
            "input[1].summary",
            "missing_required_parameter",
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": {}},
            "Invalid type for 'input[1].arguments': expected a string, but got an object instead.",
            "input[1].arguments",
            "invalid_type",
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": {}},
            None,
            "input[1].output",
            "invalid_type",
        ),
        ({"type": "hologram"}, None, "input[1].type", "invalid_value"),
        ({"type": ["x"]}, None, "input[1].type", "invalid_type"),
        ({"role": "robot", "content": "x"}, None, "input[1].role", "invalid_value"),
        ({"role": "user"}, None, "input[1].content", "missing_required_parameter"),
        (
            {"role": "user", "content": "x", "name": "y"},
            "Unknown parameter: 'input[1].name'.",
            "input[1].name",
            "unknown_parameter",
        ),
        (
            {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]},
            "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
            "input[1].content[0].type",
            "invalid_value",
        ),
        (
            {"role": "user", "content": [{"type": "output_text", "text": "x"}]},
            None,
            "input[1].content[0].type",
            "invalid_value",
        ),
        (
            {"role": "user", "content": [{"text": "x"}]},
            None,
            "input[1].content[0].type",
            "missing_required_parameter",
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": "cat.png"}]},
            None,
            "input[1].content[0].image_url",
            "invalid_value",
        ),
        (
            {"role": "user", "content": [{"type": "input_file", "file_data": "AQ=="}]},
            None,
            "input[1].content[0].file_data",
            "invalid_value",
        ),
        (
            {
                "role": "user",
                "content": [{"type": "input_image", "image_url": "data:image/png;base64,?"}],
            },
            None,
            "input[1].content[0].image_url",
            "invalid_value",
        ),
        (
            {
                "role": "user",
                "content": [
                    {
                        "type": "input_text",
                        "text": "x",
                        "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "5m"},
                    }
                ],
            },
            "Invalid value: '5m'. Supported values are: '30m' and '12h'.",
            "input[1].content[0].prompt_cache_breakpoint.ttl",
            "invalid_value",
        ),
        (
            {"type": "web_search_call", "id": "ws"},
            None,
            "input[1].action",
            "missing_required_parameter",
        ),
        (
            {
                "type": "message",
                "role": "assistant",
                "id": "abc",
                "content": [{"type": "output_text", "text": "x"}],
            },
            "Invalid 'input[1].id': 'abc'. Expected an ID that begins with 'msg'.",
            "input[1].id",
            "invalid_value",
        ),
    ],
)
def test_what_is_wrong_with_an_item_is_said_as_the_service_says_it(item, message, param, code):
    error = refused(asking(item))

    assert (error["status"], error["param"], error["code"]) == (400, param, code)
    if message is not None:
        assert error["message"] == message


def test_more_keys_on_a_tool_are_let_pass_and_kept():
    tool = {"type": "function", "name": "f", "parameters": {}, "function": {"name": "f"}}

    (found,) = accepted({"model": MODEL, "input": "Hi", "tools": [tool]}).request.tools

    assert found.raw == tool


def test_items_that_only_the_service_knows_are_kept_on_their_side():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}}
    approval = {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}

    messages = accepted(asking(search, approval)).request.messages

    assert [message.role for message in messages] == ["user", "assistant", "user"]
    assert messages[1].parts == (UnknownPart(NAME, search),)


def test_results_and_words_of_one_turn_are_one_message():
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "ok"}

    messages = accepted(asking(call, result, {"role": "user", "content": "And?"})).request.messages

    assert messages[2] == Message("user", (ToolResult("c", (Text("ok"),)), Text("And?")))


def test_a_thing_that_was_stored_elsewhere_is_not_found():
    error = refused(asking({"type": "item_reference", "id": "msg_1"}))

    assert (error["status"], error["message"]) == (404, "Item with id 'msg_1' not found.")


def test_what_every_codex_sends_is_taken():
    passed = {"internal_chat_message_metadata_passthrough": {"turn_id": "t"}}
    message = {"type": "message", "role": "user", "content": "hi", **passed}
    assert accepted(asking(message, client_metadata={"session_id": "s"}))


@pytest.mark.parametrize("kind", ["banana", "web_search_2030_01_01"])
def test_a_tool_of_an_unknown_type_is_refused(kind):
    error = refused(asking(tools=[{"type": kind}]))
    assert error["param"] == "tools[0].type"
    assert error["message"].startswith(f"Invalid value: '{kind}'. Supported values are: 'function'")


@pytest.mark.parametrize("kind", ["web_search", "tool_search", "apply_patch", "custom"])
def test_a_tool_of_the_services_own_is_taken(kind):
    assert accepted(asking(tools=[{"type": kind, "name": "x"}]))


def test_a_function_with_settings_of_its_own_stays_a_function():
    tool = {
        "type": "function",
        "name": "f",
        "parameters": {"type": "object", "properties": {}},
        "defer_loading": True,
    }
    (read,) = accepted(asking(tools=[tool])).request.tools
    assert (read.parameters, read.raw) == ({"type": "object", "properties": {}}, tool)
