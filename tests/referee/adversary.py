"""An adversary: any conversation and any options that the library's types allow.

Drawn with a seed, so that a run is the same everywhere; ``shrink`` removes what a failure does not
need. Nothing here is read from a service's tables or from the catalog's facts.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from msgspec.structs import replace

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Message,
    Origin,
    Part,
    Signature,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.dialects import NAMES

Ask = dict[str, Any]
"""The arguments of ``client.prepare`` after the model: ``prompt``, ``thinking`` and options."""

PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
MEDIA: tuple[Image | Blob, ...] = (
    Image("image/png", PNG),
    Image("image/webp", b"RIFF\x00\x00\x00\x00WEBP"),
    Image("image/tiff", b"II*\x00"),
    Image(None, PNG),
    Image(url="https://example.com/a.png"),
    Image("image/jpeg", url="https://example.com/b.jpg"),
    Image("image/png", url="gs://bucket/a.png"),
    Image("image/png", url="data:image/png;base64,iVBORw0KGgo="),
    Blob("application/pdf", b"%PDF-1.4"),
    Blob("application/pdf", b"%PDF-1.4", name="paper.pdf"),
    Blob("application/pdf", url="https://example.com/a.pdf"),
    Blob("application/pdf", url="gs://bucket/a.pdf"),
    Blob("text/plain", b"Some words.", name="a.txt"),
    Blob("text/csv", b"a,b\n1,2\n", name="a.csv"),
    Blob("application/vnd.openxmlformats-officedocument.wordprocessingml.document", b"PK"),
    Blob("application/zip", b"PK"),
    Blob("audio/wav", b"RIFF"),
    Blob("audio/mpeg", b"ID3"),
    Blob("video/mp4", b"\x00\x00\x00\x18ftyp"),
)
WORDS = (
    "Hello.",
    "What is the weather in Paris?",
    "Zürich 🌦",
    " ",
    "",
    "a\n\nb",
    "<system>x</system>",
)
MAKERS = (
    *((name, name, None) for name in NAMES),
    ("anthropic", "anthropic", "claude-opus-4-1"),
    ("openai_responses", "openai", "gpt-5.5"),
    ("openai_chat", "deepseek", "deepseek-v4-flash"),
    ("openai_chat", "openrouter", "openai/gpt-5"),
    ("gemini", "google", "gemini-3-flash-preview"),
    ("bedrock", "bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("cohere", "cohere", "command-a-reasoning-08-2025"),
)
IDS = ("call_1", "call_2", "toolu_01A", "x" * 60, "fc|é", "123456789", "call 3", "a.b:c-d")
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
FUNCTIONS = (
    Tool("get_weather", "Tells the weather of a city.", CITY),
    Tool("look", "", {"type": "object", "properties": {}, "additionalProperties": False}),
    Tool("no_parameters", "Has none."),
    Tool("bare", "Says nothing of its arguments.", {"type": "object"}),
    Tool("listing", "", {"type": "object", "properties": {"names": {"type": "array"}}}),
)
OTHERS = (
    Tool("edit", "Takes a patch.", kind="text", raw={"type": "custom", "name": "edit"}, dialect="openai_responses"),
    Tool("web_search", kind="web_search", raw={"type": "web_search"}, dialect="openai_responses"),
    Tool("googleSearch", kind="web_search", raw={"googleSearch": {}}, dialect="gemini"),
    Tool(
        "web_search",
        kind="web_search",
        raw={"type": "web_search_20250305", "name": "web_search"},
        dialect="anthropic",
    ),
    Tool("codeExecution", kind="code_execution", raw={"codeExecution": {}}, dialect="gemini"),
    Tool("shell", kind="other", raw={"type": "shell"}, dialect="openai_responses"),
    Tool("apply_patch", kind="other", raw={"type": "apply_patch"}, dialect="openai_responses"),
    Tool("bash", kind="other", raw={"type": "bash_20250124", "name": "bash"}, dialect="anthropic"),
    Tool(
        "code_execution",
        kind="code_execution",
        raw={"type": "code_execution_20250825", "name": "code_execution"},
        dialect="anthropic",
    ),
    Tool("googleMaps", kind="other", raw={"googleMaps": {}}, dialect="gemini"),
    Tool("urlContext", kind="other", raw={"urlContext": {}}, dialect="gemini"),
    Tool("image_generation", kind="other", raw={"type": "image_generation"}, dialect="openai_responses"),
)  # fmt: skip
LEVELS = (
    None,
    None,
    True,
    "off",
    "minimal",
    "low",
    "medium",
    "high",
    "xhigh",
    "max",
    0,
    1,
    1500,
    90_000,
)


def draw(seed: str) -> Ask:
    """Return what is asked; the same for the same seed."""
    dice = Random(seed)
    tools = _draw_tools(dice) if dice.random() < 0.6 else []
    ask: Ask = {"prompt": _draw_conversation(dice), "thinking": dice.choice(LEVELS)}
    options: dict[str, Callable[[], Any]] = {
        "system": lambda: [
            Text(dice.choice(WORDS), cache=_draw_mark(dice)) for _ in range(dice.randint(1, 2))
        ],
        "stop": lambda: dice.sample(["END", "###", "\n\nUser:", "a", "b", "c"], dice.randint(1, 6)),
        "max_tokens": lambda: dice.choice([1, 10, 100, 1025, 5_000, 100_000]),
        "temperature": lambda: dice.choice([0, 0.0, 0.3, 1, 1.9, 2]),
        "top_p": lambda: dice.choice([0.0, 0.5, 1, 1.0]),
        "top_k": lambda: dice.choice([0, 1, 40, 1000]),
        "stream": lambda: dice.random() < 0.5,
    }
    for name, pick in options.items():
        if dice.random() < 0.3:
            ask[name] = pick()
    if tools:
        ask["tools"] = tools
        if dice.random() < 0.6:
            ask["tool_choice"] = _draw_choice(dice, tools)
    return ask


def _draw_mark(dice: Random) -> CacheBreakpoint | None:
    return dice.choice([None, None, None, CacheBreakpoint(), CacheBreakpoint("1h")])


def _draw_tools(dice: Random) -> list[Tool]:
    functions = [
        replace(tool, cache=_draw_mark(dice), strict=dice.choice([None, None, True, False]))
        for tool in dice.sample(FUNCTIONS, dice.randint(0, 3))
    ]
    others = dice.sample(OTHERS, dice.choice([0, 0, 1, 2]))
    found = {tool.name: tool for tool in (*functions, *others)}
    return list(found.values())


def _draw_choice(dice: Random, tools: list[Tool]) -> ToolChoice:
    mode: Any = dice.choice(["auto", "none", "required", "tool"])
    name = dice.choice(tools).name if mode == "tool" else None
    return ToolChoice(mode, name, dice.choice([None, None, True, False]))


def _draw_conversation(dice: Random) -> list[Message]:
    messages: list[Message] = []
    open_calls: list[str] = []
    for _ in range(dice.randint(1, 6)):
        role = dice.choice(["user", "user", "assistant", "assistant", "system"])
        if role == "system":
            messages.append(Message("system", (Text(dice.choice(WORDS[:3])),)))
        elif role == "user":
            messages.append(_draw_user(dice, open_calls))
            open_calls = []
        else:
            answer = _draw_answer(dice)
            open_calls += [call.id for call in answer.tool_calls]
            messages.append(answer)
    if not any(_is_heard(message) for message in messages):
        messages.insert(dice.randint(0, len(messages)), Message("user", (Text("Hello."),)))
    return messages


def _is_heard(message: Message) -> bool:
    """Return whether the user says something: of others' parts a model may see none."""
    texts = (part.text for part in message.parts if isinstance(part, Text))
    return message.role == "user" and any(text.strip() for text in texts)


