"""The service takes what the real one takes, and refuses the rest in its own words."""

import base64

import pytest
from tests.dialects.anthropic.wiring import WIRE, ask, body_of, raw, refusal, sent

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    HttpRequest,
    Image,
    Message,
    OutputFormat,
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
from pondero.dialects import Rejected
from pondero.thinking import Intent

BAD = (400, "invalid_request_error")
ADAPTIVE = {"thinking": {"type": "adaptive"}}


def enabled(budget=2048):
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def user(*content):
    return {"role": "user", "content": list(content) or "hi"}


def assistant(*content):
    return {"role": "assistant", "content": list(content)}


TEXT = {"type": "text", "text": "words"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
TOOL = {"name": "look", "input_schema": {"type": "object"}}


# -- what stands at the door -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"headers": {"anthropic-version": "2023-06-01"}}, 401, "x-api-key header is required"),
        (
            {
                "headers": {
                    "x-api-key": "k",
                    "authorization": "Bearer t",
                    "anthropic-version": "2023-06-01",
                }
            },
            401,
            "only one",
        ),
        ({"headers": {"x-api-key": "k"}}, 400, "anthropic-version: header is required"),
        (
            {"headers": {"x-api-key": "k", "anthropic-version": "1999-01-01"}},
            400,
            "not a valid version",
        ),
        ({"method": "GET"}, 404, "Not Found"),
        ({"url": "https://x/v1/complete"}, 404, "Not Found"),
        ({"body": b"{"}, 400, "not valid JSON"),
        ({"body": b"[]"}, 400, "Input should be"),
        ({"body": b"\xff"}, 400, "not valid JSON"),
    ],
)
def test_the_door(change, status, words):
    import msgspec

    good = HttpRequest(
        "POST",
        "https://x/v1/messages?beta=true",
        {"x-api-key": "k", "anthropic-version": "2023-06-01"},
        msgspec.json.encode(raw()),
    )
    WIRE.service().accept(good, "anthropic")
    with pytest.raises(Rejected) as refused:
        WIRE.service().accept(msgspec.structs.replace(good, **change), "anthropic")
    assert refused.value.response.status == status
    assert words in refused.value.response.body.decode()


def test_a_bearer_token_opens_the_door_too():
    http = HttpRequest(
        "POST",
        "https://x/v1/messages",
        {"authorization": "Bearer t", "anthropic-version": "2026-10-21"},
        b'{"model": "claude-opus-5", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}',
    )
    assert WIRE.service().accept(http, "anthropic").request.model == "claude-opus-5"


@pytest.mark.parametrize(
    "model", ["claude-9", "gpt-5", "claude-opus-4-5-x", "claude-3-sonnet-20240229"]
)
def test_an_unknown_model_is_not_found(model):
    assert refusal(raw(model=model)) == (404, "not_found_error", f"model: {model}")


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-5",
        "claude-sonnet-4-5-20250929",
        "claude-3-7-sonnet-latest",
        "claude-opus-4-20250514",
        "claude-opus-4-1@20250805",
    ],
)
def test_a_model_may_be_named_with_its_date(model):
    assert sent(raw(model=model)).request.model == model


