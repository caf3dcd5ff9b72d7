"""What an agent sends: a conversation with tools, signed thinking and results, on each client API.

A request of ``TURNS`` turns has 81 messages and about 195 KiB; the first 40 KiB are its
instructions and its tools. The word that tells the loopback what to answer is in the last message.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from streams import words

Json = Any
TURNS, TOOLS = 40, 20


@dataclass(frozen=True)
class Turn:
    """What the model said in one turn; ``key`` makes it unlike any other."""

    key: str

    @property
    def thinking(self) -> str:
        """Return its thinking."""
        return f"{self.key}: {text(170)}"

    @property
    def said(self) -> str:
        """Return what it said beside its call."""
        return f"Now step {self.key}. {text(30)}"

    @property
    def seal(self) -> str:
        """Return the signature of the thinking."""
        return ("EqQBCkYIBxgCKkD" + self.key.encode().hex().ljust(32, "0")) * 12

    @property
    def given(self) -> Json:
        """Return the arguments of its call."""
        return {"path": f"src/{self.key}/main.py", "lines": [1, 200], "why": text(20)}

    @property
    def tool(self) -> str:
        """Return the tool that it calls."""
        return f"tool_{len(self.key) % TOOLS}"


@cache
def text(count: int) -> str:
    """Return so many words."""
    return "".join(words(count))


def result(ask: str = "") -> str:
    """Return what a tool answered, which may end with a word to the loopback."""
    return f"{text(360)} {ask}"


_INSTRUCTIONS = text(4_200)
_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": text(30)},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "why": {"type": "string", "description": text(30)},
    },
    "required": ["path"],
}


def _tools(made: Callable[[str, str], Json]) -> list[Json]:
    return [made(f"tool_{number}", text(60)) for number in range(TOOLS)]


# -- requests: the beginning, the client's first words, a turn, the result of its call ---------


def _messages(model: str) -> Json:
    tools = _tools(lambda n, d: {"name": n, "description": d, "input_schema": _SCHEMA})
    system = [{"type": "text", "text": _INSTRUCTIONS, "cache_control": {"type": "ephemeral"}}]
    return {"model": model, "max_tokens": 4096, "system": system, "tools": tools}


def _chat(model: str) -> Json:
    def tool(name: str, about: str) -> Json:
        function = {"name": name, "description": about, "parameters": _SCHEMA}
        return {"type": "function", "function": function}

    return {"model": model, "max_tokens": 4096, "tools": _tools(tool)}


def _responses(model: str) -> Json:
    def tool(name: str, about: str) -> Json:
        return {"type": "function", "name": name, "description": about, "parameters": _SCHEMA}

    start = {"model": model, "max_output_tokens": 4096, "instructions": _INSTRUCTIONS}
    more = {"store": False, "include": ["reasoning.encrypted_content"], "tools": _tools(tool)}
    return {**start, **more}


def _gemini(_: str) -> Json:
    tools = _tools(lambda n, d: {"name": n, "description": d, "parameters": _SCHEMA})
    return {
        "systemInstruction": {"parts": [{"text": _INSTRUCTIONS}]},
        "generationConfig": {"maxOutputTokens": 4096},
        "tools": [{"functionDeclarations": tools}],
    }


def _messages_said(turn: Turn) -> list[Json]:
    content = [
        {"type": "thinking", "thinking": turn.thinking, "signature": turn.seal},
        {"type": "text", "text": turn.said},
        {"type": "tool_use", "id": f"toolu_{turn.key}", "name": turn.tool, "input": turn.given},
    ]
    return [{"role": "assistant", "content": content}]


def _chat_said(turn: Turn) -> list[Json]:
    function = {"name": turn.tool, "arguments": json.dumps(turn.given)}
    call = {"id": f"call_{turn.key}", "type": "function", "function": function}
    thought = {"reasoning_content": turn.thinking, "tool_calls": [call]}
    return [{"role": "assistant", "content": turn.said, **thought}]


def _responses_said(turn: Turn) -> list[Json]:
    said = {"type": "output_text", "annotations": [], "logprobs": [], "text": turn.said}
    return [
        {
            "id": f"rs_{turn.key}",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": turn.thinking}],
            "encrypted_content": turn.seal,
        },
        {
            "id": f"msg_{turn.key}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [said],
        },
        {
            "id": f"fc_{turn.key}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{turn.key}",
            "name": turn.tool,
            "arguments": json.dumps(turn.given),
        },
    ]


def _gemini_said(turn: Turn) -> list[Json]:
    call = {"name": turn.tool, "args": turn.given}
    parts = [
        {"text": turn.thinking, "thought": True},
        {"text": turn.said},
        {"functionCall": call, "thoughtSignature": turn.seal},
    ]
    return [{"role": "model", "parts": parts}]


def _messages_result(said: list[Json], came: str) -> list[Json]:
    call = said[-1]["content"][-1]["id"]
    block = {"type": "tool_result", "tool_use_id": call, "content": came}
    return [{"role": "user", "content": [block]}]


def _chat_result(said: list[Json], came: str) -> list[Json]:
    call = said[-1]["tool_calls"][-1]["id"]
    return [{"role": "tool", "tool_call_id": call, "content": came}]


def _responses_result(said: list[Json], came: str) -> list[Json]:
    return [{"type": "function_call_output", "call_id": said[-1]["call_id"], "output": came}]


def _gemini_result(said: list[Json], came: str) -> list[Json]:
    name = said[-1]["parts"][-1]["functionCall"]["name"]
    response = {"name": name, "response": {"output": came}}
    return [{"role": "user", "parts": [{"functionResponse": response}]}]


@dataclass(frozen=True)
class Front:
    """How a client API writes a conversation, and where it puts one."""

    path: str
    where: str
    start: Callable[[str], Json]
    asked: Callable[[str], list[Json]]
    said: Callable[[Turn], list[Json]]
    result: Callable[[list[Json], str], list[Json]]
    answered: Callable[[Json], list[Json]]  # what a client keeps of a whole answer
    level: Json  # the fields that ask for much thinking
    most: str = "max_tokens"


def _user(said: str) -> list[Json]:
    return [{"role": "user", "content": said}]


FRONTS = {
    "messages": Front(
        "/v1/messages",
        "messages",
        _messages,
        _user,
        _messages_said,
        _messages_result,
        lambda body: [{"role": "assistant", "content": body["content"]}],
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
    ),
    "chat": Front(
        "/v1/chat/completions",
        "messages",
        _chat,
        lambda said: [{"role": "system", "content": _INSTRUCTIONS}, *_user(said)],
        _chat_said,
        _chat_result,
        lambda body: [body["choices"][0]["message"]],
        {"reasoning_effort": "high"},
    ),
    "responses": Front(
        "/v1/responses",
        "input",
        _responses,
        _user,
        _responses_said,
        _responses_result,
        lambda body: list(body["output"]),
        {"reasoning": {"effort": "high"}},
        "max_output_tokens",
    ),
    "gemini": Front(
        "/v1beta/models/{model}:{verb}",
        "contents",
        _gemini,
        lambda said: [{"role": "user", "parts": [{"text": said}]}],
        _gemini_said,
        _gemini_result,
        lambda body: [body["candidates"][0]["content"]],
        {
            "generationConfig": {
                "maxOutputTokens": 4096,
                "thinkingConfig": {"thinkingLevel": "high"},
            }
        },
    ),
}


_VERBS = {False: "generateContent", True: "streamGenerateContent?alt=sse"}


def path_of(front: str, model: str, *, streamed: bool) -> str:
    """Return where a request goes."""
    return FRONTS[front].path.format(model=model, verb=_VERBS[streamed])


def encoded(front: str, model: str, messages: Iterable[bytes], *, thinks: bool = False) -> bytes:
    """Return a request with these messages, each of which is JSON already.

    ``thinks``: it asks for much thinking, which not every gateway takes.
    """
    start = _start(front, model, thinks=thinks)
    return b'%b,"%b":[%b]}' % (start[:-1], FRONTS[front].where.encode(), b",".join(messages))


@cache
def _start(front: str, model: str, *, thinks: bool) -> bytes:
    api = FRONTS[front]
    return dumped({**api.start(model), **api.level} if thinks else api.start(model))


def dumped(value: Json) -> bytes:
    """Return JSON as an SDK writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def small_body(front: str, model: str, ask: str, *, streamed: bool) -> bytes:
    """Return a request of one sentence."""
    api = FRONTS[front]
    body: Json = {api.where: api.asked(ask)[-1:]}
    if front != "gemini":
        body = {"model": model, api.most: 4096, **body}
        body |= {"stream": True} if streamed else {}
    return dumped(body)


