"""Amazon Bedrock's Converse: for each rule a pair of requests; by model where models differ.

The models' columns are written down from vendors' pages and clients that checked them live (wire
sheet, sections 2 and 3), not read from the service's own table.
"""

import json
from typing import Any
from urllib.parse import quote

from tests.referee.cases import Case, post

from pondero.canon import HttpRequest
from pondero.emulator import Emulator

Json = Any
HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"
KEY = {"authorization": "Bearer k"}
SIGNED = {
    "authorization": "AWS4-HMAC-SHA256 Credential=A/20261115/us-east-1/bedrock/aws4_request, "
    f"SignedHeaders=host;x-amz-date, Signature={'0' * 64}",
    "x-amz-date": "20261115T120000Z",
}

OLD = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
OPUS = "us.anthropic.claude-opus-5"
BOUND = "us.anthropic.claude-opus-5-5"
NOVA = "us.amazon.nova-2-lite-v1:0"
NOVA_1 = "amazon.nova-lite-v1:0"
QWEN = "qwen.qwen3-32b-v1:0"
KIMI = "moonshotai.kimi-k2.5"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
MISTRAL = "mistral.mistral-large-3-675b-instruct"
PALMYRA = "us.writer.palmyra-x5-v1:0"
GLM = "zai.glm-4.7-flash"
GEMMA = "google.gemma-3-27b-it"
OSS = "openai.gpt-oss-120b-1:0"
GPT = "openai.gpt-5.6-sol"
GROK = "us.xai.grok-4.6"
R1 = "us.deepseek.r1-v1:0"


def claude(*names: str) -> list[str]:
    return [f"us.anthropic.claude-{name}" for name in names]


OLD_CLAUDE = claude("3-7-sonnet-20250219-v1:0", "sonnet-4-20250514-v1:0", "opus-4-1-20250805-v1:0")
CLAUDE_45 = claude("sonnet-4-5-20250929-v1:0", "haiku-4-5-20251001-v1:0", "opus-4-5-20251101-v1:0")
CLAUDE_46 = claude("sonnet-4-6", "opus-4-6-v1")
CAN_STOP = claude("opus-4-7", "opus-4-8", "sonnet-5", "opus-5", "haiku-5-5")
BETWEEN = "us.anthropic.claude-sonnet-5-5"
ALWAYS = claude("opus-5-5", "fable-5", "mythos-5", "fable-5-1", "mythos-5-1")
NEW = [*CAN_STOP, BETWEEN, *ALWAYS]
FOLLOWS = claude(
    "opus-4-8", "opus-5", "opus-5-5", "sonnet-5-5", "haiku-5-5", "fable-5", "mythos-5-1"
)
ACCEPTED = {
    **dict.fromkeys([*OLD_CLAUDE, *CLAUDE_45], ("enabled", "disabled")),
    **dict.fromkeys(CLAUDE_46, ("enabled", "adaptive", "disabled")),
    **dict.fromkeys(CAN_STOP, ("adaptive", "disabled")),
    BETWEEN: ("adaptive", "between_tools"),
    **dict.fromkeys(ALWAYS, ("adaptive",)),
}
OTHERS = [NOVA, NOVA_1, QWEN, KIMI, LLAMA, MISTRAL, PALMYRA, GLM, GEMMA, OSS, GPT, GROK, R1]
USER_FIRST = [NOVA, NOVA_1, LLAMA, MISTRAL, PALMYRA, GEMMA, OSS, GPT, GROK, R1]
NO_FORMATS = [
    *OLD_CLAUDE,
    *claude("fable-5", "fable-5-1", "3-5-haiku-20241022-v1:0"),
    NOVA,
    NOVA_1,
    GROK,
]


