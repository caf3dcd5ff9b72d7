"""What single models do not take, as their provider's file says: changed, reported and accepted."""

import json
from typing import Any

import pytest

import pondero
from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Message,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from pondero.dialects import Rejected
from pondero.emulator import Emulator
from pondero.emulator.routes import find_route
from pondero.exchange import Prepared

CLIENT = pondero.Client(transport=Emulator())
HELLO = Message("user", (Text("Hello."),))
LOOK = Tool("look", "Looks.", {"type": "object", "properties": {}, "additionalProperties": False})
SEARCH = Tool("googleSearch", kind="web_search", raw={"googleSearch": {}}, dialect="gemini")
WEB = Tool("web_search", kind="web_search", raw={"type": "web_search"}, dialect="openai_responses")
SHELL = Tool("shell", kind="other", raw={"type": "shell"}, dialect="openai_responses")
STRICT = Tool("look", "Looks.", LOOK.parameters, strict=True)
SYSTEM = Message("system", (Text("Be brief."),))
ANSWER = Message("assistant", (Text("Well."),))
CALL = Message("assistant", (ToolCall("call_1", "look", {}),))
PAPER = Blob("application/pdf", b"%PDF-1.4")
PICTURE = Image(url="https://example.com/a.png")


def returned(*content: Any, beside: tuple[Text, ...] = ()) -> list[Message]:
    return [HELLO, CALL, Message("user", (ToolResult("call_1", content), *beside))]


def prepare(model: str, options: dict[str, Any]) -> tuple[Prepared, Any]:
    """Return what is prepared, and its body; fail if the service rejects it."""
    ready = CLIENT.prepare(model, options.get("prompt", [HELLO]), **{
        name: value for name, value in options.items() if name != "prompt"
    })  # fmt: skip
    to = find_route(ready.request.url)
    assert to is not None
    try:
        to.wire.service().accept(ready.request, to.provider)
    except Rejected as no:
        pytest.fail(f"{no.rule}: {no}")
    return ready, json.loads(ready.request.body)


NAMED = {"tools": [LOOK, Tool("other", "")], "tool_choice": "look"}
FAULTS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "functions beside search, Gemini 3": (
        "google:gemini-3-flash-preview", {"tools": [LOOK, SEARCH]}, []),
    "functions beside search, Vertex": (
        "vertex:gemini-3.1-pro-preview", {"tools": [LOOK, SEARCH]}, []),
    "functions beside search, Gemini 2": (
        "google:gemini-2.5-flash", {"tools": [LOOK, SEARCH]}, ["tool_left_out"]),
    "a choice without functions": (
        "google:gemini-3-flash-preview",
        {"tools": [SEARCH], "tool_choice": "required"}, ["dropped_parameter"]),
    "a hosted tool forced, one at a time": (
        "google:gemini-3-flash-preview",
        {"tools": [LOOK, WEB], "tool_choice": ToolChoice("tool", "web_search", parallel=False)},
        ["tool_replaced", "dropped_parameter"]),
    "no system prompt for Gemma 3": (
        "google:gemma-3-27b-it", {"system": "Be brief."}, ["system_turn_folded"]),
    "an address for Gemini 2.0": (
        "google:gemini-2.0-flash", {"prompt": [Message("user", (PICTURE,))]}, ["medium_unseen"]),
    "a bucket for the Gemini API": (
        "google:gemini-3-flash-preview",
        {"prompt": [Message("user", (Image("image/png", url="gs://a/b.png"),))]},
        ["medium_unseen"]),
    "a bucket for Vertex": (
        "vertex:gemini-3.1-pro-preview",
        {"prompt": [Message("user", (Image("image/png", url="gs://a/b.png"),))]}, []),
    "a file of another vendor for Vertex": (
        "vertex:gemini-3.1-pro-preview",
        {"prompt": [Message("user", (Blob("application/pdf",
            url="https://generativelanguage.googleapis.com/v1beta/files/a"),))]},
        ["medium_unseen"]),
    "a call that begins": (
        "google:gemini-3-flash-preview", {"prompt": [CALL, *returned()[2:]]}, ["turn_added"]),
    "a document in Nova's result": (
        "bedrock:amazon.nova-2-lite-v1:0", {"prompt": returned(PAPER), "tools": [LOOK]},
        ["medium_unseen"]),
    "a document in Qwen's result": (
        "bedrock:qwen.qwen3-32b-v1:0", {"prompt": returned(PAPER), "tools": [LOOK]},
        ["medium_unseen"]),
    "words beside Mistral's result": (
        "bedrock:mistral.mistral-large-2402-v1:0",
        {"prompt": returned(Text("x"), beside=(Text("Go on."),)), "tools": [LOOK]}, []),
    "two documents of one name": (
        "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        {"prompt": [Message("user", (PAPER, PAPER, Text("Compare.")))]}, []),
    "strict tools of Nova": (
        "bedrock:amazon.nova-2-lite-v1:0", {"tools": [STRICT]}, ["dropped_parameter"]),
    "a tool by name, Grok at OpenRouter": (
        "openrouter:x-ai/grok-code-fast-1", NAMED, ["tool_choice_adjusted"]),
    "system turns of Mistral": (
        "mistral:mistral-medium-3-5", {"prompt": [HELLO, ANSWER, SYSTEM, HELLO]},
        ["system_turn_folded"]),
    "a user after a tool, Mistral": (
        "mistral:mistral-medium-3-5",
        {"prompt": returned(Text("x"), beside=(Text("Go on."),)), "tools": [LOOK]}, []),
    "system turns of Perplexity": (
        "perplexity:sonar-pro", {"prompt": [HELLO, ANSWER, SYSTEM, HELLO]},
        ["system_turn_folded"]),
    "two user turns of Perplexity": ("perplexity:sonar-pro", {"prompt": [HELLO, HELLO]}, []),
    "search for a chat model": (
        "openai:gpt-5-chat-latest", {"tools": [WEB]}, ["tool_left_out"]),
    "a shell before GPT-5.1": ("openai:gpt-4o", {"tools": [SHELL]}, ["tool_left_out"]),
    "search at minimal": (
        "openai:gpt-5", {"tools": [WEB], "thinking_effort": "minimal"}, ["unsupported_level"]),
    "sound for a model without ears": (
        "openai-chat:gpt-4.1",
        {"prompt": [Message("user", (Blob("audio/wav", b"RIFF"), Text("What is it?")))]},
        ["medium_unseen"]),
    "no call from an old Command": (
        "cohere:command-r-plus-08-2024", {"tools": [LOOK], "tool_choice": "none"}, []),
    "a system prompt alone": (
        "claude-sonnet-4-5", {"prompt": [SYSTEM]}, ["system_turn_folded"]),
}  # fmt: skip


