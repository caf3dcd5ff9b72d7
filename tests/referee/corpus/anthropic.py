"""Anthropic's Messages: for each rule a pair of requests; by model where models differ.

The models' columns are written down from the vendor's pages (wire sheet, section 1), not read
from the service's own table.
"""

import json
from base64 import b64encode
from typing import Any

from tests.referee.cases import Case, post

from pondero.canon import HttpRequest
from pondero.emulator import Emulator

Json = Any
HOST = "https://api.anthropic.com/v1"
URL = f"{HOST}/messages"
PREDICT = (
    "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic/models"
)
KEY = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
DEEPSEEK = "https://api.deepseek.com/anthropic/v1/messages"
OPUS = "claude-opus-5"
OLD = "claude-sonnet-4-5"

# -- the models, as the sheet has them --------------------------------------------------------

RETIRED = ["claude-3-haiku", "claude-3-opus", "claude-3-5-haiku", "claude-3-5-sonnet"]
BUDGET = {
    **dict.fromkeys(["claude-3-7-sonnet", "claude-sonnet-4-0", OLD, "claude-haiku-4-5"], 64_000),
    **dict.fromkeys(["claude-opus-4-0", "claude-opus-4-1"], 32_000),
    "claude-opus-4-5": 64_000,
}
BOTH = ["claude-opus-4-6", "claude-sonnet-4-6"]
CAN_STOP = ["claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-5", OPUS, "claude-haiku-5-5"]
ALWAYS = [
    *("claude-opus-5-5", "claude-fable-5", "claude-mythos-5", "claude-fable-5-1"),
    *("claude-mythos-5-1", "claude-fable-5-2", "claude-mythos-5-2"),
]
BETWEEN = "claude-sonnet-5-5"
NEW = [*CAN_STOP, BETWEEN, *ALWAYS]
DATED = {
    "claude-3-haiku": "20240307",
    "claude-3-opus": "20240229",
    "claude-3-5-haiku": "20241022",
    "claude-3-5-sonnet": "20240620",
    "claude-3-7-sonnet": "20250219",
    "claude-sonnet-4": "20250514",
    "claude-opus-4": "20250514",
    "claude-opus-4-1": "20250805",
    OLD: "20250929",
    "claude-haiku-4-5": "20251001",
    "claude-opus-4-5": "20251101",
}
LIMITED_OFF = [OPUS, "claude-haiku-5-5", BETWEEN]
NEVER_FORCED = ["claude-opus-5-5", BETWEEN, *ALWAYS[3:]]
FOLLOWS = [
    *("claude-opus-4-8", OPUS, "claude-opus-5-5", BETWEEN, "claude-haiku-5-5"),
    *("claude-fable-5", "claude-fable-5-1", "claude-mythos-5", "claude-mythos-5-1"),
]
REJECTS_SYSTEM = [*RETIRED, *BUDGET, *BOTH, "claude-opus-4-7"]
TURNS = [
    OPUS,
    "claude-opus-5-5",
    BETWEEN,
    "claude-haiku-5-5",
    "claude-fable-5-1",
    "claude-mythos-5-1",
]
NO_TURNS = ["claude-opus-4-8", "claude-fable-5", "claude-mythos-5", "claude-sonnet-5"]
NO_FORMATS = [*RETIRED, "claude-3-7-sonnet", "claude-sonnet-4-0", "claude-opus-4-0"]
NO_SEARCH = [*NO_FORMATS, "claude-opus-4-1"]
NO_ADVISOR = [*NO_SEARCH, OLD, "claude-opus-4-5"]


# -- how requests are written -------------------------------------------------------------------


def ask(*messages: Json, url: str = URL, betas: str = "", **fields: Json) -> HttpRequest:
    """Return a request of Opus 5 unless ``fields`` name another model."""
    headers = {**KEY, "anthropic-beta": betas} if betas else KEY
    turns = list(messages) or [user()]
    return post(url, {"model": OPUS, "max_tokens": 9, "messages": turns, **fields}, headers)


def predict(verb: str = "rawPredict", body: Json = None, **fields: Json) -> HttpRequest:
    usual = {"anthropic_version": "vertex-2023-10-16", "max_tokens": 9, "messages": [user()]}
    headers = {"authorization": "Bearer t"}
    given = usual | fields | (body or {})
    kept = {name: value for name, value in given.items() if value is not None}
    return post(f"{PREDICT}/{OPUS}:{verb}", kept, headers)


def knock(headers: dict[str, str]) -> HttpRequest:
    return post(URL, {"model": OPUS, "max_tokens": 9, "messages": [user()]}, headers)


def get(path: str) -> HttpRequest:
    return HttpRequest("GET", f"{HOST}/models{path}", KEY)


def count(**fields: Json) -> HttpRequest:
    return post(f"{URL}/count_tokens", {"model": OPUS, "messages": [user()], **fields}, KEY)


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content) or "hi"}


def assistant(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content) or "ok"}


def system(*content: Json, **fields: Json) -> Json:
    return {"role": "system", "content": list(content) or "be brief", **fields}


def effort(level: str, *content: Json) -> Json:
    return {"role": "system", "content": list(content), "output_config": {"effort": level}}


def thinking(kind: str, **fields: Json) -> Json:
    return {"thinking": {"type": kind, **fields}}


