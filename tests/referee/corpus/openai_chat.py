"""Chat Completions of OpenAI and of servers of one's own: pairs of requests for each rule."""

from typing import Any

from tests.referee.cases import Case, post

from pondero.canon import HttpRequest

URL = "https://api.test/v1/chat/completions"
KEY = {"authorization": "Bearer key"}
HI = {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": NOTHING}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "1"}
CALLED = {"role": "assistant", "tool_calls": [CALL]}

# The models of wire/openai.md, section 1.
OLD = ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano", "gpt-4", "gpt-3.5-turbo")
ALWAYS = ("o1", "o3-mini", "o3", "o4-mini", "gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-6-astra")
OPTIONAL = ("gpt-5.1", "gpt-5.2", "gpt-5.4", "gpt-5.5", "gpt-5.6-sol", "gpt-6-sol", "gpt-6.1-terra")
WITHOUT_TOOLS = ("gpt-5.4", "gpt-5.4-mini", "gpt-5.5", "gpt-5.6-terra", "gpt-6-sol", "gpt-6-luna")
EFFORTS = {
    "o1": "low medium high", "o3": "low medium high", "o3-mini": "low medium high",
    "o4-mini": "low medium high", "gpt-5": "minimal low medium high",
    "gpt-5-mini": "minimal low medium high", "gpt-5-nano": "minimal low medium high",
    "gpt-5.1": "none low medium high", "gpt-5.2": "none low medium high xhigh",
    "gpt-5.4": "none low medium high xhigh", "gpt-5.5": "none low medium high xhigh",
    "gpt-5.6": "none low medium high xhigh", "gpt-6-sol": "none low medium high xhigh",
    "gpt-6-astra": "low medium high xhigh", "gpt-6.1-sol": "low medium high xhigh",
}  # fmt: skip
WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def ask(*messages: Any, url: str = URL, **fields: Any) -> HttpRequest:
    """Return a request of a model that does not reason unless ``fields`` name another."""
    return post(url, {"model": "gpt-4o", "messages": list(messages) or [HI], **fields}, KEY)


def say(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def image(url: str) -> dict[str, Any]:
    return say({"type": "image_url", "image_url": {"url": url}})


def file_of(kind: str) -> dict[str, Any]:
    return say({"type": "file", "file": {"filename": "a", "file_data": f"data:{kind};base64,AAAA"}})


def without_key(model: str = "m") -> HttpRequest:
    return post(URL, {"model": model, "messages": [HI]}, {})


def listed(name: str) -> HttpRequest:
    return HttpRequest("GET", f"https://api.test/v1/models{name}", KEY)


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def schema(value: Any, *, name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "schema": value, **fields}}


FORMS = [
    Case("no_path", ask(url="https://api.test/v1/completions"), ask()),
    Case("no_key", without_key("gpt-4o"), ask()),
    Case("not_json", post(URL, b"{", KEY), ask()),
    Case("not_object", post(URL, b"[]", KEY), ask()),
    Case("unknown_argument", ask(temprature=1), ask(temperature=1)),
    Case("unknown_argument", ask(top_k=3), ask(top_logprobs=3, logprobs=True)),
    Case("unknown_parameter", ask({**HI, "reasoning_content": "x"}), ask({**HI, "name": "x"})),
    Case("unknown_parameter", ask(HI, {"role": "assistant", "content": "x", "reasoning": "t"}),
         ask(HI, {"role": "assistant", "content": "x"})),
    Case("missing", post(URL, {"model": "gpt-4o"}, KEY), ask()),
    Case("missing", ask(HI, CALLED, {"role": "tool", "content": "1"}), ask(HI, CALLED, RESULT)),
    Case("wrong_type", ask(temperature="1"), ask(temperature=1)),
    Case("wrong_type", ask(frequency_penalty="1"), ask(frequency_penalty=1)),
    Case("wrong_type", ask(HI, {"role": "user", "content": 1}), ask(HI, HI)),
    Case("wrong_value", ask(HI, {"role": "robot", "content": "x"}),
         ask(HI, {"role": "developer", "content": "x"})),
    Case("wrong_value", ask(tools=[TOOL], tool_choice="any"),
         ask(tools=[TOOL], tool_choice="required")),
    Case("empty_array", post(URL, {"model": "gpt-4o", "messages": []}, KEY), ask()),
    Case("empty_array", ask(tools=[]), ask(tools=[TOOL])),
    Case("empty_string", ask(HI, {**CALLED, "tool_calls": [{**CALL, "function": {
        "name": "", "arguments": "{}"}}]}, RESULT), ask(HI, CALLED, RESULT)),
    Case("pattern", ask(tools=[{"type": "function", "function": {"name": "a b"}}]),
         ask(tools=[{"type": "function", "function": {"name": "a-b"}}])),
    Case("pattern", ask({**HI, "name": "a b"}), ask({**HI, "name": "a-b"})),
    *(Case("pattern", ask(HI, {**CALLED, "tool_calls": [{**CALL, "function": {
        "name": name, "arguments": "{}"}}]}, RESULT), ask(HI, CALLED, RESULT))
      for name in ("a b", "server.tool", "functions:f")),
    Case("pattern", ask(response_format=schema({"type": "object"}, name="a b")),
         ask(response_format=schema({"type": "object"}, name="a_b"))),
    Case("long_string", ask(tools=[named("a" * 65)]), ask(tools=[named("a" * 64)])),
    Case("long_array", ask(tools=[named(f"f{n}") for n in range(129)]),
         ask(tools=[named(f"f{n}") for n in range(128)])),
    Case("long_array", ask(stop=list("abcde")), ask(stop=list("abcd"))),
    Case("missing", ask(response_format={"type": "json_schema", "json_schema": {"name": "a"}}),
         ask(response_format=schema({"type": "object"}))),
    *(Case("model_id", ask(model=name), ask(model=name.replace(" ", "-")))
      for name in ("gpt 4o", "gpt 5", "o4 mini")),
    Case("no_listed_model", listed("/nothing"), listed("")),
    Case("no_model", ask(model="gpt-4x"), ask(model="gpt-4o-2024-08-06")),
    *(Case("other_api", ask(model=name), ask(model="gpt-5"))
      for name in ("o1-pro", "o3-pro", "gpt-5-pro", "gpt-5.2-pro", "gpt-5.4-pro", "gpt-5.5-pro")),
]  # fmt: skip
THINKING = [
    *(Case("no_effort", ask(model=name, reasoning_effort="low"), ask(model=name)) for name in OLD),
    *(Case("effort", ask(model=name, reasoning_effort=bad), ask(model=name, reasoning_effort=good))
      for name, words in EFFORTS.items() for good in words.split()
      for bad in WORDS if bad not in words.split()),
    *(Case("thinking_tools", ask(model=name, tools=[TOOL], reasoning_effort="low"),
           ask(model=name, tools=[TOOL], reasoning_effort="none")) for name in WITHOUT_TOOLS),
    *(Case("thinking_tools", ask(model=name, tools=[TOOL]), ask(model=name))
      for name in ("gpt-5.5", "gpt-5.6", "gpt-6-sol", "gpt-6-astra", "gpt-6.1-sol")),
    *(Case("not_default", ask(model=name, temperature=0.2), ask(model=name, temperature=1))
      for name in ALWAYS),
    *(Case("not_default", ask(model=name, temperature=0.2, reasoning_effort="low"),
           ask(model=name, temperature=0.2, reasoning_effort="none")) for name in OPTIONAL),
    *(Case("legacy_cap", ask(model=name, max_tokens=9), ask(model=name, max_completion_tokens=9))
      for name in (*ALWAYS, *OPTIONAL)),
    Case("off", ask(model="kimi-k2-thinking", thinking={"type": "disabled"}),
         ask(model="kimi-k2-thinking", thinking={"type": "enabled"}), "moonshot"),
    Case("wrong_switch", ask(chat_template_kwargs={"enable_thinking": "false"}),
         ask(chat_template_kwargs={"enable_thinking": False}), "llamacpp"),
    Case("wrong_place", ask(reasoning_format="plain"), ask(reasoning_format="none"), "llamacpp"),
    Case("budget", ask(reasoning_budget_tokens=-2), ask(reasoning_budget_tokens=-1), "llamacpp"),
    Case("bad_seal", ask(HI, {"role": "assistant", "content": "x", "reasoning_details": [
            {"type": "reasoning.text", "text": "t", "signature": "forged"}]},
            model="anthropic/claude-opus-4.8"),
         ask(HI, {"role": "assistant", "content": "x"}, model="anthropic/claude-opus-4.8"),
         "openrouter"),
]  # fmt: skip
EMPTY = {"type": "object", "properties": {}, "additionalProperties": False}
VOICE = {"voice": "alloy", "format": "wav"}
NEW = ("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5.1", "gpt-5.2", "gpt-5.4", "gpt-5.5",
       "gpt-5.6-sol", "gpt-5.6-terra", "gpt-6-sol", "gpt-6-astra", "gpt-6.1-sol")  # fmt: skip
PARAMETERS = [
    Case("above_range", ask(temperature=2.1), ask(temperature=2)),
    Case("above_range", ask(presence_penalty=2.5), ask(presence_penalty=2)),
    Case("below_range", ask(top_p=-0.1), ask(top_p=0)),
    *(Case("unsupported", ask(model=name, logprobs=True), ask(model="gpt-4o", logprobs=True))
      for name in ALWAYS),
    *(Case("unsupported", ask(model=name, logprobs=True, reasoning_effort="low"),
           ask(model=name, logprobs=True, reasoning_effort="none")) for name in OPTIONAL),
    *(Case("unsupported", ask(model=name, stop="x"), ask(model=name))
      for name in (*NEW, "o3", "o4-mini")),
    *(Case("unsupported", ask(model="gpt-5", stop=["x"]), ask(model=name, stop=["x"]))
      for name in (*OLD, "o1", "o3-mini", "gpt-5-chat-latest")),
    *(Case("no_tools", ask(model=name, tools=[TOOL]), ask(model=name))
      for name in ("gpt-5-chat-latest", "o1-mini", "o1-preview")),
    Case("no_tools", ask(model="gpt-5-chat-latest", tools=[TOOL]), ask(model="gpt-5", tools=[TOOL])),
    Case("no_tools", ask(model="gpt-5-chat-latest", functions=[TOOL["function"]]),
         ask(model="gpt-4", functions=[TOOL["function"]])),
    *(Case("no_search", ask(model=name, web_search_options={}),
           ask(model="gpt-4o-search-preview", web_search_options={}))
      for name in (*OLD, *ALWAYS, *OPTIONAL, "gpt-4o-audio-preview")),
    *(Case("schema", ask(model=name, response_format=schema(EMPTY)),
           ask(model=other, response_format=schema(EMPTY)))
      for name, other in {"gpt-4": "gpt-4.1", "gpt-3.5-turbo": "gpt-4o", "gpt-4-turbo": "gpt-5",
                          "o1-mini": "o3-mini"}.items()),
    Case("missing", ask(modalities=["text", "audio"], model="gpt-audio"),
         ask(modalities=["text", "audio"], audio=VOICE, model="gpt-audio")),
    *(Case("legacy_cap", ask(model=name, max_tokens=9), ask(model=name, max_completion_tokens=9),
           "azure-chat") for name in ("o3-mini", "gpt-5-mini", "gpt-5.6-sol")),
    Case("legacy_cap", ask(model="gpt-5-mini", max_tokens=9),
         ask(model="my-deployment", max_tokens=9), "azure-chat"),
    Case("no_speech", ask(modalities=["text", "audio"], audio=VOICE),
         ask(modalities=["text", "audio"], audio=VOICE, model="gpt-audio")),
    Case("integer_above", ask(n=129), ask(n=128)),
    Case("integer_below", ask(n=0), ask(n=1)),
    Case("integer_above", ask(top_logprobs=21, logprobs=True),
         ask(top_logprobs=20, logprobs=True)),
    Case("wrong_type", ask(n="2"), ask(n=2)),
    Case("needs_logprobs", ask(top_logprobs=2), ask(top_logprobs=2, logprobs=True)),
    Case("needs_functions", ask(function_call="auto"),
         ask(function_call="auto", functions=[TOOL["function"]])),
    Case("missing", ask(functions=[{"description": "x"}]), ask(functions=[TOOL["function"]])),
    Case("two_caps", ask(max_tokens=9, max_completion_tokens=9), ask(max_tokens=9)),
    Case("small_cap", ask(max_tokens=0), ask(max_tokens=1)),
    *(Case("large_cap", ask(model=name, max_completion_tokens=most + 1),
           ask(model=name, max_completion_tokens=most))
      for name, most in {"gpt-4o": 16_384, "gpt-4.1": 32_768, "o3": 100_000, "gpt-5": 128_000,
                         "gpt-5-chat-latest": 16_384, "gpt-6-sol": 128_000}.items()),
    Case("stream_options", ask(stream_options={"include_usage": True}),
         ask(stream_options={"include_usage": True}, stream=True)),
    Case("needs_tools", ask(tool_choice="auto"), ask(tool_choice="auto", tools=[TOOL])),
    *(Case("needs_tools", ask(parallel_tool_calls=value),
           ask(parallel_tool_calls=value, tools=[TOOL])) for value in (True, False)),
    *(Case("incompatible", ask(model=f"{name}-search-preview", **field),
           ask(model=f"{name}-search-preview"))
      for name in ("gpt-4o", "gpt-4o-mini")
      for field in ({"temperature": 0.5}, {"n": 1}, {"presence_penalty": 0}, {"top_p": 1})),
    *(Case("file_type", ask(file_of(kind)), ask(file_of("application/pdf")))
      for kind in ("text/plain", "text/csv", "application/json")),
]  # fmt: skip


def closed(**properties: Any) -> dict[str, Any]:
    """Return a strict object with these properties."""
    return {**EMPTY, "properties": properties, "required": list(properties)}


def shaped(rule: str, bad: Any, good: Any) -> list[Case]:
    """Return the cases of a schema's fault in a strict answer and in a strict function."""
    return [
        Case(rule, ask(response_format=schema(bad, strict=True)),
             ask(response_format=schema(good, strict=True))),
        Case(rule, ask(tools=[offered(bad, strict=True)]), ask(tools=[offered(good, strict=True)])),
    ]  # fmt: skip


def offered(parameters: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": parameters, **fields}}


TEXT = {"type": "string"}
LOOSE = {"type": "object", "properties": {"a": TEXT}}
REFERS = {**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": closed(b=TEXT)}}
# The keywords of wire/strict-schemas.md, section 3, and values that JSON Schema allows for them.
KEYWORDS = {
    "minLength": 1, "maxLength": 9, "patternProperties": {}, "unevaluatedProperties": False,
    "propertyNames": TEXT, "minProperties": 0, "maxProperties": 9, "unevaluatedItems": False,
    "contains": TEXT, "minContains": 1, "maxContains": 2, "uniqueItems": True, "default": "x",
    "oneOf": [TEXT], "allOf": [TEXT], "not": {"type": "null"}, "if": TEXT,
}  # fmt: skip
KNOWN_FORMATS = (
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
)
SCHEMAS = [
    Case("json_word", ask(response_format={"type": "json_object"}),
         ask({"role": "user", "content": "as Json"}, response_format={"type": "json_object"})),
    Case("json_word", ask(response_format={"type": "json_object"}),
         ask({"role": "system", "content": "in JSON"}, HI, response_format={"type": "json_object"})),
    Case("json_word", ask(say({"type": "text", "text": "hi"}), response_format={"type": "json_object"}),
         ask(say({"type": "text", "text": "json"}), response_format={"type": "json_object"})),
    *shaped("schema_root", {"type": "array", "items": TEXT},
            closed(a={"type": "array", "items": TEXT})),
    *shaped("schema_root", {"anyOf": [closed(a=TEXT)]}, closed(a={"anyOf": [closed(a=TEXT)]})),
    *shaped("schema_root", {"$ref": "#/$defs/A", "$defs": {"A": closed(b=TEXT)}}, REFERS),
    Case("schema_root", ask(response_format=schema({"type": "array", "items": TEXT})),
         ask(response_format=schema(LOOSE))),
    Case("schema_root", ask(tools=[offered({"type": "string"})]), ask(tools=[offered(LOOSE)])),
    Case("schema_root", ask(tools=[offered({"properties": {"a": TEXT}})]), ask(tools=[offered(LOOSE)])),
    *(Case("schema_invalid", ask(tools=[offered({**LOOSE, **bad})]), ask(tools=[offered({**LOOSE, **good})]))
      for bad, good in (
          ({"required": None}, {"required": []}),
          ({"required": True}, {"required": ["a"]}),
          ({"properties": {"a": {"type": "str"}}}, {"properties": {"a": {"type": "string"}}}),
          ({"properties": []}, {"properties": {}}),
      )),
    *shaped("schema_root_union", {**closed(a=TEXT), "anyOf": [closed(a=TEXT)]}, closed(a=TEXT)),
    Case("schema_root_union", ask(tools=[offered({**LOOSE, "oneOf": [LOOSE]})]),
         ask(tools=[offered(LOOSE)])),
    *shaped("schema_additional", {**LOOSE, "required": ["a"]}, closed(a=TEXT)),
    *shaped("schema_additional", closed(a={**LOOSE, "required": ["a"]}), closed(a=closed(a=TEXT))),
    *shaped("schema_additional", {**REFERS, "$defs": {"A": LOOSE}}, REFERS),
    *shaped("schema_additional", {**closed(a=TEXT), "additionalProperties": True}, closed(a=TEXT)),
    Case("schema_additional", ask(response_format=schema(LOOSE, strict=True)),
         ask(response_format=schema(LOOSE))),
    Case("schema_additional", ask(tools=[offered(LOOSE, strict=True)]),
         ask(tools=[offered(LOOSE, strict=False)])),
    *shaped("schema_required", {**closed(a=TEXT, b=TEXT), "required": ["a"]},
            closed(a=TEXT, b={"type": ["string", "null"]})),
    *shaped("schema_extra_required", {**closed(a=TEXT), "required": ["a", "b"]}, closed(a=TEXT)),
    *shaped("schema_type", closed(a={}), closed(a=TEXT)),
    *shaped("schema_type", closed(a={"type": "array", "items": {}}),
            closed(a={"type": "array", "items": TEXT})),
    *shaped("schema_items", closed(a={"type": "array"}), closed(a={"type": "array", "items": TEXT})),
    Case("schema_no_properties", ask(tools=[offered({"type": "object"})]),
         ask(tools=[offered({**LOOSE, "properties": {"a": {"type": "object"}}})])),
    Case("schema_items", ask(tools=[offered({**LOOSE, "properties": {"a": {"type": "array", "prefixItems": [TEXT]}}})]),
         ask(tools=[offered({**LOOSE, "properties": {"a": {"type": "array", "prefixItems": [TEXT], "items": {}}}})])),
    Case("schema_items", ask(tools=[offered({**LOOSE, "properties": {"a": {"type": "array"}}})]),
         ask(tools=[offered({**LOOSE, "properties": {"a": {"type": "array", "items": {}}}})])),
    *(each for name, value in KEYWORDS.items() for each in shaped(
        "schema_keyword", closed(a={"type": "string", name: value}), closed(a=TEXT))),
    *(each for name in KNOWN_FORMATS for each in shaped(
        "schema_format", closed(a={"type": "string", "format": "uri"}),
        closed(a={"type": "string", "format": name}))),
    *shaped("schema_pattern", closed(a={"type": "string", "pattern": "^(?=a)"}),
            closed(a={"type": "string", "pattern": "^(?:a)"})),
    *shaped("schema_ref", closed(a={"$ref": "#/properties/b"}, b=TEXT), closed(a={"$ref": "#"})),
    *shaped("schema_ref", {**REFERS, "$defs": {"B": closed(b=TEXT)}}, REFERS),
    *shaped("schema_beside_ref",
            {**REFERS, "properties": {"a": {"$ref": "#/$defs/A", "description": "x"}}}, REFERS),
]  # fmt: skip
PNG = "data:image/png;base64,iVBORw0KGgo="
SOUND = say({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}})
SYSTEM = {"role": "system", "content": "x"}
MESSAGES = [
    Case("result_without_call", ask(HI, RESULT), ask(HI, CALLED, RESULT)),
    Case("result_without_call", ask(HI, CALLED, RESULT, RESULT), ask(HI, CALLED, RESULT)),
    Case("result_without_call", ask(HI, CALLED, {**RESULT, "tool_call_id": "c2"}),
         ask(HI, CALLED, RESULT)),
    *(Case("unanswered_call", ask(HI, CALLED, *between, RESULT), ask(HI, CALLED, RESULT, *between))
      for between in ([HI], [SYSTEM], [{**SYSTEM, "role": "developer"}],
                      [{"role": "assistant", "content": "x"}])),
    Case("unanswered_call", ask(HI, CALLED), ask(HI, CALLED, RESULT)),
    Case("empty_assistant", ask(HI, {"role": "assistant"}),
         ask(HI, {"role": "assistant", "content": ""})),
    Case("bad_base64", ask(image("data:image/png;base64,**")), ask(image(PNG))),
    *(Case("image_format", ask(image(f"data:image/{kind};base64,{data}")), ask(image(PNG)))
      for kind, data in {"bmp": "Qk0AAA==", "tiff": "SUkqAA==", "jpeg": "aGVsbG8=",
                         "svg+xml": "PHN2Zz4="}.items()),
    *(Case("image_format", ask(image("data:image/png;base64,Qk0AAA==")),
           ask(image(f"data:image/png;base64,{data}")))
      for data in ("/9j/4AAQ", "R0lGODlh", "R0lGODdh", "UklGRgAA")),
    *(Case("no_images", ask(image(PNG), model=name), ask(HI, model=name))
      for name in ("gpt-4", "gpt-3.5-turbo", "o3-mini", "o1-mini", "gpt-4o-search-preview")),
    *(Case("no_images", ask(image(PNG), model="o3-mini"), ask(image(PNG), model=name))
      for name in ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-nano", "gpt-4-turbo", "o1", "o3",
                   "o4-mini", "gpt-5", "gpt-5.4-mini", "gpt-6-sol")),
    *(Case("no_audio", ask(SOUND, model=name), ask(SOUND, model="gpt-4o-audio-preview"))
      for name in (*OLD, *ALWAYS, *OPTIONAL)),
    Case("file_id", ask(say({"type": "file", "file": {"file_id": "abc"}})),
         ask(say({"type": "file", "file": {"file_id": "file-abc"}}))),
    *(Case("no_system", ask({**SYSTEM, "role": role}, HI, model=name), ask(HI, model=name))
      for name in ("o1-mini", "o1-preview") for role in ("system", "developer")),
    *(Case("no_system", ask({**SYSTEM, "role": "developer"}, HI, model="o1-mini"),
           ask({**SYSTEM, "role": "developer"}, HI, HI, {**SYSTEM, "role": "developer"}, model=name))
      for name in ("gpt-4o", "o1", "o3-mini", "gpt-5", "gpt-6-sol")),
    *(Case("later_system", ask(*bad, model=name), ask(SYSTEM, HI, model=name), provider)
      for provider in ("llamacpp", "vllm", "sglang", "lmstudio")
      for name in ("Qwen3.5-9B-GGUF", "qwen3.8-27b", "Llama-3.3-70B", "unsloth/gemma-4-E2B-it")
      for bad in ((HI, SYSTEM, HI), (SYSTEM, SYSTEM, HI), (HI, SYSTEM))),
    *(Case("later_system", ask(HI, SYSTEM, model="qwen3.8-27b"),
           ask(HI, SYSTEM, model="gpt-oss-20b"), provider)
      for provider in ("llamacpp", "vllm", "sglang", "lmstudio")),
    *(Case("role", ask({**SYSTEM, "role": "developer"}, HI, model=name),
           ask(SYSTEM, HI, model=name), provider)
      for provider in ("llamacpp", "vllm", "sglang") for name in ("Qwen3.5-9B-GGUF", "gemma-4")),
]  # fmt: skip

VIDEO = say({"type": "video_url", "video_url": {"url": "https://a.test/a.mp4"}})
# The words of servers of one's own; those of the other providers are in chat_providers.
OWN = [
    Case("part", ask(VIDEO), ask(image(PNG)), "llamacpp"),
    Case("off", ask(model="gpt-oss-120b", reasoning_effort="none"),
         ask(model="gpt-oss-120b", reasoning_effort="low"), "sglang"),
    Case("budget", ask(thinking_token_budget=-2), ask(thinking_token_budget=-1), "vllm"),
]  # fmt: skip
FIELDS = [
    Case("needs_store", ask(metadata={"a": "b"}), ask(metadata={"a": "b"}, store=True)),
    Case("metadata_size", ask(metadata={f"a{n}": "b" for n in range(17)}, store=True),
         ask(metadata={f"a{n}": "b" for n in range(16)}, store=True)),
    Case("long_string", ask(metadata={"a" * 65: "b"}, store=True),
         ask(metadata={"a" * 64: "b"}, store=True)),
    Case("long_string", ask(metadata={"a": "b" * 513}, store=True),
         ask(metadata={"a": "b" * 512}, store=True)),
    Case("long_string", ask(prompt_cache_key="a" * 65), ask(prompt_cache_key="a" * 64)),
    *(Case("verbosity", ask(model=to, verbosity=word), ask(model=to, verbosity="medium"))
      for to in (*OLD, "o1", "o3", "o4-mini", "gpt-5-codex", "gpt-5.1-codex-max")
      for word in ("low", "high")),
    *(Case("verbosity", ask(verbosity="low"), ask(model=to, verbosity="low"))
      for to in ("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5.1", "gpt-5.2", "gpt-5.5", "gpt-6-sol")),
]  # fmt: skip

CASES = [*FIELDS, *FORMS, *THINKING, *PARAMETERS, *SCHEMAS, *MESSAGES, *OWN]