BLIND = [
    *("us.amazon.nova-micro-v1:0", "us.meta.llama3-3-70b-instruct-v1:0", R1, "deepseek.v3-v1:0"),
    *("us.meta.llama3-1-8b-instruct-v1:0", "us.meta.llama3-2-3b-instruct-v1:0", OSS),
    *("meta.llama3-8b-instruct-v1:0", "cohere.command-r-v1:0", "amazon.titan-text-express-v1"),
]
FORCES: list[Json] = [{"any": {}}, {"tool": {"name": "f"}}]
TOOLLESS = [R1, "meta.llama3-8b-instruct-v1:0", "amazon.titan-text-express-v1"]
CHOICELESS = [LLAMA, "us.meta.llama3-3-70b-instruct-v1:0", "us.meta.llama3-1-8b-instruct-v1:0"]


def address(model: str, verb: str = "converse") -> str:
    return f"{HOST}/model/{quote(model, safe='')}/{verb}"


def ask(*messages: Json, model: str = OLD, own: Json = None, **fields: Json) -> HttpRequest:
    """Return a request; ``own`` are the maker's own fields."""
    added = {"additionalModelRequestFields": own} if own is not None else {}
    return post(address(model), {"messages": list(messages) or [user()], **added, **fields}, KEY)


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content) or [{"text": "hi"}]}


def assistant(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content) or [{"text": "ok"}]}


def system(*content: Json) -> Json:
    return {"role": "system", "content": list(content) or [{"text": "be brief"}]}


def tool(name: str = "f", **fields: Json) -> Json:
    return {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}, **fields}}


def answered(model: str, **fields: Json) -> list[Json]:
    """Return the content of the emulated service's answer, which has thinking."""
    answer = Emulator(service="bedrock").send(ask(model=model, **fields))
    content: list[Json] = json.loads(b"".join(answer))["output"]["message"]["content"]
    assert "reasoningContent" in content[0]
    return content


def limits(**fields: Json) -> Json:
    return {"inferenceConfig": fields}


