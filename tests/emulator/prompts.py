"""Long prompts for each API, sent to an emulator as bytes, and what its answers count."""

import json
from typing import Any, NamedTuple

from pondero.canon import HttpRequest
from pondero.emulator import Emulator

KEY = "key-of-one"
BETAS = "mid-conversation-output-config-2026-07-01,cache-diagnosis-2026-04-07"


class Clock:
    """A clock that only a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Counts(NamedTuple):
    """What an answer says of its prompt: tokens that were not cached, were read, were written."""

    rest: int
    read: int
    written: int

    @property
    def prompt(self) -> int:
        return self.rest + self.read + self.written


def words(tokens: int, word: str = "word") -> str:
    """Return a text of a number of tokens: four bytes each."""
    return (word.ljust(3)[:3] + " ") * tokens


def post(emulator: Emulator, url: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    """Send a request and return its answer, which must be one."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = HttpRequest(
        "POST", url, {"content-type": "application/json", **named}, json.dumps(body).encode()
    )
    response = emulator.send(sent)
    answer: dict[str, Any] = json.loads(b"".join(response))
    assert response.head.status == 200, answer
    return answer


def mark(ttl: str | None = None) -> dict[str, Any]:
    """Return a breakpoint of the Messages API."""
    lives = {"ttl": ttl} if ttl else {}
    return {"cache_control": {"type": "ephemeral", **lives}}


def text(said: str, *, ttl: str | None = None, marked: bool = False) -> dict[str, Any]:
    """Return a block of text, with a breakpoint if it is marked."""
    return {"type": "text", "text": said, **(mark(ttl) if marked or ttl else {})}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(said: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [text(said)]}


def claude(
    emulator: Emulator,
    *messages: dict[str, Any],
    model: str = "claude-opus-5",
    key: str = KEY,
    **more: Any,
) -> dict[str, Any]:
    """Send messages to Claude and return the whole answer."""
    body = {"model": model, "max_tokens": 4_000, "messages": list(messages), **more}
    return post(
        emulator,
        "https://api.anthropic.com/v1/messages",
        body,
        x_api_key=key,
        anthropic_version="2023-06-01",
        anthropic_beta=BETAS,
    )


def count_claude(answer: dict[str, Any]) -> Counts:
    usage = answer["usage"]
    return Counts(
        usage["input_tokens"],
        usage["cache_read_input_tokens"],
        usage["cache_creation_input_tokens"],
    )


def responses(emulator: Emulator, *items: Any, model: str = "gpt-6-astra", **more: Any) -> Counts:
    """Send items to the Responses API and return what the answer counts."""
    url = "https://api.openai.com/v1/responses"
    body = {"model": model, "input": list(items), **more}
    usage = post(emulator, url, body, authorization=f"Bearer {KEY}")["usage"]
    details = usage["input_tokens_details"]
    read, written = details["cached_tokens"], details["cache_write_tokens"]
    return Counts(usage["input_tokens"] - read - written, read, written)


def chat(
    emulator: Emulator,
    *messages: dict[str, Any],
    model: str = "gpt-5",
    url: str = "https://api.openai.com/v1/chat/completions",
    **more: Any,
) -> dict[str, Any]:
    """Send messages to a Chat Completions API and return the usage of the answer."""
    body = {"model": model, "messages": list(messages), **more}
    usage: dict[str, Any] = post(emulator, url, body, authorization=f"Bearer {KEY}")["usage"]
    return usage


def gemini(
    emulator: Emulator, *contents: str, model: str = "gemini-3-flash-preview", **more: Any
) -> dict[str, Any]:
    """Send turns to Gemini, the user's and the model's by turns, and return the usage."""
    roles = ("user", "model")
    turns = [
        {"role": roles[number % 2], "parts": [{"text": said}]}
        for number, said in enumerate(contents)
    ]
    url = f"https://generativelanguage.googleapis.com/v1beta/models/{model}:generateContent"
    answer = post(emulator, url, {"contents": turns, **more}, x_goog_api_key=KEY)
    usage: dict[str, Any] = answer["usageMetadata"]
    return usage


def converse(
    emulator: Emulator, *content: Any, model: str = "us.anthropic.claude-opus-5", **more: Any
) -> Counts:
    """Send one message to Bedrock and return what the answer counts."""
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{model}/converse"
    body = {"messages": [{"role": "user", "content": list(content)}], **more}
    usage = post(emulator, url, body, authorization=f"Bearer {KEY}")["usage"]
    return Counts(
        usage["inputTokens"], usage["cacheReadInputTokens"], usage["cacheWriteInputTokens"]
    )


TOOL = {"name": "look", "description": words(600), "input_schema": {"type": "object"}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
SUM = "What is 17 * 23?"
ASK = text(SUM)
