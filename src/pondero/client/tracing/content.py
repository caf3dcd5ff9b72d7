"""The texts of a conversation in spans and events, in the forms of OpenTelemetry's conventions.

The environment says whether they are recorded (``capture``).
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence

from msgspec import json, to_builtins

from ...canon import (
    Blob,
    HttpRequest,
    Image,
    Json,
    LevelUpdate,
    Message,
    Part,
    Request,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from ...dialects import get_dialect
from ...exchange import Exchange, list_keys
from ...handoff import replace_surrogates_in_json
from .api import Attributes


def exchange_content(exchange: Exchange, answer: Message | None, finish: str | None) -> Attributes:
    """Return the texts of an exchange, read from the body that is sent, without its key."""
    asked = _parse(exchange.dialect, exchange.http)
    found: Attributes = {}
    if asked is not None:
        found |= conversation_content(asked.messages, asked.system, asked.tools)
    if answer is not None:
        found["gen_ai.output.messages"] = _answer_form(answer, finish)
    return _redact(found, list_keys(exchange.http))


def conversation_content(
    messages: Iterable[Message], system: Sequence[Text], tools: Sequence[Tool]
) -> Attributes:
    """Return what a model or an agent was given."""
    found: Attributes = {
        "gen_ai.input.messages": [_message_form(message) for message in messages],
        "gen_ai.system_instructions": [_part_form(text) for text in system],
        "gen_ai.tool.definitions": [_tool_form(tool) for tool in tools],
    }
    return {name: value for name, value in found.items() if value}


def turn_content(
    messages: Sequence[Message], tools: Sequence[Tool], answer: Message | None, finish: str | None
) -> Attributes:
    """Return the texts of a turn: its history and prompt, and its last answer."""
    found = conversation_content(messages, (), tools)
    if answer is not None:
        found["gen_ai.output.messages"] = _answer_form(answer, finish)
    return _redact(found)


def call_content(call: ToolCall, result: ToolResult | None) -> Attributes:
    """Return the arguments of a call and its result."""
    found: Attributes = {"gen_ai.tool.call.arguments": call.arguments}
    if result is not None:
        found["gen_ai.tool.call.result"] = _result_form(result)
    return _redact(found)


def to_texts(content: Attributes) -> Attributes:
    """Return the content for a span, whose attributes cannot be objects: as JSON."""
    return {
        name: value if isinstance(value, str) else json.encode(value).decode()
        for name, value in content.items()
    }


def _parse(dialect: str, http: HttpRequest) -> Request | None:
    """Read a request that we sent; None for one that its own API does not read."""
    try:
        return get_dialect(dialect).service().parse(http).request
    except Exception:  # noqa: BLE001 - recording must not lose an answer
        return None


def _redact(content: Attributes, keys: Iterable[str] = ()) -> Attributes:
    from ...store import SecretRedactor  # noqa: PLC0415 - only where texts are recorded

    whole: Attributes = replace_surrogates_in_json(to_builtins(content))
    return SecretRedactor(keys, keyring=False).value(whole)


# -- forms ---------------------------------------------------------------------------------------


def _message_form(message: Message) -> Json:
    results = all(isinstance(part, ToolResult) for part in message.parts) and message.parts
    parts = [form for part in message.parts if (form := _part_form(part))]
    return {"role": "tool" if results else message.role, "parts": parts}


def _answer_form(answer: Message, finish: str | None) -> Json:
    # The conventions' word for our "tool_calls"; an answer that was cut off has an error.
    reason = "tool_call" if finish == "tool_calls" else finish or "error"
    return [{**_message_form(answer), "finish_reason": reason}]


def _part_form(part: Part) -> Json:
    match part:
        case Text():
            return {"type": "text", "content": part.text}
        case Thinking():
            return {"type": "reasoning", "content": part.text} if part.text else None
        case ToolCall():
            call = {"id": part.id, "name": part.name, "arguments": part.arguments}
            return {"type": "tool_call", **call}
        case ToolResult():
            return {
                "type": "tool_call_response",
                "id": part.call_id,
                "response": _result_form(part),
            }
        case Image() | Blob():
            return _medium_form(part)
        case LevelUpdate():
            return {"type": "level_update", "level": part.level}
        case _:
            kind = part.raw.get("type") if isinstance(part.raw, dict) else None
            return {"type": str(kind or "other")}


def _medium_form(part: Image | Blob) -> Json:
    kind = part.media_type or "image/*"
    family = kind.partition("/")[0]
    about = {
        "mime_type": part.media_type,
        "modality": family if family in ("image", "audio", "video") else "document",
    }
    if part.data is not None:
        return {"type": "blob", **about, "content": b64encode(part.data).decode()}
    return {"type": "uri", **about, "uri": part.url}


def _result_form(result: ToolResult) -> Json:
    if all(isinstance(part, Text) for part in result.content):
        return "".join(part.text for part in result.content if isinstance(part, Text))
    return [_part_form(part) for part in result.content]


def _tool_form(tool: Tool) -> Json:
    if tool.kind != "function" or tool.raw is not None:
        return {"type": tool.kind, "name": tool.name}
    about = {"description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "name": tool.name, **about}
