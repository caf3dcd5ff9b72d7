"""A conversation off the wire, as the service understands it: results are paired with calls."""

import base64
import binascii
import re
from collections.abc import Sequence

import msgspec

from pondero.canon import (
    Image,
    Json,
    Message,
    Other,
    Part,
    Seal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

from . import types
from .models import invalid

NAME = "cohere"
_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)


class Reader:
    """Reads the messages of one request, in order."""

    def __init__(self, *, images: bool) -> None:
        self._images = images
        self._messages: list[Message] = []
        self._calls: set[str] = set()
        self._results: list[Part] = []

    def read(
        self, messages: Sequence[types.Message]
    ) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
        """Return the system prompt and the conversation after it."""
        system: tuple[Text, ...] = ()
        if isinstance(messages[0], types.System):
            system = _texts(messages[0].content)
            messages = messages[1:]
        for message in messages:
            match message:
                case types.ToolAnswer():
                    self._results.append(self._result(message))
                case types.Assistant():
                    self._settle()
                    self._messages.append(Message("assistant", self._assistant(message)))
                case types.User():
                    content = message.content
                    if isinstance(content, str):
                        self._settle((Text(content),))
                    else:
                        self._settle(tuple(map(self._shown, content)))
                case types.System():
                    self._settle()
                    self._messages.append(Message("system", _texts(message.content)))
        self._settle()
        return system, tuple(self._messages)

    def _settle(self, parts: tuple[Part, ...] = ()) -> None:
        """Close a run of results; what the user says after them stands in the same message."""
        parts = (*self._results, *parts)
        self._results = []
        if parts:
            self._messages.append(Message("user", parts))

    def _result(self, message: types.ToolAnswer) -> ToolResult:
        if message.tool_call_id not in self._calls:
            invalid(f"tool call id not found in previous tool calls: {message.tool_call_id}")
        content = message.content
        if isinstance(content, str):
            return ToolResult(message.tool_call_id, (Text(content),) if content else ())
        return ToolResult(message.tool_call_id, tuple(map(_answered, content)))

    def _assistant(self, message: types.Assistant) -> tuple[Part, ...]:
        if not message.content and not message.tool_calls:
            invalid("an assistant message must have content or tool_calls")
        parts: list[Part] = []
        if isinstance(message.content, str):
            parts.append(Text(message.content))
        else:
            parts += (_spoken(part) for part in message.content or ())
        if message.tool_plan:
            parts.append(Text(message.tool_plan, Seal(NAME, {"tool_plan": True})))
        calls = [_call(call) for call in message.tool_calls or ()]
        self._calls |= {call.id for call in calls}
        return (*(part for part in parts if part != Text("")), *calls)

    def _shown(self, part: types.TextPart | types.ImagePart) -> Part:
        if isinstance(part, types.TextPart):
            return Text(part.text)
        if not self._images:
            invalid("image content is not supported for this model")
        url, detail = part.image_url.url, part.image_url.detail
        found = _DATA_URL.fullmatch(url)
        if found is None:
            return Image(url=url, detail=detail)
        try:
            data = base64.b64decode(found[2], validate=True)
        except (binascii.Error, ValueError):
            invalid("image_url.url is not valid base64")
        return Image(found[1] or None, data, detail=detail)


def _texts(content: str | list[types.TextPart]) -> tuple[Text, ...]:
    if isinstance(content, str):
        return (Text(content),)
    return tuple(Text(part.text) for part in content)


def _spoken(part: types.TextPart | types.ThinkingPart) -> Text | Thinking:
    return Text(part.text) if isinstance(part, types.TextPart) else Thinking(part.thinking)


def _answered(part: types.TextPart | types.DocumentPart) -> Text | Other:
    if isinstance(part, types.TextPart):
        return Text(part.text)
    return Other(NAME, {"type": "document", "document": msgspec.to_builtins(part.document)})


def _call(call: types.Call) -> ToolCall:
    return ToolCall(call.id, call.function.name, _arguments(call.function.arguments))


def _arguments(text: str) -> Json:
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
    return {} if value is None else text if isinstance(value, str) else value