def schema(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def formed(shape: Json, **fields: Json) -> HttpRequest:
    return ask(output_config={"format": {"type": "json_schema", "schema": shape}}, **fields)


def strict(*shapes: Json, **fields: Json) -> HttpRequest:
    tools = [
        {"name": f"f{n}", "input_schema": shape, "strict": True} for n, shape in enumerate(shapes)
    ]
    return ask(tools=tools, **fields)


def edited(*kinds: str, betas: str = "", **fields: Json) -> HttpRequest:
    edits = [{"type": kind} for kind in kinds]
    betas = f"context-management-2025-06-27,compact-2026-01-12,{betas}"
    return ask(context_management={"edits": edits}, betas=betas, **fields)


def marked(*lives: str, **fields: Json) -> HttpRequest:
    return ask(user(*({**TEXT, "cache_control": mark(life)} for life in lives)), **fields)


def mark(life: str) -> Json:
    return {"type": "ephemeral", "ttl": life}


def answered(model: str, **fields: Json) -> list[Json]:
    """Return the content of the emulated service's answer, which has thinking."""
    body = {"model": model, "max_tokens": 9000, "messages": [user()], **fields}
    answer = Emulator(service="anthropic").send(post(URL, body, KEY))
    content: list[Json] = json.loads(b"".join(answer))["content"]
    assert content[0]["type"] == "thinking"
    return content


TEXT = {"type": "text", "text": "words"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
TOOL = {"name": "f", "input_schema": {"type": "object"}}
SERVED = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
]
ADAPTIVE = thinking("adaptive")
ENABLED = thinking("enabled", budget_tokens=1024)
PER_TURN = "mid-conversation-output-config-2026-07-01"
CHANGES = "mid-conversation-tool-changes-2026-07-01"
CLEARS = "mid-conversation-system-clear-at-2026-08-21"
CLEARED = {"clear_at": "next_user_message"}
CLOSED = schema(a={"type": "string"})
THOUGHT = answered(OLD, **ENABLED)
BOUND = answered("claude-opus-5-5", system="a", **ADAPTIVE)


def addition(name: str, kind: str = "tool_reference") -> Json:
    return system({"type": "tool_addition", "tool": {"type": kind, "name": name}})


def changed(*messages: Json, betas: str = CHANGES, **fields: Json) -> HttpRequest:
    return ask(user(), *messages, tools=[TOOL], betas=betas, **fields)


# -- who asks, and what the types say ---------------------------------------------------------

DOOR = [
    Case("no_path", ask(url=f"{HOST}/complete"), ask()),
    Case("no_key", knock({"anthropic-version": "2023-06-01"}), knock(KEY)),
    Case("two_keys", knock({**KEY, "authorization": "Bearer t"}), knock(KEY)),
    Case("no_version", knock({"x-api-key": "k"}), knock(KEY)),
    Case("unknown_version", knock({**KEY, "anthropic-version": "2023-06-02"}), knock(KEY)),
    Case("no_body_version", predict(anthropic_version=None), predict()),
    Case("unknown_body_version", predict(anthropic_version="1"), predict()),
    Case("model_in_body", predict(body={"model": OPUS}), predict()),
    Case("unknown_version", knock({**KEY, "anthropic-version": "2023-06-02"}),
         post(DEEPSEEK, {"model": "deepseek-flash", "max_tokens": 9, "messages": [user()]}, {"x-api-key": "k"})),
    Case("unknown_beta", ask(betas="interleaved-thinking-2025-04-14"), ask(betas="interleaved-thinking-2025-05-14")),
    Case("unknown_beta", ask(betas="marvel-2026-01-01"), ask(url=DEEPSEEK, betas="marvel-2026-01-01")),
    Case("unmapped_model", ask(url=DEEPSEEK, model="gpt-4o"), ask(url=DEEPSEEK, model="claude-opus-9")),
    *(Case("unknown_model", ask(model=f"{model}-20250101"), ask(model=f"{model}-{date}")) for model, date in DATED.items()),
    *(Case("unknown_model", ask(model=f"{model}-20260101"), ask(model=model)) for model in NEW),
    Case("budget", ask(model=OLD, max_tokens=1024, **ENABLED), ask(url=DEEPSEEK, max_tokens=1024, **ENABLED)),
    Case("too_small", ask(model=OLD, max_tokens=2000, **thinking("enabled", budget_tokens=9)),
         ask(url=DEEPSEEK, **thinking("enabled", budget_tokens=9))),
    Case("missing_field", ask(model=OLD, **thinking("enabled")), ask(url=DEEPSEEK, **thinking("enabled"))),
    Case("container", ask(container="c"), ask(url=DEEPSEEK, container="c")),
    *(Case("empty_system_text", ask(system=empty), ask(system=full))
      for empty, full in (("", "x"), ([{"type": "text", "text": ""}], [{"type": "text", "text": "x"}]))),
    *(Case("blank_system_text", ask(system=blank), ask(system=full)) for blank, full in (
        ("\n ", "\n x"), ([TEXT, {"type": "text", "text": "\n\n"}], [TEXT, {"type": "text", "text": "\n\nx"}]))),
    Case("empty_stop", ask(stop_sequences=["a", ""]), ask(stop_sequences=["a"])),
    Case("blank_stop", ask(stop_sequences=["\n"]), ask(stop_sequences=["\nx"])),
    Case("long_user_id", ask(metadata={"user_id": "u" * 257}), ask(metadata={"user_id": "u" * 256})),
    Case("email_user_id", ask(metadata={"user_id": "a@b.test"}), ask(metadata={"user_id": "a-b.test"})),
    Case("predict_stream", predict(stream=True), predict("streamRawPredict", stream=True)),
    Case("not_json", post(URL, b"{", KEY), ask()),
    Case("extra_field", ask(reasoning_effort="low"), ask(metadata={"user_id": "u"})),
    Case("missing_field", ask({"role": "user"}), ask(user())),
    Case("too_small", ask(max_tokens=-1), ask(max_tokens=0)),
    Case("too_small", ask(model=OLD, max_tokens=2000, **thinking("enabled", budget_tokens=1023)),
         ask(model=OLD, max_tokens=2000, **ENABLED)),
    Case("wrong_pattern", ask(tools=[{**TOOL, "name": "a b"}]), ask(tools=[{**TOOL, "name": "a_b"}])),
    Case("wrong_type", ask(max_tokens="9"), ask(max_tokens=9)),
    Case("wrong_tag", ask(**thinking("auto")), ask(**ADAPTIVE)),
    Case("wrong_tag", ask(service_tier="flex"), ask(service_tier="auto")),
    Case("too_small", ask(top_k=-2, model=OLD), ask(top_k=1, model=OLD)),
    Case("role", ask({"role": "developer", "content": "x"}, user()), ask(user())),
    Case("role", ask(user(), {"role": "tool", "content": "x"}), ask(user(), user())),
    Case("unknown_model", ask(model="claude-opus-9"), ask(model=OPUS)),
    Case("unknown_model", get("/claude-opus-9"), get(f"/{OPUS}")),
    Case("uncounted_field", count(max_tokens=9), count()),
    Case("uncounted_field", count(stream=False), count()),
    Case("list_limit", get("?limit=1001"), get("?limit=1000")),
    Case("beta_field", ask(context_management={"edits": []}),
         ask(context_management={"edits": []}, betas="context-management-2025-06-27")),
    Case("beta_field", ask(mcp_servers=[]), ask(mcp_servers=[], betas="mcp-client-2025-11-20")),
    Case("beta_field", ask(diagnostics={}), ask(diagnostics={}, betas="cache-diagnosis-2026-04-07")),
    Case("beta_field",
         ask(output_config={"task_budget": {"type": "tokens", "total": 20000}}),
         ask(output_config={"task_budget": {"type": "tokens", "total": 20000}},
             betas="task-budgets-2026-03-13")),
    Case("beta_field", ask(output_format={"type": "json_schema", "schema": CLOSED}), formed(CLOSED)),
    Case("beta_field", ask(**thinking("adaptive", display="updates")),
         ask(**thinking("adaptive", display="updates"), betas="thinking-display-updates-2026-08-18")),
    Case("beta_field",
         ask(**thinking("adaptive", block_binding={"prefix_mismatch_behavior": "error"})),
         ask(**thinking("adaptive", block_binding={"prefix_mismatch_behavior": "error"}),
             betas="thinking-binding-controls-2026-08-01")),
]  # fmt: skip

# -- the conversation -----------------------------------------------------------------------------


def loop(*content: Json, result: Json = RESULT, **fields: Json) -> HttpRequest:
    called = [*content, CALL]
    return ask(user(), assistant(*called), user(result), tools=[TOOL], **{"model": OLD} | fields)


def image(source: Json) -> Json:
    return {"type": "image", "source": source}


PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
BYTES = {
    "image/png": "iVBORw0KGgo=",
    "image/jpeg": "/9j/4AAQ",
    "image/gif": "R0lGODlhAQAB",
    "image/webp": "UklGRgAAAABXRUJQ",
}
BLANK = {"type": "text", "text": "\n "}


def drawn(width: int, height: int, more: int = 0) -> Json:
    """Return a PNG's block: its header, and as many more bytes."""
    head = (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
        + width.to_bytes(4, "big")
        + height.to_bytes(4, "big")
    )
    return image({**PIXEL, "data": b64encode(head + bytes(more)).decode()})


EMPTIES: list[Json] = ["", []]
CONVERSATION = [
    Case("block_type", ask(user({"type": "input_text", "text": "x"})), ask(user(TEXT))),
    Case("result_content", loop(result={**RESULT, "content": [CALL]}),
         loop(result={**RESULT, "content": [TEXT]})),
    Case("base64", ask(user(image({**PIXEL, "data": "**"}))), ask(user(image(PIXEL)))),
    Case("file", ask(user(image({"type": "file", "file_id": "file_1"}))), ask(user(image(PIXEL)))),
    Case("file", ask(user(TEXT, {"type": "container_upload", "file_id": "file_1"})), ask(user(TEXT))),
    Case("file", loop(result={**RESULT, "content": [image({"type": "file", "file_id": "file_1"})]}),
         loop(result={**RESULT, "content": [image(PIXEL)]})),
    Case("no_messages", post(URL, {"model": OPUS, "max_tokens": 9, "messages": []}, KEY), ask()),
    Case("empty_message", ask({"role": "user", "content": []}), ask(user(TEXT))),
    Case("empty_message", ask({"role": "user", "content": ""}), ask(user(TEXT))),
    Case("empty_message", ask(user(), {"role": "assistant", "content": ""}, user(), model=OLD),
         ask(user(), {"role": "assistant", "content": ""}, model=OLD)),
    *(Case("blank_text", ask({"role": "user", "content": blank}), ask({"role": "user", "content": good}))
      for blank, good in ((" ", " x"), ([BLANK], [BLANK, TEXT]), ([BLANK, BLANK], [BLANK, image(PIXEL)]))),
    Case("blank_text", ask(user(), assistant(BLANK), user()),
         ask(user(), assistant(BLANK, CALL), user(RESULT), tools=[TOOL])),
    Case("call_role", ask(user(TEXT, CALL), tools=[TOOL]), ask(user(TEXT), assistant(CALL), user(RESULT), tools=[TOOL])),
    Case("result_role", ask(user(), assistant(CALL), assistant(RESULT), user(), tools=[TOOL]),
         ask(user(), assistant(CALL), user(RESULT), tools=[TOOL])),
    Case("result_twice", ask(user(), assistant(CALL), user(RESULT, RESULT), tools=[TOOL]),
         ask(user(), assistant(CALL), user(RESULT), tools=[TOOL])),
    Case("result_twice", ask(user(), assistant(CALL), user(RESULT), user(RESULT), tools=[TOOL]),
         ask(user(), assistant(CALL), user(RESULT), user(TEXT), tools=[TOOL])),
    *(Case("empty_error", loop(result={**RESULT, "content": empty, "is_error": True}),
           loop(result={**RESULT, "content": empty})) for empty in EMPTIES),
    *(Case("image_type", ask(user(image({**PIXEL, "media_type": kind}))), ask(user(image(PIXEL))))
      for kind in ("image/bmp", "image/svg+xml", "image/jpg")),
    Case("empty_image", ask(user(image({**PIXEL, "data": ""}))), ask(user(image(PIXEL)))),
    *(Case("image_pixels", ask(user(drawn(*big))), ask(user(drawn(*good))))
      for big, good in (((1440, 8570), (1440, 8000)), ((8001, 1), (8000, 1)))),
    Case("image_pixels", loop(result={**RESULT, "content": [drawn(1, 8001)]}), loop(result={**RESULT, "content": [drawn(1, 8000)]})),
    Case("image_crowd", ask(user(*[drawn(2500, 10)] * 21)), ask(user(*[drawn(2500, 10)] * 20))),
    Case("image_crowd", ask(user(*[drawn(2001, 10)] * 21)), ask(user(*[drawn(2000, 10)] * 21))),
    Case("image_crowd", ask(user(drawn(1, 2001), *[image({"type": "url", "url": "https://x.test/a.png"})] * 20)),
         ask(user(drawn(1, 2001), *[image({"type": "url", "url": "https://x.test/a.png"})] * 19))),
    Case("image_bytes", ask(user(drawn(9, 9, 3 * 2621440 - 20))), ask(user(drawn(9, 9, 3 * 2621440 - 24)))),
    Case("error_media", loop(result={**RESULT, "content": [TEXT, image(PIXEL)], "is_error": True}),
         loop(result={**RESULT, "content": [TEXT], "is_error": True})),
    Case("error_media", loop(result={**RESULT, "content": [image(PIXEL)], "is_error": True}),
         loop(result={**RESULT, "content": [image(PIXEL)], "is_error": False})),
    *(Case("image_mismatch", ask(user(image({**PIXEL, "media_type": other, "data": data}))),
           ask(user(image({**PIXEL, "media_type": kind, "data": data}))))
      for kind, data in BYTES.items() for other in BYTES if other != kind),
    Case("image_mismatch", loop(result={**RESULT, "content": [image({**PIXEL, "data": BYTES["image/gif"]})]}),
         loop(result={**RESULT, "content": [image(PIXEL)]})),
    *(Case("image_mismatch", ask(user(image({**PIXEL, "data": BYTES["image/jpeg"]}))),
           ask(user(image({**PIXEL, "data": BYTES["image/jpeg"]})), model=model)) for model in RETIRED),
    Case("empty_text", ask(user({"type": "text", "text": ""})), ask(user(TEXT))),
    *(Case("blank_text", ask(user({"type": "text", "text": blank})), ask(user(TEXT)))
      for blank in (" ", "\n", "\t \n")),
    *(Case("blank_stop", ask(user(TEXT), stop_sequences=[blank]),
           ask(user(TEXT), stop_sequences=[f"{blank}x"])) for blank in (" ", "\n")),
    *(Case("image_type", ask(user(image({**PIXEL, "media_type": kind}))), ask(user(image(PIXEL))))
      for kind in ("image/jpg", "image/heic", "image/bmp", "image/svg+xml")),
    Case("call_ids", ask(user(), assistant(CALL, CALL), user(RESULT), tools=[TOOL]),
         ask(user(), assistant(CALL), user(RESULT), tools=[TOOL])),
    Case("call_without_result", ask(user(), assistant(CALL), user(TEXT), tools=[TOOL]),
         ask(user(), assistant(CALL), user(RESULT, TEXT), tools=[TOOL])),
    Case("late_result", ask(user(), assistant(CALL), user(TEXT, RESULT), tools=[TOOL]),
         ask(user(), assistant(CALL), user(RESULT, TEXT), tools=[TOOL])),
    Case("result_without_call", ask(user(), assistant(TEXT), user(RESULT), tools=[TOOL]),
         ask(user(), assistant(CALL), user(RESULT), tools=[TOOL])),
    Case("signature",
         ask(user(), assistant({**THOUGHT[0], "thinking": "other"}, TEXT), user(), model=OLD),
         ask(user(), assistant(*THOUGHT), user(), model=OLD)),
    Case("bound_signature",
         ask(user(), assistant(*BOUND), user(), model="claude-opus-5-5", system="b", **ADAPTIVE),
         ask(user(), assistant(*BOUND), user(), model="claude-opus-5-5", system="a", **ADAPTIVE)),
    Case("loop_start", loop(max_tokens=2000, **ENABLED), loop(max_tokens=2000)),
    Case("loop_start", loop(max_tokens=2000, **ENABLED),
         loop(THOUGHT[0], max_tokens=2000, **ENABLED)),
    *(Case("no_prefill", ask(user(), assistant(), model=model), ask(user(), assistant(), user(), model=model))
      for model in [*BOTH, *NEW]),
    *(Case("prefill_thinking", ask(user(), assistant(THOUGHT[0], TEXT), model=model),
           ask(user(), assistant(TEXT), model=model)) for model in BUDGET),
    *(Case("prefill_whitespace", ask(user(), {"role": "assistant", "content": "so "}, model=model),
           ask(user(), {"role": "assistant", "content": "so"}, model=model)) for model in [*RETIRED, *BUDGET]),
    Case("prefill_format", formed(CLOSED, model=OLD, messages=[user(), assistant()]),
         formed(CLOSED, model=OLD, messages=[user(), assistant(), user()])),
]  # fmt: skip

# -- system turns -----------------------------------------------------------------------------------

SYSTEM = [
    *(Case("system_role", ask(user(), system(), model=model), ask(user(), user(), model=model))
      for model in REJECTS_SYSTEM),
    *(Case("system_role", ask(user(), system(), model=model), ask(user(), user(), model=model),
           "azure-anthropic") for model in FOLLOWS),
    *(Case("system_first", ask(system(), user(), model=model), ask(user(), system(), model=model))
      for model in [*FOLLOWS, "claude-sonnet-5"]),
    *(Case("system_after", ask(user(), assistant(), system(), model=model),
           ask(user(), assistant(), user(), system(), model=model)) for model in FOLLOWS),
    *(Case("system_before", ask(user(), system(), user(), model=model),
           ask(user(), system(), assistant(), user(), model=model)) for model in FOLLOWS),
    Case("system_before", ask(user(), system(), system(), user()), ask(user(), system(), system())),
    Case("system_before", predict(messages=[user(), system(), user()]), predict(messages=[user(), system()])),
    Case("system_first", ask(effort("low"), system(), user(), betas=PER_TURN, **ADAPTIVE),
         ask(effort("low"), effort("max"), user(), betas=PER_TURN, **ADAPTIVE)),
    Case("system_after", ask(user(), assistant(TEXT), system(), assistant(), user()),
         ask(user(), assistant(*SERVED), system(), assistant(), user())),
    Case("empty_system", ask(user(), {"role": "system", "content": []}), ask(user(), system())),
    Case("empty_system", ask(user(), {"role": "system", "content": [], "output_config": {}}, betas=PER_TURN),
         ask(user(), {**system(TEXT), "output_config": {}}, betas=PER_TURN)),
    Case("system_content", ask(user(), system(image(PIXEL))), ask(user(), system(TEXT))),
    Case("clear_at", ask(user(), system(TEXT, **CLEARED)), ask(user(), system(TEXT, **CLEARED), betas=CLEARS)),
    Case("clear_at", ask({**user(), **CLEARED}, betas=CLEARS), ask(user(), betas=CLEARS)),
    Case("cleared_cache",
         ask(user(), system({**TEXT, "cache_control": mark("5m")}, **CLEARED), betas=CLEARS),
         ask(user(), system({**TEXT, "cache_control": mark("5m")}))),
    Case("tool_change", changed(addition("f"), betas=""), changed(addition("f"))),
    Case("tool_change_model", changed(addition("f"), model="claude-sonnet-5"),
         changed(addition("f"), model="claude-opus-4-8")),
    Case("tool_change_unknown", changed(addition("g")), changed(addition("f"))),
    Case("inline_tool", changed(addition("g", "tool_definition")),
         changed(addition("g", "tool_definition"), betas=f"{CHANGES},inline-tools-2026-09-15")),
    *(Case("turn_effort", ask(user(), effort("low"), model=model, **ADAPTIVE),
           ask(user(), effort("low"), model=model, betas=beta, **ADAPTIVE))
      for model in TURNS for beta in (PER_TURN, "per-turn-control-2026-07-01")),
    Case("turn_effort", ask({**user(), "output_config": {"effort": "low"}}, betas=PER_TURN, **ADAPTIVE),
         ask(user(), effort("low"), betas=PER_TURN, **ADAPTIVE)),
    *(Case("turn_effort_model", ask(user(), effort("low"), model=model, betas=PER_TURN, **ADAPTIVE),
           ask(user(), system(TEXT), model=model, betas=PER_TURN, **ADAPTIVE)) for model in NO_TURNS),
    *(Case("turn_thinking", ask(user(), effort("low"), model=model, betas=PER_TURN, **thinking(off)),
           ask(user(), effort("high"), model=model, betas=PER_TURN, **thinking(off)))
      for model, off in ((OPUS, "disabled"), ("claude-haiku-5-5", "disabled"), (BETWEEN, "between_tools"))),
    Case("effort_level", ask(user(), effort("minimal"), user(), effort("low"), betas=PER_TURN, **ADAPTIVE),
         ask(user(), effort("max"), user(), effort("low"), betas=PER_TURN, **ADAPTIVE)),
]  # fmt: skip

# -- context, cache and tools -------------------------------------------------------------------------

CLEAR_THINKING, CLEAR_TOOLS, COMPACT = (
    "clear_thinking_20251015",
    "clear_tool_uses_20250919",
    "compact_20260112",
)
TASK = {"type": "tokens", "total": 20000}
CONTEXT = [
    Case("edit_type", edited("clear_all_20251015"), edited(CLEAR_TOOLS)),
    Case("edit_order", edited(CLEAR_TOOLS, CLEAR_THINKING), edited(CLEAR_THINKING, CLEAR_TOOLS)),
    *(Case("edit_thinking", edited(CLEAR_THINKING, model=model, max_tokens=2000),
           edited(CLEAR_THINKING, model=model, max_tokens=2000, **ENABLED)) for model in BUDGET),
    *(Case("edit_thinking", edited(CLEAR_THINKING, model=model, **thinking("disabled")),
           edited(CLEAR_THINKING, model=model, **ADAPTIVE)) for model in [*BOTH, *CAN_STOP]),
    Case("edit_thinking", edited(CLEAR_THINKING, model="claude-opus-4-8"), edited(CLEAR_THINKING)),
    Case("edit_beta", ask(context_management={"edits": [{"type": COMPACT}]},
                          betas="context-management-2025-06-27"), edited(COMPACT)),
    Case("edit_budget",
         edited(COMPACT, output_config={"task_budget": {**TASK, "remaining": 9}}, betas="task-budgets-2026-03-13"),
         edited(COMPACT, output_config={"task_budget": TASK}, betas="task-budgets-2026-03-13")),
    Case("cache_marks", marked(*["5m"] * 5), marked(*["5m"] * 4)),
    Case("cache_marks", marked(*["5m"] * 4, cache_control=mark("5m")), marked(*["5m"] * 3, cache_control=mark("5m"))),
    Case("cache_marks", marked(*["5m"] * 4, tools=[{**TOOL, "cache_control": mark("5m")}]), marked(*["5m"] * 4, tools=[TOOL])),
    Case("cache_order", marked("5m", "1h"), marked("1h", "5m")),
    Case("cache_order", marked("1h", tools=[{**TOOL, "cache_control": mark("5m")}]),
         marked("5m", tools=[{**TOOL, "cache_control": mark("1h")}])),
]  # fmt: skip


def with_tool(kind: str, name: str | None = None, **fields: Json) -> HttpRequest:
    tool = {"type": kind} if name is None else {"type": kind, "name": name}
    return ask(tools=[tool], **fields)


SEARCH = ("web_search_20250305", "web_search")
EDITOR = "text_editor_20250728"
FIND = ("tool_search_tool_bm25_20251119", "tool_search_tool_bm25")
ADVISOR = {"type": "advisor_20260301", "name": "advisor", "model": OPUS}
ADVISES = "advisor-tool-2026-03-01"
SERVER = {"type": "url", "url": "https://x.test", "name": "s"}
TOOLSET = {"type": "mcp_toolset", "mcp_server_name": "s"}
MCP = "mcp-client-2025-11-20"
SIZE = {"name": "computer", "display_width_px": 9, "display_height_px": 9}
TOOLS = [
    Case("tool_not_object", ask(tools=["f"]), ask(tools=[TOOL])),
    Case("tool_type", with_tool("web_search_20250306", "web_search"), with_tool(*SEARCH)),
    Case("tool_type", with_tool("function", "f"), ask(tools=[{**TOOL, "type": "custom"}])),
    *(Case("tool_beta", ask(tools=[tool]), ask(tools=[tool], betas=beta)) for tool, beta in (
        ({**SIZE, "type": "computer_20250124"}, "computer-use-2025-01-24"),
        ({**SIZE, "type": "computer_20251124"}, "computer-use-2025-11-24"),
        ({"type": "bash_20241022", "name": "bash"}, "computer-use-2024-10-22"))),
    Case("tool_beta", ask(tools=[ADVISOR]), ask(tools=[ADVISOR], betas=ADVISES)),
    Case("tool_name", with_tool(EDITOR, "str_replace_editor"), with_tool(EDITOR, "str_replace_based_edit_tool")),
    Case("tool_name", with_tool("bash_20250124", "shell"), with_tool("bash_20250124", "bash")),
    *(Case("tool_model", ask(tools=[dict(zip(("type", "name"), FIND, strict=True)), TOOL], model=model),
           ask(tools=[TOOL], model=model)) for model in NO_SEARCH),
    *(Case("tool_model", ask(tools=[ADVISOR], model=model, betas=ADVISES),
           ask(tools=[ADVISOR], model="claude-haiku-4-5", betas=ADVISES)) for model in NO_ADVISOR),
    Case("tool_model", ask(tools=[ADVISOR], betas=ADVISES), ask(betas=ADVISES), "azure-anthropic"),
    Case("tool_model", predict(tools=[{"type": "web_fetch_20250910", "name": "web_fetch"}]),
         predict(tools=[dict(zip(("type", "name"), SEARCH, strict=True))])),
    Case("extra_field", ask(tools=[{"type": SEARCH[0], "name": SEARCH[1], "marvel": 1}]), with_tool(*SEARCH)),
    Case("extra_field", ask(tools=[{"type": SEARCH[0], "name": SEARCH[1], "response_inclusion": "full"}]),
         ask(tools=[{"type": "web_search_20260318", "name": "web_search", "response_inclusion": "full"}])),
    Case("tool_domains", ask(tools=[{"type": SEARCH[0], "name": SEARCH[1], "allowed_domains": ["a.test"], "blocked_domains": ["b.test"]}]),
         ask(tools=[{"type": SEARCH[0], "name": SEARCH[1], "allowed_domains": ["a.test"], "blocked_domains": None}])),
    Case("tool_names", ask(tools=[TOOL, TOOL]), ask(tools=[TOOL, {**TOOL, "name": "g"}])),
    Case("all_deferred", ask(tools=[{**TOOL, "defer_loading": True}]),
         ask(tools=[{**TOOL, "defer_loading": True}, {**TOOL, "name": "g"}])),
    Case("deferred_cache",
         ask(tools=[{**TOOL, "defer_loading": True, "cache_control": mark("5m")}, {**TOOL, "name": "g"}]),
         ask(tools=[{**TOOL, "defer_loading": True}, {**TOOL, "name": "g", "cache_control": mark("5m")}])),
    Case("unknown_server", ask(tools=[TOOLSET], mcp_servers=[], betas=MCP),
         ask(tools=[TOOLSET], mcp_servers=[SERVER], betas=MCP)),
    Case("unused_server", ask(mcp_servers=[SERVER], betas=MCP), ask(mcp_servers=[SERVER], betas="mcp-client-2025-04-04")),
    Case("container", ask(container="c"), with_tool("code_execution_20250825", "code_execution", container="c")),
    Case("chosen_tool", ask(tools=[TOOL], tool_choice={"type": "tool", "name": "g"}),
         ask(tools=[TOOL], tool_choice={"type": "tool", "name": "f"})),
    Case("choice_without_tools", ask(tool_choice={"type": "any"}), ask(tool_choice={"type": "auto"})),
]  # fmt: skip

# -- schemas --------------------------------------------------------------------------------------------

NODE = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/Node"}},
    "additionalProperties": False,
}
LEAF = schema(a={"type": "string"})
OPEN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
NULLABLE = {"anyOf": [{"type": "string"}, {"type": "null"}]}
TYPED = {"type": ["string", "null"]}


