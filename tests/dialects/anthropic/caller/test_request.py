"""Requests as the Messages API takes them."""

import pytest
from tests.dialects.anthropic.wiring import WIRE, ask, body_of, encoded
from tests.plans import plan

from pondero.canon import (
    Blob,
    CacheBreakpoint,
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
from pondero.errors import BadParameter


def assistant(*parts):
    messages = (Message("user", (Text("q"),)), Message("assistant", parts))
    return body_of(ask(messages=messages))["messages"][1:]


def test_a_whole_request_is_said_as_the_service_says_it():
    schema = {
        "type": "object",
        "properties": {"where": {"type": "string"}},
        "additionalProperties": False,
    }
    body = body_of(
        ask(
            Text("hi", cache=CacheBreakpoint()),
            system=(Text("Be kind."), Text("Be brief.", cache=CacheBreakpoint("1h"))),
            tools=(
                Tool("look", "Look.", schema, strict=True, cache=CacheBreakpoint("1h")),
                Tool("w", raw={"type": "web_search_20260318", "name": "w"}),
            ),
            tool_choice=ToolChoice("required", parallel=False),
            output=OutputFormat(schema),
            temperature=0.5,
            top_p=0.9,
            top_k=40,
            stop=("###",),
            stream=True,
        )
    )
    assert body == {
        "model": "claude-sonnet-4-6",
        "max_tokens": 4096,
        "system": [
            {"type": "text", "text": "Be kind."},
            {
                "type": "text",
                "text": "Be brief.",
                "cache_control": {"type": "ephemeral", "ttl": "1h"},
            },
        ],
        "tools": [
            {
                "name": "look",
                "description": "Look.",
                "input_schema": schema,
                "strict": True,
                "cache_control": {"type": "ephemeral", "ttl": "1h"},
            },
            {"type": "web_search_20260318", "name": "w"},
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "output_config": {
            "format": {"type": "json_schema", "schema": {**schema, "additionalProperties": False}}
        },
        "stop_sequences": ["###"],
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "stream": True,
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}],
            }
        ],
    }


def test_where_it_goes_and_with_which_headers():
    http = encoded(ask())
    assert (http.method, http.url) == ("POST", "https://api.anthropic.com/v1/messages")
    assert http.headers == {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "x-api-key": "k",
    }


def test_betas_of_the_plan_join_those_of_the_target():
    target = Target("r", "https://x/", {"anthropic-beta": "a-1"})
    planned = plan("anthropic", headers={"Anthropic-Beta": "b-2"})
    http = WIRE.caller().encode(ask(), planned, target)
    assert http.headers["anthropic-beta"] == "a-1,b-2"
    assert http.url == "https://x/v1/messages"


def test_the_plans_fields_are_written_over_extras_and_extras_over_ours():
    request = ask(
        output=OutputFormat({"type": "string"}),
        extras={"metadata": {"user_id": "u"}, "output_config": {"effort": "low"}, "max_tokens": 1},
    )
    fields = {
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
        "max_tokens": 9,
    }
    body = body_of(request, fields)
    assert body["max_tokens"] == 9
    assert body["metadata"] == {"user_id": "u"}
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"] == {
        "format": {"type": "json_schema", "schema": {"type": "string"}},
        "effort": "high",
    }
    assert request.extras["output_config"] == {"effort": "low"}
    assert fields["output_config"] == {"effort": "high"}


def test_what_the_plan_dropped_is_not_sent():
    body = body_of(ask(temperature=0.5, top_k=3), dropped=("temperature", "top_k", "top_p"))
    assert "temperature" not in body
    assert "top_k" not in body


def test_the_cap_comes_from_the_target_where_nobody_named_one():
    request = Request("m", (Message("user", (Text("q"),)),))
    target = Target("r", "https://x", max_output=64_000)
    assert b'"max_tokens":64000' in WIRE.caller().encode(request, plan("anthropic"), target).body
    with pytest.raises(BadParameter, match="max_tokens"):
        WIRE.caller().encode(request, plan("anthropic"), Target("r", "https://x"))


def test_thinking_goes_back_in_place_byte_for_byte():
    own = Signature("anthropic", "c2ln+/=", "any-model", "any-route")
    call = ToolCall("toolu_1", "look", {"b": 1, "a": 2})
    parts = (
        Thinking("Hm.", own),
        Text("So:"),
        Thinking("", own),
        Thinking("", own, redacted=True),
        call,
    )
    assert assistant(*parts) == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln+/="},
                {"type": "text", "text": "So:"},
                {"type": "thinking", "thinking": "", "signature": "c2ln+/="},
                {"type": "redacted_thinking", "data": "c2ln+/="},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"b": 1, "a": 2}},
            ],
        }
    ]


def test_thinking_without_a_seal_of_ours_is_left_out():
    foreign = Signature("gemini", "c2ln")
    assert (
        assistant(Thinking("a"), Thinking("b", foreign), Thinking("", Signature("anthropic", "")))
        == []
    )
    assert assistant(ToolCall("t", "n", {}, foreign))[0]["content"] == [
        {"type": "tool_use", "id": "t", "name": "n", "input": {}}
    ]


def test_what_the_service_said_beside_a_call_goes_back_with_it():
    seal = Signature("anthropic", {"caller": {"type": "code_execution_20260120", "tool_id": "s"}})
    block = assistant(ToolCall("t", "n", {}, seal, cache=CacheBreakpoint()))[0]["content"][0]
    assert block["caller"] == {"type": "code_execution_20260120", "tool_id": "s"}
    assert block["cache_control"] == {"type": "ephemeral"}