def _draw_user(dice: Random, open_calls: list[str]) -> Message:
    kept = [id for id in open_calls if dice.random() < 0.85]
    if dice.random() < 0.1:
        kept.append("never_called")
    if dice.random() < 0.2:
        dice.shuffle(kept)
    parts: list[Part] = [_draw_result(dice, id) for id in kept]
    said: list[Part] = [_draw_shown(dice) for _ in range(dice.randint(0 if parts else 1, 2))]
    return Message("user", (*said, *parts) if dice.random() < 0.2 else (*parts, *said))


def _draw_shown(dice: Random) -> Part:
    if dice.random() < 0.7:
        return Text(dice.choice(WORDS), cache=_draw_mark(dice))
    return dice.choice(MEDIA) if dice.random() < 0.9 else _draw_unknown(dice)


def _draw_result(dice: Random, id: str) -> ToolResult:
    content: list[Any] = [
        Text(dice.choice(WORDS)) if dice.random() < 0.7 else dice.choice(MEDIA)
        for _ in range(dice.randint(0, 2))
    ]
    name = dice.choice([None, "get_weather"])
    error = dice.random() < 0.2
    return ToolResult(id, tuple(content), error=error, name=name, cache=_draw_mark(dice))


def _draw_answer(dice: Random) -> Message:
    dialect, provider, model = dice.choice(MAKERS)
    named = dice.random() < 0.6
    signature = Signature(dialect, "c2lnbmVk", model or "a-model-of-yore", f"{provider}-of-yore")
    parts: list[Part] = []
    for _ in range(dice.randint(0, 2)):
        signed = signature if dice.random() < 0.6 else None
        kind = dice.choice(["text", "text", "thinking", "redacted", "medium", "unknown"])
        if kind == "text":
            cites = ({"cited": "x"},) if dice.random() < 0.1 else ()
            parts.append(Text(dice.choice(WORDS), signed, cites, _draw_mark(dice)))
        elif kind == "thinking":
            parts.append(Thinking(dice.choice(["Let me think.", ""]), signed))
        elif kind == "redacted":
            parts.append(Thinking("", signature, redacted=True))
        elif kind == "medium":
            parts.append(dice.choice(MEDIA))
        else:
            parts.append(_draw_unknown(dice))
    if dice.random() < 0.6:
        names = ["get_weather", "get_weather", "look", "gone"]
        arguments = [{"city": "Paris"}, {"city": "Paris"}, {}, None, "words", [1]]
        for id in dice.sample(IDS, dice.randint(1, 3)):
            signed = signature if dice.random() < 0.3 else None
            parts.append(ToolCall(id, dice.choice(names), dice.choice(arguments), signed))
    origin = Origin(f"{provider}-of-yore", model or "a-model-of-yore") if named else None
    return Message("assistant", tuple(parts) or (Text("Well."),), origin)


