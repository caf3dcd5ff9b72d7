"""A canned service that serves as much as each request allows: the judge of reservations.

It reads the request that arrived, by the words of the vendors' types, and knows nothing of the
gateway. A tool that it runs itself fills the window of the model with results, as often as the
request lets it; a file elsewhere, or an item that it has stored, fills the window once; every
answer is as long as its limit.
"""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

from msgspec import Struct

from pondero.canon import HttpRequest, ResponseHead

PROMPT = 12
WINDOWS = {
    "claude-opus-5": (1_000_000, 128_000),
    "claude-haiku-4-5": (200_000, 64_000),
    "gpt-5.6": (1_050_000, 128_000),
    "gpt-5.5": (1_050_000, 128_000),
    "gemini-3-flash-preview": (1_048_576, 65_536),
    "openai/gpt-5.5:online": (1_050_000, 128_000),
}
"""The window and the longest answer of each model (wire sheets)."""
LOOPS = 10
"""Passes after which Anthropic's service pauses a turn."""
AT_CLIENT = re.compile(
    r"custom|function|bash|text_editor|memory|computer|browser|local_shell|apply"
)
FROM_REQUEST = re.compile(r"tool_search")
ADVISORS = re.compile(r"advisor")
ELSEWHERE = {"file_url", "file_id", "fileUri", "file_uri", "video_url", "s3Location"}


class Served(Struct):
    """What the service counted; ``advice``: the model, input and output of each advisor's answer."""

    model: str
    input: int = 0
    output: int = 0
    thinking: int = 0
    advice: list[tuple[str, int, int]] = []

    @property
    def total(self) -> int:
        return self.input + self.output + sum(size + most for _, size, most in self.advice)


class GenerousService:
    """Answers each request with all that it allows."""

    needs_key = False

    def __init__(self) -> None:
        self.served: list[Served] = []
        self.bodies: list[dict[str, Any]] = []

    async def send(self, request: HttpRequest, timeouts: object) -> "_Answer":
        body = json.loads(request.body)
        self.bodies.append(body)
        path = request.url.partition("?")[0]
        write = next(write for end, write in _WRITERS.items() if end in path)
        served, answer = write(body, path)
        self.served.append(served)
        return _Answer(json.dumps(answer).encode())

    async def aclose(self) -> None:
        """Nothing is open."""

    @property
    def total(self) -> int:
        return sum(each.total for each in self.served)

    @property
    def thinking(self) -> int:
        return sum(each.thinking for each in self.served)


class _Answer:
    def __init__(self, body: bytes) -> None:
        self.head = ResponseHead(200, {"content-type": "application/json"})
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body

    async def aclose(self) -> None:
        """Nothing is open."""


def _find_prompt(body: dict[str, Any], window: int) -> int:
    """Return the tokens of the prompt itself: all of the window if not all of it is here."""
    waiting: list[Any] = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            source = value.get("source") or {}
            is_document = value.get("type") == "document" and source.get("type") == "url"
            if is_document or value.get("type") == "item_reference":
                return window
            file = value.get("file_data") or ""
            if value.keys() & ELSEWHERE or (isinstance(file, str) and file.startswith("http")):
                return window
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return PROMPT


def _own_tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    own = []
    for each in body.get("tools") or ():
        if each.get("type") == "namespace":
            own += _own_tools(each)
        elif each.get("type") and not AT_CLIENT.match(each["type"]):
            own.append(each)
    own = [each for each in own if each.get("execution") != "client"]
    return [each for each in own if (each.get("environment") or {}).get("type") != "local"]