def test_unknown_blocks_go_back_to_their_maker_only():
    own, foreign = (
        UnknownPart("anthropic", {"type": "novelty", "n": 1}),
        UnknownPart("gemini", {"x": 1}),
    )
    assert assistant(own, foreign)[0]["content"] == [{"type": "novelty", "n": 1}]


def test_arguments_that_were_no_json_are_wrapped_as_the_service_advises():
    block = assistant(ToolCall("t", "n", '{"a": '))[0]["content"][0]
    assert block["input"] == {"INVALID_JSON": '{"a": '}


def test_ids_of_another_alphabet_are_made_fit_alike_in_call_and_result():
    odd = "call.1|fc:2/é"
    messages = (
        Message("assistant", (ToolCall(odd, "n", {}),)),
        Message("user", (ToolResult(odd, (Text("ok"),)),)),
    )
    first, second = body_of(ask(messages=messages))["messages"]
    id = first["content"][0]["id"]
    assert id == second["content"][0]["tool_use_id"]
    assert id.startswith("toolu_")
    assert len(id) == 28


def test_results_come_before_words_and_carry_errors_and_pictures():
    picture = Image("image/png", b"\x89PNG")
    result = ToolResult("t", (Text("no"), Text(""), picture), error=True, cache=CacheBreakpoint())
    empty = ToolResult("u", ())
    content = body_of(ask(Text("and?"), result, Text("well?"), empty))["messages"][0]["content"]
    assert [block["type"] for block in content] == ["tool_result", "tool_result", "text", "text"]
    assert content[0] == {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [
            {"type": "text", "text": "no"},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
            },
        ],
        "is_error": True,
        "cache_control": {"type": "ephemeral"},
    }
    assert content[1] == {"type": "tool_result", "tool_use_id": "u"}


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            Image(url="https://x/a.png"),
            {"type": "image", "source": {"type": "url", "url": "https://x/a.png"}},
        ),
        (
            Image(data=b"\xff\xd8"),
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9g="},
            },
        ),
        (
            Blob("application/pdf", b"%PDF", name="a.pdf"),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
                "title": "a.pdf",
            },
        ),
        (
            Blob("application/pdf", url="https://x/a.pdf"),
            {"type": "document", "source": {"type": "url", "url": "https://x/a.pdf"}},
        ),
        (
            Blob("text/plain", "zażółć".encode()),
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "zażółć"},
            },
        ),
    ],
)
def test_media_are_said_as_the_service_says_them(part, block):
    assert body_of(ask(part))["messages"][0]["content"] == [block]


def test_a_medium_the_wire_cannot_carry_is_refused_before_it_is_sent():
    with pytest.raises(BadParameter, match="audio/wav"):
        encoded(ask(Blob("audio/wav", b"RIFF")))


def test_any_json_has_no_field():
    assert "output_config" not in body_of(ask(output=OutputFormat()))


@pytest.mark.parametrize(
    ("choice", "block"),
    [
        (ToolChoice(), {"type": "auto"}),
        (ToolChoice("none", parallel=False), {"type": "none"}),
        (ToolChoice("required"), {"type": "any"}),
        (
            ToolChoice("tool", "look", True),
            {"type": "tool", "name": "look", "disable_parallel_tool_use": False},
        ),
    ],
)
def test_tool_choices(choice, block):
    assert body_of(ask(tool_choice=choice, tools=(Tool("look"),)))["tool_choice"] == block


def test_a_choice_without_tools_is_not_sent():
    assert "tool_choice" not in body_of(ask(tool_choice=ToolChoice()))


def test_empty_words_and_empty_messages_are_left_out():
    messages = (
        Message("user", (Text("q"),)),
        Message("assistant", (Text(""),)),
        Message("user", (Text(""), Text(" "))),
        Message("user", (Text("\n"), Text("r"))),
    )
    assert body_of(ask(messages=messages))["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {
            "role": "user",
            "content": [{"type": "text", "text": "\n"}, {"type": "text", "text": "r"}],
        },
    ]


def test_blank_texts_are_left_out_where_the_service_rejects_them():
    messages = (
        Message("user", (Text("q"), Text(" "))),
        Message("assistant", (Text(" "),)),
        Message("user", (Text("r"),)),
    )
    body = body_of(ask(messages=messages, system=(Text("a"), Text("\n"))))
    assert body["system"] == [{"type": "text", "text": "a"}]
    assert [message["role"] for message in body["messages"]] == ["user", "user"]
    assert [block["text"] for block in body["messages"][0]["content"]] == ["q", " "]


def test_an_error_without_content_says_that_it_is_one():
    messages = (
        Message("user", (Text("q"),)),
        Message("assistant", (ToolCall("t", "f", {}),)),
        Message("user", (ToolResult("t", (), error=True),)),
    )
    result = body_of(ask(messages=messages))["messages"][-1]["content"][0]
    assert (result["is_error"], result["content"]) == (True, "error")


def test_citations_go_back_without_the_file_id_that_only_answers_have():
    cite = {"type": "char_location", "cited_text": "x", "file_id": None, "document_index": 0}
    block = assistant(Text("x", citations=(cite,)))[0]["content"][0]
    assert block["citations"] == [{"type": "char_location", "cited_text": "x", "document_index": 0}]


def test_a_system_message_amid_the_others_stays_there():
    messages = (Message("user", (Text("q"),)), Message("system", (Text("be brief"),)))
    assert body_of(ask(messages=messages))["messages"][1] == {
        "role": "system",
        "content": [{"type": "text", "text": "be brief"}],
    }