class Conversation:
    """A conversation as its client keeps it: in JSON, as no client encodes it better."""

    def __init__(self, front: str, model: str, first: str, *, thinks: bool = False) -> None:
        self._front, self._model, self._thinks = front, model, thinks
        self._api = FRONTS[front]
        self._messages = self._dump(self._api.asked(first))

    def _dump(self, messages: Iterable[Json]) -> list[bytes]:
        return [dumped(message) for message in messages]

    def request(self, more: str = "") -> bytes:
        """Return the next request; ``more`` is one question more, which is not kept."""
        new = self._dump(self._api.asked(more)[-1:]) if more else []
        return encoded(self._front, self._model, [*self._messages, *new], thinks=self._thinks)

    def add(self, answer: Json, came: str) -> None:
        """Keep an answer, and what came of the tool that it calls."""
        said = self._api.answered(answer)
        self._messages += self._dump((*said, *self._api.result(said, came)))


def agent_body(front: str, model: str, ask: str, *, first: str = "") -> bytes:
    """Return a request of ``TURNS`` turns; ``first`` makes its history unlike any other's."""
    api = FRONTS[front]
    messages = api.asked(f"{first} Mend the build, please. {text(40)}")
    for number in range(TURNS):
        said = api.said(Turn(f"{first}{number}"))
        last = number == TURNS - 1
        messages += [*said, *api.result(said, result(ask if last else ""))]
    return encoded(front, model, map(dumped, messages))