# -- types -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"novelty": 1}, "novelty: Extra inputs are not permitted"),
        ({"max_tokens": "9"}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
        ({"temperature": "hot"}, "temperature: Input should be a valid number"),
        ({"temperature": 1.5}, "temperature: range: 0..1"),
        ({"stop_sequences": [1]}, "stop_sequences.0: Input should be a valid string"),
        ({"thinking": {"type": "enabled"}}, "thinking.enabled.budget_tokens: Field required"),
        (
            {"thinking": {"type": "adaptive", "effort": 1}},
            "thinking.adaptive.effort: Extra inputs are not permitted",
        ),
        ({"output_config": {"level": "x"}}, "output_config.level: Extra inputs are not permitted"),
        ({"reasoning_effort": "low"}, "reasoning_effort: Extra inputs are not permitted"),
        ({"messages": 7}, "messages: Input should be a valid list"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "messages.0.content.0.text.text: Field required",
        ),
        (
            {"messages": [{"role": "user", "content": [{"text": "x"}]}]},
            "messages.0.content.0.type: Field required",
        ),
        ({"messages": [user({"type": "novelty"})]}, "messages.0.content.0: Input tag 'novelty'"),
        (
            {"messages": [user({"type": "text", "text": ""})]},
            "messages: text content blocks must be non-empty",
        ),
        (
            {"messages": [{"role": "user", "content": []}]},
            "messages.0: all messages must have non-empty content",
        ),
        (
            {
                "messages": [
                    user(
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "?"},
                        }
                    )
                ]
            },
            "Invalid base64",
        ),
        ({"tools": [7]}, "tools.0: Input should be"),
        (
            {"tools": [{"name": "a b", "input_schema": {}}]},
            "tools.0.custom.name: String should match pattern",
        ),
        (
            {"tools": [{"name": "a", "input_schema": {}}]},
            "tools.0.custom.input_schema.type: Field required",
        ),
        (
            {"tools": [{"name": "a", "input_schema": {"type": "array"}}]},
            "tools.0.custom.input_schema.type: Input should be 'object'",
        ),
        ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
        (
            {"tool_choice": {"type": "any"}},
            "tool_choice may only be specified while providing tools",
        ),
        (
            {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}},
            "Tool 'x' not found in provided tools",
        ),
        ({"mcp_servers": []}, "mcp_servers: Extra inputs are not permitted"),
        ({"output_format": {"type": "json_schema", "schema": {}}}, "output_format: Extra inputs"),
        (
            {"output_config": {"task_budget": {"type": "tokens", "total": 20_000}}},
            "output_config.task_budget: Extra inputs",
        ),
    ],
)
def test_a_field_that_does_not_fit_is_named(fields, words):
    status, kind, message = refusal(raw(**fields))
    assert (status, kind) == BAD
    assert words in message


def test_a_beta_opens_its_field():
    body = raw(output_config={"task_budget": {"type": "tokens", "total": 20_000}})
    accepted = sent(body, anthropic_beta="files-api-2025-04-14, task-budgets-2026-03-13")
    assert accepted.request.extras == {"output_config": body["output_config"]}
    bound = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    words = refusal(raw(thinking=bound))[2]
    assert words == "thinking.adaptive.block_binding: Extra inputs are not permitted"
    sent(raw(thinking=bound), anthropic_beta="thinking-binding-controls-2026-08-01")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (
            {"type": "object", "properties": {}},
            "'additionalProperties' must be explicitly set to false",
        ),
        (
            {"type": "object", "additionalProperties": False, "properties": {"a": True}},
            "property 'properties' is not supported",
        ),
        (
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {"a": {"type": "integer", "minimum": 1}},
            },
            "For 'integer' type, property 'minimum' is not supported",
        ),
        (
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {"a": {"$ref": "#/$defs/N"}},
                "$defs": {"N": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}},
            },
            "Circular reference detected in schema definitions: N -> N",
        ),
    ],
)
def test_a_schema_no_grammar_can_be_made_of_is_refused(schema, words):
    strict = {"name": "a", "input_schema": schema, "strict": True}
    assert words in refusal(raw(tools=[strict]))[2]
    assert (
        words
        in refusal(raw(output_config={"format": {"type": "json_schema", "schema": schema}}))[2]
    )
    sent(raw(tools=[{**strict, "strict": False}]))


def test_strict_tools_have_limits():
    def tools(count, **properties):
        schema = {"type": "object", "additionalProperties": False, "properties": properties}
        return raw(
            tools=[{"name": f"t{n}", "strict": True, "input_schema": schema} for n in range(count)]
        )

    assert "Too many strict tools (21)" in refusal(tools(21))[2]
    assert (
        "too many optional parameters (25)"
        in refusal(tools(5, **{f"p{n}": {"type": "string"} for n in range(5)}))[2]
    )