def optional(number: int) -> Json:
    return {**schema(**{f"p{n}": {"type": "string"} for n in range(number)}), "required": []}


def unions(number: int, of: Json = NULLABLE) -> Json:
    return schema(**{f"p{n}": of for n in range(number)})


INVALID: list[tuple[Json, Json]] = [
    ({"type": "any"}, {"type": ["string", "null"]}),
    ({"type": "str"}, {"type": "string"}),
    ({"type": "array", "items": [{}]}, {"type": "array", "prefixItems": [{}]}),
    ({"type": "string", "required": True}, {"type": "string", "nullable": True}),
    (
        {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        {"type": "number", "exclusiveMinimum": 0},
    ),
    ({"enum": "a"}, {"enum": ["a"]}),
    ({"anyOf": []}, {"anyOf": [{}]}),
    ({"type": "string", "minLength": -1}, {"type": "string", "minLength": 1}),
    ("string", True),
]
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
WORDS = {"minLength": 1, "maxLength": 9, "pattern": "^a+$", "format": "date-time"}
SCHEMAS = [
    Case("tool_root", ask(tools=[{"name": "f", "input_schema": {"properties": {}}}]), ask(tools=[TOOL])),
    Case("tool_root_type", ask(tools=[{"name": "f", "input_schema": {"type": "string"}}]), ask(tools=[TOOL])),
    *(Case("tool_root_union", ask(tools=[{"name": "f", "input_schema": {"type": "object", key: [LEAF]}}]),
           ask(tools=[{"name": "f", "input_schema": schema(a={key: [LEAF]})}])) for key in ("anyOf", "oneOf", "allOf")),
    *(Case("property_keys", ask(tools=[{"name": "f", "input_schema": schema(**{bad: {"type": "string"}})}]),
           ask(tools=[{"name": "f", "input_schema": schema(a=schema(**{bad: {"type": "string"}}))}]))
      for bad in ("a[b]", "a b", "", "x" * 65, "ä")),
    Case("property_keys", ask(tools=[{"name": "f", "input_schema": schema(**{"x" * 65: {}})}]),
         ask(tools=[{"name": "f", "input_schema": schema(**{"x.y-" * 16: {}})}])),
    *(Case("invalid_schema", ask(tools=[{"name": "f", "input_schema": schema(a=bad)}]),
           ask(tools=[{"name": "f", "input_schema": schema(a=good)}])) for bad, good in INVALID),
    Case("strict_tools", strict(*[LEAF] * 21), strict(*[LEAF] * 20)),
    Case("optional_parameters", strict(optional(25)), strict(optional(24))),
    Case("optional_parameters", strict(optional(12), output_config={"format": {"type": "json_schema", "schema": optional(13)}}),
         strict(optional(12), output_config={"format": {"type": "json_schema", "schema": optional(12)}})),
    Case("optional_parameters", formed({**optional(24), "$defs": {}, "properties": {**optional(25)["properties"]}}),
         formed({**schema(a={"$ref": "#/$defs/A"}), "$defs": {"A": optional(25)}})),
    Case("union_parameters", strict(unions(17)), strict(unions(16))),
    Case("union_parameters", strict(unions(8), unions(9, TYPED)), strict(unions(8), unions(8, TYPED))),
    Case("open_object", strict(OPEN), strict(LEAF)),
    Case("open_object", formed(OPEN), formed(LEAF)),
    Case("open_object", formed(schema(a={"type": "array", "items": OPEN})),
         formed(schema(a={"type": "array", "items": LEAF}))),
    Case("boolean_schema", strict(schema(a=True)), strict(schema(a={}))),
    *(Case("schema_keyword", formed(schema(a={"type": kind, name: 2})), formed(schema(a={"type": "string", key: value})))
      for kind in ("integer", "number") for name in BOUNDS for key, value in WORDS.items()),
    Case("schema_keyword", formed(schema(a={"type": "array", "minItems": 2})), formed(schema(a={"type": "array", "minItems": 1}))),
    Case("schema_keyword", formed(schema(a={"type": "array", "maxItems": 2})), formed(schema(a={"type": "array"}))),
    *(Case("schema_reference", formed(schema(a={"$ref": reference})),
           formed({**schema(a={"$ref": "#/$defs/A"}), "$defs": {"A": LEAF}}))
      for reference in ("#/$defs/A", "https://x.test/a.json", "#/properties/a")),
    Case("circular_schema", formed({**schema(a={"$ref": "#/$defs/Node"}), "$defs": {"Node": NODE}}),
         formed({**schema(a={"$ref": "#/$defs/Node"}), "$defs": {"Node": LEAF}})),
    Case("circular_schema", formed(schema(a={"$ref": "#"})), formed(LEAF)),
    *(Case("no_format", formed(LEAF, model=model), ask(model=model)) for model in NO_FORMATS),
    *(Case("open_object", formed(OPEN, model=model), formed(LEAF, model=model))
      for model in ["claude-opus-4-1", OLD, "claude-haiku-4-5", "claude-opus-4-5", *BOTH, *NEW]),
    Case("format_without_tokens", formed(LEAF, max_tokens=0), formed(LEAF, max_tokens=1)),
]  # fmt: skip

# -- thinking and sampling, by model -----------------------------------------------------------------------

KINDS = ("enabled", "adaptive", "disabled", "between_tools")
MOST = {
    **dict.fromkeys(["claude-3-haiku", "claude-3-opus"], 4096),
    **dict.fromkeys(["claude-3-5-haiku", "claude-3-5-sonnet"], 8192),
    **BUDGET,
    **dict.fromkeys([*BOTH, *NEW], 128_000),
}
ACCEPTED = {
    **dict.fromkeys(RETIRED, ("disabled",)),
    **dict.fromkeys(BUDGET, ("enabled", "disabled")),
    **dict.fromkeys(BOTH, ("enabled", "adaptive", "disabled")),
    **dict.fromkeys(CAN_STOP, ("adaptive", "disabled")),
    BETWEEN: ("adaptive", "between_tools"),
    **dict.fromkeys(ALWAYS, ("adaptive",)),
}
EFFORTS = {
    **dict.fromkeys([*RETIRED, *BUDGET], ()),
    "claude-opus-4-5": ("low", "medium", "high"),
    **dict.fromkeys(BOTH, ("low", "medium", "high", "max")),
    **dict.fromkeys(NEW, ("low", "medium", "high", "xhigh", "max")),
}


def think(model: str, kind: str, **fields: Json) -> HttpRequest:
    asked = ENABLED if kind == "enabled" else thinking(kind)
    return ask(model=model, max_tokens=2000, **asked, **fields)


def rule_of(model: str, kind: str) -> str:
    if kind == "enabled" and "adaptive" in ACCEPTED[model]:
        return "thinking_enabled"
    return "thinking_disabled" if (model, kind) == (BETWEEN, "disabled") else "thinking_type"


def at(model: str, level: str, **fields: Json) -> HttpRequest:
    return ask(model=model, output_config={"effort": level}, **fields)


def sampled(model: str, name: str, value: Json) -> HttpRequest:
    chosen: Json = {name: value}
    return ask(model=model, **chosen)


FORCED: Json = {"tools": [TOOL], "tool_choice": {"type": "any"}}
NAMED: Json = {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "f"}}
THINKING = [
    *(Case("max_output", ask(model=model, max_tokens=most + 1), ask(model=model, max_tokens=most))
      for model, most in MOST.items()),
    *(Case(rule_of(model, kind), think(model, kind), think(model, accepted[0]))
      for model, accepted in ACCEPTED.items() for kind in KINDS if kind not in accepted),
    Case("budget", ask(model=OLD, max_tokens=1024, **ENABLED), ask(model=OLD, max_tokens=1025, **ENABLED)),
    Case("budget", ask(model=OLD, max_tokens=1024, tools=[TOOL], **ENABLED),
         ask(model=OLD, max_tokens=1024, tools=[TOOL], betas="interleaved-thinking-2025-05-14", **ENABLED)),
    *(Case("no_effort", at(model, "low"), ask(model=model)) for model, levels in EFFORTS.items() if not levels),
    *(Case("effort_level", at(model, level), at(model, "high"))
      for model, levels in EFFORTS.items() if levels
      for level in ("none", "minimal", "xhigh", "max", "ultra") if level not in levels),
    *(Case("effort_off", at(model, level, **thinking(ACCEPTED[model][-1])), at(model, "high", **thinking(ACCEPTED[model][-1])))
      for model in LIMITED_OFF for level in ("xhigh", "max")),
    Case("sampling_range", ask(model=OLD, temperature=1.1), ask(model=OLD, temperature=1)),
    Case("sampling_range", ask(model=OLD, top_p=1.1), ask(model=OLD, top_p=1)),
    *(Case("no_sampling", sampled(model, name, value), ask(model=model, temperature=1))
      for model in NEW for name, value in (("temperature", 0.5), ("top_p", 0.9), ("top_k", 5))),
    *(Case("one_sampling", ask(model=model, temperature=0.5, top_p=0.9), ask(model=model, top_p=0.9))
      for model in (OLD, "claude-haiku-4-5", "claude-opus-4-1", "claude-opus-4-5")),
    Case("one_sampling", ask(model="claude-opus-4-1", temperature=0.5, top_p=0.9),
         ask(model="claude-opus-4-0", temperature=0.5, top_p=0.9)),
    Case("thinking_temperature", think(OLD, "enabled", temperature=0.5), think(OLD, "enabled", temperature=1)),
    Case("thinking_temperature", think(BOTH[0], "adaptive", temperature=0.5), think(BOTH[0], "disabled", temperature=0.5)),
    Case("thinking_top_k", think(OLD, "enabled", top_k=5), think(OLD, "disabled", top_k=5)),
    Case("thinking_top_p", think(OLD, "enabled", top_p=0.94), think(OLD, "enabled", top_p=0.95)),
    *(Case("forced", ask(model=model, **forced), ask(model=model, tools=[TOOL], tool_choice={"type": "auto"}))
      for model in NEVER_FORCED for forced in (FORCED, NAMED)),
    *(Case("forced_thinking", think(model, "enabled", **FORCED), think(model, "disabled", **FORCED))
      for model in [*BUDGET, *BOTH]),
    Case("forced_thinking", think(BOTH[0], "enabled", **NAMED), think(BOTH[0], "adaptive", **NAMED)),
    *(Case("choice_without_tools", ask(model=model, tool_choice={"type": "any"}), ask(model=model, **FORCED))
      for model in [*CAN_STOP, "claude-fable-5", "claude-mythos-5"]),
]  # fmt: skip
# -- other hosts of this API -----------------------------------------------------------------

