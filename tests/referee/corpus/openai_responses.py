"""The Responses API: pairs of requests for each rule, written from the wire sheets."""

import json
from base64 import b64encode
from typing import Any

from tests.referee.cases import Case, post

from pondero.canon import HttpRequest
from pondero.emulator import Emulator

URL = "https://api.openai.com/v1/responses"
KEY = {"authorization": "Bearer key"}
HI = {"role": "user", "content": "hi"}
F = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
CALL: dict[str, Any] = {
    "type": "function_call",
    "call_id": "call_1",
    "name": "f",
    "arguments": "{}",
}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
THINKS, SPEAKS, XAI = "gpt-5.5", "gpt-4o", "xai-responses"


def ask(*items: Any, **fields: Any) -> HttpRequest:
    """Return a request of a model that thinks, unless ``fields`` name another."""
    url, headers = fields.pop("url", URL), fields.pop("headers", KEY)
    return post(url, {"model": THINKS, "input": list(items) or "hi", **fields}, headers)


def say(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def functions(count: int) -> list[Any]:
    """Return this many functions."""
    schema = {"type": "object", "properties": {}}
    return [{"type": "function", "name": f"f{each}", "parameters": schema} for each in range(count)]


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

SAID = {"role": "assistant", "content": "ok"}
DEEPSEEK = {"model": "deepseek-v4-flash"}
SHELL = {"type": "shell", "environment": {"type": "local"}}
RUN = {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"]}}
RAN = {"type": "shell_call_output", "call_id": "call_1", "output": []}
PROMPT = {"id": "pmpt_" + "0123456789abcdef" * 3}
STRICT = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
# What the SDK's types require of each tool besides its type.
TOOLS = (
    {"type": "custom", "name": "sh"},
    {"type": "namespace", "name": "n", "description": "d", "tools": [F]},
    {"type": "file_search", "vector_store_ids": ["vs_1"]},
    {"type": "mcp", "server_label": "a", "server_url": "https://x.test"},
    {"type": "code_interpreter", "container": {"type": "auto"}},
)


def offer(*tools: Any, **fields: Any) -> HttpRequest:
    return ask(tools=list(tools), **fields)


def form(schema: Any, *, strict: bool = True, name: str = "a", **fields: Any) -> HttpRequest:
    """Return a request for an answer of this schema."""
    asked = {"type": "json_schema", "name": name, "schema": schema, "strict": strict}
    return ask(text={"format": asked}, **fields)


def drawn(data: str) -> dict[str, Any]:
    """Return an image with these bytes."""
    text = b64encode(data.encode("latin-1")).decode()
    return {"type": "input_image", "image_url": f"data:image/png;base64,{text}"}


def stored(method: str, rest: str, *, state: str = "") -> HttpRequest:
    """Return a request about a stored answer, which the emulator found to be in this state."""
    found = {"x-emulated-state": state} if state else {}
    return HttpRequest(method, f"{URL}/{rest}", {**KEY, **found})


CASES = [
    Case("no_path", ask(url="https://api.openai.com/v1/response"), ask()),
    Case("no_key", ask(headers={}), ask(headers={"api-key": "key"})),
    Case("unknown_model", ask(model="gpt-5.55"), ask(model="gpt-5.5-2026-04-24")),
    *(Case("model_elsewhere", ask(model=model), ask(model="o1"))
      for model in ("o1-mini", "o1-preview", "o1-mini-2024-09-12")),
    Case("unknown_listed_model", listed("/nothing"), listed("")),
    *(Case("xai_tools", ask(model=model, tools=functions(most + 1)), ask(model=model, tools=functions(most)), XAI)
      for model, most in (("grok-4.3", 200), ("grok-4.5", 350))),
    *(Case("xai_types", ask(HI, bad, model="grok-4.6"), ask(HI, good, model="grok-4.6"), XAI)
      for bad, good in (
          ({"type": "thing", "x": 1}, HI),
          (say({"type": "text", "text": "a"}), say({"type": "input_text", "text": "a"})),
          ({"role": "tool", "content": "a"}, {"role": "developer", "content": "a"}),
          ({"role": "user", "content": 5}, {"role": "user", "content": "5"}),
      )),
    Case("xai_types", ask(model="grok-4.6", tools=[{"type": "function", "parameters": {}}]),
         ask(model="grok-4.6", tools=[F]), XAI),
    Case("xai_types", ask(model="grok-4.6", temperature="1"), ask(model="grok-4.6", temperature=1), XAI),
    Case("xai_null", ask(HI, {**SEALED_THOUGHT, "content": None}, SEALED_MESSAGE, HI, model="grok-4.6", **SEALED),
         ask(HI, SEALED_THOUGHT, SEALED_MESSAGE, HI, model="grok-4.6", **SEALED), XAI),
    Case("tool_names", ask(tools=[F, F], **DEEPSEEK), ask(tools=[F, {**F, "name": "g"}], **DEEPSEEK), "deepseek"),
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
      for name in ("n", "seed", "logprobs", "max_tokens", "max_completion_tokens", "provider")),
    Case("unknown_parameter", ask({**HI, "phases": "commentary"}), ask({**HI, "phase": "commentary"})),
    Case("unknown_parameter", ask(provider={"zdr": True}), ask()),
    Case("near_parameter", ask(stop=["x"]), ask()),
    Case("near_parameter", ask(tool=[F]), ask(tools=[F])),
    *(Case("moved_parameter", ask(**{name: value}), ask())
      for name, value in (("messages", [HI]), ("response_format", {}), ("reasoning_effort", "low"))),
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
    Case("string_pattern", ask(tools=[{**F, "name": "f g"}]), ask(tools=[{**F, "name": "f-g_1"}])),
    Case("string_pattern", form({**STRICT, "title": "t"}, name="a b"), form(STRICT, name="a-b_1")),
    *(Case("string_pattern", ask(HI, {**CALL, "name": name}, RESULT), ask(HI, {**CALL, "name": "f-g_1"}, RESULT))
      for name in ("f g", "mymcp.read", "f:g")),
    Case("string_pattern", ask(HI, {**CALL, "name": "f.g"}, RESULT), ask(HI, {**CALL, "name": "f"}, RESULT), "azure"),
    Case("string_empty", ask(HI, {**CALL, "name": ""}, RESULT), ask(HI, CALL, RESULT)),
    Case("string_empty", form(STRICT, name=""), form(STRICT, name="a")),
    Case("string_above", form(STRICT, name="a" * 65), form(STRICT, name="a" * 64)),
    Case("string_above", ask(HI, {**CALL, "call_id": "c" * 65}, {**RESULT, "call_id": "c" * 65}),
         ask(HI, {**CALL, "call_id": "c" * 64}, {**RESULT, "call_id": "c" * 64})),
    Case("metadata_size", ask(metadata={f"k{n}": "v" for n in range(17)}),
         ask(metadata={f"k{n}": "v" for n in range(16)})),
    Case("invalid_type", ask(model=SPEAKS, presence_penalty="x"),
         ask(model=SPEAKS, presence_penalty=1)),
    Case("decimal_above", ask(model=SPEAKS, frequency_penalty=3),
         ask(model=SPEAKS, frequency_penalty=2)),
    Case("decimal_below", ask(model=SPEAKS, frequency_penalty=-3),
         ask(model=SPEAKS, frequency_penalty=-2)),
    Case("missing", post(URL, {"model": THINKS}, KEY), post(URL, {"prompt": PROMPT}, KEY)),
    Case("missing", post(URL, {"input": "hi"}, KEY),
         post(URL, {"input": "hi", "prompt": PROMPT}, KEY)),
    Case("missing", ask(prompt={"version": "1"}), ask(prompt=PROMPT)),
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
    Case("unknown_stored", ask(conversation="conv_1"), ask()),
    Case("unknown_stored", ask(conversation={"id": "conv_1"}), ask()),
    Case("unknown_stored", ask(prompt={"id": "pmpt_x"}), ask(prompt=PROMPT)),
    Case("exclusive", ask(conversation="conv_1", previous_response_id="resp_1"), ask()),
    Case("background_unstored", ask(background=True, store=False), ask(background=True)),
    Case("unknown_response", stored("GET", "resp_1"), ask()),
    Case("unknown_response", stored("DELETE", "resp_1"), ask()),
    Case("unknown_response", stored("POST", "resp_1/cancel"), ask()),
    Case("unknown_response", stored("GET", "resp_1/input_items"), ask()),
    Case("cancel_foreground", stored("POST", "resp_1/cancel", state="foreground"), ask()),
    Case("unknown_item", ask({"type": "item_reference", "id": "msg_1"}, HI), ask(HI)),
    Case("unstored_item", ask({"type": "item_reference", "id": "msg_1"}, HI, store=False),
         ask(HI, store=False)),
    Case("unknown_item", ask(HI, BARE, SPOKEN, HI), ask(HI, THOUGHT, SPOKEN, HI)),
    Case("unstored_item", ask(HI, BARE, SEALED_MESSAGE, HI, **SEALED),
         ask(HI, SEALED_THOUGHT, SEALED_MESSAGE, HI, **SEALED)),
    Case("no_input", ask(input=[]), ask(HI)),
    Case("no_input", ask(input=""), ask(input="hi")),
    Case("id_prefix", ask(say({"type": "input_file", "file_id": "assistant-1"})),
         ask(say({"type": "input_file", "file_id": "file-1"}))),
    Case("duplicate_item", ask(HI, {**CALL, "id": "fc_1"}, RESULT, {**SAID, "id": "msg_1"},
                               HI, {**SAID, "id": "msg_1"}, HI),
         ask(HI, {**CALL, "id": "fc_1"}, RESULT, {**SAID, "id": "msg_1"},
             HI, {**SAID, "id": "msg_2"}, HI)),
    *(Case("deepseek_adjacent", ask(HI, CALL, between, RESULT, **DEEPSEEK),
           ask(HI, between, CALL, RESULT, **DEEPSEEK), "deepseek")
      for between in (SAID, HI, {"role": "developer", "content": "x"})),
    Case("deepseek_adjacent",
         ask(HI, CALL, SAID, {**CALL, "call_id": "b"}, RESULT, {**RESULT, "call_id": "b"},
             **DEEPSEEK),
         ask(HI, SAID, CALL, {**CALL, "call_id": "b"}, RESULT, {**RESULT, "call_id": "b"},
             **DEEPSEEK),
         "deepseek"),
    Case("id_prefix", ask(HI, {**CALL, "id": "call_1"}, RESULT),
         ask(HI, {**CALL, "id": "fc_1"}, RESULT)),
    Case("output_without_call", ask(HI, RESULT), ask(HI, CALL, RESULT)),
    Case("client_output", ask(HI, RAN, tools=[SHELL]), ask(HI, RUN, RAN, tools=[SHELL])),
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
    *(Case("tool_model", offer(tool, model=bad), offer(tool, model=good))
      for tool, good, refused in (
          (SHELL, "gpt-5.1", ("gpt-5", "gpt-5-mini", "gpt-4o", "gpt-4.1", "o3", "o4-mini")),
          ({"type": "apply_patch"}, "gpt-5.1", ("gpt-5", "gpt-4.1", "o3")),
          ({"type": "tool_search"}, "gpt-5.4", ("gpt-5.2", "gpt-5", "gpt-4o")),
          ({"type": "computer_use_preview", "display_height": 1, "display_width": 1,
            "environment": "linux"}, "computer-use-preview", ("gpt-6-astra", "gpt-4o", "gpt-5.5")),
          ({"type": "web_search"}, "gpt-4.1", ("gpt-4.1-nano", "gpt-5-chat-latest")),
          ({"type": "web_search_preview"}, "gpt-4.1", ("gpt-4.1-nano",)),
          ({"type": "image_generation"}, "gpt-5.3-codex", ("gpt-5.3-codex-spark",)),
      ) for bad in refused),
    *(Case("tool_at_minimal", offer({"type": kind}, model="gpt-5", reasoning={"effort": "minimal"}),
           offer({"type": kind}, model="gpt-5", reasoning={"effort": "low"}))
      for kind in ("web_search", "web_search_preview", "image_generation")),
    Case("mcp_server", offer({"type": "mcp", "server_label": "a"}),
         offer({"type": "mcp", "server_label": "a", "server_url": "https://x.test"})),
    *(Case("missing", offer({name: value for name, value in tool.items() if name != lost}),
           offer(tool))
      for tool in TOOLS for lost in tool if lost not in ("type", "server_url")),
    Case("required_without_tools", ask(tool_choice="required"),
         ask(tools=[F], tool_choice="required")),
    *(Case("no_source", ask(input=[{"role": "user", "content": [{"type": kind}]}]),
           ask(input=[{"role": "user", "content": [{"type": kind, name: "https://a.test/a"}]}]))
      for kind, name in (("input_image", "image_url"), ("input_file", "file_url"))),
    Case("choice_not_offered",
         ask(tools=[F], tool_choice={"type": "allowed_tools", "mode": "auto", "tools": [
             {"type": "function", "name": "g"}]}),
         ask(tools=[F], tool_choice={"type": "allowed_tools", "mode": "auto", "tools": [
             {"type": "function", "name": "f"}]})),
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

# -- schemas (wire sheet of strict schemas, sections 2 and 3) --------------------------------------

TEXT = {"type": "string"}
DEEP = {"type": "object", "properties": {"x": TEXT}, "required": ["x"],
        "additionalProperties": False}  # fmt: skip


def strict(**properties: Any) -> dict[str, Any]:
    return {**STRICT, "properties": properties, "required": list(properties)}


def nested(levels: int) -> dict[str, Any]:
    return strict(x=TEXT) if levels == 1 else strict(x=nested(levels - 1))


def function(schema: Any, *, strict: bool = True) -> HttpRequest:
    return ask(tools=[{**F, "parameters": schema, "strict": strict}])


def without(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != name}


def many(count: int) -> dict[str, Any]:
    return strict(**{f"p{number}": TEXT for number in range(count)})


KEYWORDS: dict[str, dict[str, Any]] = {
    **{word: {"type": "string", word: 1} for word in ("minLength", "maxLength")},
    **{word: {"type": "array", "items": TEXT, word: 1}
       for word in ("contains", "minContains", "maxContains", "uniqueItems", "unevaluatedItems")},
    **{word: {**STRICT, word: {}}
       for word in ("patternProperties", "unevaluatedProperties", "propertyNames",
                    "minProperties", "maxProperties")},
    **{word: {"type": "string", word: [TEXT]} for word in ("oneOf", "allOf", "not", "if")},
}  # fmt: skip
BROKEN: list[tuple[str, Any, Any]] = [
    ("schema_additional", without(strict(x=TEXT), "additionalProperties"), strict(x=TEXT)),
    ("schema_additional", {**strict(x=TEXT), "additionalProperties": True}, strict(x=TEXT)),
    ("schema_additional", strict(x={**STRICT, "additionalProperties": TEXT}), strict(x=STRICT)),
    ("schema_additional", strict(x={"type": "array", "items": {"type": "object"}}),
     strict(x={"type": "array", "items": STRICT})),
    ("schema_additional", {**strict(x={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "object"}}},
     {**strict(x={"$ref": "#/$defs/A"}), "$defs": {"A": STRICT}}),
    ("schema_required", {**strict(x=TEXT, y=TEXT), "required": ["x"]}, strict(x=TEXT, y=TEXT)),
    ("schema_required", without(strict(x=TEXT), "required"), strict(x=TEXT)),
    ("schema_required_extra", {**strict(x=TEXT), "required": ["x", "y"]}, strict(x=TEXT, y=TEXT)),
    ("schema_root", {"type": "array", "items": TEXT}, strict(x={"type": "array", "items": TEXT})),
    ("schema_root", TEXT, strict(x=TEXT)),
    ("schema_root_union", {"anyOf": [STRICT, strict(x=TEXT)]},
     strict(x={"anyOf": [STRICT, strict(x=TEXT)]})),
    ("schema_root_union", {**STRICT, "oneOf": [STRICT]}, STRICT),
    *(("schema_keyword", strict(x=made), strict(x=without(made, word)))
      for word, made in KEYWORDS.items()),
    ("schema_type", strict(x={"type": "array", "items": {}}),
     strict(x={"type": "array", "items": TEXT})),
    ("schema_type", strict(x={"description": "any"}), strict(x={**TEXT, "description": "any"})),
    ("schema_type", strict(x={"const": "a"}), strict(x={"type": "string", "const": "a"})),
    ("schema_items", strict(x={"type": "array"}), strict(x={"type": "array", "items": TEXT})),
    *(("schema_format", strict(x={**TEXT, "format": word}), strict(x={**TEXT, "format": good}))
      for word in ("uri", "regex", "json-pointer", "binary")
      for good in ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6",
                   "uuid")),
    ("schema_pattern", strict(x={**TEXT, "pattern": "^(?!a)b"}),
     strict(x={**TEXT, "pattern": "^(?:a)b"})),
    ("schema_ref_beside",
     {**strict(x={"$ref": "#/$defs/A", "description": "d"}), "$defs": {"A": TEXT}},
     {**strict(x={"$ref": "#/$defs/A"}), "$defs": {"A": TEXT}}),
    ("schema_ref", strict(x=TEXT, y={"$ref": "#/properties/x"}),
     {**strict(x=TEXT, y={"$ref": "#/definitions/x"}), "definitions": {"x": TEXT}}),
    ("schema_ref", strict(x={"$ref": "https://x.test/a.json"}),
     strict(x={"anyOf": [{"$ref": "#"}, {"type": "null"}]})),
    ("schema_levels", nested(11), nested(10)),
    ("schema_levels", {**STRICT, "$defs": {"A": nested(11)}}, {**STRICT, "$defs": {"A": nested(9)}}),
    ("schema_properties", many(5001), many(5000)),
]  # fmt: skip
VALID = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
INVALID = (
    ({**VALID, "required": None}, VALID),
    ({**VALID, "required": True}, {**VALID, "required": []}),
    ({**VALID, "properties": {"a": {"type": "str"}}}, VALID),
    ({**VALID, "properties": []}, {**VALID, "properties": {}}),
)
CASES += [Case(rule, form(bad), form(good)) for rule, bad, good in BROKEN]
CASES += [Case(rule, function(bad), function(good)) for rule, bad, good in BROKEN]
CASES += [
    # A schema that is not strict may be anything, but a function's root.
    *(Case(rule, form(bad), form(bad, strict=False))
      for rule, bad, _ in BROKEN if rule != "schema_root"),
    *(Case(rule, function(bad), function(bad, strict=False))
      for rule, bad, _ in BROKEN if not rule.startswith("schema_root") and rule != "schema_items"),
    Case("schema_no_properties", function({"type": "object"}, strict=False),
         function({"type": "object", "properties": {"a": {"type": "object"}}}, strict=False)),
    *(Case("schema_invalid", function(bad, strict=False), function(good, strict=False))
      for bad, good in INVALID),
    Case("schema_root", function({"properties": {"a": TEXT}}, strict=False),
         function({"type": "object", "properties": {"a": TEXT}}, strict=False)),
    Case("schema_items", function({"type": "object", "properties": {"a": {"type": "array", "prefixItems": [TEXT]}}}, strict=False),
         function({"type": "object", "properties": {"a": {"type": "array", "prefixItems": [TEXT], "items": {}}}}, strict=False)),
    Case("schema_items", function({"type": "object", "properties": {"a": {"type": "array"}}}, strict=False),
         function({"type": "object", "properties": {"a": {"type": "array", "items": {}}}}, strict=False)),
    Case("schema_root", form({"type": "array", "items": TEXT}, strict=False),
         form({"type": "object"}, strict=False)),
    Case("schema_root_union", function({"type": "object", "anyOf": [{"required": ["a"]}]},
                                       strict=False),
         function({"type": "object", "properties": {}}, strict=False)),
    Case("schema_additional",
         ask(tools=[{"type": "namespace", "name": "n", "description": "d",
                     "tools": [{**F, "strict": True}]}]),
         ask(tools=[{"type": "namespace", "name": "n", "description": "d", "tools": [F]}])),
    Case("schema_additional", function({"type": "object"}), form(STRICT), "azure"),
    Case("json_word", ask(text={"format": {"type": "json_object"}}),
         ask({"role": "user", "content": "in JSON"}, text={"format": {"type": "json_object"}})),
]  # fmt: skip

# -- changes inside the conversation (wire sheet of in-band changes, section 4) --------------------

UPDATE = {"type": "configuration_update", "reasoning": {"effort": "high"}}
LOWER = {"type": "configuration_update", "reasoning": {"effort": "low"}}
COMPACTED = {"type": "compaction", "encrypted_content": "x"}
UPDATES = ("gpt-6-astra", "gpt-6-sol", "gpt-6-luna", "gpt-6.1-sol")
NO_UPDATES = (*SILENT, "o3", "gpt-5", "gpt-5.1", "gpt-5.2", "gpt-5.4", "gpt-5.5", "gpt-5.6-sol",
              "gpt-5.6-terra", "gpt-5.6-luna")  # fmt: skip
ASTRA = "gpt-6-astra"
CASES += [
    *(Case("update_model", ask(UPDATE, HI, model=bad), ask(UPDATE, HI, model=good))
      for good in UPDATES for bad in NO_UPDATES),
    Case("update_model", ask(UPDATE, HI, model="openai/gpt-6.1-terra"),
         ask(UPDATE, HI, model="openai/gpt-6-sol"), "openrouter"),
    *(Case("update_pro", ask(HI, UPDATE, model=model, reasoning={"mode": "pro"}),
           ask(HI, UPDATE, model=model, reasoning={"mode": "standard"})) for model in UPDATES),
    Case("update_adjacent", ask(HI, UPDATE, LOWER, HI, model=ASTRA),
         ask(HI, UPDATE, HI, LOWER, model=ASTRA)),
    Case("update_truncation", ask(UPDATE, HI, model=ASTRA, truncation="auto"),
         ask(UPDATE, HI, model=ASTRA, truncation="disabled")),
    Case("update_truncation",
         ask(UPDATE, HI, model=ASTRA, context_management=[{"type": "compaction"}]),
         ask(HI, model=ASTRA, context_management=[{"type": "compaction"}])),
    Case("update_compaction", ask(UPDATE, COMPACTED, HI, model=ASTRA),
         ask(COMPACTED, UPDATE, HI, model=ASTRA)),
    Case("trigger_last", ask({"type": "compaction_trigger"}, HI, model=ASTRA),
         ask(HI, {"type": "compaction_trigger"}, model=ASTRA)),
    Case("unsupported_value", ask({**UPDATE, "reasoning": {"effort": "none"}}, HI, model=ASTRA),
         ask({**UPDATE, "reasoning": {"effort": "none"}}, HI, model="gpt-6-sol")),
    Case("unknown_parameter", ask({**UPDATE, "reasoning": {"summary": "auto"}}, HI, model=ASTRA),
         ask(UPDATE, HI, model=ASTRA)),
    Case("schema_additional",
         ask({"type": "configuration_update", "text": {"format": {
             "type": "json_schema", "name": "a", "strict": True, "schema": {"type": "object"}}}},
             HI, model=ASTRA),
         ask({"type": "configuration_update", "text": {"format": {
             "type": "json_schema", "name": "a", "strict": True, "schema": STRICT}}},
             HI, model=ASTRA)),
    *(Case("xai_types" if provider == XAI else "invalid_value", ask(UPDATE, HI, model=model), ask(HI, model=model), provider)
      for provider, model in (("xai-responses", "grok-4.3"), ("deepseek", "deepseek-v4-flash"),
                              ("compatible", "x"), ("vllm", "Qwen/Qwen3-0.6B"))),
    *(Case("cache_retention", ask(model=model, prompt_cache_retention="in_memory"),
           ask(model=model, prompt_cache_retention="24h"))
      for model in ("gpt-5.6-sol", "gpt-5.6-terra", "gpt-6-astra", "gpt-6.1-sol")),
    *(Case("unsupported_parameter", ask(model=model, **{name: 0.5}), ask(model=SPEAKS, **{name: 0.5}))
      for model in ("o3", "gpt-5.5", "gpt-6-astra")
      for name in ("presence_penalty", "frequency_penalty")),
    Case("logprobs", ask(include=["message.output_text.logprobs"]),
         ask(model=SPEAKS, include=["message.output_text.logprobs"])),
]  # fmt: skip

# -- other deployments -----------------------------------------------------------------------------

CODEX = {"instructions": "Be brief.", "store": False, "stream": True}
CASES += [
    *(Case(rule, ask(**without(CODEX, name)), ask(**CODEX), "chatgpt")
      for rule, name in (("codex_instructions", "instructions"), ("codex_store", "store"),
                         ("codex_stream", "stream"))),
    *(Case("codex_parameter", ask(**CODEX, **{name: value}), ask(**CODEX), "chatgpt")
      for name, value in (("max_output_tokens", 100), ("previous_response_id", "resp_1"))),
    *(Case("no_images", ask(say(IMAGE), model=model), ask(say(IMAGE), model=sees))
      for model, sees in (("o3-mini", "o3"), ("gpt-4", "gpt-4-turbo"), ("gpt-3.5-turbo", "gpt-4o"))),
    *(Case("image_format", ask(say(drawn(data))), ask(say(drawn("\x89PNG\r\n\x1a\n0000"))))
      for data in ("BM0123456789abcd", "<svg xmlns='x'></svg>", "<?xml version='1.0'?>")),
    Case("long_string", ask(prompt_cache_key="a" * 65), ask(prompt_cache_key="a" * 64)),
    Case("long_string", ask(metadata={"a" * 65: "b"}), ask(metadata={"a" * 64: "b"})),
    Case("long_string", ask(metadata={"a": "b" * 513}), ask(metadata={"a": "b" * 512})),
    Case("update_empty", ask(HI, {"type": "configuration_update"}, HI, model="gpt-6-sol"),
         ask(HI, {"type": "configuration_update", "reasoning": {"effort": "low"}}, HI,
             model="gpt-6-sol")),
    *(Case("unsupported_value", ask(model=model, text={"verbosity": word}),
           ask(model=model, text={"verbosity": "medium"}))
      for model in ("gpt-4o", "gpt-4.1", "o3", "o4-mini", "gpt-5-codex", "gpt-5.1-codex-max")
      for word in ("low", "high")),
    *(Case("unsupported_value", ask(model="gpt-4o", text={"verbosity": "low"}),
           ask(model=model, text={"verbosity": "low"}))
      for model in ("gpt-5", "gpt-5-mini", "gpt-5-pro", "gpt-5.1", "gpt-5.5", "gpt-6-astra")),
    # Hosts of this API whose models are their own.
    *(Case("missing_model", ask(model=model), ask(model="openai/gpt-oss-20b"), "groq")
      for model in ("gpt-5.5", "openai/gpt-oss-121b")),
    Case("missing_model", ask(model="bad_model"), ask(model="qwen3:4b", headers={}), "ollama"),
    *(Case("unknown_model", ask(model=bad), ask(model=good), host) for host, bad, good in (
        ("mistral", "gpt-5.5", "mistral-small-latest"),
        ("mistral", "magistral-small-2506", "codestral-latest"),
        ("deepseek", "gpt-5.5", "deepseek-v4-flash"))),
    *(Case("unsupported_value", ask(model=model, reasoning={"effort": bad}),
           ask(model=model, reasoning={"effort": good}), host) for host, model, bad, good in (
        ("groq", "openai/gpt-oss-120b", "none", "low"),
        ("mistral", "mistral-small-latest", "low", "high"),
        ("mistral", "zai-glm-5-3", "none", "max"),
        ("ollama", "llama3.2", "low", "none"))),
    *(Case("stateless", ask(model="mistral-small-latest", **{name: value}),
           ask(model="mistral-small-latest", store=False, background=False), "mistral")
      for name, value in (("store", True), ("background", True), ("prompt", PROMPT),
                          ("previous_response_id", "resp_1"), ("conversation", "conv_1"))),
    # What OpenAI rejects and others take.
    *(Case("integer_below", ask(model=model, max_output_tokens=8),
           ask(model=model, max_output_tokens=16)) for model in ("gpt-4o", "gpt-5.5")),
]  # fmt: skip
