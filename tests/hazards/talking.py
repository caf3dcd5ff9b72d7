"""Conversations with services that refuse what real ones refuse, and answers as they were sent."""

import json
from typing import Any

import pondero
from pondero.canon import HttpRequest, Message, ResponseHead, Text, Thinking, ToolCall, UnknownPart
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.exchange import Retry

ANTHROPIC = (
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-sonnet-4-5",
    "claude-opus-4-6",
    "vertex-anthropic:claude-opus-5",
    "azure-anthropic:claude-opus-5",
)
"""Every route of the wire that refuses a tool loop without its thinking, in every generation."""

SEALING = (
    "claude-opus-5",
    "claude-opus-4-8",
    "claude-sonnet-4-5",
    "vertex-anthropic:claude-opus-5",
    "gpt-5.1",
    "gpt-6-sol",
    "azure:gpt-5.1",
    "gemini-3-flash-preview",
    "gemini-3-pro-preview",
    "vertex:gemini-3-flash-preview",
)
"""Models that give seals, with others of the same maker and the same model elsewhere."""

PLAIN = (
    "openai-chat:gpt-5.1",
    "groq:openai/gpt-oss-120b",
    "cerebras:gpt-oss-120b",
    "deepseek:deepseek-reasoner",
    "xai:grok-4.6",
    "mistral:magistral-medium-latest",
    "openrouter:anthropic/claude-opus-5",
    "openrouter:openai/gpt-6-sol",
    "zai:glm-5.3",
    "moonshot:kimi-k3",
    "dashscope:qwen3.8-27b",
    "minimax:MiniMax-M3",
)
"""Models on the wire that everyone has a little differently."""

UNSEALED = ("cohere:command-a-reasoning-08-2025", "ollama:qwen3:8b", "ollama:gpt-oss:20b")
"""Models on wires of their own that take thinking back without a seal."""


def get_weather(city: str) -> str:
    """Get the weather."""
    return f"it is fine in {city}"


def chat_with(transport: Any, model: str, **options: Any) -> pondero.Chat:
    """Return a chat that asks each thing once."""
    client = pondero.Client(transport=transport, retry=Retry(attempts=1))
    return pondero.Chat(model, tools=[get_weather], client=client, **options)


def calling(count: int, thought: str = "let me look") -> list[ScriptedTurn]:
    """Return turns that think and call, one call each, and in the end an answer."""
    calls = [
        ScriptedTurn(
            thinking=f"{thought} ({n})",
            tool_calls=(ScriptedCall("get_weather", {"city": f"town {n}"}),),
        )
        for n in range(count)
    ]
    return [*calls, ScriptedTurn(thinking=f"{thought}, at last", text="It is fine everywhere.")]


def refusals(emulator: Emulator) -> list[Any]:
    return [entry.refusal for entry in emulator.log.entries if entry.refusal]


def bodies(emulator: Emulator) -> list[Any]:
    return [entry.body for entry in emulator.log.entries]


def last_body(emulator: Emulator) -> Any:
    return bodies(emulator)[-1]


def strings(value: Any) -> set[str]:
    """Return every text in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return {text for each in value for text in strings(each)}
    return {value} if isinstance(value, str) else set()


def keys(value: Any) -> set[str]:
    """Return every name of a field in a JSON value."""
    if isinstance(value, dict):
        return set(value) | {key for each in value.values() for key in keys(each)}
    return {key for each in value for key in keys(each)} if isinstance(value, list) else set()


def secrets(messages: tuple[Message, ...]) -> set[str]:
    """Return what only its maker can read: the long texts of the seals."""
    sealed = (Text, Thinking, ToolCall, UnknownPart)
    parts = [part for message in messages for part in message.parts if isinstance(part, sealed)]
    found = {text for part in parts if part.signature for text in strings(part.signature.value)}
    shown = {text for part in parts if isinstance(part, Text | Thinking) for text in [part.text]}
    return {text for text in found if len(text) > 15} - shown


class Canned:
    """A service that says what it was given, byte for byte, and keeps what it was asked."""

    needs_key = False

    def __init__(self, *bodies: "bytes | Said") -> None:
        self.asked: list[Any] = []
        self._bodies = list(bodies)

    def send(self, request: HttpRequest, timeouts: object) -> "Said":
        self.asked.append(json.loads(request.body))
        body = self._bodies.pop(0)
        return Said(body) if isinstance(body, bytes) else body

    def close(self) -> None:
        """Nothing is open."""


class Recorder:
    """A transport that keeps the answers of another, to give them ``again`` to anyone who asks."""

    needs_key = False

    def __init__(self, inner: Any) -> None:
        self.said: list[Said] = []
        self._inner = inner

    def send(self, request: HttpRequest, timeouts: Any) -> "Said":
        answer = self._inner.send(request, timeouts)
        self.said.append(Said(b"".join(answer), answer.head))
        return self.said[-1]

    def again(self) -> Canned:
        """Return a service that gives these answers, whatever it is asked."""
        return Canned(*self.said)

    def close(self) -> None:
        """Nothing is open."""


class Said:
    """One answer, one byte at a time."""

    def __init__(self, body: bytes, head: ResponseHead | None = None) -> None:
        self.head = head or ResponseHead(200, {"content-type": "text/event-stream"})
        self._body = body

    def __iter__(self) -> Any:
        return (self._body[at : at + 1] for at in range(len(self._body)))

    def close(self) -> None:
        """Nothing is open."""


def sse(*events: Any, named: bool = False, done: bool = False) -> bytes:
    """Return events as a stream; ``named`` where each says its type beside its data."""
    frames = []
    for event in events:
        name = f"event: {event['type']}\n" if named else ""
        frames.append(f"{name}data: {json.dumps(event)}\n\n")
    return "".join([*frames, "data: [DONE]\n\n" if done else ""]).encode()
