"""The Messages API, as Anthropic's SDK uses it."""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from ....canon import Json
from .front import (
    DESCRIPTION,
    MAX_TOKENS,
    NAME,
    SCHEMA,
    Answer,
    Call,
    Front,
    FrontOptions,
    join_texts,
)

_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_IN_BAND = "mid-conversation-output-config-2026-07-01"


class Messages(Front):
    """``/v1/messages``."""

    name: ClassVar[str] = "messages"

    def path(self, model: str, *, stream: bool) -> str:  # noqa: ARG002 - the body says it
        """Return the path."""
        return "/v1/messages"

    def auth(self) -> dict[str, str]:
        """Return the headers with the key, and the version."""
        return {"authorization": f"Bearer {self.key}", "anthropic-version": "2026-10-21"}

    def body(self, model: str, history: list[Any], options: FrontOptions, *, stream: bool) -> Json:
        """Return the body of a request."""
        fields: dict[str, Json] = {"model": model, "max_tokens": MAX_TOKENS, "messages": history}
        output: dict[str, Json] = {}
        if options.level == "off":
            fields["thinking"] = {"type": "disabled"}
        elif options.level is not None:
            fields["thinking"] = {"type": "adaptive", "display": "summarized"}
            output["effort"] = options.level
        if options.schema is not None:
            output["format"] = {"type": "json_schema", "schema": options.schema}
        if output:
            fields["output_config"] = output
        if options.system:
            fields["system"] = [{"type": "text", "text": text} for text in options.system]
        if options.tools:
            fields["tools"] = [{"name": NAME, "description": DESCRIPTION, "input_schema": SCHEMA}]
        if stream:
            fields["stream"] = True
        return fields

    def read(self, answer: Json) -> Answer:
        """Read an answer in one piece."""
        blocks, usage = answer["content"], answer.get("usage") or {}
        details = usage.get("output_tokens_details") or {}
        given = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return Answer(
            join_texts(b["text"] for b in blocks if b["type"] == "text"),
            join_texts(b["thinking"] for b in blocks if b["type"] == "thinking"),
            [Call(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"],
            [{"role": "assistant", "content": blocks}],
            {
                "input": sum(usage.get(name) or 0 for name in given),
                "output": usage.get("output_tokens"),
                "thinking": details.get("thinking_tokens"),
            },
            answer.get("model"),
        )

    def read_stream(self, events: list[Json]) -> Answer:
        """Read a stream as the SDK's accumulator does: the message begins, blocks grow."""
        message: dict[str, Json] = {}
        arguments: dict[int, str] = {}
        for event in events:
            match event["type"]:
                case "message_start":
                    message = event["message"]
                case "content_block_start":
                    message["content"].append(dict(event["content_block"]))
                case "content_block_delta":
                    _grow(message["content"][event["index"]], event, arguments)
                case "message_delta":
                    counts = event.get("usage") or {}
                    message.setdefault("usage", {}).update({k: v for k, v in counts.items() if v})
                case "error":
                    raise ValueError(msgspec.json.encode(event).decode())
        for index, text in arguments.items():
            message["content"][index]["input"] = msgspec.json.decode(text or "{}")
        return self.read(message)

    def results(self, calls: list[Call], texts: list[str]) -> list[Any]:
        """Return the results of tool calls."""
        content = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text}
            for call, text in zip(calls, texts, strict=True)
        ]
        return [{"role": "user", "content": content}]

    def image(self, text: str, data: str) -> list[Any]:
        """Return a user's turn with a PNG."""
        source = {"type": "base64", "media_type": "image/png", "data": data}
        content = [{"type": "image", "source": source}, {"type": "text", "text": text}]
        return [{"role": "user", "content": content}]

    def system_turns(self, lead: Sequence[str], later: str) -> tuple[FrontOptions, list[Any]]:
        """Return the top-level field with blocks, and one turn after the user's."""
        history = [
            *self.user("Hello."),
            {"role": "assistant", "content": "Hello!"},
            *self.user("What is 17 * 23?"),
            {"role": "system", "content": later},
        ]
        return FrontOptions(system=tuple(lead)), history

    def in_band(self, level: str) -> tuple[FrontOptions, list[Any]] | None:
        """Return an entry without content that sets the effort."""
        entry = {"role": "system", "content": [], "output_config": {"effort": level}}
        return FrontOptions(headers={"anthropic-beta": _IN_BAND}), [
            *self.user("Hello."),
            {"role": "assistant", "content": "Hello!"},
            *self.user("What is 17 * 23?"),
            entry,
        ]


def _grow(block: dict[str, Json], event: Json, arguments: dict[int, str]) -> None:
    delta = event["delta"]
    if delta["type"] == "input_json_delta":
        arguments[event["index"]] = arguments.get(event["index"], "") + delta["partial_json"]
    elif (name := _DELTAS.get(delta["type"])) is not None:
        block[name] = (block.get(name) or "") + delta[name]
