"""Requests as the service reads and refuses them."""

import pytest
from tests.dialects.cohere.making import NAME, PLAIN, SEES, THINKER, asked, call, refused, thought

from pondero.canon import (
    HttpRequest,
    Image,
    OutputFormat,
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
from pondero.dialects.cohere.service import SERVICE

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def shown(url):
    content = [{"type": "image_url", "image_url": {"url": url}}]
    return [{"role": "user", "content": content}]


@pytest.mark.parametrize(
    ("model", "thinking", "meant"),
    [
        (THINKER, None, ("unset", None, True)),
        (THINKER, {"type": "enabled"}, ("on", None, True)),
        (THINKER, {"type": "disabled"}, ("off", None, False)),
        (SEES, {"type": "enabled", "token_budget": 512}, ("budget", 512, True)),
        (PLAIN, None, ("unset", None, False)),
    ],
)
def test_what_a_model_makes_of_the_wish(model, thinking, meant):
    accepted = asked(model=model, thinking=thinking)
    assert (accepted.intent.kind, accepted.intent.tokens, accepted.thinks) == meant
    assert accepted.shown is accepted.thinks


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"thinking": {"type": "enabled", "token_budget": 0}}, "token_budget"),
        ({"thinking": {"type": "adaptive"}}, "$.thinking.type"),
        ({"thinking": {"type": "enabled", "effort": "low"}}, "unknown field 'effort'"),
        ({"model": PLAIN, "thinking": {"type": "disabled"}}, "thinking is not supported"),
        ({"reasoning_effort": "high"}, "unknown field 'reasoning_effort'"),
        ({"messages": []}, "$.messages"),
        ({"messages": shown("https://x/y.png")}, "image content is not supported for this model"),
        ({"model": SEES, "messages": shown("data:image/png;base64,%")}, "not valid base64"),
        ({"messages": [{"role": "assistant"}]}, "must have content or tool_calls"),
        (
            {"messages": [{"role": "assistant", "content": "a", "reasoning_content": "b"}]},
            "unknown field 'reasoning_content'",
        ),
        (
            {"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]},
            "tool call id not found in previous tool calls: x",
        ),
        ({"tool_choice": "REQUIRED"}, "needs tools"),
        ({"tool_choice": "AUTO", "tools": [TOOL]}, "tool_choice must be one of"),
        (
            {"tools": [TOOL], "response_format": {"type": "json_object"}},
            "response_format is not supported with tools",
        ),
        ({"max_tokens": 0}, "$.max_tokens"),
        ({"temperature": -1}, "$.temperature"),
        ({"p": 1.0}, "$.p"),
        ({"k": 501}, "$.k"),
        ({"stop_sequences": list("abcdef")}, "$.stop_sequences"),
    ],
)
def test_what_is_refused_and_how(more, words):
    status, message = refused(**more)
    assert status == 400
    assert message.startswith("invalid request: ")
    assert words in message


def test_a_model_nobody_has_is_not_found_in_the_services_words():
    status, message = refused(model="bad model")
    assert status == 404
    assert message == (
        "model 'bad model' not found, make sure the correct model ID was used and that you have "
        "access to the model."
    )


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, "no api key supplied"),
        ({"authorization": "Bearer "}, "no api key supplied"),
        ({"authorization": "Bearer invalid"}, "invalid api token"),
    ],
)
def test_a_key_is_wanted(headers, words):
    assert refused(headers=headers) == (401, words)


def test_tools_choices_shapes_and_the_rest_are_read():
    accepted = asked(tools=[TOOL], tool_choice="required", strict_tools=True, seed=7)
    assert accepted.request.tools == (Tool("f", "", {"type": "object"}, strict=True),)
    assert accepted.request.tool_choice == ToolChoice("required")
    assert accepted.request.extras == {"seed": 7}
    shape = {"type": "json_object", "json_schema": {"type": "object"}}
    assert asked(response_format=shape).request.output == OutputFormat({"type": "object"})
    assert asked(response_format={"type": "text"}).request.output is None


def test_a_conversation_is_read():
    document = {"type": "document", "document": {"data": {"a": "b"}, "id": "d"}}
    accepted = asked(
        model=SEES,
        messages=[
            {"role": "system", "content": [{"type": "text", "text": "be brief"}]},
            *shown("https://x/y.png"),
            {
                "role": "assistant",
                "content": [thought("hm"), {"type": "text", "text": ""}],
                "tool_plan": "I look",
                "tool_calls": [call("null")],
            },
            {"role": "tool", "tool_call_id": "f_1", "content": [document]},
            {"role": "user", "content": "well?"},
            {"role": "system", "content": "amid"},
        ],
    )
    question, turn, results, amid = accepted.request.messages
    assert accepted.request.system == (Text("be brief"),)
    assert question.parts == (Image(url="https://x/y.png"),)
    plan = Text("I look", Signature(NAME, {"tool_plan": True}))
    assert turn.parts == (Thinking("hm"), plan, ToolCall("f_1", "f", {}))
    assert results.parts == (ToolResult("f_1", (UnknownPart(NAME, document),)), Text("well?"))
    assert (amid.role, amid.text) == ("system", "amid")


@pytest.mark.parametrize(
    ("method", "url", "body", "status"),
    [
        ("GET", "https://x/v2/chat", b"", 404),
        ("POST", "https://x/v1/chat", b"", 404),
        ("POST", "https://x/v2/chat", b"{", 400),
        ("POST", "https://x/v2/chat", b"[]", 400),
    ],
)
def test_another_address_verb_or_body_is_refused(method, url, body, status):
    http = HttpRequest(method, url, {"authorization": "Bearer k"}, body)
    with pytest.raises(Rejected) as no:
        SERVICE.accept(http, NAME)
    assert no.value.response.status == status