# -- what each model takes -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "fields", "words"),
    [
        ("claude-sonnet-4-5", {"max_tokens": 64_001}, "max_tokens: 64001 > 64000"),
        (
            "claude-sonnet-4-5",
            enabled(1023),
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        ),
        (
            "claude-sonnet-4-5",
            enabled(4096),
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        ),
        (
            "claude-sonnet-4-5",
            ADAPTIVE,
            '"thinking.type.adaptive" is not supported for this model.',
        ),
        ("claude-3-5-haiku-latest", enabled(), '"thinking.type.enabled" is not supported'),
        ("claude-opus-4-7", enabled(), 'Use "thinking.type.adaptive" and "output_config.effort"'),
        ("claude-opus-5", enabled(), 'Use "thinking.type.adaptive"'),
        (
            "claude-opus-5-5",
            {"thinking": {"type": "disabled"}},
            '"thinking.type.disabled" is not supported',
        ),
        ("claude-sonnet-5-5", {"thinking": {"type": "disabled"}}, "between_tools"),
        (
            "claude-opus-5-5",
            {"thinking": {"type": "between_tools"}},
            '"thinking.type.between_tools" is not supported',
        ),
        (
            "claude-sonnet-4-5",
            {"output_config": {"effort": "low"}},
            "This model does not support the effort parameter.",
        ),
        (
            "claude-opus-4-6",
            {"output_config": {"effort": "xhigh"}},
            "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
        ),
        (
            "claude-opus-5",
            {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}},
            "while thinking is off",
        ),
        (
            "claude-sonnet-5-5",
            {"thinking": {"type": "between_tools"}, "output_config": {"effort": "xhigh"}},
            "while thinking is off",
        ),
        (
            "claude-sonnet-4-5",
            {**enabled(), "temperature": 0.5},
            "`temperature` may only be set to 1 when thinking is enabled",
        ),
        ("claude-sonnet-4-6", {**ADAPTIVE, "temperature": 0}, "`temperature` may only be set to 1"),
        ("claude-sonnet-4-5", {**enabled(), "top_k": 5}, "`top_k` must be unset"),
        ("claude-sonnet-4-5", {**enabled(), "top_p": 0.5}, "`top_p` must be"),
        ("claude-sonnet-4-5", {"temperature": 1, "top_p": 1}, "cannot both be specified"),
        ("claude-opus-4-8", {"temperature": 0.5}, "`temperature` is deprecated for this model."),
        ("claude-opus-4-8", {"top_k": 5}, "`top_k` is deprecated for this model."),
        (
            "claude-sonnet-4-5",
            {**enabled(), "tools": [TOOL], "tool_choice": {"type": "any"}},
            "Thinking may not be enabled when tool_choice forces tool use.",
        ),
        (
            "claude-sonnet-4-6",
            {**enabled(), "tools": [TOOL], "tool_choice": {"type": "any"}},
            "Thinking may not be enabled",
        ),
        (
            "claude-opus-5-5",
            {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "look"}},
            "force tool use are not supported",
        ),
        (
            "claude-sonnet-4-5",
            {"thinking": {"type": "enabled", "budget_tokens": 1024, "display": "updates"}},
            "thinking.enabled.display: Extra inputs",
        ),
    ],
)
def test_what_a_model_does_not_take_is_refused(model, fields, words):
    status, kind, message = refusal(raw(model=model, **fields))
    assert (status, kind) == BAD
    assert words in message


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("claude-sonnet-4-5", {**enabled(), "temperature": 1}),
        ("claude-sonnet-4-6", {**ADAPTIVE, "tools": [TOOL], "tool_choice": {"type": "any"}}),
        ("claude-opus-5", {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}}),
        ("claude-opus-5", {**ADAPTIVE, "output_config": {"effort": "max"}, "temperature": 1}),
        ("claude-sonnet-5-5", {"thinking": {"type": "between_tools"}}),
        (
            "claude-3-opus-20240229",
            {"thinking": {"type": "disabled"}, "temperature": 0, "top_p": 0.5},
        ),
        ("claude-mythos-preview", enabled()),
    ],
)
def test_what_a_model_takes_is_taken(model, fields):
    sent(raw(model=model, **fields))