@pytest.mark.parametrize(("model", "options", "codes"), FAULTS.values(), ids=FAULTS)
def test_what_a_model_does_not_take_is_changed_and_reported(model, options, codes):
    ready, _ = prepare(model, options)
    assert [note.code for note in ready.plan.adjustments if note.code != "model_spelt"] == codes


def test_hosted_tools_are_announced_on_the_gemini_api_alone():
    both = {"tools": [LOOK, SEARCH]}
    _, google = prepare("google:gemini-3-flash-preview", both)
    _, vertex = prepare("vertex:gemini-3.1-pro-preview", both)
    assert google["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert "toolConfig" not in vertex
    _, alone = prepare("google:gemini-3-flash-preview", {"tools": [LOOK]})
    assert "toolConfig" not in alone


def test_a_tool_that_cannot_be_named_is_the_only_one_on_offer():
    _, body = prepare("openrouter:x-ai/grok-code-fast-1", NAMED)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["look"]
    assert body["tool_choice"] == "required"


def test_a_system_prompt_that_is_not_taken_begins_the_first_turn():
    _, body = prepare("google:gemma-3-27b-it", {"system": "Be brief."})
    assert "systemInstruction" not in body
    assert body["contents"][0]["parts"] == [{"text": "Be brief."}, {"text": "Hello."}]


def test_documents_of_one_name_are_numbered():
    options = {"prompt": [Message("user", (PAPER, PAPER, Text("Compare.")))]}
    _, body = prepare("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", options)
    blocks = body["messages"][0]["content"]
    assert [each["document"]["name"] for each in blocks[:2]] == ["document", "document 2"]


def test_the_marks_of_the_cache_are_limited_and_in_order():
    marks = [CacheBreakpoint(), CacheBreakpoint("1h")] * 3
    parts = tuple(Text(f"Part {n}.", cache=mark) for n, mark in enumerate(marks))
    _, body = prepare("claude-sonnet-4-5", {"prompt": [Message("user", parts)]})
    kept = [each.get("cache_control") for each in body["messages"][0]["content"]]
    assert kept == [None, None, *([{"type": "ephemeral"}] * 4)]
