"""A lenient service passes over what it does not know; a strict one does not."""

import json
from typing import Any

import pytest

from pondero.canon import HttpRequest, ToolChoice
from pondero.dialects import Rejected

from ...making import CHAT

HI = {"role": "user", "content": "hi"}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object"}},
}
NAMELESS = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}
BARE = {"type": "json_schema", "schema": {"type": "object"}}


def accept(service, path="/v1/chat/completions", **fields):
    body = json.dumps({"model": "gpt-4o", "messages": [HI], **fields}).encode()
    http = HttpRequest("POST", f"https://x.test{path}", {"authorization": "Bearer k"}, body)
    return CHAT.service().accept(http, service)


ODD = [
    {"messages": [{**HI, "mood": "fine"}]},
    {"messages": [{"role": "user", "content": [{"type": "document_url", "document_url": "u"}]}]},
    {
        "messages": [
            {"role": "user", "content": [{"type": "image_url", "image_url": "https://x/y"}]}
        ]
    },
    {"messages": [HI, {"role": "assistant", "content": "x", "tool_calls": []}, HI]},
    {"tools": []},
    {"tools": [{**TOOL, "function": {**TOOL["function"], "arguments": {}}}]},
    {"tools": [TOOL], "tool_choice": "any"},
    {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "f"}},
    {"response_format": NAMELESS},
    {"response_format": BARE},
    {"response_format": {"type": "json_object", "schema": {}}},
    {"stream": True, "stream_options": {"include_usage": True, "other": 1}},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_what_some_service_knows_is_taken_by_the_lenient_and_refused_by_the_strict(odd):
    assert accept("compatible", **odd)
    with pytest.raises(Rejected):
        accept("openai-chat", **odd)


def test_other_words_for_a_forced_tool_are_understood():
    def choice(said):
        return accept("compatible", tools=[TOOL], tool_choice=said).request.tool_choice

    assert choice("any") == ToolChoice("required")
    assert choice({"type": "tool", "name": "f"}) == ToolChoice("tool", "f")


def test_a_schema_without_a_name_is_still_the_schema():
    for said in (NAMELESS, BARE):
        output = accept("compatible", response_format=said).request.output
        assert output.schema == {"type": "object"}


def test_a_deployment_in_the_address_is_the_model_where_the_body_names_none():
    path = "/openai/deployments/gpt-5/chat/completions"
    assert accept("azure-chat", path, model=None).request.model == "gpt-5"
    assert accept("llamacpp", model=None).request.model == "default"
    with pytest.raises(Rejected):
        accept("groq", model=None)