OTHER = {"model": "qwen3:4b", "max_tokens": 9, "messages": [user()]}
HOSTS = [
    Case("no_key", post(URL, OTHER, {}), post(URL, OTHER, {"authorization": "Bearer k"}), "openrouter"),
    Case("no_key", post(URL, {**OTHER, "model": OPUS}, {}), post(URL, {**OTHER, "model": OPUS}, KEY)),
    Case("unknown_model", ask(model="qwen3:4b"), ask(model=OPUS)),
    Case("no_path", ask(url=f"{HOST}/message"), post(URL, {**OTHER, "unknown": 1}, {}), "ollama"),
    Case("no_path", ask(url=f"{HOST}/message"),
         ask(model="qwen3:4b", thinking={"type": "enabled", "budget_tokens": 5000}), "ollama"),
]  # fmt: skip

# -- documents, search results and tools of the service ------------------------------------------

FOUND = {"type": "search_result", "source": "https://a.test", "title": "A",
         "content": [{"type": "text", "text": "x"}]}  # fmt: skip
ON = {"enabled": True}


def paper(kind: str = "application/pdf", **fields: Json) -> Json:
    source = {"type": "base64", "media_type": kind, "data": "JVBERg=="}
    return {"type": "document", "source": source, **fields}


def searched(*blocks: Json, id: str = "srvtoolu_1") -> list[Json]:
    used = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "x"}}
    return [user(), {"role": "assistant", "content": [used, *blocks, SAID]}, user()]


