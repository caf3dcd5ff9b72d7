"""A conversation as this wire has it: one flat list, words in one string, pictures beside them.

Thinking goes back in a field of its own. An id we minted is never sent: a call without one is
answered by its tool's name.
"""

import base64
from collections.abc import Iterable

from pondero.canon import (
    Blob,
    Image,
    Json,
    Message,
    Part,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from pondero.errors import BadParameter


def messages(request: Request) -> list[Json]:
    """Return the messages of a request, the system prompt first."""
    said: list[Json] = [{"role": "system", "content": text.text} for text in request.system]
    calls: dict[str, ToolCall] = {}
    for message in request.messages:
        if message.role == "assistant":
            _assistant(message, calls, said)
        elif message.role == "user":
            _user(message, calls, said)
        else:
            said.append({"role": "system", "content": message.text})
    return said


def _assistant(message: Message, calls: dict[str, ToolCall], said: list[Json]) -> None:
    """Add the turn; one that says nothing is left out."""
    content: list[str] = []
    thinking: list[str] = []
    called: list[Json] = []
    for part in message.parts:
        if isinstance(part, Text):
            content.append(part.text)
        elif isinstance(part, Thinking):
            if part.seal is None:  # nobody seals thinking here, so a sealed one is another's
                thinking.append(part.text)
        elif isinstance(part, ToolCall):
            calls[part.id] = part
            called.append(_call(part))
    wire: dict[str, Json] = {"role": "assistant", "content": "".join(content)}
    if any(thinking):
        wire["thinking"] = "".join(thinking)
    if called:
        wire["tool_calls"] = called
    if len(wire) > 2 or wire["content"]:
        said.append(wire)


def _call(call: ToolCall) -> Json:
    arguments = call.arguments
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"arguments": arguments}
    function = {"function": {"name": call.name, "arguments": arguments}}
    return function if call.minted else {"id": call.id, **function}


def _user(message: Message, calls: dict[str, ToolCall], said: list[Json]) -> None:
    rest: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            said.append(_result(part, calls.get(part.call_id)))
        else:
            rest.append(part)
    if rest:
        said.append({"role": "user", **_shown(rest)})


def _result(result: ToolResult, call: ToolCall | None) -> Json:
    wire: dict[str, Json] = {"role": "tool", **_shown(result.content)}
    if name := result.name or (call.name if call is not None else None):
        wire["tool_name"] = name
    if call is None or not call.minted:
        wire["tool_call_id"] = result.call_id
    return wire


def _shown(parts: Iterable[Part]) -> dict[str, Json]:
    """Return words and pictures; what a picture stood between begins a new line."""
    content = ""
    images: list[str] = []
    apart = False
    for part in parts:
        if isinstance(part, Text):
            content += f"\n{part.text}" if apart and content else part.text
            apart = False
        elif isinstance(part, Image):
            images.append(_picture(part))
            apart = True
        elif isinstance(part, Blob):
            raise BadParameter(f"this wire takes pictures and no {part.media_type!r}")
    return {"content": content, "images": images} if images else {"content": content}


def _picture(image: Image) -> str:
    if image.data is not None:
        return base64.b64encode(image.data).decode()
    head, _, data = (image.url or "").partition(",")
    if head.startswith("data:") and head.endswith(";base64"):
        return data
    raise BadParameter(f"this wire takes a picture's data, not its address ({image.url!r})")