ENABLED: Json = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
ADAPTIVE: Json = {"thinking": {"type": "adaptive"}}
TOOLS: Json = {"toolConfig": {"tools": [tool()]}}
FORCED: Json = {"toolConfig": {"tools": [tool()], "toolChoice": {"any": {}}}}
TEXT = {"text": "words"}
CALL = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}
PDF = {"document": {"name": "a", "format": "pdf", "source": {"bytes": "QUJD"}}}
IMAGE = {"image": {"format": "png", "source": {"bytes": "QUJD"}}}
IN_S3 = {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/k"}}}}
VIDEO = {"video": {"format": "mp4", "source": {"bytes": "QUJD"}}}
THOUGHT = answered(OLD, own=ENABLED, **limits(maxTokens=2000))
TIED = answered(BOUND, own=ADAPTIVE, system=[{"text": "a"}])


def result(*content: Json, **fields: Json) -> Json:
    return {
        "toolResult": {"toolUseId": "t1", "content": list(content) or [{"text": "ok"}], **fields}
    }


def loop(*content: Json, before: tuple[Json, ...] = (), **fields: Json) -> HttpRequest:
    """Return a request whose last message has these blocks after a tool call."""
    return ask(user(), assistant(*before, CALL), user(*content), **{**TOOLS, **fields})


def empty(status: str) -> HttpRequest:
    """Return a request whose last message is a tool's result without content."""
    return loop({"toolResult": {"toolUseId": "t1", "content": [], "status": status}})


def shaped(properties: Json) -> Json:
    return tool(inputSchema={"json": {"type": "object", "properties": properties}})


def knock(headers: dict[str, str]) -> HttpRequest:
    return post(address(OLD), {"messages": [user()]}, headers)


DOOR = [
    Case("no_path", post(address(OLD, "talk"), {"messages": [user()]}, KEY), ask()),
    Case("no_key", knock({}), knock(KEY)),
    Case("bad_signature", knock({"authorization": "AWS4-HMAC-SHA256 Credential=A"}), knock(SIGNED)),
    Case("unknown_model", ask(model="us.amazon.nova-9-v1:0"), ask(model=NOVA)),
    *(Case("unknown_model", ask(model=f"mars.{OLD[3:]}"), ask(model=f"{region}.{OLD[3:]}"))
      for region in ("us", "eu", "apac", "jp", "au", "ca", "in", "global")),
    Case("not_json", post(address(OLD), b"{", KEY), ask()),
    Case("extra_key", ask(marvel=1), ask(requestMetadata={"a": "b"})),
    Case("extra_key", ask(own={"reasoning_effort": "low"}), ask(model=OSS, own={"reasoning_effort": "low"})),
    Case("extra_key", ask(model=R1, own={"reasoning_effort": "low"}), ask(model=R1, own={})),
    Case("extra_key", ask(user({"words": "x"})), ask(user(TEXT))),
    Case("missing_member", ask({"role": "user"}), ask(user())),
    Case("constraint", ask(**limits(temperature=2)), ask(**limits(temperature=1))),
    Case("constraint", ask({"role": "developer", "content": [TEXT]}, user()), ask(user())),
    Case("constraint", ask(user(TEXT, {"document": {**PDF["document"], "name": "a.pdf"}})), ask(user(TEXT, PDF))),
    Case("constraint", ask(user(TEXT, {"video": {**VIDEO["video"], "format": "avi"}}), model=NOVA),
         ask(user(TEXT, {"video": {**VIDEO["video"], "format": "video/mp4"}}), model=NOVA)),
    *(Case("constraint", ask(user({"image": {"format": "png", "source": {"s3Location": bad}}}), model=NOVA),
           ask(user({"image": {"format": "png", "source": {"s3Location": {"uri": "s3://abc/k", "bucketOwner": "1" * 12}}}}),
               model=NOVA))
      for bad in ({"uri": "s3://A/k"}, {"uri": "s3://abc/" + "k" * 1024}, {"uri": "s3://abc/k", "bucketOwner": "1"})),
    *(Case("constraint", ask(requestMetadata=bad), ask(requestMetadata={f"k{n}": "v" for n in range(16)}))
      for bad in ({}, {f"k{n}": "v" for n in range(17)}, {"a": "*"}, {"": "v"}, {"a": "v" * 257})),
    Case("constraint", ask(additionalModelResponseFieldPaths=[""]), ask(additionalModelResponseFieldPaths=["/a"])),
    Case("constraint", ask(guardrailConfig={"guardrailIdentifier": "G_1", "guardrailVersion": "1"}),
         ask(guardrailConfig={"guardrailIdentifier": "g1", "guardrailVersion": "1"})),
    Case("constraint", ask(guardrailConfig={"guardrailIdentifier": "g1", "guardrailVersion": "0"}),
         ask(guardrailConfig={"guardrailIdentifier": "g1", "guardrailVersion": "DRAFT"})),
    Case("union", ask(user({**TEXT, **IMAGE})), ask(user(TEXT, IMAGE))),
    Case("base64", ask(user({"image": {"format": "png", "source": {"bytes": "**"}}})), ask(user(IMAGE))),
    Case("extra_key", loop(result(CALL)), loop(result(TEXT))),
    Case("format_json",
         ask(outputConfig={"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{"}}}}),
         ask(outputConfig={"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{}"}}}})),
]  # fmt: skip