def test_interleaved_thinking_may_have_a_larger_budget_than_the_cap():
    body = raw(model="claude-sonnet-4-5", tools=[TOOL], **enabled(8000))
    sent(body, anthropic_beta="interleaved-thinking-2025-05-14")


@pytest.mark.parametrize(
    ("model", "fields", "wish"),
    [
        ("claude-sonnet-4-6", {}, ("unset", None, None, False, True)),
        ("claude-opus-5", {}, ("unset", None, None, True, False)),
        ("claude-sonnet-4-6", ADAPTIVE, ("on", None, None, True, True)),
        (
            "claude-opus-5",
            {"thinking": {"type": "adaptive", "display": "summarized"}},
            ("on", None, None, True, True),
        ),
        (
            "claude-opus-5",
            {**ADAPTIVE, "output_config": {"effort": "low"}},
            ("level", "low", None, True, False),
        ),
        (
            "claude-opus-5",
            {"output_config": {"effort": "low"}},
            ("level", "low", None, True, False),
        ),
        ("claude-sonnet-4-5", enabled(), ("budget", None, 2048, True, True)),
        (
            "claude-opus-4-5",
            {**enabled(), "output_config": {"effort": "low"}},
            ("budget", "low", 2048, True, True),
        ),
        (
            "claude-sonnet-4-5",
            {"thinking": {"type": "disabled"}},
            ("off", None, None, False, False),
        ),
        (
            "claude-sonnet-5-5",
            {"thinking": {"type": "between_tools"}},
            ("off", None, None, False, False),
        ),
    ],
)
def test_the_wish_for_thinking_is_understood(model, fields, wish):
    accepted = sent(raw(model=model, **fields))
    assert (
        accepted.intent.kind,
        accepted.intent.level,
        accepted.intent.tokens,
        accepted.thinks,
        accepted.shown,
    ) == wish


# -- turns sent back -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (
            [user(), assistant(CALL)],
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
        ),
        ([user(), assistant(CALL), user(TEXT)], "without `tool_result` blocks"),
        (
            [user(), assistant(TEXT), user(RESULT)],
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
        ),
        ([user(RESULT)], "messages.0.content.0: unexpected `tool_use_id`"),
        ([user(), assistant(CALL, CALL), user(RESULT)], "messages: `tool_use` ids must be unique"),
        (
            [user(), assistant({**CALL, "id": "call.1"}), user(RESULT)],
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        (
            [user(), assistant({**CALL, "input": "{}"}), user(RESULT)],
            "messages.1.content.0.tool_use.input: Input should be",
        ),
        (
            [user(), assistant({"type": "thinking", "text": "Hm.", "signature": "x"}), user()],
            "Extra inputs are not permitted",
        ),
        (
            [user(), assistant({"type": "thinking", "signature": "x"}), user()],
            "messages.1.content.0.thinking.thinking: Field required",
        ),
        (
            [user(), assistant({"type": "thinking", "thinking": "Hm."}), user()],
            "messages.1.content.0.thinking.signature: Field required",
        ),
        (
            [user(), assistant({"type": "thinking", "thinking": "Hm.", "signature": ""}), user()],
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
        (
            [
                user(),
                assistant(
                    {
                        "type": "thinking",
                        "thinking": "Hm.",
                        "signature": base64.b64encode(b"E" * 200).decode(),
                    }
                ),
                user(),
            ],
            "Invalid `signature` in `thinking` block",
        ),
        (
            [user(), assistant({"type": "redacted_thinking", "data": "b3A="}), user()],
            "Invalid `data` in `redacted_thinking` block",
        ),
        ([user(), assistant(TEXT)], "This model does not support assistant message prefill."),
    ],
)
def test_turns_that_do_not_fit_are_refused(messages, words):
    status, kind, message = refusal(raw(*messages, tools=[TOOL]))
    assert (status, kind) == BAD
    assert words in message