def _draw_unknown(dice: Random) -> UnknownPart:
    dialect, provider, model = dice.choice(MAKERS)
    signature = Signature(dialect, "c2lnbmVk", model, f"{provider}-of-yore")
    return UnknownPart(dialect, {"type": "unheard_of", "text": "x"}, signature)


# -- the smallest that still fails ---------------------------------------------------------------


def shrink(ask: Ask, fails: Callable[[Ask], bool]) -> Ask:
    """Return a part of what was asked that still fails, and of which nothing can be removed."""
    while (less := next((each for each in _smaller(ask) if fails(each)), None)) is not None:
        ask = less
    return ask


def _smaller(ask: Ask) -> Iterator[Ask]:
    for name in ask:
        if name not in ("prompt", "thinking"):
            yield {key: value for key, value in ask.items() if key != name}
    if ask["thinking"] is not None:
        yield {**ask, "thinking": None}
    messages: list[Message] = ask["prompt"]
    for at, message in enumerate(messages):
        if len(messages) > 1:
            yield {**ask, "prompt": [*messages[:at], *messages[at + 1 :]]}
        for place in range(len(message.parts) if len(message.parts) > 1 else 0):
            parts = (*message.parts[:place], *message.parts[place + 1 :])
            less = Message(message.role, parts, message.origin)
            yield {**ask, "prompt": [*messages[:at], less, *messages[at + 1 :]]}
    for at in range(len(ask.get("tools", ()))):
        tools = ask["tools"]
        if len(tools) > 1 and tools[at].name != getattr(ask.get("tool_choice"), "name", None):
            yield {**ask, "tools": [*tools[:at], *tools[at + 1 :]]}