def result_of(id: str = "srvtoolu_1") -> Json:
    return {"type": "web_search_tool_result", "tool_use_id": id, "content": []}


SAID = {"type": "text", "text": "x"}
SHAPED = {"format": {"type": "json_schema", "schema": {
    "type": "object", "properties": {}, "additionalProperties": False}}}  # fmt: skip
SCREEN = {
    "type": "computer_20250124",
    "name": "computer",
    "display_width_px": 9,
    "display_height_px": 9,
}
USE = {"betas": "computer-use-2025-01-24"}
LESS = [
    {key: value for key, value in FOUND.items() if key != name}
    for name in ("title", "source", "content")
]
DOCUMENTS = [
    *(Case("document_type", ask(user(paper(kind), SAID)), ask(user(paper(), SAID)))
      for kind in ("text/plain", "image/png")),
    *(Case("missing_field", ask(user(less, SAID)), ask(user(FOUND, SAID))) for less in LESS),
    *(Case("assistant_media", ask(user(SAID), {"role": "assistant", "content": [block]}, user(SAID)),
           ask(user(SAID, block), {"role": "assistant", "content": [SAID]}, user(SAID)))
      for block in ({"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}, paper())),
    Case("empty_search_result", ask(user({**FOUND, "content": []}, SAID)), ask(user(FOUND, SAID))),
    Case("wrong_type", ask(user({**FOUND, "title": 5}, SAID)), ask(user(FOUND, SAID))),
    Case("extra_field", ask(user({**FOUND, "url": "x"}, SAID)), ask(user(FOUND, SAID))),
    Case("some_citations", ask(user(paper(citations=ON), paper(), SAID)),
         ask(user(paper(citations=ON), paper(citations=ON), SAID))),
    Case("citations_format", ask(user(paper(citations=ON), SAID), output_config=SHAPED),
         ask(user(paper(), SAID), output_config=SHAPED)),
    Case("search_without_result", ask(*searched()), ask(*searched(result_of()))),
    Case("server_tool_id", ask(*searched(result_of("ws_a"), id="ws_a")), ask(*searched(result_of()))),
    *(Case("missing_field", ask(tools=[{**SCREEN, name: None}], **USE), ask(tools=[SCREEN], **USE))
      for name in ("display_width_px", "display_height_px")),
]  # fmt: skip

CASES = [*DOCUMENTS, *HOSTS, *DOOR, *CONVERSATION, *SYSTEM, *CONTEXT, *TOOLS, *SCHEMAS, *THINKING]
