"""Planted proxies: an honest emulator behind one that spoils exactly one thing, for every API.

Each is a transport in front of the emulator. What it does to a request or to an answer is written
down here from the vendors' field names, not with our own parsers.
"""

import json
from collections.abc import Callable
from typing import Any

from pondero.canon import HttpRequest, ResponseHead
from pondero.emulator import Emulator
from pondero.framing import AwsEventsReader, write_aws_event
from pondero.thinking import Plan

Json = Any
OnRequest = Callable[[Json], None]
OnFrames = Callable[[list[Json]], list[Json]]


class SpoilingEmulator(Emulator):
    """An emulator behind a proxy: ``on_request`` changes bodies, ``on_frames`` answers."""

    def __init__(
        self,
        provider: str,
        on_request: OnRequest | None = None,
        on_frames: OnFrames | None = None,
    ) -> None:
        super().__init__(service=provider)
        self._on_request = on_request
        self._on_frames = on_frames

    def send(self, request: HttpRequest, timeouts: Any = None) -> Any:
        body = json.loads(request.body) if request.body else None
        if self._on_request is not None and body is not None:
            self._on_request(body)
            request = HttpRequest(
                request.method, request.url, request.headers, json.dumps(body).encode()
            )
        answer = super().send(request, timeouts) if timeouts else super().send(request)
        if self._on_frames is None:
            return answer
        return _Rewritten(answer.head, _rewrite(b"".join(answer), self._on_frames))


class _Rewritten:
    def __init__(self, head: ResponseHead, body: bytes) -> None:
        headers = {k: v for k, v in head.headers.items() if k != "content-length"}
        self.head = ResponseHead(head.status, headers)
        self._body = body

    def __await__(self):
        yield from ()
        return self

    async def __aiter__(self):
        yield self._body

    async def aclose(self) -> None:
        pass


def _rewrite(body: bytes, change: OnFrames) -> bytes:
    """Change the JSON frames of a body: one piece, server-sent events, lines, or AWS events."""
    if body.startswith(b"\x00"):
        reader = AwsEventsReader()
        events = list(reader.feed(body))
        pairs = [{"headers": dict(e.headers), "json": json.loads(e.payload)} for e in events]
        changed = change(pairs)
        return b"".join(
            write_aws_event(e["headers"], json.dumps(e["json"]).encode()) for e in changed
        )
    if body.startswith(b"{") and body.count(b"\n{") == 0:
        return json.dumps(change([json.loads(body)])[0]).encode()
    if body.startswith(b"{"):
        lines = change([json.loads(line) for line in body.splitlines() if line])
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    text = body.decode().replace("\r\n", "\n")
    blocks = [block for block in text.split("\n\n") if block.strip()]
    frames = [_event(block) for block in blocks]
    return "".join(map(_text, change(frames))).encode()


def _event(block: str) -> Json:
    lines = block.splitlines()
    data = next(line[5:].strip() for line in lines if line.startswith("data:"))
    named = [line for line in lines if line.startswith("event:")]
    return {"head": named, "json": data if data == "[DONE]" else json.loads(data)}


def _text(frame: Json) -> str:
    data = frame["json"] if isinstance(frame["json"], str) else json.dumps(frame["json"])
    return "\n".join([*frame["head"], f"data: {data}", "", ""])


# -- what is spoiled ------------------------------------------------------------------------------


def drops_history(body: Json) -> None:
    for name in ("messages", "contents", "input"):
        if isinstance(body.get(name), list):
            rules = [m for m in body[name] if m.get("role") in ("system", "developer")]
            body[name] = [*rules, body[name][-1]]


def drops_tools(body: Json) -> None:
    for name in ("tools", "tool_choice", "toolConfig", "tool_config"):
        body.pop(name, None)


def drops_system(body: Json) -> None:
    for name in ("system", "instructions", "systemInstruction", "system_instruction"):
        body.pop(name, None)
    for name in ("messages", "input"):
        if isinstance(body.get(name), list):
            kept = [m for m in body[name] if m.get("role") not in ("system", "developer")]
            body[name] = kept


def drops_level(plan: Plan) -> OnRequest:
    """Drop the top-level fields in which this provider is told the level."""
    keep = {"max_tokens", "inferenceConfig", "generationConfig", "max_completion_tokens"}
    fields = {*plan.fields} - keep

    def drop(body: Json) -> None:
        for name in fields:
            body.pop(name, None)
        if isinstance(body.get("generationConfig"), dict):
            body["generationConfig"].pop("thinkingConfig", None)

    return drop


_USAGE = ("usage", "usageMetadata", "prompt_eval_count", "eval_count", "billed_units")


def drops_usage(frames: list[Json]) -> list[Json]:
    for frame in frames:
        _drop(frame)
    return frames


def _drop(value: Json) -> None:
    if isinstance(value, list):
        for each in value:
            _drop(each)
    if isinstance(value, dict):
        for name in _USAGE:
            if name in value:
                value.pop(name)
        for each in value.values():
            _drop(each)


def doubles_a_delta(frames: list[Json]) -> list[Json]:
    """Send the first frame with words of the answer twice."""
    if len(frames) < 2:
        return frames
    at = next((n for n, frame in enumerate(frames) if _says_words(frame)), None)
    return frames if at is None else [*frames[: at + 1], *frames[at:]]


def _says_words(frame: Json) -> bool:
    data = frame.get("json", frame)
    if not isinstance(data, dict):
        return False
    words = (
        data.get("type") == "content_block_delta" and data["delta"].get("text"),  # Messages
        data.get("type") == "response.output_text.delta" and data.get("delta"),  # Responses
        any(c.get("delta", {}).get("content") for c in data.get("choices") or ()),  # Chat
        any(  # Gemini
            part.get("text") and not part.get("thought")
            for c in data.get("candidates") or ()
            for part in c.get("content", {}).get("parts") or ()
        ),
        data.get("event_type") == "step.delta" and (data["delta"] or {}).get("type") == "text",
        data.get("type") == "content-delta"  # Cohere
        and (data["delta"]["message"]["content"] or {}).get("text"),
        isinstance(data.get("message"), dict) and data["message"].get("content"),  # Ollama
        "contentBlockIndex" in data and (data.get("delta") or {}).get("text"),  # Converse
    )
    return any(words)
