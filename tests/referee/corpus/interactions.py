"""Google's Interactions API: one pair of requests for each rule."""

from typing import Any

from tests.referee.cases import Case, post

from pondero.canon import HttpRequest
from pondero.dialects.interactions.service.signatures import sign

URL = "https://generativelanguage.googleapis.com/v1beta/interactions"
KEY = {"x-goog-api-key": "key"}
MODEL, OLDER, NEWER = "gemini-3-flash-preview", "gemini-2.5-flash", "gemini-3.7-flash"
PICTURES, SPEAKS = "gemini-2.5-flash-image", "gemini-3.1-flash-tts-preview"
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object"}}
SEARCH, FILES = {"type": "google_search"}, {"type": "file_search", "file_search_store_names": ["s"]}
SHAPE = {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}}
SIGNATURE = sign("google-interactions", "a thought")
THOUGHT = {"type": "thought", "signature": SIGNATURE}
CALL = {"type": "function_call", "id": "c1", "name": "f", "arguments": {}}
RESULT = {"type": "function_result", "call_id": "c1", "result": "1"}
VIDEO = {"type": "video", "mime_type": "video/mp4", "uri": "https://example.org/a.mp4"}
SAID = {"type": "model_output", "content": [{"type": "text", "text": "ok"}]}


def user(*content: Any) -> dict[str, Any]:
    return {"type": "user_input", "content": list(content) or [{"type": "text", "text": "hi"}]}


def ask(*steps: Any, url: str = URL, key: Any = KEY, **fields: Any) -> HttpRequest:
    """Return a request of a model that signs unless ``fields`` name another."""
    return post(url, {"model": MODEL, "input": list(steps) or "hi", **fields}, key)


def config(**settings: Any) -> HttpRequest:
    model = settings.pop("model", MODEL)
    return ask(model=model, generation_config=settings)


def bare(**fields: Any) -> HttpRequest:
    return post(URL, fields, KEY)


def picture(**fields: Any) -> dict[str, Any]:
    return user({"type": "image", "mime_type": "image/png", **fields})