def test_neighbouring_messages_of_one_role_are_one_turn():
    second = {**CALL, "id": "toolu_2"}
    sent(
        raw(
            user(),
            assistant(CALL),
            assistant(second),
            user(RESULT),
            user({**RESULT, "tool_use_id": "toolu_2"}, TEXT),
            tools=[TOOL],
        )
    )


def test_prefill_is_taken_by_old_models_and_not_while_they_think():
    old = "claude-sonnet-4-5"
    sent(raw(user(), assistant(TEXT), model=old))
    spaced = assistant({"type": "text", "text": "So: "})
    assert "trailing whitespace" in refusal(raw(user(), spaced, model=old))[2]
    words = refusal(raw(user(), assistant(TEXT), model=old, **enabled()))[2]
    assert "Expected `thinking` or `redacted_thinking`, but found `text`" in words


def test_a_paused_turn_of_the_services_own_tools_may_be_sent_back_to_go_on():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    sent(raw(user(), assistant(TEXT, search)))


def answer(fields, *parts, model="claude-sonnet-4-6"):
    """Return the blocks the service answers with."""
    import json

    accepted = sent(raw(model=model, **fields))
    reply = Reply(Message("assistant", parts), "stop")
    return json.loads(WIRE.service().reply(accepted, reply).body)["content"]


def test_thinking_of_its_own_is_taken_back_and_nothing_else():
    thought, hidden = answer(ADAPTIVE, Thinking("Hm."), Thinking("", redacted=True))
    sent(raw(user(), assistant(thought, hidden, TEXT), user(), **ADAPTIVE))
    for change in (
        {"thinking": "Hmm."},
        {"signature": thought["signature"][:-4]},
        {"thinking": ""},
    ):
        words = refusal(raw(user(), assistant({**thought, **change}, TEXT), user(), **ADAPTIVE))[2]
        assert words == "messages.1.content.0: Invalid `signature` in `thinking` block"
    swapped = {"type": "redacted_thinking", "data": thought["signature"]}
    assert "Invalid `data`" in refusal(raw(user(), assistant(swapped, TEXT), user()))[2]


def test_thinking_made_by_another_model_of_the_house_is_taken():
    (thought,) = answer(ADAPTIVE, Thinking("Hm."))
    sent(raw(user(), assistant(thought, TEXT), user(), model="claude-opus-5"))


def test_an_open_tool_loop_must_begin_with_thinking_while_thinking_is_enabled():
    (thought,) = answer(enabled(), Thinking("Hm."), model="claude-sonnet-4-5")
    second = {**CALL, "id": "toolu_2"}
    closed = [user(), assistant(CALL), user(RESULT), assistant(TEXT)]
    fields = {"model": "claude-sonnet-4-5", "tools": [TOOL], **enabled()}
    words = refusal(raw(user(), assistant(CALL), user(RESULT), **fields))[2]
    assert words.startswith(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    )
    sent(raw(user(), assistant(thought, CALL), user(RESULT), **fields))
    result = {**RESULT, "tool_use_id": "toolu_2"}
    sent(
        raw(
            user(),
            assistant(thought, CALL),
            user(RESULT),
            assistant(second),
            user(result),
            **fields,
        )
    )
    sent(raw(*closed, user(), **fields))
    sent(raw(user(), assistant(CALL), user(RESULT), tools=[TOOL], **ADAPTIVE))


