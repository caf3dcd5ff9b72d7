"""A conversation off the wire, as the server understands it: it refuses next to nothing."""

import base64
import binascii
import hashlib
from collections.abc import Iterable

from pondero.canon import Image, Message, Part, Text, Thinking, ToolCall, ToolResult

from . import types
from .models import refuse

_PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
_UNKNOWN_PICTURE = "Failed to create new sequence: failed to process inputs: image: unknown format"


class Reader:
    """Reads the messages of one request, in order."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._open: list[ToolCall] = []  # calls without a result yet
        self._results: list[Part] = []

    def read(
        self, messages: Iterable[types.Message]
    ) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
        """Return the system prompt, which is what comes first, and the conversation after it."""
        system: list[Text] = []
        for message in messages:
            if message.role == "tool":
                self._results.append(self._result(message))
            elif message.role == "user":
                self._settle(_shown(message))
            elif message.role == "assistant":
                self._settle()
                self._messages.append(Message("assistant", self._assistant(message)))
            elif self._messages or self._results:
                self._settle()
                self._messages.append(Message("system", (Text(message.content or ""),)))
            else:
                system.append(Text(message.content or ""))
        self._settle()
        return tuple(system), tuple(self._messages)

    def _settle(self, parts: tuple[Part, ...] = ()) -> None:
        """Close a run of results; what the user says after them stands in the same message."""
        parts = (*self._results, *parts)
        self._results = []
        if parts:
            self._messages.append(Message("user", parts))

    def _assistant(self, message: types.Message) -> tuple[Part, ...]:
        parts: list[Part] = []
        if message.thinking:
            parts.append(Thinking(message.thinking))
        if message.content:
            parts.append(Text(message.content))
        where = len(self._messages)
        calls = [_call(call, f"{where}.{n}") for n, call in enumerate(message.tool_calls or ())]
        self._open += calls
        return (*parts, *calls)

    def _result(self, message: types.Message) -> ToolResult:
        id, name = message.tool_call_id, message.tool_name
        by_id = (call for call in self._open if id and call.id == id)
        by_name = (call for call in self._open if not id and name in (None, call.name))
        call = next(by_id, None) or next(by_name, None)
        content = tuple(part for part in _shown(message) if isinstance(part, Text | Image))
        if call is None:
            return ToolResult(id or name or "", content, name=name)
        self._open.remove(call)
        return ToolResult(call.id, content, name=None if name in (None, call.name) else name)


def _call(call: types.Call, where: str) -> ToolCall:
    function = call.function
    id = call.id or _minted(f"{where} {function.name}")
    return ToolCall(id, function.name, function.arguments, minted=not call.id)


def _shown(message: types.Message) -> tuple[Part, ...]:
    texts = (Text(message.content),) if message.content else ()
    return (*texts, *(_picture(data) for data in message.images or ()))


def _picture(text: str) -> Image:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        refuse("illegal base64 data at input byte 0")
    found = (kind for magic, kind in _PICTURES.items() if data.startswith(magic))
    kind = next(found, None)
    if kind is None:
        refuse(_UNKNOWN_PICTURE, status=500)
    return Image(kind, data)


def _minted(mark: str) -> str:
    digest = hashlib.sha256(mark.encode("utf-8", "replace")).digest()
    return base64.urlsafe_b64encode(digest)[:22].decode()
