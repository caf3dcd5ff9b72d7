"""Chat Completions, as OpenAI's SDK uses it; thinking is in the fields that clients have learnt."""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from ....canon import Json
from .front import Answer, Call, Front, FrontOptions, function_tool

_THINKING = ("reasoning_content", "reasoning")  # DeepSeek and LiteLLM; OpenRouter and vLLM


class ChatCompletions(Front):
    """``/v1/chat/completions``."""

    name: ClassVar[str] = "chat"

    def path(self, model: str, *, stream: bool) -> str:  # noqa: ARG002 - the body says it
        """Return the path."""
        return "/v1/chat/completions"

    def body(self, model: str, history: list[Any], options: FrontOptions, *, stream: bool) -> Json:
        """Return the body of a request."""
        fields: dict[str, Json] = {"model": model, "messages": history}
        if options.level is not None:
            fields["reasoning_effort"] = "none" if options.level == "off" else options.level
        if options.schema is not None:
            form = {"name": "answer", "schema": options.schema, "strict": True}
            fields["response_format"] = {"type": "json_schema", "json_schema": form}
        if options.tools:
            fields["tools"] = [function_tool()]
        if stream:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
        return fields

    def read(self, answer: Json) -> Answer:
        """Read an answer in one piece."""
        return _answer(answer["choices"][0]["message"], answer.get("usage"), answer.get("model"))

    def read_stream(self, events: list[Json]) -> Answer:
        """Put a stream together as clients do: the fields they know, and the ones they learnt."""
        message: dict[str, Json] = {"role": "assistant", "content": None}
        calls: dict[int, dict[str, Json]] = {}
        usage: Json = None
        model = None
        for event in events:
            if event.get("error"):
                raise ValueError(msgspec.json.encode(event).decode())
            usage, model = event.get("usage") or usage, event.get("model") or model
            for choice in (event.get("choices") or ())[:1]:
                _add(message, calls, choice["delta"])
        if calls:
            message["tool_calls"] = [calls[index] for index in sorted(calls)]
        return _answer(message, usage, model)

    def results(self, calls: list[Call], texts: list[str]) -> list[Any]:
        """Return the results of tool calls."""
        return [
            {"role": "tool", "tool_call_id": call.id, "content": text}
            for call, text in zip(calls, texts, strict=True)
        ]

    def image(self, text: str, data: str) -> list[Any]:
        """Return a user's turn with a PNG."""
        url = {"url": f"data:image/png;base64,{data}"}
        content = [{"type": "image_url", "image_url": url}, {"type": "text", "text": text}]
        return [{"role": "user", "content": content}]

    def system_turns(self, lead: Sequence[str], later: str) -> tuple[FrontOptions, list[Any]]:
        """Return several system messages first, and one in the middle."""
        return FrontOptions(), [
            *({"role": "system", "content": text} for text in lead),
            *self.user("Hello."),
            {"role": "assistant", "content": "Hello!"},
            {"role": "system", "content": later},
            *self.user("What is 17 * 23?"),
        ]


def _add(message: dict[str, Json], calls: dict[int, dict[str, Json]], delta: Json) -> None:
    for name in ("content", *_THINKING):
        if delta.get(name):
            message[name] = (message.get(name) or "") + delta[name]
    if delta.get("reasoning_details"):  # OpenRouter
        message.setdefault("reasoning_details", []).extend(delta["reasoning_details"])
    for block in delta.get("thinking_blocks") or ():  # LiteLLM
        _merge(message.setdefault("thinking_blocks", []), block)
    if delta.get("provider_specific_fields"):
        message.setdefault("provider_specific_fields", {}).update(delta["provider_specific_fields"])
    for piece in delta.get("tool_calls") or ():
        empty = {"type": "function", "function": {"name": "", "arguments": ""}}
        call = calls.setdefault(piece["index"], empty)
        for name in ("id", "extra_content", "provider_specific_fields"):
            if piece.get(name):
                call[name] = piece[name]
        for name in ("name", "arguments"):
            call["function"][name] += (piece.get("function") or {}).get(name) or ""


def _merge(blocks: list[dict[str, Json]], piece: dict[str, Json]) -> None:
    """Add a piece of a thinking block as LiteLLM's own builder does: a signature ends it."""
    if not blocks or blocks[-1].get("signature") or piece.get("type") != "thinking":
        blocks.append(dict(piece))
        return
    blocks[-1]["thinking"] = (blocks[-1].get("thinking") or "") + (piece.get("thinking") or "")
    if piece.get("signature"):
        blocks[-1]["signature"] = piece["signature"]


def _answer(message: Json, usage: Json, model: str | None) -> Answer:
    calls = message.get("tool_calls") or []
    thinking = next((message[name] for name in _THINKING if message.get(name)), "")
    usage = usage or {}
    details = usage.get("completion_tokens_details") or {}
    return Answer(
        message.get("content") or "",
        thinking,
        [
            Call(c["id"], c["function"]["name"], msgspec.json.decode(c["function"]["arguments"]))
            for c in calls
        ],
        [message],
        {
            "input": usage.get("prompt_tokens"),
            "output": usage.get("completion_tokens"),
            "thinking": details.get("reasoning_tokens"),
        },
        model,
    )