def test_newer_models_bind_thinking_to_all_that_came_before_it():
    model = "claude-sonnet-5-5"
    shown = {"thinking": {"type": "adaptive", "display": "summarized"}}
    first, second = answer(
        {**shown, "system": "Be kind."}, Thinking("one"), Thinking("two"), model=model
    )
    turn = [user(), assistant(first, second, TEXT), user()]
    sent(raw(*turn, model=model, system="Be kind.", **shown))
    marked = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    sent(raw(user(marked), *turn[1:], model=model, system="Be kind.", **shown))
    for changed in (
        raw(*turn, model=model, system="Be rude.", **shown),
        raw(*turn, model=model, system="Be kind.", tools=[TOOL], **shown),
        raw(user(TEXT), *turn[1:], model=model, system="Be kind.", **shown),
        raw(user(), assistant(second, TEXT), user(), model=model, system="Be kind.", **shown),
    ):
        words = refusal(changed)[2]
        assert "The block is bound to a different conversation." in words
    drops = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    accepted = sent(
        raw(*turn, model=model, system="Be rude.", thinking=drops),
        anthropic_beta="thinking-binding-controls-2026-08-01",
    )
    body = WIRE.service().reply(accepted, Reply(Message("assistant", (Text("x"),)), "stop")).body
    assert b'"path":"messages.1.content.0","reason":"prefix_binding_mismatch"' in body


# -- what was meant --------------------------------------------------------------------------


def test_every_form_of_the_wire_is_read_as_what_it_means():
    image = {
        "type": "image",
        "source": {"type": "url", "url": "https://x/a.png"},
        "transformations": {},
    }
    cited = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "x"},
        "citations": {"enabled": True},
    }
    program = {"type": "code_execution_20260120", "tool_id": "srv"}
    deferred = {**TOOL, "name": "later", "defer_loading": True}
    body = raw(
        user(
            {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral", "ttl": "5m"}},
            image,
            cited,
        ),
        assistant(
            {**CALL, "caller": program}, {**CALL, "id": "toolu_2", "input": {"INVALID_JSON": "{"}}
        ),
        user({**RESULT, "is_error": True}, {"type": "tool_result", "tool_use_id": "toolu_2"}),
        {"role": "system", "content": "be brief"},
        system="Be kind.",
        tools=[TOOL, deferred, {"type": "web_search_20260318", "name": "web_search"}],
        tool_choice={"type": "tool", "name": "look", "disable_parallel_tool_use": True},
        metadata={"user_id": "u"},
        stream=True,
        model="claude-opus-4-8",
    )
    request = sent(body).request
    assert request.messages == (
        Message(
            "user",
            (
                Text("hi", cache=CacheBreakpoint("5m")),
                UnknownPart("anthropic", image),
                UnknownPart("anthropic", cited),
            ),
        ),
        Message(
            "assistant",
            (
                ToolCall("toolu_1", "look", {}, Signature("anthropic", {"caller": program})),
                ToolCall("toolu_2", "look", "{"),
            ),
        ),
        Message(
            "user", (ToolResult("toolu_1", (Text("ok"),), error=True), ToolResult("toolu_2", ()))
        ),
        Message("system", (Text("be brief"),)),
    )
    assert request.system == (Text("Be kind."),)
    assert request.tools == (
        Tool("look", "", {"type": "object"}),
        Tool("later", "", {"type": "object"}, raw=deferred),
        Tool("web_search", raw={"type": "web_search_20260318", "name": "web_search"}),
    )
    assert request.tool_choice == ToolChoice("tool", "look", False)
    assert (request.stream, request.extras) == (True, {"metadata": {"user_id": "u"}})


def test_what_we_encode_is_read_as_we_meant_it():
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    request = ask(
        Text("hi"),
        Image("image/png", b"\x89PNG"),
        Image(url="https://x/a.png"),
        Blob("application/pdf", b"%PDF", name="a.pdf"),
        Blob("text/plain", b"words"),
        UnknownPart(
            "anthropic",
            {
                "type": "search_result",
                "source": "x",
                "title": "x",
                "content": [{"type": "text", "text": "x"}],
            },
        ),
        system=(Text("Be kind.", cache=CacheBreakpoint()),),
        tools=(
            Tool("look", "Look.", schema, strict=True),
            Tool("web_search", raw={"type": "web_search_20260318", "name": "web_search"}),
        ),
        output=OutputFormat(schema),
        stop=("###",),
        extras={"service_tier": "auto"},
    )
    accepted = sent(
        body_of(request, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}})
    )
    assert accepted.request == request
    assert (accepted.intent.kind, accepted.intent.level) == ("level", "max")