CONVERSATION = [
    Case("no_messages", post(address(OLD), {"messages": []}, KEY), ask()),
    Case("empty_message", ask({"role": "user", "content": []}), ask(user())),
    Case("empty_text", ask(user({"text": ""})), ask(user(TEXT))),
    Case("empty_system", ask(system=[{"text": ""}]), ask(system=[TEXT])),
    Case("user_content", ask(user(), assistant(IMAGE), user()), ask(user(), assistant(), user(IMAGE))),
    Case("document_text", ask(user(PDF)), ask(user(PDF, TEXT))),
    Case("document_names", ask(user(PDF, TEXT), assistant(), user(PDF, TEXT)),
         ask(user(PDF, TEXT), assistant(), user({"document": {**PDF["document"], "name": "b"}}, TEXT))),
    *(Case("first_role", ask(assistant(), user(), model=model), ask(user(), assistant(), user(), model=model))
      for model in USER_FIRST),
    Case("first_role", ask(assistant(), user(), model=NOVA), ask(assistant(), user(), model=OLD)),
    Case("no_tools", ask(user(), assistant(CALL), user(result())), loop(result())),
    Case("call_without_result", loop(TEXT), loop(result())),
    Case("result_twice", loop(result(), result()), loop(result())),
    Case("empty_error", empty("error"), empty("success")),
    *(Case("no_images", ask(user(TEXT, IMAGE), model=model), ask(user(TEXT), model=model)) for model in BLIND),
    *(Case("no_images", ask(user(TEXT, IMAGE), model=BLIND[0]), ask(user(TEXT, IMAGE), model=model))
      for model in (NOVA_1, "us.amazon.nova-pro-v1:0", LLAMA, "us.meta.llama3-2-90b-instruct-v1:0", OLD)),
    *(Case("no_tool_use", ask(model=model, **TOOLS), ask(model=model)) for model in TOOLLESS),
    *(Case("no_tool_use", ask(model=R1, **TOOLS), ask(model=model, **TOOLS)) for model in (*CHOICELESS, "deepseek.v3-v1:0")),
    *(Case("choice_field", ask(model=model, toolConfig={"tools": [tool()], "toolChoice": choice}),
           ask(model=model, toolConfig={"tools": [tool()], "toolChoice": {"auto": {}}}))
      for model in CHOICELESS for choice in FORCES),
    Case("choice_field", ask(model=LLAMA, **FORCED), ask(model=NOVA_1, **FORCED)),
    *(Case("tool_root", ask(model=model, toolConfig={"tools": [tool(inputSchema={"json": root})]}),
           ask(model=model, toolConfig={"tools": [tool(inputSchema={"json": {"type": "object"}})]}))
      for model in (OLD, NOVA, LLAMA, MISTRAL)
      for root in ({}, {"type": "string"}, {"anyOf": [{"type": "object"}]}, {"type": ["object", "null"]})),
    Case("property_keys", ask(toolConfig={"tools": [shaped({"a b": {}})]}), ask(toolConfig={"tools": [shaped({"a_b": {}})]})),
    Case("invalid_schema", ask(toolConfig={"tools": [shaped({"a": {"type": "any"}})]}),
         ask(toolConfig={"tools": [shaped({"a": {"type": ["string", "null"]}})]})),
    Case("result_without_call", ask(user(), assistant(), user(result()), **TOOLS), loop(result())),
    *(Case("no_prefill", ask(user(), assistant(), model=model), ask(user(), assistant(), user(), model=model))
      for model in [*CLAUDE_46, *NEW]),
    Case("no_prefill", ask(user(), assistant(), model=OPUS), ask(user(), assistant(), model=OLD)),
    *(Case("system_role", ask(user(), system(), model=model), ask(user(), user(), model=model))
      for model in [*OLD_CLAUDE, *CLAUDE_45, *CLAUDE_46, CAN_STOP[0], *OTHERS]),
    *(Case("system_first", ask(system(), user(), model=model), ask(user(), system(), model=model)) for model in FOLLOWS),
    *(Case("system_after", ask(user(), assistant(), system(), model=model),
           ask(user(), assistant(), user(), system(), model=model)) for model in FOLLOWS),
    *(Case("system_before", ask(user(), system(), user(), model=model),
           ask(user(), system(), assistant(), user(), model=model)) for model in FOLLOWS),
    Case("system_content", ask(user(), system(IMAGE), model=OPUS), ask(user(), system(TEXT), model=OPUS)),
    Case("signature",
         ask(user(), assistant({"reasoningContent": {"reasoningText": {"text": "x", "signature": "QUJD"}}}, TEXT), user()),
         ask(user(), assistant(*THOUGHT), user())),
    Case("no_signature", ask(user(), assistant({"reasoningContent": {"reasoningText": {"text": "x"}}}, TEXT), user()),
         ask(user(), assistant({"reasoningContent": {"reasoningText": {"text": "x"}}}, TEXT), user(), model=QWEN)),
    Case("bound_signature",
         ask(user(), assistant(*TIED), user(), model=BOUND, own=ADAPTIVE, system=[{"text": "b"}]),
         ask(user(), assistant(*TIED), user(), model=BOUND, own=ADAPTIVE, system=[{"text": "a"}])),
    *(Case("foreign_signature",
           ask(user(), assistant({"reasoningContent": {"reasoningText": {"text": "x", "signature": "s"}}}, TEXT), user(), model=model),
           ask(user(), assistant({"reasoningContent": {"reasoningText": {"text": "x"}}}, TEXT), user(), model=model))
      for model in (NOVA, QWEN, OSS, R1)),
    Case("loop_start", loop(result(), own=ENABLED, **limits(maxTokens=2000)),
         loop(result(), before=(THOUGHT[0],), own=ENABLED, **limits(maxTokens=2000))),
]  # fmt: skip

