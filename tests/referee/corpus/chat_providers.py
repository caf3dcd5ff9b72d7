"""Chat Completions at providers other than OpenAI: one pair of requests for each rule they have.

The lists of models are written from recordings, public issues and models.dev (2026-09), not read
from the tables that the emulator uses.
"""

from typing import Any

from tests.referee.cases import Case, post

from pondero.canon import HttpRequest

KEY = {"authorization": "Bearer key"}
TOOL = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
}
SEARCH = {"type": "web_search"}
CALL = {"id": "callabcd1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "callabcd1", "content": "1"}
CALLED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
FORCED = {"type": "function", "function": {"name": "f"}}
SYSTEM = {"role": "system", "content": "Be brief."}
IMAGE = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}
PDF = "data:application/pdf;base64,JVBERg=="
FILE = {"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
TEXT = {"type": "text", "text": "hi"}
SCHEMA = {"name": "answer", "schema": {"type": "object"}}
JSON = {"type": "json_object"}
MILLION = "word " * 200_000


def ask(model: str, *messages: Any, key: bool = True, **fields: Any) -> HttpRequest:
    """Return a request with these messages, or with a greeting."""
    turns = list(messages) or [say("hi")]
    body = {"model": model, "messages": turns, **fields}
    return post("https://service.test/v1/chat/completions", body, KEY if key else {})


def many(count: int) -> list[Any]:
    """Return this many tools."""
    named = ({"name": f"f{each}", "parameters": {"type": "object"}} for each in range(count))
    return [{"type": "function", "function": function} for function in named]


def say(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def answered(content: Any = "ok", **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


def with_image(model: str, **fields: Any) -> HttpRequest:
    return ask(model, say([TEXT, IMAGE]), **fields)


def with_text(model: str, **fields: Any) -> HttpRequest:
    return ask(model, say([TEXT]), **fields)


def in_schema(**schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {**SCHEMA, **schema}}


def video(url: str) -> HttpRequest:
    return ask("mimo-v2.5", say([TEXT, {"type": "video_url", "video_url": {"url": url}}]))


def pair(provider: str, rule: str, bad: HttpRequest, good: HttpRequest) -> Case:
    return Case(rule, bad, good, provider)


# -- keys and models -----------------------------------------------------------------------------

MODELS = {
    "baseten": "openai/gpt-oss-120b",
    "cerebras": "gpt-oss-120b",
    "dashscope": "qwen3.8-max",
    "deepseek": "deepseek-v4-flash",
    "fireworks": "accounts/fireworks/models/gpt-oss-120b",
    "groq": "llama-3.3-70b-versatile",
    "huggingface": "Qwen/Qwen3-4B",
    "minimax": "MiniMax-M3",
    "mistral": "mistral-small-latest",
    "moonshot": "kimi-k2.6",
    "nvidia": "meta/llama-3.1-8b-instruct",
    "openrouter": "openai/gpt-5",
    "perplexity": "sonar",
    "together": "openai/gpt-oss-20b",
    "vercel-gateway": "openai/gpt-5",
    "xai": "grok-4.6",
    "xiaomi": "mimo-v2.5",
    "zai": "glm-5.2",
}
KEYS = [
    pair(provider, "no_key", ask(model, key=False), ask(model))
    for provider, model in MODELS.items()
]
UNKNOWN = {
    "cerebras": ("gpt-oss-121b",),
    "deepseek": ("deepseek-v9-nonexistent",),
    "groq": ("llama-3.3-70b-versatlie", "non-existent"),
    "mistral": ("bad model", "magistral-small-2506", "magistral-medium-2509"),
    "moonshot": ("kimi",),
    "openrouter": ("bad/model", "openai/gpt-nonexistent-routed-model", "gpt-4"),
    "perplexity": ("bad model", "sonar-small-online", "llama-3-sonar-large-32k-online"),
    "xai": ("grok", "gpt-4"),
    "zai": ("gpt-4",),
}
NAMES = [
    pair(provider, "no_model", ask(name), ask(MODELS[provider]))
    for provider, names in UNKNOWN.items()
    for name in names
]

# -- thinking ------------------------------------------------------------------------------------

GLM: dict[str, Any] = {"thinking": {"type": "disabled"}}
THINKING = [
    pair("groq", "effort", ask("qwen/qwen3.6-27b", reasoning_effort="medium"),
         ask("qwen/qwen3.6-27b", reasoning_effort="default")),
    pair("groq", "effort", ask("openai/gpt-oss-20b", reasoning_effort="none"),
         ask("openai/gpt-oss-20b", reasoning_effort="low")),
    pair("groq", "no_effort", ask("llama-3.3-70b-versatile", reasoning_effort="low"),
         ask("llama-3.3-70b-versatile")),
    pair("groq", "alone", ask("qwen/qwen3-32b", tools=[TOOL], reasoning_format="raw"),
         ask("qwen/qwen3-32b", tools=[TOOL], reasoning_format="parsed")),
    pair("groq", "field", ask("openai/gpt-oss-20b", answered(reasoning_content="x"), say("hi")),
         ask("openai/gpt-oss-20b", answered(reasoning="x"), say("hi"))),
    pair("mistral", "word", ask("mistral-small-latest", reasoning_effort="auto"),
         ask("mistral-small-latest", reasoning_effort="high")),
    pair("mistral", "effort", ask("mistral-small-latest", reasoning_effort="medium"),
         ask("mistral-small-latest", reasoning_effort="none")),
    pair("mistral", "no_effort", ask("mistral-large-latest", reasoning_effort="high"),
         ask("mistral-large-latest")),
    pair("mistral", "off", ask("zai-glm-5-3", reasoning_effort="none"),
         ask("zai-glm-5-3", reasoning_effort="low")),
    pair("mistral", "unsupported", ask("mistral-small-latest", prompt_mode="reasoning"),
         ask("mistral-small-latest")),
    pair("deepseek", "forced", ask("deepseek-v4-pro", tools=[TOOL], tool_choice="required"),
         ask("deepseek-v4-pro", tools=[TOOL], tool_choice="required", **GLM)),
    pair("deepseek", "must_replay", ask("deepseek-v4-pro", say("hi"), CALLED, RESULT),
         ask("deepseek-v4-pro", say("hi"), {**CALLED, "reasoning_content": ""}, RESULT)),
    pair("openrouter", "off", ask("openai/gpt-oss-120b", reasoning={"effort": "none"}),
         ask("openai/gpt-oss-120b", reasoning={"effort": "low"})),
    pair("openrouter", "effort", ask("x-ai/grok-4.5", reasoning={"effort": "xhigh"}),
         ask("x-ai/grok-4.6", reasoning={"effort": "xhigh"})),
    pair("openrouter", "word", ask("openai/gpt-5", reasoning={"effort": "auto"}),
         ask("openai/gpt-5", reasoning={"effort": "high"})),
    pair("openrouter", "two_efforts",
         ask("openai/gpt-5", reasoning={"effort": "low"}, reasoning_effort="high"),
         ask("openai/gpt-5", reasoning={"effort": "low"}, reasoning_effort="low")),
    pair("openrouter", "apart",
         ask("anthropic/claude-haiku-4.5", reasoning={"effort": "low", "max_tokens": 2000}),
         ask("anthropic/claude-haiku-4.5", reasoning={"max_tokens": 2000})),
    pair("openrouter", "must_replay", ask("deepseek/deepseek-v4-pro", say("hi"), CALLED, RESULT),
         ask("deepseek/deepseek-v4-pro", say("hi"), {**CALLED, "reasoning": ""}, RESULT)),
    *(pair("xai", "long_array", ask(model, tools=many(most + 1)), ask(model, tools=many(most)))
      for model, most in (("grok-4.3", 200), ("grok-4.5", 350))),
    pair("groq", "long_array", ask("openai/gpt-oss-120b", tools=many(129)),
         ask("openai/gpt-oss-120b", tools=many(128))),
    *(pair("groq", "large_cap", ask(model, max_tokens=most + 1), ask(model, max_tokens=most))
      for model, most in (("llama-3.3-70b-versatile", 32_768), ("openai/gpt-oss-20b", 65_536),
                          ("qwen/qwen3-32b", 40_960), ("moonshotai/kimi-k2-instruct", 16_384))),
    pair("groq", "large_cap", ask("allam-2-7b", max_completion_tokens=4_097),
         ask("allam-2-7b", max_completion_tokens=4_096)),
    pair("xai", "no_effort", ask("grok-code-fast-1", reasoning_effort="low"),
         ask("grok-code-fast-1")),
    pair("xai", "effort", ask("grok-4.5", reasoning_effort="xhigh"),
         ask("grok-4.6", reasoning_effort="xhigh")),
    pair("xai", "off", ask("grok-4.5", reasoning_effort="none"),
         ask("grok-4.3", reasoning_effort="none")),
    pair("xai", "unsupported", ask("grok-4.6", stop=["x"]), ask("grok-4.6")),
    pair("zai", "off", ask("glm-5.3", **GLM), ask("glm-5.2", **GLM)),
    pair("zai", "effort", ask("glm-5.3", reasoning_effort="medium"),
         ask("glm-5.3", reasoning_effort="high")),
    pair("cerebras", "effort", ask("gpt-oss-120b", reasoning_effort="minimal"),
         ask("gpt-oss-120b", reasoning_effort="low")),
    pair("cerebras", "off", ask("gpt-oss-120b", disable_reasoning=True),
         ask("gpt-oss-120b", disable_reasoning=False)),
    pair("cerebras", "no_effort", ask("llama3.1-8b", reasoning_effort="low"), ask("llama3.1-8b")),
    pair("cerebras", "field", ask("gpt-oss-120b", answered(reasoning_content="x"), say("hi")),
         ask("gpt-oss-120b", answered(reasoning="x"), say("hi"))),
    pair("moonshot", "apart",
         ask("kimi-k2.6", reasoning_effort="low", thinking={"type": "enabled"}),
         ask("kimi-k2.6", thinking={"type": "enabled"})),
    pair("moonshot", "off", ask("kimi-k3", reasoning_effort="none"),
         ask("kimi-k3", reasoning_effort="low")),
    pair("moonshot", "effort", ask("kimi-k3", reasoning_effort="medium"),
         ask("kimi-k3", reasoning_effort="high")),
    pair("moonshot", "forced", ask("kimi-k2.6", tools=[TOOL], tool_choice="required"),
         ask("kimi-k2.6", tools=[TOOL], tool_choice="auto")),
    pair("moonshot", "unsupported", ask("kimi-k3", thinking={"type": "enabled"}), ask("kimi-k3")),
    pair("moonshot", "must_replay", ask("kimi-k2.6", say("hi"), CALLED, RESULT),
         ask("kimi-k2.6", say("hi"), {**CALLED, "reasoning_content": "x"}, RESULT)),
    pair("minimax", "forced", ask("MiniMax-M3", tools=[TOOL], tool_choice="required"),
         ask("MiniMax-M3", tools=[TOOL])),
    pair("minimax", "no_effort", ask("MiniMax-M3", reasoning_effort="low"), ask("MiniMax-M3")),
    pair("fireworks", "apart",
         ask("qwen3", reasoning_effort="low", thinking={"type": "enabled"}),
         ask("qwen3", thinking={"type": "enabled"})),
    pair("fireworks", "off", ask("gpt-oss-120b", reasoning_effort="none"),
         ask("gpt-oss-120b", reasoning_effort="low")),
    pair("fireworks", "effort", ask("kimi-k3", reasoning_effort="medium"),
         ask("kimi-k3", reasoning_effort="high")),
    pair("dashscope", "apart", ask("qwen3.8-max", reasoning_effort="low", thinking_budget=100),
         ask("qwen3.8-max", thinking_budget=100)),
    pair("dashscope", "word", ask("qwen3.8-max", reasoning_effort="auto"),
         ask("qwen3.8-max", reasoning_effort="low")),
    pair("dashscope", "effort", ask("qwen3.8-max", reasoning_effort="max"),
         ask("qwen3.8-max", reasoning_effort="xhigh")),
    pair("dashscope", "forced",
         ask("qwen3.8-max", tools=[TOOL], tool_choice="required", enable_thinking=True),
         ask("qwen3.8-max", tools=[TOOL], tool_choice="required", enable_thinking=False)),
    pair("dashscope", "budget", ask("qwen3.8-max", thinking_budget=0),
         ask("qwen3.8-max", thinking_budget=1)),
    pair("sglang", "off", ask("openai/gpt-oss-20b", reasoning_effort="none"),
         ask("Qwen/Qwen3-4B", reasoning_effort="none")),
    pair("vllm", "budget", ask("Qwen/Qwen3-4B", thinking_token_budget=-2),
         ask("Qwen/Qwen3-4B", thinking_token_budget=-1)),
    pair("dashscope", "off", ask("qwq-plus", enable_thinking=False),
         ask("qwq-plus", enable_thinking=True)),
]  # fmt: skip

# -- tools and formats ---------------------------------------------------------------------------

NO_TOOLS = {
    "groq": (
        ("groq/compound", "groq/compound-mini", "compound-beta", "meta-llama/llama-guard-4-12b"),
        "openai/gpt-oss-safeguard-20b",
    ),
    "openrouter": (
        ("minimax/minimax-01", "nousresearch/deephermes-3-llama-3-8b-preview",
         "deepseek/deepseek-r1:free", "qwen/qwen3-8b:free", "perplexity/sonar"),
        "minimax/minimax-m2",
    ),
}  # fmt: skip
NO_SCHEMAS = {
    "groq": (
        ("groq/compound", "groq/compound-mini", "llama-3.3-70b-versatile", "llama-3.1-8b-instant",
         "qwen/qwen3-32b", "gemma2-9b-it", "allam-2-7b"),
        ("openai/gpt-oss-20b", "openai/gpt-oss-120b", "moonshotai/kimi-k2-instruct-0905",
         "meta-llama/llama-4-scout-17b-16e-instruct"),
    ),
    "huggingface": (
        ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.3-70B-Instruct:novita"),
        ("Qwen/Qwen3-4B", "meta-llama/Llama-4-Scout-17B-16E-Instruct"),
    ),
}  # fmt: skip
UNTYPED = {"type": "json_schema", "json_schema": {"name": "answer", "type": "object"}}
TOOLS = [
    *(
        pair(provider, "no_tools", ask(model, tools=[TOOL]), ask(other, tools=[TOOL]))
        for provider, (models, other) in NO_TOOLS.items()
        for model in models
    ),
    pair("perplexity", "no_tools", ask("sonar", tools=[TOOL]), ask("sonar")),
    *(
        pair("openrouter", "named_tool", ask(model, tools=[TOOL], tool_choice=FORCED),
             ask(model, tools=[TOOL], tool_choice="required"))
        for model in ("x-ai/grok-3-mini", "x-ai/grok-4-fast", "x-ai/grok-code-fast-1")
    ),
    pair("openrouter", "named_tool",
         ask("x-ai/grok-3-mini-beta", tools=[TOOL], tool_choice=FORCED),
         ask("x-ai/grok-3", tools=[TOOL], tool_choice=FORCED)),
    pair("groq", "tool", ask("groq/compound", tools=[SEARCH]),
         ask("openai/gpt-oss-20b", tools=[{"type": "mcp"}])),
    pair("mistral", "tool", ask("ministral-3b-latest", tools=[SEARCH]),
         ask("ministral-3b-latest", tools=[TOOL])),
    pair("deepseek", "tool", ask("deepseek-v4-flash", tools=[SEARCH]),
         ask("deepseek-v4-flash", tools=[TOOL])),
    pair("groq", "json_with_tools",
         ask("openai/gpt-oss-20b", tools=[TOOL], response_format=JSON),
         ask("openai/gpt-oss-20b", say("In JSON."), response_format=JSON)),
    *(
        pair(provider, "schema", ask(model, response_format=in_schema()),
             ask(other, response_format=in_schema()))
        for provider, (models, others) in NO_SCHEMAS.items()
        for model in models
        for other in others
    ),
    pair("deepseek", "schema", ask("deepseek-v4-flash", response_format=in_schema()),
         ask("deepseek-v4-flash", say("In JSON."), response_format=JSON)),
    pair("groq", "format_part", ask("openai/gpt-oss-120b", response_format=UNTYPED),
         ask("openai/gpt-oss-120b", response_format=in_schema())),
    pair("openrouter", "format_part",
         ask("qwen/qwen3.5-397b-a17b", response_format={"type": "json_schema"}),
         ask("qwen/qwen3.5-397b-a17b", response_format=in_schema())),
    pair("baseten", "format_part", ask("zai-org/GLM-5.2", response_format=in_schema(name="")),
         ask("zai-org/GLM-5.2", response_format=in_schema())),
    pair("groq", "no_logprobs", ask("openai/gpt-oss-20b", logprobs=True),
         ask("openai/gpt-oss-20b", logprobs=False)),
    pair("mistral", "no_logprobs", ask("mistral-small-latest", top_logprobs=2),
         ask("mistral-small-latest")),
]  # fmt: skip

# -- images, sound, video ------------------------------------------------------------------------

BLIND = {
    "groq": (
        "no_media",
        ("openai/gpt-oss-20b", "openai/gpt-oss-120b", "openai/gpt-oss-safeguard-20b",
         "llama-3.3-70b-versatile", "llama-3.1-8b-instant", "qwen/qwen3-32b",
         "moonshotai/kimi-k2-instruct-0905", "groq/compound", "gemma2-9b-it"),
        ("meta-llama/llama-4-scout-17b-16e-instruct", "qwen/qwen3.8-27b", "qwen/qwen3.6-27b"),
    ),
    "deepseek": (
        "no_media",
        ("deepseek-v4-flash", "deepseek-v4-pro", "deepseek-v4-pro-0813", "deepseek-chat",
         "deepseek-reasoner"),
        ("deepseek-flash", "deepseek-v4-flash-vision-exp"),
    ),
    "zai": (
        "no_media",
        ("glm-4.5", "glm-4.5-air", "glm-4.6", "glm-4.7", "glm-4.7-flash", "glm-5", "glm-5-turbo",
         "glm-5.1", "glm-5.2", "glm-5.3"),
        ("glm-4.5v", "glm-4.6v", "glm-5v-turbo", "glm-5.3-flash"),
    ),
    "dashscope": (
        "no_media",
        ("qwen3.7-max", "qwen3-max", "qwen3-32b", "qwen3-235b-a22b", "qwen3-coder-plus",
         "qwen-plus", "qwen-turbo"),
        ("qwen3.8-max", "qwen3-vl-flash", "qwen3.7-plus", "qwen-vl-max"),
    ),
    "mistral": (
        "no_images",
        ("voxtral-small-latest", "voxtral-mini-latest", "codestral-latest", "devstral-2512",
         "mistral-large-2411", "open-mistral-nemo", "open-mixtral-8x22b", "zai-glm-5-3"),
        ("mistral-small-latest", "mistral-large-latest", "mistral-large-2512", "pixtral-12b",
         "mistral-medium-latest", "ministral-3b-latest", "ministral-14b-2512", "ministral-8b-2512"),
    ),
    "openrouter": (
        "no_images",
        ("deepseek/deepseek-v4-pro", "openai/gpt-oss-120b", "openai/gpt-oss-20b:free",
         "openai/gpt-3.5-turbo", "openai/o3-mini", "z-ai/glm-5.2", "qwen/qwen3-coder",
         "moonshotai/kimi-k2", "minimax/minimax-m2.5", "mistralai/codestral-2508"),
        ("openai/gpt-4o", "anthropic/claude-haiku-4.5", "google/gemini-2.5-flash", "z-ai/glm-4.5v",
         "openrouter/auto", "deepseek/deepseek-v4.1-flash"),
    ),
    "huggingface": (
        "no_images",
        ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.3-70B-Instruct",
         "meta-llama/Meta-Llama-3-8B-Instruct", "Qwen/Qwen3-Coder-480B-A35B-Instruct",
         "Qwen/Qwen3-4B", "deepseek-ai/DeepSeek-R1-0528", "deepseek-ai/DeepSeek-V4-Pro",
         "openai/gpt-oss-120b:cerebras", "zai-org/GLM-5.2"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen2.5-VL-72B-Instruct", "google/gemma-3-27b-it",
         "meta-llama/Llama-4-Scout-17B-16E-Instruct", "zai-org/GLM-4.5V",
         "Qwen/Qwen3-VL-235B-A22B-Instruct", "meta-llama/Llama-3.2-11B-Vision-Instruct"),
    ),
    "xiaomi": (
        "no_images",
        ("mimo-v2.5-pro", "mimo-v2-flash", "mimo-v2-pro"),
        ("mimo-v2.5", "mimo-v2-omni", "mimo-v2.6-pro"),
    ),
}  # fmt: skip
SOUND = {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}
MEDIA = [
    *(
        pair(provider, rule, with_image(blind), with_text(blind))
        for provider, (rule, blinds, _) in BLIND.items()
        for blind in blinds
    ),
    *(
        pair(provider, rule, with_image(blinds[0]), with_image(sees))
        for provider, (rule, blinds, seers) in BLIND.items()
        for sees in seers
    ),
    pair("groq", "no_media", with_image("openai/gpt-oss-20b"),
         with_text("openai/gpt-oss-20b")),
    pair("deepseek", "part", ask("deepseek-flash", say([TEXT, SOUND])),
         with_image("deepseek-flash")),
    pair("llamacpp", "part",
         ask("x", say([TEXT, {"type": "video_url", "video_url": {"url": "https://x.test/a"}}])),
         with_image("x")),
    pair("xiaomi", "video_format", video("https://x.test/a/video.webm?x=1"),
         video("https://x.test/a/video.mp4?x=1")),
    pair("xiaomi", "video_format", video("data:video/webm;base64,QUJD"),
         video("data:video/mp4;base64,QUJD")),
    pair("xiaomi", "video_format", video("https://x.test/a.webm"), video("https://x.test/watch")),
]  # fmt: skip

# -- roles, order, sizes -------------------------------------------------------------------------

UPDATE = {"role": "system", "content": "", "configuration_update": {"reasoning": {"effort": "low"}}}
DEVELOPER = {"role": "developer", "content": "Be brief."}
UPDATED = (say("hi"), answered(), UPDATE, say("hi"))
CONVERSATION = [
    *(
        pair(provider, "role", ask(MODELS[provider], DEVELOPER, say("hi")),
             ask(MODELS[provider], SYSTEM, say("hi")))
        for provider in ("deepseek", "mistral")
    ),
    *(
        pair("openrouter", "no_system", ask(f"google/{slug}:free", SYSTEM, say("hi")),
             ask(f"google/{slug}", SYSTEM, say("hi")))
        for slug in ("gemma-3n-e4b-it", "gemma-3-27b-it", "gemma-3-12b-it")
    ),
    *(
        pair("openrouter", "no_updates", ask(model, *UPDATED), ask(other, *UPDATED))
        for model, other in (
            ("anthropic/claude-sonnet-5", "anthropic/claude-sonnet-5.5"),
            ("anthropic/claude-opus-4.8", "anthropic/claude-opus-5"),
            ("openai/gpt-6.1-sol-pro", "openai/gpt-6.1-sol"),
            ("openai/gpt-5.6-sol", "openai/gpt-6-sol"),
            ("google/gemini-2.5-pro", "anthropic/claude-haiku-5.5"),
        )
    ),
    *(
        pair("mistral", "order", ask(model, say("hi"), CALLED, RESULT, say("go on")),
             ask(model, say("hi"), CALLED, RESULT, answered(), say("go on")))
        for model in ("mistral-large-latest", "mistral-medium-latest", "devstral-2512")
    ),
    pair("mistral", "order", ask("mistral-large-latest", say("hi"), CALLED, RESULT, say("go on")),
         ask("mistral-small-latest", say("hi"), CALLED, RESULT, say("go on"))),
    pair("mistral", "order", ask("mistral-small-latest", say("hi"), RESULT),
         ask("mistral-small-latest", say("hi"), CALLED, RESULT)),
    pair("mistral", "order", ask("mistral-small-latest", say("hi"), answered(), SYSTEM, say("hi")),
         ask("mistral-small-latest", SYSTEM, say("hi"), answered(), say("hi"))),
    pair("mistral", "last_role", ask("mistral-medium-latest", say("hi"), answered("Hi!")),
         ask("mistral-medium-latest", say("hi"), answered("Hi!", prefix=True))),
    pair("mistral", "unanswered_call", ask("mistral-small-latest", say("hi"), CALLED, say("hi")),
         ask("mistral-small-latest", say("hi"), CALLED, RESULT)),
    pair("mistral", "empty_assistant", ask("mistral-small-latest", answered(""), say("hi")),
         ask("mistral-small-latest", answered("ok"), say("hi"))),
    pair("mistral", "call_id",
         ask("mistral-small-latest", say("hi"),
             answered("", tool_calls=[{**CALL, "id": "call_1"}]), {**RESULT, "tool_call_id": "x"}),
         ask("mistral-small-latest", say("hi"), CALLED, RESULT)),
    pair("mistral", "missing", ask("mistral-small-latest", say([FILE])),
         ask("mistral-small-latest", say([{"type": "file", "file_id": "f1"}]))),
    pair("mistral", "missing", ask("mistral-small-latest", say([FILE])),
         ask("mistral-small-latest", say([{"type": "document_url", "document_url": PDF}]))),
    pair("mistral", "wrong_type", ask("voxtral-small-latest", say([SOUND])),
         ask("voxtral-small-latest", say([{**SOUND, "input_audio": "UklGRg=="}]))),
    pair("mistral", "no_audio", ask("mistral-small-latest", say([{**SOUND, "input_audio": "UklGRg=="}])),
         ask("voxtral-mini-latest", say([{**SOUND, "input_audio": "UklGRg=="}]))),
    pair("mistral", "part", ask("mistral-small-latest", say([{"type": "video_url", "video_url": {"url": "https://x.test/a.mp4"}}])),
         with_image("mistral-small-latest")),
    pair("mistral", "wrong_type", ask("mistral-small-latest", temperature="1"),
         ask("mistral-small-latest", temperature=1)),
    pair("mistral", "missing", ask("mistral-small-latest", say([{"type": "text"}])),
         with_text("mistral-small-latest")),
    pair("mistral", "wrong_value", ask("mistral-small-latest", response_format={"type": "x"}),
         ask("mistral-small-latest", response_format=JSON)),
    pair("nvidia", "order",
         ask("mistralai/mistral-small-4-119b-2603", say("hi"), CALLED, RESULT, say("go on")),
         ask("meta/llama-3.1-8b-instruct", say("hi"), CALLED, RESULT, say("go on"))),
    pair("perplexity", "order", ask("sonar", say("hi"), say("hi")),
         ask("sonar", SYSTEM, say("hi"), answered(), say("hi"))),
    pair("openrouter", "least_output", ask("openai/gpt-4.1-mini", max_tokens=15),
         ask("openai/gpt-4.1-mini", max_tokens=16)),
    pair("openrouter", "least_output", ask("openai/gpt-5", max_completion_tokens=10),
         ask("openai/gpt-4o-mini", max_tokens=10)),
    pair("openrouter", "too_long", ask("anthropic/claude-haiku-4.5", say(MILLION), answered(MILLION), say("hi")),
         ask("anthropic/claude-opus-5", say(MILLION), answered(MILLION), say("hi"))),
    pair("perplexity", "too_long", ask("sonar", say(MILLION)), ask("sonar-pro", say(MILLION))),
    *(
        pair("openrouter", "ended", ask(name), ask("openrouter/auto"))
        for name in ("openrouter/horizon-alpha", "openrouter/horizon-beta")
    ),
    *(
        pair("xai", "other_endpoint", ask(name), ask("grok-4.6"))
        for name in ("grok-imagine-image", "grok-imagine-image-quality", "grok-2-image-1212")
    ),
]  # fmt: skip

# -- Ollama's server -----------------------------------------------------------------------------

OLLAMA = [
    pair("ollama", "ended", ask("bad_model", key=False), ask("qwen3:4b", key=False)),
    pair("ollama-cloud", "ended", ask("llama3.1"), ask("gpt-oss:120b")),
    pair("ollama-cloud", "no_key", ask("gpt-oss:120b", key=False), ask("gpt-oss:120b")),
    *(pair("ollama", "effort", ask(to, reasoning_effort="low"), ask(to, reasoning_effort="none"))
      for to in ("llama3.1", "llama3.2", "gemma3:4b", "mistral", "phi4", "qwen2.5", "qwen3-coder")),
    *(pair("ollama", "effort", ask("llama3.2", reasoning_effort="low"),
           ask(to, reasoning_effort="low"))
      for to in ("qwen3:4b", "qwen3.5:2b", "deepseek-r1", "gpt-oss:20b", "gemma4:e2b", "glm-4.6")),
    *(pair("ollama", "word", ask("qwen3:4b", reasoning_effort=bad),
           ask("qwen3:4b", reasoning_effort=good))
      for bad, good in (("default", "none"), ("on", "ultra"), ("HIGH", "high"))),
]  # fmt: skip

# -- fields at the top ---------------------------------------------------------------------------

SMALL = "mistral-small-latest"
Fields = list[dict[str, Any]]
NOT_MISTRAL: Fields = [
    {"foo": 1}, {"thinking": {}}, {"seed": 1}, {"user": "ann"}, {"store": True}, {"logit_bias": {}},
    {"max_completion_tokens": 9},
]  # fmt: skip
OF_MISTRAL: Fields = [
    {"random_seed": 1}, {"safe_prompt": True}, {"n": 2}, {"max_tokens": 9}, {"metadata": {}},
    {"foo": None},
]  # fmt: skip
NOT_GROQ: Fields = [
    {"foo": 1}, {"thinking": {"type": "enabled"}}, {"think": False}, {"reasoning": {"effort": "low"}},
]  # fmt: skip
NOT_CEREBRAS: Fields = [{"thinking": {}}, {"enable_thinking": True}, {"reasoning": {}}]
FIELDS = [
    *(pair("mistral", "unknown_argument", ask(SMALL, **fields), ask(SMALL)) for fields in NOT_MISTRAL),
    *(pair("mistral", "unknown_argument", ask(SMALL, foo=1), ask(SMALL, **fields))
      for fields in OF_MISTRAL),
    pair("mistral", "field", ask(SMALL, say("hi"), answered(reasoning_content="x"), say("hi")),
         ask(SMALL, say("hi"), answered(), say("hi"))),
    *(pair("groq", "unknown_argument", ask(to, **fields), ask(to, user="ann", seed=1, n=1))
      for to in ("llama-3.3-70b-versatile", "openai/gpt-oss-20b", "qwen/qwen3-32b")
      for fields in NOT_GROQ),
    pair("groq", "integer_above", ask("openai/gpt-oss-20b", n=2), ask("openai/gpt-oss-20b", n=1)),
    pair("groq", "unsupported", ask("openai/gpt-oss-20b", logit_bias={"1": 1}),
         ask("openai/gpt-oss-20b")),
    *(pair("cerebras", "unknown_argument", ask(to, **fields), ask(to, seed=1, user="ann"))
      for to in ("gpt-oss-120b", "zai-glm-4.7", "llama3.1-8b")
      for fields in NOT_CEREBRAS),
    *(pair("xai", "gone", ask(to, search_parameters={"mode": "auto"}), ask(to))
      for to in ("grok-4.3", "grok-4.6", "grok-3-latest")),
    pair("openrouter", "long_string", ask("openai/gpt-5", session_id="a" * 257),
         ask("openai/gpt-5", session_id="a" * 256)),
]  # fmt: skip

FILE = {
    "type": "file",
    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
}
SCOUT = "meta-llama/llama-4-scout-17b-16e-instruct"
BARE = {"type": "function", "function": {"name": "f"}}
STRAYS = (  # fields that only others take, null or not
    ([{**say("hi"), "name": "ann"}], [say("hi")]),
    ([{**say("hi"), "name": None}], [say("hi")]),
    ([{**SYSTEM, "name": "a"}, say("hi")], [SYSTEM, say("hi")]),
    ([say("hi"), answered(refusal=None), say("hi")], [say("hi"), answered(), say("hi")]),
    (
        [say("hi"), answered(reasoning="x"), say("hi")],
        [say("hi"), answered(prefix=False), say("hi")],
    ),
    ([say("hi"), answered(annotations=[]), say("hi")], [say("hi"), answered(), say("hi")]),
)
MISFITS = (
    ("wrong_type", {"temperature": "1"}, {"temperature": 1}),
    ("wrong_value", {"response_format": {"type": "x"}}, {"response_format": JSON}),
    ("missing", {"tools": [{"type": "function"}]}, {"tools": [TOOL]}),
)


def argued(arguments: str) -> list[Any]:
    """Return a call with these arguments, its thinking, and its result."""
    call = {**CALL, "function": {"name": "f", "arguments": arguments}}
    return [answered("", tool_calls=[call], reasoning_content="x"), RESULT]


def shaped(schema: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", **schema}},
    }


LIMITS = [
    *(pair(provider, "long_array", ask(to, stop=list("abcde")), ask(to, stop=list("abcd")))
      for provider, to in (("groq", SCOUT), ("cerebras", "gpt-oss-120b"))),
    *(pair(provider, "part", ask(to, say([TEXT, part])), ask(to, say([TEXT])))
      for provider, to in (("groq", SCOUT), ("cerebras", "gpt-oss-120b"))
      for part in (FILE, SOUND)),
    pair("groq", "part", ask(SCOUT, say([TEXT, FILE])), with_image(SCOUT)),
    *(pair("mistral", "above_range", ask(SMALL, temperature=heat), ask(SMALL, temperature=1.5))
      for heat in (1.6, 2)),
    pair("mistral", "no_parameters", ask(SMALL, tools=[BARE]), ask(SMALL, tools=[TOOL])),
    *(pair(provider, "json_word", ask(to, response_format=JSON),
           ask(to, say("Answer in JSON."), response_format=JSON))
      for provider, to in (("groq", "openai/gpt-oss-20b"), ("deepseek", "deepseek-v4-flash"),
                           ("dashscope", "qwen3.8-max"))),
    pair("mistral", "below_range", ask(SMALL, temperature=-1), ask(SMALL, temperature=0)),
    *(pair("mistral", "field", ask(SMALL, *bad), ask(SMALL, *good)) for bad, good in STRAYS),
    *(pair(provider, "bad_arguments", ask(to, say("hi"), *argued(bad)), ask(to, say("hi"), *argued("{}")))
      for provider, to in (("xai", "grok-4.6"), ("dashscope", "qwen3.8-max"), ("minimax", "MiniMax-M3"))
      for bad in ("", "{bad")),
    *(pair("deepseek", "tool_names", ask(to, tools=[TOOL, TOOL]), ask(to, tools=many(2)))
      for to in ("deepseek-v4-flash", "deepseek-v4-pro")),
    *(pair("groq", "required_alone", ask(to, tools=[shaped({"required": []})]),
           ask(to, tools=[shaped({"required": [], "properties": {}})]))
      for to in ("openai/gpt-oss-120b", "llama-3.3-70b-versatile")),
    pair("groq", "required_alone",
         ask(SCOUT, tools=[shaped({"properties": {"a": {"type": "object", "required": ["b"]}}})]),
         ask(SCOUT, tools=[shaped({"properties": {"a": {"type": "object"}}})])),
    *(pair("xai", rule, ask("grok-4.6", **bad), ask("grok-4.6", **good)) for rule, bad, good in MISFITS),
]  # fmt: skip

CASES = [*LIMITS, *FIELDS, *OLLAMA, *KEYS, *NAMES, *THINKING, *TOOLS, *MEDIA, *CONVERSATION]