# -- what agents send ------------------------------------------------------------------------

PER_TURN = "per-turn-control-2026-07-01"
ADAPTIVE = {"thinking": {"type": "adaptive"}}


def turned(effort):
    return {"role": "system", "content": [], "output_config": {"effort": effort}}


@pytest.mark.parametrize("extra", ["eager_input_streaming", "defer_loading"])
def test_a_function_with_settings_of_its_own_stays_a_function(extra):
    tool = {**TOOL, extra: True}
    read, _ = sent(raw(user(), tools=[tool, {**TOOL, "name": "x"}])).request.tools
    assert (read.name, read.parameters, read.raw) == ("look", {"type": "object"}, tool)
    (typed,) = sent(raw(user(), tools=[{**TOOL, "type": "custom"}])).request.tools
    assert typed.parameters == {"type": "object"}


@pytest.mark.parametrize("kind", ["banana", "web_search", "banana_20250101", "bash", 5])
def test_a_tool_of_a_type_that_nobody_brings_is_refused(kind):
    words = refusal(raw(user(), tools=[{"type": kind, "name": "x"}]))[2]
    assert f"tools.0: Input tag '{kind}' found using 'type' does not match" in words


def test_an_effort_inside_the_conversation_holds_from_there_on():
    config = {"output_config": {"effort": "low"}}
    body = raw(
        user(), turned("high"), assistant(TEXT), user(), turned("max"), model="claude-opus-5",
        **ADAPTIVE, **config,
    )  # fmt: skip
    assert sent(body, anthropic_beta=PER_TURN).intent == Intent("level", "max")
    plain = raw(user(), model="claude-opus-5", **ADAPTIVE, **config)
    assert sent(plain).intent == Intent("level", "low")


@pytest.mark.parametrize(
    ("model", "messages", "thinking", "beta", "words"),
    [
        ("claude-opus-5", [user(), turned("high")], ADAPTIVE, "", "Extra inputs"),
        ("claude-opus-4-6", [user(), turned("high")], ADAPTIVE, PER_TURN, "role 'system' is not"),
        ("claude-opus-5", [{**user(), "output_config": {"effort": "low"}}], ADAPTIVE, PER_TURN,
         "messages.0.output_config: Extra inputs"),
        ("claude-opus-5", [user(), turned("low")], {"thinking": {"type": "disabled"}}, PER_TURN,
         "thinking.type.adaptive"),
        ("claude-opus-5", [user(), turned("huge")], ADAPTIVE, PER_TURN, "effort level 'huge'"),
        ("claude-opus-5", [user(), {**turned("low"), "output_config": {"nonsense": 1}}], ADAPTIVE,
         PER_TURN, "messages[1].output_config.nonsense"),
    ],
)  # fmt: skip
def test_an_effort_inside_the_conversation_is_refused_where_it_does_not_go(
    model, messages, thinking, beta, words
):
    said = refusal(raw(*messages, model=model, **thinking), anthropic_beta=beta)[2]
    assert words.replace("[1]", ".1") in said


def test_tools_that_are_loaded_later_are_not_part_of_what_thinking_is_bound_to():
    """Claude Code adds a deferred tool once another was found."""
    model, shown = "claude-opus-5-5", {"thinking": {"type": "adaptive", "display": "summarized"}}
    (first,) = answer({**shown, "tools": [TOOL]}, Thinking("one"), model=model)
    later = {**TOOL, "name": "later", "defer_loading": True}
    turn = [user(), assistant(first, TEXT), user()]
    assert sent(raw(*turn, model=model, tools=[TOOL, later], **shown))
    changed = raw(*turn, model=model, tools=[TOOL, {**TOOL, "name": "now"}], **shown)
    assert "bound to a different conversation" in refusal(changed)[2]
