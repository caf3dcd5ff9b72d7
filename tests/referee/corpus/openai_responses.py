"""The Responses API: pairs of requests for each rule, written from the wire sheets."""

import json
from typing import Any

from tests.referee.cases import Case, post

from pondero.canon import HttpRequest
from pondero.emulator import Emulator

URL = "https://api.openai.com/v1/responses"
KEY = {"authorization": "Bearer key"}
HI = {"role": "user", "content": "hi"}
F = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
THINKS, SPEAKS, XAI = "gpt-5.5", "gpt-4o", "xai-responses"


def ask(*items: Any, url: str = URL, headers: dict[str, str] = KEY, **fields: Any) -> HttpRequest:
    """Return a request of a model that thinks, unless ``fields`` name another."""
    return post(url, {"model": THINKS, "input": list(items) or "hi", **fields}, headers)


def say(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def listed(name: str) -> HttpRequest:
    return HttpRequest("GET", f"https://api.openai.com/v1/models{name}", KEY)


def answer(**fields: Any) -> list[Any]:
    """Return the items of an emulated answer: thinking, then a message."""
    request = ask(HI, reasoning={"effort": "high", "summary": "auto"}, **fields)
    body = b"".join(Emulator().send(request))
    items: list[Any] = json.loads(body)["output"]
    assert [each["type"] for each in items] == ["reasoning", "message"]
    return items


SEALED = {"store": False, "include": ["reasoning.encrypted_content"]}
THOUGHT, SPOKEN = answer()
SEALED_THOUGHT, SEALED_MESSAGE = answer(**SEALED)
BARE = {key: value for key, value in SEALED_THOUGHT.items() if key != "encrypted_content"}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}
FILE = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}