def _messages(body: dict[str, Any], _path: str) -> tuple[Served, dict[str, Any]]:
    window, longest = WINDOWS[body["model"]]
    limit = min(body["max_tokens"], longest)
    own = _own_tools(body)
    uses = min(LOOPS, sum(each.get("max_uses") or LOOPS for each in own))
    outside = [each for each in own if not FROM_REQUEST.match(each["type"])]
    rounds = [window if outside else PROMPT] * uses
    advice = []
    for each in own:
        if ADVISORS.match(each["type"]):
            size, most = WINDOWS[each["model"]]
            count = min(each.get("max_uses") or LOOPS, LOOPS)
            advice += [(each["model"], size, each.get("max_tokens") or most)] * count
    off = (body.get("thinking") or {}).get("type") == "disabled"
    thinking = 0 if off else limit
    prompt = _find_prompt(body, window)
    served = Served(body["model"], prompt + sum(rounds), limit, thinking, advice)
    told = [
        {"type": "advisor_message", "model": model, "input_tokens": size, "output_tokens": most}
        for model, size, most in advice
    ]
    usage = {
        "input_tokens": served.input,
        "output_tokens": limit,
        "output_tokens_details": {"thinking_tokens": served.thinking},
        "iterations": told,
    }
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}
    content = [{"type": "text", "text": "391"}]
    ends = {"stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    return served, {**base, "content": content, **ends}


def _responses(body: dict[str, Any], _path: str) -> tuple[Served, dict[str, Any]]:
    window, longest = WINDOWS[body["model"]]
    limit = min(body.get("max_output_tokens") or longest, longest)
    later = [each for each in body["input"] if each.get("type") == "additional_tools"]
    own = [tool for each in (body, *later) for tool in _own_tools(each)]
    outside = [each for each in own if not FROM_REQUEST.match(each["type"])]
    reasoning = body.get("reasoning") or {}
    off = reasoning.get("effort") == "none" and reasoning.get("mode") != "pro"
    prompt = window if outside else _find_prompt(body, window)
    served = Served(body["model"], prompt, limit, 0 if off else limit)
    usage = {
        "input_tokens": served.input,
        "output_tokens": limit,
        "output_tokens_details": {"reasoning_tokens": served.thinking},
        "total_tokens": served.total,
    }
    text = {"type": "output_text", "text": "391", "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
    base = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed"}
    output = [{**message, "content": [text]}]
    return served, {**base, "model": body["model"], "output": output, "usage": usage}


def _chat(body: dict[str, Any], _path: str) -> tuple[Served, dict[str, Any]]:
    window, longest = WINDOWS[body["model"]]
    asked = body.get("max_completion_tokens") or body.get("max_tokens")
    limit = min(asked or longest, longest)
    searches = body.get("web_search_options") is not None or body["model"].endswith(":online")
    off = body.get("reasoning_effort") == "none"
    prompt = window if searches else _find_prompt(body, window)
    served = Served(body["model"], prompt, limit, 0 if off else limit)
    usage = {
        "prompt_tokens": served.input,
        "completion_tokens": limit,
        "total_tokens": served.total,
        "completion_tokens_details": {"reasoning_tokens": served.thinking},
    }
    choice = {"index": 0, "message": {"role": "assistant", "content": "391"}}
    base = {"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"]}
    return served, {**base, "choices": [{**choice, "finish_reason": "stop"}], "usage": usage}


def _gemini(body: dict[str, Any], path: str) -> tuple[Served, dict[str, Any]]:
    model = path.rpartition("/")[2].partition(":")[0]
    window, longest = WINDOWS[model]
    config = body.get("generationConfig") or {}
    limit = min(config.get("maxOutputTokens") or longest, longest)
    client = {"functionDeclarations", "computerUse"}
    own = any(set(each) - client for each in body.get("tools") or ())
    prompt = _find_prompt(body, window)
    served = Served(model, window if own else prompt, limit, limit)
    content = {"role": "model", "parts": [{"text": "391"}]}
    usage = {
        "promptTokenCount": prompt,
        "toolUsePromptTokenCount": served.input - prompt,
        "candidatesTokenCount": 0,
        "thoughtsTokenCount": limit,
        "totalTokenCount": served.total,
    }
    candidate = {"content": content, "index": 0, "finishReason": "STOP"}
    return served, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "g"}


_WRITERS = {
    "/messages": _messages,
    "/responses": _responses,
    "/chat/completions": _chat,
    "enerateContent": _gemini,
}