UNKNOWN: list[tuple[str, Any]] = [
    ("messages", []), ("contents", []), ("response_mime_type", "application/json"),
    ("cached_content", "c"), ("systemInstruction", "x"), ("generationConfig", {}), ("outputs", []),
]  # fmt: skip
EMPTY: tuple[Any, ...] = ("", [])
LOOP = (user(), THOUGHT, CALL, RESULT)
CASES = [
    Case("no_address", ask(url=f"{URL}/v1_x"), ask()),
    Case("no_address", ask(url=f"{URL}s"), ask(url=URL.replace("v1beta", "v1"))),
    Case("nobody", ask(key={}), ask(key={"authorization": "Bearer token"})),
    Case("bad_key", ask(key={"x-goog-api-key": "invalid"}), ask()),
    Case("bad_token", ask(key={"authorization": "Bearer expired"}),
         ask(key={"authorization": "Bearer token"})),
    Case("bad_json", post(URL, b"{", KEY), ask()),
    Case("bad_json", post(URL, b"[]", KEY), ask()),
    Case("old_revision", ask(key={**KEY, "api-revision": "2026-05-07"}),
         ask(key={**KEY, "api-revision": "2026-05-20"})),
    *(Case("unknown_parameter", bare(model=MODEL, input="hi", **{name: value}),
           ask(system_instruction="x")) for name, value in UNKNOWN),
    *(Case("unknown_parameter", config(**{name: value}), config(thinking_level="low"))
      for name, value in (
          ("thinking_budget", 1024), ("thinkingLevel", "low"), ("thinkingConfig", {}),
          ("top_k", 3), ("presence_penalty", 0.1), ("response_schema", {}))),
    Case("unknown_parameter", ask({**user(), "id": "x"}), ask(user())),
    Case("unknown_parameter", ask({**VIDEO, "processing": {}}),
         ask(user({**VIDEO, "processing": {}}))),
    Case("unknown_parameter", ask({**RESULT, "callId": "c1"}, user()), ask(*LOOP)),
    *(Case("enum", config(**{name: bad}), config(**{name: good})) for name, bad, good in (
        ("thinking_level", "HIGH", "high"), ("thinking_level", "xhigh", "minimal"),
        ("thinking_level", "off", "low"), ("thinking_summaries", "AUTO", "auto"),
        ("thinking_summaries", "detailed", "none"), ("tool_choice", "ANY", "any"),
        ("tool_choice", "required", "validated"))),
    Case("enum", ask(service_tier="default"), ask(service_tier="flex")),
    Case("enum", ask({"type": "assistant"}, user()), ask(SAID, user())),
    Case("enum", ask(tools=[{"type": "web_search"}]), ask(tools=[SEARCH])),
    Case("wrong_type", ask(system_instruction={"parts": []}), ask(system_instruction="x")),
    Case("wrong_type", config(temperature="1"), config(temperature=1)),
    Case("wrong_type", ask({"type": "function_call", "name": "f"}, user()), ask(*LOOP)),
    Case("wrong_type", ask(input=7), ask(input="seven")),
    Case("model_or_agent", bare(input="hi"), bare(input="hi", model=MODEL)),
    Case("model_or_agent", ask(agent="deep-research"), ask()),
    Case("agent_fields", ask(agent_config={"type": "dynamic"}), ask()),
    Case("no_model", ask(model="gemini-5"), ask(model="gemini-4-carbon")),
    Case("no_model", ask(model="gemini-2.0-flash"), ask(model=OLDER)),
    Case("no_agent", bare(agent="deep-research", input="hi"), ask()),
    Case("vertex_only", ask(labels={"a": "b"}), ask()),
    Case("vertex_only", ask(safety_settings=[]), ask()),
    Case("vertex_only", ask(tools=[{"type": "retrieval"}]), ask(tools=[SEARCH])),
    Case("background_store", ask(background=True, store=False), ask(background=True)),
    Case("webhook", ask(webhook_config={"uris": []}),
         ask(webhook_config={"uris": []}, background=True)),
    Case("no_interaction", ask(previous_interaction_id="v1_x"), ask()),
    Case("no_input", bare(model=MODEL), ask()),
    *(Case("empty_input", ask(input=empty), ask()) for empty in EMPTY),
    Case("mixed_input", ask({"type": "text", "text": "hi"}, user()),
         ask({"type": "text", "text": "hi"}, {"type": "text", "text": "ho"})),
    Case("mixed_input", ask(user(), {"type": "text", "text": "hi"}), ask(user(), user())),
    Case("old_turns", ask({"role": "user", "content": "hi"}), ask(user())),
    Case("thought_in_input", ask(user(THOUGHT)), ask(user(), THOUGHT, user())),
    Case("model_last", ask(user(), SAID), ask(user(), SAID, user())),
    Case("uncalled", ask(user(), THOUGHT, CALL, {**RESULT, "call_id": "c2"}), ask(*LOOP)),
    Case("uncalled", ask(user({**RESULT, "call_id": "c2"})), ask(*LOOP[:3], user(RESULT))),
    Case("unanswered", ask(user(), THOUGHT, CALL, user()), ask(*LOOP)),
    Case("unsigned", ask(user(), CALL, RESULT), ask(*LOOP)),
    Case("unsigned", ask(user(), CALL, RESULT), ask(user(), CALL, RESULT, model=OLDER)),
    Case("unsigned", ask(user(), {"type": "thought"}, CALL, RESULT),
         ask(user(), {**CALL, "signature": SIGNATURE}, RESULT)),
    Case("unsigned", ask(user(), CALL, RESULT), ask(user(), CALL, RESULT, SAID, user())),
    Case("unsigned", ask(user(), CALL, RESULT),
         ask(user(), {**THOUGHT, "signature": "skip_thought_signature_validator"}, CALL, RESULT)),
    Case("bad_signature", ask(user(), {**THOUGHT, "signature": SIGNATURE[:-8]}, user()),
         ask(user(), THOUGHT, user())),
    Case("bad_signature", ask(user(), {**THOUGHT, "signature": sign("vertex", "x")}, user()),
         ask(user(), {**THOUGHT, "summary": [{"type": "text", "text": "any"}]}, user())),
    Case("too_long", ask(input="four" * 40_000, model=PICTURES), ask(input="four" * 40_000)),
    Case("no_data", ask(picture()), ask(picture(data="QUJD"))),
    Case("media", ask(picture(data="QUJD"), model=SPEAKS), ask(picture(uri="https://x.test/a"))),
    Case("level", config(model=NEWER, thinking_level="minimal"),
         config(model=NEWER, thinking_level="low")),
    Case("level", config(model=OLDER, thinking_level="minimal"),
         config(model=OLDER, thinking_level="medium")),
    Case("level", config(model="gemma-4-31b-it", thinking_level="low"),
         config(model="gemma-4-31b-it", thinking_level="minimal")),
    Case("no_thinking", config(model=PICTURES, thinking_level="low"), config(model=PICTURES)),
    Case("range", config(temperature=2.1), config(temperature=2)),
    Case("range", config(top_p=1.1), config(top_p=1)),
    Case("range", config(max_output_tokens=0), config(max_output_tokens=1)),
    Case("range", config(max_output_tokens=65_537), config(max_output_tokens=65_536)),
    Case("range", config(stop_sequences=list("abcdef")), config(stop_sequences=list("abcde"))),
    Case("no_json", ask(model=PICTURES, response_format=SHAPE), ask(response_format=SHAPE)),
    Case("function_name", ask(tools=[{**TOOL, "name": "1"}]), ask(tools=[TOOL])),
    Case("function_twice", ask(tools=[TOOL, TOOL]), ask(tools=[TOOL, {**TOOL, "name": "g"}])),
    Case("no_functions", ask(model=PICTURES, tools=[TOOL]), ask(tools=[TOOL, SEARCH])),
    Case("no_tool", ask(model=PICTURES, tools=[SEARCH]), ask(tools=[SEARCH])),
    Case("tools_together", ask(tools=[FILES, SEARCH]), ask(tools=[FILES, TOOL])),
    Case("allowed_name",
         ask(tools=[TOOL], generation_config={
             "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["g"]}}}),
         ask(tools=[TOOL], generation_config={
             "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["f"]}}})),
]  # fmt: skip