CASES = [
    Case("no_path", ask(url="https://api.openai.com/v1/response"), ask()),
    Case("no_key", ask(headers={}), ask(headers={"api-key": "key"})),
    Case("unknown_model", ask(model="gpt-5.55"), ask(model="gpt-5.5-2026-04-24")),
    *(Case("model_elsewhere", ask(model=model), ask(model="o1"))
      for model in ("o1-mini", "o1-preview", "o1-mini-2024-09-12")),
    Case("unknown_listed_model", listed("/nothing"), listed("")),
    Case("xai_unknown_model", ask(model="grok-99"), ask(model="grok-4.3"), XAI),
    *(Case("xai_effort", ask(model=model, reasoning={"effort": "low"}), ask(model=model), XAI)
      for model in ("grok-4.20-reasoning", "grok-4.20-0309-non-reasoning", "grok-code-fast-1")),
    Case("not_json", post(URL, b"[]", KEY), ask()),
    Case("missing", post(URL, {"input": "hi"}, KEY), ask()),
    Case("missing", ask({"role": "user"}), ask(HI)),
    Case("missing", ask(tools=[{"name": "f"}]), ask(tools=[F])),
    Case("missing", ask(tools=[{"type": "function", "function": {"name": "f"}}]), ask(tools=[F])),
    Case("missing", ask(tools=[F], tool_choice={"type": "function"}),
         ask(tools=[F], tool_choice={"type": "function", "name": "f"})),
    Case("missing", ask({"type": "computer_call_output", "call_id": "c"}, HI), ask(HI)),
    *(Case("unknown_parameter", ask(**{name: 1}), ask())
      for name in ("n", "seed", "stop", "logprobs", "max_tokens", "max_completion_tokens",
                   "response_format", "reasoning_effort", "provider")),
    Case("unknown_parameter", ask({**HI, "name": "ann"}), ask(HI)),
    Case("invalid_value", ask(reasoning={"effort": "ultra"}), ask(reasoning={"effort": "high"})),
    Case("invalid_value", ask(truncation="on"), ask(truncation="auto")),
    Case("invalid_value", ask(include=["reasoning"]), ask(include=["reasoning.encrypted_content"])),
    Case("invalid_value", ask(tools=[{"type": "bash"}]), ask(tools=[{"type": "web_search"}])),
    Case("invalid_value", ask(tools=[F], tool_choice="any"), ask(tools=[F], tool_choice="auto")),
    Case("invalid_value", ask({"type": "tool_result"}), ask(HI)),
    Case("invalid_value", ask({"role": "tool", "content": "1"}), ask(HI)),
    Case("invalid_value", ask(say({"type": "text", "text": "hi"})),
         ask(say({"type": "input_text", "text": "hi"}))),
    Case("invalid_value", ask(text={"format": {"type": "xml"}}),
         ask(text={"format": {"type": "text"}})),
    Case("invalid_type", ask(stream="yes"), ask(stream=False)),
    Case("invalid_type", ask(reasoning="low"), ask(reasoning={})),
    Case("invalid", ask(tools=[{**F, "name": "f g"}]), ask(tools=[{**F, "name": "f-g_1"}])),
    Case("integer_below", ask(max_output_tokens=15), ask(max_output_tokens=16)),
    Case("integer_below", ask(max_tool_calls=0), ask(max_tool_calls=1)),
    *(Case("integer_above", ask(model=model, max_output_tokens=most + 1),
           ask(model=model, max_output_tokens=most))
      for model, most in (("gpt-4o", 16_384), ("gpt-4.1", 32_768), ("o3", 100_000),
                          ("gpt-5.5", 128_000), ("gpt-6-astra", 128_000))),
    Case("decimal_below", ask(model=SPEAKS, temperature=-1), ask(model=SPEAKS, temperature=0)),
    Case("decimal_above", ask(model=SPEAKS, top_p=1.1), ask(model=SPEAKS, top_p=1)),
    Case("image_url", ask(say({"type": "input_image", "image_url": "a.png"})), ask(say(IMAGE))),
    Case("file_data", ask(say({**FILE, "file_data": "QUJD"})), ask(say(FILE))),
    Case("base64", ask(say({**IMAGE, "image_url": "data:image/png;base64,**"})), ask(say(IMAGE))),
    Case("unknown_previous", ask(previous_response_id="resp_1"), ask()),
    Case("unknown_item", ask({"type": "item_reference", "id": "msg_1"}, HI), ask(HI)),
    Case("unknown_item", ask(HI, BARE, SPOKEN, HI), ask(HI, THOUGHT, SPOKEN, HI)),
    Case("unstored_item", ask(HI, BARE, SEALED_MESSAGE, HI, **SEALED),
         ask(HI, SEALED_THOUGHT, SEALED_MESSAGE, HI, **SEALED)),
    Case("no_input", ask(input=[]), ask(HI)),
    Case("id_prefix", ask(HI, {**CALL, "id": "call_1"}, RESULT),
         ask(HI, {**CALL, "id": "fc_1"}, RESULT)),
    Case("output_without_call", ask(HI, RESULT), ask(HI, CALL, RESULT)),
    Case("call_without_output", ask(HI, CALL, HI), ask(HI, CALL, RESULT, HI)),
    Case("thinking_without_follower", ask(HI, THOUGHT, HI), ask(HI, THOUGHT, SPOKEN, HI)),
    Case("follower_without_thinking", ask(HI, SPOKEN, HI),
         ask(HI, {**SPOKEN, "id": None}, HI)),
    Case("encrypted_content",
         ask(HI, {**SEALED_THOUGHT, "encrypted_content": "gAAAAABno"}, SEALED_MESSAGE, HI, **SEALED),
         ask(HI, SEALED_THOUGHT, SEALED_MESSAGE, HI, **SEALED)),
    Case("logprobs", ask(top_logprobs=2), ask(model=SPEAKS, top_logprobs=2)),
    Case("encrypted_unsupported", ask(model=SPEAKS, include=SEALED["include"]),
         ask(model=THINKS, include=SEALED["include"])),
    Case("unverified",
         ask(reasoning={"summary": "auto"}, headers={**KEY, "openai-organization": "org-unverified"}),
         ask(headers={**KEY, "openai-organization": "org-unverified"})),
    Case("research_tools", ask(model="o3-deep-research", tools=[F]),
         ask(model="o3-deep-research", tools=[{"type": "web_search_preview"}])),
    Case("required_without_tools", ask(tool_choice="required"),
         ask(tools=[F], tool_choice="required")),
    Case("choice_not_offered", ask(tools=[F], tool_choice={"type": "function", "name": "g"}),
         ask(tools=[F], tool_choice={"type": "function", "name": "f"})),
]  # fmt: skip

