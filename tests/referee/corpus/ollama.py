"""Ollama's chat and generate, on a machine and in the cloud: pairs of requests for each rule."""

from typing import Any

from tests.referee.cases import Case, post

from pondero.canon import HttpRequest

URL = "http://localhost:11434/api/chat"
CLOUD = "ollama-cloud"
KEY = {"authorization": "Bearer key"}
PNG = "iVBORw0KGgo="
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
NO_TOOLS = ("llama2:13b", "llama3", "llama3.2-vision:11b", "gemma2", "gemma3:4b", "phi4:14b")
TOOLS = ("llama3.1", "llama3.2", "qwen3:4b", "qwen3.5:2b", "gemma4:e2b", "gpt-oss:20b", "mistral")
BLIND = ("llama3.1", "llama3.2", "gemma3:1b", "qwen3:4b", "gpt-oss:20b", "deepseek-r1:8b", "phi4")
SEE = ("llama3.2-vision", "gemma3:4b", "gemma4:e2b", "qwen3-vl:8b", "qwen2.5vl", "llava")
NO_THINKING = ("llama3.1", "llama3.2", "gemma3:4b", "mistral", "phi4", "qwen2.5", "qwen3-coder")
THINK = ("qwen3:4b", "qwen3.5:2b", "deepseek-r1", "gpt-oss:20b", "gemma4:e2b", "glm-4.6")
LOCAL = ("llama3.1", "llama2", "phi4", "qwen2.5")
HOSTED = ("gpt-oss:120b", "glm-5.2", "kimi-k2.6", "deepseek-v4-pro", "mistral-large-3:675b")


def ask(*messages: Any, url: str = URL, to: str = "qwen3:4b", **fields: Any) -> HttpRequest:
    turns = list(messages) or [say()]
    return post(url, {"model": to, "messages": turns, **fields}, KEY)


def generate(*, to: str = "qwen3:4b", **fields: Any) -> HttpRequest:
    return post(URL.replace("chat", "generate"), {"model": to, "prompt": "hi", **fields}, KEY)


def say(role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": "hi", **more}


def raw(body: bytes, headers: dict[str, str] = KEY, method: str = "POST") -> HttpRequest:
    return HttpRequest(method, URL, {"content-type": "application/json", **headers}, body)


GOOD = ask().body
NOT_RAW: list[dict[str, Any]] = [
    {"template": "{{ .Prompt }}"}, {"system": "Be brief."}, {"context": [1]},
]  # fmt: skip
CASES = [
    Case("no_path", ask(url="http://localhost:11434/api/chats"), ask()),
    Case("method", raw(GOOD, method="PUT"), raw(GOOD)),
    Case("no_key", raw(ask(to=HOSTED[0]).body, {}), raw(ask(to=HOSTED[0]).body), CLOUD),
    Case("no_body", raw(b""), raw(GOOD)),
    Case("not_json", raw(b"{"), raw(GOOD)),
    Case("wrong_type", ask(stream="yes"), ask(stream=True)),
    Case("wrong_type", ask(options=[]), ask(options={})),
    Case("wrong_type", ask({"role": "user", "content": [{"type": "text"}]}), ask(say())),
    Case("misfit", ask(tools=[{"type": "function"}]), ask(tools=[TOOL])),
    *(Case("wrong_type", ask(say(), {"role": 1, "content": "x"}), ask(say(), say(role)))
      for role in ("User", "developer", "foo", "SYSTEM")),
    *(Case("raw_mode", generate(raw=True, **fields), generate(**fields)) for fields in NOT_RAW),
    Case("raw_mode", generate(raw=True, system="x"), generate(raw=True)),
    *(Case("insert", generate(to=to, suffix="}"), generate(to=to))
      for to in ("qwen3:4b", "llama3.2", "gemma3:4b", "gpt-oss:20b", "mistral")),
    *(Case("insert", generate(suffix="}"), generate(to=to, suffix="}"))
      for to in ("qwen2.5-coder", "codellama", "deepseek-coder-v2", "codegemma:2b")),
    Case("no_model", ask(to=""), ask()),
    Case("unknown_model", ask(to="bad_model"), ask()),
    *(Case("unknown_model", ask(to=to), ask(to=HOSTED[0]), CLOUD) for to in LOCAL),
    *(Case("unknown_model", ask(to=LOCAL[0]), ask(to=to), CLOUD) for to in HOSTED),
    Case("think_type", ask(think=1), ask(think=True)),
    *(Case("think_word", ask(think=word), ask(think="max"))
      for word in ("minimal", "xhigh", "none", "HIGH")),
    *(Case("thinking", ask(to=to, think=True), ask(to=to, think=False)) for to in NO_THINKING),
    *(Case("thinking", ask(to="llama3.2", think="low"), ask(to=to, think="low")) for to in THINK),
    *(Case("tools", ask(to=to, tools=[TOOL]), ask(to=to)) for to in NO_TOOLS),
    *(Case("tools", ask(to="gemma3", tools=[TOOL]), ask(to=to, tools=[TOOL])) for to in TOOLS),
    *(Case("images", ask(say(images=[PNG]), to=to), ask(to=to)) for to in BLIND),
    *(Case("images", ask(say(images=[PNG]), to="llama3.2"), ask(say(images=[PNG]), to=to))
      for to in SEE),
    Case("strict_system", ask(say(), say("system"), to="qwen3.8"),
         ask(say("system"), say(), to="qwen3.8")),
    Case("strict_system", ask(say("system"), say("system"), say(), to="qwen3.8:32b"),
         ask(say("system"), say("system"), say(), to="qwen3:4b")),
    Case("top_logprobs", ask(logprobs=True, top_logprobs=21), ask(logprobs=True, top_logprobs=20)),
    Case("keep_alive", ask(keep_alive="5 minutes"), ask(keep_alive="5m")),
    Case("keep_alive", ask(keep_alive="5"), ask(keep_alive=5)),
    Case("format", ask(format="yaml"), ask(format="json")),
    Case("format", ask(format=["a"]), ask(format={"type": "object"})),
    *(Case("option", ask(options={name: bad}), ask(options={name: good})) for name, bad, good in (
        ("temperature", "hot", 1), ("num_predict", "1", 1.5), ("seed", "1", 1), ("stop", "a", ["a"]),
        ("top_k", "40", 40), ("num_ctx", True, 1.5))),
    Case("image_data", ask(say(images=["**"]), to="gemma4"), ask(say(images=[PNG]), to="gemma4")),
    Case("image_kind", ask(say(images=["QUJD"]), to="gemma4"),
         ask(say(images=[PNG]), to="gemma4")),
]  # fmt: skip