def long_body(front: str, model: str, ask: str, *, size: int) -> bytes:
    """Return a request of one message and so many bytes."""
    api = FRONTS[front]
    bare = len(encoded(front, model, map(dumped, api.asked(ask))))
    filler = ("and so on, " * (size // 8))[: max(0, size - bare)]
    return encoded(front, model, map(dumped, api.asked(f"{filler} {ask}")))


# -- whole answers ------------------------------------------------------------------------------


def answer(wire: str, key: str) -> Json:
    """Return the service's whole answer of a turn that calls a tool."""
    turn = Turn(key)
    counts = {"input_tokens": 900, "output_tokens": 300}
    if wire == "anthropic":
        return {
            "id": f"msg_{key}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5",
            "content": _messages_said(turn)[0]["content"],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": counts,
        }
    if wire == "openai_responses":
        return {
            "id": f"resp_{key}",
            "object": "response",
            "created_at": 1_790_000_000,
            "model": "gpt-5.4",
            "status": "completed",
            "output": _responses_said(turn),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {**counts, "total_tokens": 1_200},
        }
    if wire == "openai_chat":
        choice = {"index": 0, "message": _chat_said(turn)[0], "finish_reason": "tool_calls"}
        return {
            "id": f"chatcmpl-{key}",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": "deepseek-reasoner",
            "choices": [choice],
            "usage": {"prompt_tokens": 900, "completion_tokens": 300, "total_tokens": 1_200},
        }
    tokens = {"promptTokenCount": 900, "candidatesTokenCount": 300, "totalTokenCount": 1_200}
    return {
        "candidates": [{"content": _gemini_said(turn)[0], "finishReason": "STOP", "index": 0}],
        "usageMetadata": tokens,
        "modelVersion": "gemini-3-flash-preview",
        "responseId": f"r{key}",
    }