# -- efforts: which words each model takes (wire sheet of OpenAI, section 1) -----------------------

WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
EFFORTS = {
    "low medium high": ("o1", "o1-pro", "o3-mini", "o3", "o3-pro", "o4-mini", "gpt-5-codex",
                        "gpt-5.1-codex", "gpt-5.1-codex-mini"),
    "minimal low medium high": ("gpt-5", "gpt-5-mini", "gpt-5-nano"),
    "high": ("gpt-5-pro",),
    "low medium high xhigh": ("gpt-5.1-codex-max",),
    "none low medium high": ("gpt-5.1",),
    "medium": ("gpt-5.1-chat-latest", "gpt-5.2-chat-latest", "gpt-5.3-chat-latest"),
    "none low medium high xhigh": ("gpt-5.2", "gpt-5.3-codex", "gpt-5.4", "gpt-5.4-mini",
                                   "gpt-5.4-nano", "gpt-5.5"),
    "medium high xhigh": ("gpt-5.2-pro", "gpt-5.4-pro", "gpt-5.5-pro"),
    "none low medium high xhigh max": ("gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna",
                                       "gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra"),
    "low medium high xhigh max": ("gpt-6-astra", "gpt-6.1-sol"),
}  # fmt: skip
SILENT = ("gpt-3.5-turbo", "gpt-4", "gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini",
          "gpt-4.1-nano", "gpt-5-chat-latest")  # fmt: skip
TAKES = {model: words.split() for words, models in EFFORTS.items() for model in models}
ALL_TURNS = ("gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.4-pro", "gpt-5.5", "gpt-5.5-pro",
             "gpt-5.6", "gpt-6-astra", "gpt-6-sol", "gpt-6-luna", "gpt-6.1-sol")  # fmt: skip
PRO = ("gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-6-astra", "gpt-6-sol",
       "gpt-6-luna", "gpt-6.1-sol", "gpt-6.1-terra")  # fmt: skip


def thinks(model: str, **reasoning: Any) -> HttpRequest:
    return ask(model=model, reasoning=reasoning)


CASES += [
    *(Case("unsupported_value", thinks(model, effort=word), thinks(model, effort=taken[0]))
      for model, taken in TAKES.items() for word in WORDS if word not in taken),
    *(Case("unsupported_value", thinks(old, context="all_turns"), thinks(new, context="all_turns"))
      for new in ALL_TURNS for old in ("gpt-5.2",)),
    *(Case("unsupported_value", thinks("gpt-5.5", mode="pro"), thinks(model, mode="pro"))
      for model in PRO),
    Case("unsupported_value", thinks("gpt-5", summary="concise"),
         thinks("gpt-5.2", effort="low", summary="concise")),
    *(Case("unsupported_parameter", thinks(model, effort="low"), ask(model=model))
      for model in SILENT),
    *(Case("unsupported_parameter", ask(model=model, **{name: 0.5}), ask(model=model))
      for model in ("o3", "gpt-5", "gpt-5.5", "gpt-5.6-sol", "gpt-6-astra")
      for name in ("temperature", "top_p")),
    *(Case("unsupported_parameter", ask(model=model, temperature=0.5, reasoning={"effort": "low"}),
           ask(model=model, temperature=0.5, reasoning={"effort": "none"}))
      for model, taken in TAKES.items() if "none" in taken),
]  # fmt: skip