CITED = {"document": {**PDF["document"], "citations": {"enabled": True}}}
CSV = {"document": {"name": "a", "format": "csv", "source": {"bytes": "QUJD"}}}
MEDIA = [
    *(Case("s3", ask(user(IN_S3, TEXT), model=model), ask(user(IMAGE, TEXT), model=model))
      for model in [*OLD_CLAUDE, *CLAUDE_45, *CLAUDE_46, *NEW, LLAMA, MISTRAL, QWEN]),
    *(Case("s3", ask(user(IN_S3, TEXT), model=OLD), ask(user(IN_S3, TEXT), model=model)) for model in (NOVA, NOVA_1)),
    Case("s3", loop(result(IN_S3)), loop(result(IMAGE))),
    *(Case("citations", ask(user(CITED, TEXT), model=model), ask(user(PDF, TEXT), model=model))
      for model in (NOVA, NOVA_1, LLAMA, MISTRAL, R1)),
    *(Case("citations", ask(user(CITED, TEXT), model=NOVA), ask(user(CITED, TEXT), model=model)) for model in [*CLAUDE_45, *NEW]),
    *(Case("error_media", loop(result(TEXT, IMAGE, status="error"), model=model),
           loop(result(TEXT, status="error"), model=model)) for model in (OLD, OPUS)),
    Case("error_media", loop(result(PDF, status="error")), loop(result(PDF, status="success"))),
    *(Case("nova_result", loop(result({"document": {**PDF["document"], "format": kind}}), model=model),
           loop(result(CSV), model=model)) for model in (NOVA, NOVA_1) for kind in ("pdf", "docx", "xlsx")),
    *(Case("result_media", loop(result(IMAGE), model=model), loop(result(TEXT), model=model)) for model in (QWEN, KIMI)),
    Case("result_media", loop(result(IMAGE), model=MISTRAL), loop(result(PDF), model=MISTRAL)),
    Case("result_media", loop(result(VIDEO), model=LLAMA), loop(result(PDF), model=LLAMA)),
    Case("result_media", loop(result(VIDEO)), loop(result(IMAGE))),
    *(Case("result_beside", loop(result(), TEXT, model=model), loop(result(), model=model)) for model in (LLAMA, MISTRAL, PALMYRA)),
    Case("result_beside", loop(result(), TEXT, model=LLAMA), loop(result(), TEXT)),
    Case("unsupported_field", loop(result(status="success"), model=PALMYRA), loop(result(), model=PALMYRA)),
    *(Case("unsupported_field", ask(model=model, outputConfig={"effort": "low"}), ask(model=model)) for model in OTHERS),
    Case("unsupported_field", ask(model=NOVA, outputConfig={"effort": "low"}), ask(model=OPUS, outputConfig={"effort": "low"})),
]  # fmt: skip


