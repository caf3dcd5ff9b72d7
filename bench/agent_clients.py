"""Clients as agents use an API: a long conversation with tools, kept and sent whole every time.

Each client writes the next request from the service's own answers, in the bytes of its SDK.
"""

import json
from abc import ABC, abstractmethod
from typing import Any

from loopback import write_short

Json = Any
TOOLS, TOOL, RESULT, PROMPT = 20, 1_300, 2_600, 6_000  # how many, and characters of each


def _text(seed: int, length: int) -> str:
    words = (f"word{(seed * 7 + at) % 997} of line {at % 13};" for at in range(length // 12))
    return " ".join(words)[:length]


def _schema(number: int) -> Json:
    field = {"type": "string", "description": _text(number, 180)}
    names = [f"field_{number}_{at}" for at in range(4)]
    return {"type": "object", "properties": dict.fromkeys(names, field), "required": names[:1]}


def _tools() -> list[tuple[str, str, Json]]:
    return [(f"tool_{at}", _text(at, TOOL - 700), _schema(at)) for at in range(TOOLS)]


def write_answer(wire: str, number: int) -> Json:
    """Return a whole answer that thinks, says a sentence and calls a tool."""
    thought, said = _text(number, 420), f"I will look at step {number}."
    arguments = {"path": f"/src/file_{number}.py", "lines": [number, number + 40], "note": "read"}
    proof = f"sig{number:09d}" + "A" * 388
    counts = {"input_tokens": 900 + number, "output_tokens": 170}
    answer = write_short(wire)
    if wire == "anthropic":
        answer["content"] = [
            {"type": "thinking", "thinking": thought, "signature": proof},
            {"type": "text", "text": said},
            {
                "type": "tool_use",
                "id": f"toolu_{number:020d}",
                "name": "tool_1",
                "input": arguments,
            },
        ]
        return {**answer, "stop_reason": "tool_use", "usage": counts}
    text = json.dumps(arguments)
    if wire == "openai_responses":
        call = {"type": "function_call", "id": f"fc_{number:030d}", "status": "completed"}
        summary = [{"type": "summary_text", "text": thought}]
        thinking = {"type": "reasoning", "id": f"rs_{number:030d}", "summary": summary}
        answer["output"] = [
            {**thinking, "encrypted_content": proof},
            {**answer["output"][0], "id": f"msg_{number:030d}"},
            {**call, "call_id": f"call_{number:020d}", "name": "tool_1", "arguments": text},
        ]
        return answer
    if wire == "openai_chat":
        function: Json = {"name": "tool_1", "arguments": text}
        call = {"id": f"call_{number:020d}", "type": "function", "function": function}
        message = {"role": "assistant", "content": said, "tool_calls": [call]}
        answer["choices"] = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
        return answer
    called = {"functionCall": {"name": "tool_1", "args": arguments}, "thoughtSignature": proof}
    parts = [{"text": thought, "thought": True}, {"text": said}, called]
    answer["candidates"][0]["content"]["parts"] = parts
    return answer


class Client(ABC):
    """How one API's requests are written."""

    @abstractmethod
    def short(self, model: str, *, stream: bool) -> tuple[str, bytes]:
        """Return a request of one question."""

    @abstractmethod
    def request(self, model: str, turns: list[Json]) -> tuple[str, bytes]:
        """Return a request with these turns."""

    @abstractmethod
    def ask(self, text: str) -> Json:
        """Return a turn of the user."""

    @abstractmethod
    def keep(self, answer: Json, result: str) -> list[Json]:
        """Return an answer as turns, with results of its calls."""


def _dump(fields: Json) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


class _Messages(Client):
    def short(self, model: str, *, stream: bool) -> tuple[str, bytes]:
        fields = {"model": model, "max_tokens": 4096, "messages": [self.ask("One question")]}
        return "/v1/messages", _dump({**fields, "stream": stream})

    def request(self, model: str, turns: list[Json]) -> tuple[str, bytes]:
        tools = [{"name": n, "description": d, "input_schema": s} for n, d, s in _tools()]
        system = [
            {"type": "text", "text": _text(1, PROMPT), "cache_control": {"type": "ephemeral"}}
        ]
        fields = {"model": model, "max_tokens": 32_000, "system": system, "tools": tools}
        thinking = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
        return "/v1/messages", _dump({**fields, **thinking, "messages": turns})

    def ask(self, text: str) -> Json:
        return {"role": "user", "content": [{"type": "text", "text": text}]}

    def keep(self, answer: Json, result: str) -> list[Json]:
        ids = [each["id"] for each in answer["content"] if each["type"] == "tool_use"]
        content = [{"type": "text", "text": result}]
        results = [{"type": "tool_result", "tool_use_id": id, "content": content} for id in ids]
        said = {"role": "assistant", "content": answer["content"]}
        return [said, {"role": "user", "content": results}]


class _Chat(Client):
    def short(self, model: str, *, stream: bool) -> tuple[str, bytes]:
        fields = {"model": model, "messages": [self.ask("One question")], "stream": stream}
        return "/v1/chat/completions", _dump(fields)

    def request(self, model: str, turns: list[Json]) -> tuple[str, bytes]:
        functions = [{"name": n, "description": d, "parameters": s} for n, d, s in _tools()]
        tools = [{"type": "function", "function": each} for each in functions]
        system = {"role": "system", "content": _text(1, PROMPT)}
        fields = {"model": model, "reasoning_effort": "high", "tools": tools}
        return "/v1/chat/completions", _dump({**fields, "messages": [system, *turns]})

    def ask(self, text: str) -> Json:
        return {"role": "user", "content": text}

    def keep(self, answer: Json, result: str) -> list[Json]:
        said = {k: v for k, v in answer["choices"][0]["message"].items() if v is not None}
        ids = [each["id"] for each in said["tool_calls"]]
        return [said, *({"role": "tool", "tool_call_id": id, "content": result} for id in ids)]


class _Responses(Client):
    def short(self, model: str, *, stream: bool) -> tuple[str, bytes]:
        fields = {"model": model, "input": [self.ask("One question")], "stream": stream}
        return "/v1/responses", _dump({**fields, "store": False})

    def request(self, model: str, turns: list[Json]) -> tuple[str, bytes]:
        tools = [
            {"type": "function", "name": n, "description": d, "parameters": s, "strict": False}
            for n, d, s in _tools()
        ]
        fields = {"model": model, "instructions": _text(1, PROMPT), "tools": tools, "store": False}
        more = {"reasoning": {"effort": "high"}, "include": ["reasoning.encrypted_content"]}
        return "/v1/responses", _dump({**fields, **more, "input": turns})

    def ask(self, text: str) -> Json:
        content = [{"type": "input_text", "text": text}]
        return {"type": "message", "role": "user", "content": content}

    def keep(self, answer: Json, result: str) -> list[Json]:
        ids = [each["call_id"] for each in answer["output"] if each["type"] == "function_call"]
        kind = "function_call_output"
        return [*answer["output"], *({"type": kind, "call_id": id, "output": result} for id in ids)]


class _Gemini(Client):
    def short(self, model: str, *, stream: bool) -> tuple[str, bytes]:
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{model}:{verb}", _dump({"contents": [self.ask("One question")]})

    def request(self, model: str, turns: list[Json]) -> tuple[str, bytes]:
        functions = [{"name": n, "description": d, "parameters": s} for n, d, s in _tools()]
        system = {"parts": [{"text": _text(1, PROMPT)}]}
        fields = {"systemInstruction": system, "tools": [{"functionDeclarations": functions}]}
        level = {"generationConfig": {"thinkingConfig": {"thinkingLevel": "high"}}}
        return f"/v1beta/models/{model}:generateContent", _dump(
            {**fields, **level, "contents": turns}
        )

    def ask(self, text: str) -> Json:
        return {"role": "user", "parts": [{"text": text}]}

    def keep(self, answer: Json, result: str) -> list[Json]:
        content = answer["candidates"][0]["content"]
        calls = [each["functionCall"] for each in content["parts"] if "functionCall" in each]
        told = [{"name": each["name"], "response": {"output": result}} for each in calls]
        return [content, {"role": "user", "parts": [{"functionResponse": each} for each in told]}]


CLIENTS: dict[str, Client] = {
    "messages": _Messages(),
    "chat": _Chat(),
    "responses": _Responses(),
    "gemini": _Gemini(),
}


class Conversation:
    """A conversation as its client keeps it."""

    def __init__(self, client: Client, model: str) -> None:
        self._client = client
        self._model = model
        self._turns: list[Json] = [client.ask("Please find and mend the defect in my program.")]

    def request(self, more: str = "") -> tuple[str, bytes]:
        """Return the next request; ``more`` is one question more, which is not kept."""
        turns = [*self._turns, self._client.ask(more)] if more else self._turns
        return self._client.request(self._model, turns)

    def add(self, answer: Json) -> None:
        """Keep an answer, and the results of its calls."""
        self._turns += self._client.keep(answer, _text(len(self._turns), RESULT))
