"""Cohere's v2 chat: one pair of requests for each rule."""

from typing import Any

from tests.referee.cases import Case, post

from pondero.canon import HttpRequest

URL = "https://api.cohere.com/v2/chat"
KEY = {"authorization": "Bearer key"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def ask(*messages: Any, url: str = URL, **fields: Any) -> HttpRequest:
    """Return a request of the reasoning model unless ``fields`` name another."""
    turns = list(messages) or [{"role": "user", "content": "hi"}]
    return post(url, {"model": "command-a-reasoning-08-2025", "messages": turns, **fields}, KEY)


def say(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def image(url: str) -> dict[str, Any]:
    return say([{"type": "image_url", "image_url": {"url": url}}])


def listed(name: str) -> HttpRequest:
    headers = {**KEY, "x-fern-sdk-name": "cohere"}
    return HttpRequest("GET", f"https://api.cohere.com/v1/models{name}", headers)


def with_key(headers: dict[str, str]) -> HttpRequest:
    return post(URL, {"model": "command-a-03-2025", "messages": [say("hi")]}, headers)


PLAIN = "command-a-03-2025"
SEES = "command-a-vision-07-2025"
AYA = ("c4ai-aya-expanse-8b", "c4ai-aya-expanse-32b")
NO_TOOLS = (*AYA, SEES, "c4ai-aya-vision-8b")
OLDEST = ("command", "command-light", "command-nightly", "command-r", "command-r-03-2024",
          "command-r-plus", "command-r-plus-04-2024")  # fmt: skip
OLDER = ("command-r-08-2024", "command-r-plus-08-2024", *OLDEST)
LATER = (PLAIN, "command-r7b-12-2024", "command-a-reasoning-08-2025", "command-a-plus-05-2026")
SHAPE = {"type": "json_object", "json_schema": {"type": "object", "required": []}}
MOST = {"command-r-08-2024": 4096, PLAIN: 8192, SEES: 8192, "command-a-reasoning-08-2025": 32_768,
        "command-a-plus-05-2026": 65_536}  # fmt: skip
CASES = [
    Case("no_path", ask(url="https://api.cohere.com/v2/chats"), ask()),
    Case("no_key", with_key({}), with_key(KEY)),
    Case("bad_key", with_key({"authorization": "Bearer invalid"}), with_key(KEY)),
    Case("not_json", post(URL, b"{", KEY), ask()),
    Case("unknown_field", ask(top_k=3), ask(k=3)),
    Case("wrong_type", ask(temperature="1"), ask(temperature=1)),
    Case("wrong_type", ask(p=1), ask(p=0.99)),
    Case("wrong_type", ask(k=501), ask(k=500)),
    Case("wrong_type", ask(thinking={"type": "enabled", "token_budget": 0}),
         ask(thinking={"type": "enabled", "token_budget": 1})),
    Case("wrong_type", ask(say("hi"), {"role": "developer", "content": "x"}),
         ask(say("hi"), {"role": "system", "content": "x"})),
    Case("unknown_model", ask(model="comand-a"), ask(model="command-r-08-2024")),
    *(Case("unknown_model", ask(model=bad), ask(model=good)) for bad, good in (
        ("command-z", "command"), ("command-does-not-exist", "command-nightly"),
        ("command-a-thinking", "command-a-translate-08-2025"), ("command-x-03-2024", "command-r-03-2024"))),
    *(Case("wrong_type", ask(documents=[bad]), ask(documents=[{"data": {"text": "x"}}, "x"]))
      for bad in ({"id": "a"}, {}, 1)),
    *(Case("citation_mode", ask(citation_options={"mode": "always"}),
           ask(citation_options={"mode": good})) for good in ("FAST", "accurate", "off", "ENABLED")),
    Case("unknown_listed_model", listed("/nothing"), listed("")),
    Case("thinking", ask(model=PLAIN, thinking={"type": "enabled"}), ask(model=PLAIN)),
    Case("choice", ask(tools=[TOOL], tool_choice="AUTO"), ask(tools=[TOOL], tool_choice="NONE")),
    Case("choice_without_tools", ask(tool_choice="REQUIRED"),
         ask(tools=[TOOL], tool_choice="REQUIRED")),
    *(Case("tools", ask(model=to, tools=[TOOL]), ask(model=to)) for to in NO_TOOLS),
    *(Case("tools", ask(model=SEES, tools=[TOOL]), ask(model=to, tools=[TOOL]))
      for to in (*LATER, *OLDER)),
    *(Case("choice_model", ask(model=to, tools=[TOOL], tool_choice="NONE"),
           ask(model=to, tools=[TOOL])) for to in OLDER),
    *(Case("choice_model", ask(model="command-r-08-2024", tools=[TOOL], tool_choice="NONE"),
           ask(model=to, tools=[TOOL], tool_choice="NONE")) for to in LATER),
    *(Case("strict_tools", ask(model=to, tools=[TOOL], strict_tools=True),
           ask(model=to, tools=[TOOL], strict_tools=False)) for to in OLDEST),
    *(Case("strict_tools", ask(model="command-r", tools=[TOOL], strict_tools=True),
           ask(model=to, tools=[TOOL], strict_tools=True)) for to in (*LATER, *OLDER[:2])),
    *(Case("json_schema", ask(model=to, response_format=SHAPE),
           ask(model=to, response_format={"type": "json_object"})) for to in (*OLDEST, *AYA)),
    *(Case("json_schema", ask(model="command-r-03-2024", response_format=SHAPE),
           ask(model=to, response_format=SHAPE)) for to in (*LATER, *OLDER[:2])),
    Case("json_root", ask(response_format={"type": "json_object", "json_schema": {"type": "array"}}),
         ask(response_format=SHAPE)),
    *(Case("max_tokens", ask(model=to, max_tokens=most + 1), ask(model=to, max_tokens=most))
      for to, most in MOST.items()),
    Case("too_long", ask(say("four" * 140_000), model="command-r-08-2024"),
         ask(say("four" * 140_000), model="command-a-03-2025")),
    Case("many_images", ask(*(image("https://x.test/a.png") for _ in range(21)), model=SEES),
         ask(*(image("https://x.test/a.png") for _ in range(20)), model=SEES)),
    Case("format_with_tools", ask(tools=[TOOL], response_format={"type": "json_object"}),
         ask(response_format={"type": "json_object"})),
    Case("result_without_call",
         ask(say("hi"), {"role": "assistant", "tool_calls": [CALL]},
             {"role": "tool", "tool_call_id": "c2", "content": "1"}),
         ask(say("hi"), {"role": "assistant", "tool_calls": [CALL]},
             {"role": "tool", "tool_call_id": "c1", "content": "1"})),
    Case("empty_assistant", ask(say("hi"), {"role": "assistant"}, say("hi")),
         ask(say("hi"), {"role": "assistant", "content": "ok"}, say("hi"))),
    Case("images", ask(image("https://x.test/a.png")),
         ask(image("https://x.test/a.png"), model=SEES)),
    Case("image_data", ask(image("data:image/png;base64,**"), model=SEES),
         ask(image("data:image/png;base64,QUJD"), model=SEES)),
]  # fmt: skip