def schema(**properties: Json) -> Json:
    names = [*properties]
    return {
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": False,
    }


def formed(shape: Json, model: str = OLD, **fields: Json) -> HttpRequest:
    structure = {"jsonSchema": {"schema": json.dumps(shape), "name": "a"}}
    return ask(
        model=model,
        outputConfig={"textFormat": {"type": "json_schema", "structure": structure}},
        **fields,
    )


def strict(*shapes: Json, **fields: Json) -> HttpRequest:
    tools = [
        tool(f"f{n}", inputSchema={"json": shape}, strict=True) for n, shape in enumerate(shapes)
    ]
    return ask(toolConfig={"tools": tools}, **fields)


LEAF = schema(a={"type": "string"})
NODE = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/Node"}},
    "additionalProperties": False,
}
FORMATS = [*CLAUDE_45, QWEN, GLM, MISTRAL]


def optional(number: int) -> Json:
    return {**schema(**{f"p{n}": {"type": "string"} for n in range(number)}), "required": []}


def unions(number: int) -> Json:
    return schema(**{f"p{n}": {"type": ["string", "null"]} for n in range(number)})


SCHEMAS = [
    Case("tool_names", ask(toolConfig={"tools": [tool(), tool()]}), ask(toolConfig={"tools": [tool(), tool("g")]})),
    Case("chosen_tool", ask(toolConfig={"tools": [tool()], "toolChoice": {"tool": {"name": "g"}}}),
         ask(toolConfig={"tools": [tool()], "toolChoice": {"tool": {"name": "f"}}})),
    Case("two_choices", ask(toolConfig={"tools": [tool()], "toolChoice": {"auto": {}}}, own={"tool_choice": {"type": "none"}}),
         ask(own={"tool_choice": {"type": "none"}}, **TOOLS)),
    *(Case("no_format", formed(LEAF, model), ask(model=model)) for model in NO_FORMATS),
    Case("no_format", strict(LEAF, model=NOVA), ask(model=NOVA, **TOOLS)),
    *(Case("no_format", formed(LEAF, NOVA), formed(LEAF, model)) for model in [*FORMATS, GEMMA, KIMI, *CLAUDE_46]),
    *(Case("schema_keyword", formed(schema(a={"type": kind, name: 2}), model),
           formed(schema(a={"type": "string", "minLength": 1, "maxLength": 2}), model))
      for model in FORMATS for kind in ("integer", "number")
      for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    *(Case("schema_keyword", formed(schema(a={"type": "array", "items": {}, **many}), model),
           formed(schema(a={"type": "array", "items": {}, "minItems": 1}), model))
      for model in FORMATS for many in ({"maxItems": 3}, {"minItems": 2})),
    Case("schema_keyword", strict(schema(a={"type": "integer", "minimum": 1})), strict(schema(a={"type": "integer"}))),
    *(Case("schema_contains", formed(schema(a={"type": "array", "contains": {}}), model),
           formed(schema(a={"type": "array", "contains": {}}), MISTRAL)) for model in (*CLAUDE_45, QWEN, GLM, GEMMA)),
    *(Case("schema_pattern", formed(schema(a={"type": "string", "pattern": bad}), model),
           formed(schema(a={"type": "string", "pattern": good}), model))
      for model in FORMATS
      for bad, good in (("(?=a)b", "[(?=a)]b"), ("(?<!a)b", "a|b"), (r"(a)\1", r"(a)\\1"), (r"(?!a)", r"\(?!a"))),
    *(Case("schema_reference", formed(schema(a={"$ref": ref})), formed({**schema(a={"$ref": "#/$defs/A"}), "$defs": {"A": LEAF}}))
      for ref in ("#/$defs/A", "https://x.test/a")),
    Case("circular_schema", formed({**schema(a={"$ref": "#/$defs/Node"}), "$defs": {"Node": NODE}}),
         formed({**schema(a={"$ref": "#/$defs/Node"}), "$defs": {"Node": LEAF}})),
    Case("open_object", formed({"type": "object", "properties": {}}), formed(schema())),
    Case("strict_tools", strict(*[LEAF] * 21), strict(*[LEAF] * 20)),
    Case("optional_parameters", strict(optional(25)), strict(optional(24))),
    Case("optional_parameters", formed(optional(13), toolConfig={"tools": [tool(inputSchema={"json": optional(12)}, strict=True)]}),
         formed(optional(12), toolConfig={"tools": [tool(inputSchema={"json": optional(12)}, strict=True)]})),
    Case("union_parameters", strict(unions(17)), strict(unions(16))),
]  # fmt: skip


def think(model: str, kind: str, **fields: Json) -> HttpRequest:
    own = ENABLED if kind == "enabled" else {"thinking": {"type": kind}}
    return ask(
        model=model, own={**own, **fields.pop("own", {})}, **{**limits(maxTokens=2000), **fields}
    )


def at(model: str, level: str, kind: str | None = None) -> HttpRequest:
    thinking = {"thinking": {"type": kind}} if kind else {}
    return ask(model=model, own={"output_config": {"effort": level}, **thinking})


def rule_of(model: str, kind: str) -> str:
    if kind == "enabled" and "adaptive" in ACCEPTED[model]:
        return "thinking_enabled"
    return "thinking_disabled" if (model, kind) == (BETWEEN, "disabled") else "thinking_type"


def nova(kind: str, level: str | None = None, model: str = NOVA, **fields: Json) -> HttpRequest:
    said = {"type": kind} if level is None else {"type": kind, "maxReasoningEffort": level}
    return ask(model=model, own={"reasoningConfig": said}, **fields)


EFFORTS = {
    **dict.fromkeys([*OLD_CLAUDE, *CLAUDE_45], ()),
    **dict.fromkeys(CLAUDE_46, ("low", "medium", "high", "max")),
    **dict.fromkeys(NEW, ("low", "medium", "high", "xhigh", "max")),
}
MOST = {
    **dict.fromkeys([OLD_CLAUDE[0], OLD_CLAUDE[1], *CLAUDE_45], 64_000),
    OLD_CLAUDE[2]: 32_000,
    **dict.fromkeys([*CLAUDE_46, *NEW], 128_000),
    **dict.fromkeys([NOVA_1, "us.amazon.nova-micro-v1:0", "us.amazon.nova-premier-v1:0"], 10_000),
    **dict.fromkeys(
        [LLAMA, "us.meta.llama3-3-70b-instruct-v1:0", "meta.llama3-1-8b-instruct-v1:0"], 8_192
    ),
    "meta.llama3-8b-instruct-v1:0": 2_048,
    "mistral.mistral-large-2402-v1:0": 8_192,
    "mistral.mixtral-8x7b-instruct-v0:1": 4_096,
}
BINDING = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
SHOWN = {"thinking": {"type": "adaptive", "display": "summarized"}}
THINKING = [
    Case("govcloud", ask(model="us-gov.anthropic.claude-opus-4-8", own=SHOWN), ask(model="us.anthropic.claude-opus-4-8", own=SHOWN)),
    Case("binding_beta", ask(model=BOUND, own={"thinking": BINDING}),
         ask(model=BOUND, own={"thinking": BINDING, "anthropic_beta": ["thinking-binding-controls-2026-08-01"]})),
    *(Case("max_output", ask(model=model, **limits(maxTokens=most + 1)), ask(model=model, **limits(maxTokens=most)))
      for model, most in MOST.items()),
    *(Case("no_sampling", ask(model=model, **limits(**{name: 0.5})), ask(model=model, **limits(maxTokens=9)))
      for model in (*NEW, GPT, GROK) for name in ("temperature", "topP")),
    *(Case("one_sampling", ask(model=model, **limits(temperature=0.5, topP=0.9)), ask(model=model, **limits(topP=0.9)))
      for model in (*CLAUDE_45, OLD_CLAUDE[2])),
    Case("one_sampling", ask(**limits(temperature=0.5, topP=0.9)), ask(model=OLD_CLAUDE[0], **limits(temperature=0.5, topP=0.9))),
    *(Case("level", ask(model=OSS, own={"reasoning_effort": word}), ask(model=OSS, own={"reasoning_effort": "low"}))
      for word in ("none", "minimal", "xhigh")),
    Case("level", ask(model="openai.gpt-6-astra", own={"reasoning": {"effort": "none"}}), ask(model=GPT, own={"reasoning": {"effort": "none"}})),
    Case("level", ask(model=GPT, own={"reasoning": {"effort": "minimal"}}), ask(model=GPT, own={"reasoning": {"effort": "xhigh"}})),
    Case("level", ask(model=GROK, own={"reasoning": {"effort": "none"}}), ask(model=GROK, own={"reasoning": {"effort": "low"}})),
    Case("level", ask(model=QWEN, own={"reasoning_config": "xhigh"}), ask(model=QWEN, own={"reasoning_config": "none"})),
    Case("nova_reasoning", nova("enabled", "low", NOVA_1), ask(model=NOVA_1)),
    Case("nova_effort", nova("enabled"), nova("enabled", "low")),
    Case("nova_effort", nova("enabled", "max"), nova("enabled", "high")),
    *(Case("nova_limits", nova("enabled", "high", **limits(**{name: value})), nova("enabled", "medium", **limits(**{name: value})))
      for name, value in (("maxTokens", 9), ("temperature", 0.5), ("topP", 0.5))),
    Case("no_budget", ask(own={"thinking": {"type": "enabled"}}), ask(own=ENABLED)),
    Case("small_budget", ask(own={"thinking": {"type": "enabled", "budget_tokens": 1023}}), ask(own=ENABLED)),
    *(Case(rule_of(model, kind), think(model, kind), think(model, accepted[0]))
      for model, accepted in ACCEPTED.items() for kind in ("enabled", "adaptive", "disabled", "between_tools") if kind not in accepted),
    Case("budget", ask(own=ENABLED, **limits(maxTokens=1024)), ask(own=ENABLED, **limits(maxTokens=1025))),
    *(Case("no_effort", at(model, "low"), ask(model=model)) for model, levels in EFFORTS.items() if not levels),
    *(Case("effort_level", at(model, level), at(model, "high"))
      for model, levels in EFFORTS.items() if levels for level in ("none", "xhigh", "ultra") if level not in levels),
    *(Case("effort_off", at(model, "max", kind), at(model, "high", kind))
      for model, kind in ((OPUS, "disabled"), ("us.anthropic.claude-haiku-5-5", "disabled"), (BETWEEN, "between_tools"))),
    Case("thinking_temperature", think(OLD, "enabled", inferenceConfig={"maxTokens": 2000, "temperature": 0.5}),
         think(OLD, "disabled", inferenceConfig={"maxTokens": 2000, "temperature": 0.5})),
    Case("thinking_top_k", think(OLD, "enabled", own={"top_k": 5}), think(OLD, "disabled", own={"top_k": 5})),
    Case("thinking_top_p", think(OLD, "enabled", inferenceConfig={"maxTokens": 2000, "topP": 0.94}),
         think(OLD, "enabled", inferenceConfig={"maxTokens": 2000, "topP": 0.95})),
    *(Case("forced", ask(model=model, **FORCED), ask(model=model, **TOOLS)) for model in (BOUND, BETWEEN, *ALWAYS[3:])),
    *(Case("forced_thinking", think(model, "enabled", **FORCED), think(model, "disabled", **FORCED))
      for model in (*OLD_CLAUDE, *CLAUDE_45, *CLAUDE_46)),
]  # fmt: skip
CASES = [*DOOR, *CONVERSATION, *MEDIA, *SCHEMAS, *THINKING]
