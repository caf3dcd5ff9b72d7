"""What a prompt may be: words, parts and messages, ours or as chat programs keep them in dicts.

Dicts have a ``role`` and ``content``, text or a list of typed parts; an assistant's may have
``tool_calls``, and one of the role ``tool`` is the result of one of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..canon import Blob, Image, Json, Message, Part, Role, Text, ToolCall, ToolResult, arguments_of
from ..errors import BadParameter
from .attachments import Attachment, attached

_Piece = str | Part | Message | Mapping[str, Json]
Prompt = _Piece | Sequence[_Piece]
System = str | Text | Sequence[str | Text] | None

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}


def messages_of(prompt: Prompt, attachments: Sequence[Attachment] = ()) -> tuple[Message, ...]:
    """Return the conversation that a prompt is: words, parts of one message, or messages.

    Attachments stand before the words of its last message; there need not be any words then.
    """
    if attachments:
        wordless = isinstance(prompt, str) and not prompt.strip()
        return attached((Message("user", ()),) if wordless else messages_of(prompt), attachments)
    if isinstance(prompt, str) and prompt.strip():  # what most prompts are
        return (Message("user", (Text(prompt),)),)
    if isinstance(prompt, Message):
        return (prompt,)
    given = [prompt] if isinstance(prompt, str) or not isinstance(prompt, Sequence) else prompt
    ours = [each for each in given if isinstance(each, Message)]
    if given and len(ours) == len(given):
        return tuple(ours)
    if given and all(_is_message(each) for each in given):
        return tuple(_merged(given))
    parts = tuple(_part(each) for each in given)
    if all(isinstance(part, Text) and not part.text.strip() for part in parts):
        raise BadParameter("there is nothing to ask; give words, parts or messages")
    return (Message("user", parts),)


def system_of(given: System) -> tuple[Text, ...]:
    """Return the system prompt as texts."""
    if given is None or given == "":
        return ()
    texts = [given] if isinstance(given, str | Text) else given
    return tuple(text if isinstance(text, Text) else Text(text) for text in texts)


def _is_message(given: object) -> bool:
    return isinstance(given, Message) or (isinstance(given, Mapping) and "type" not in given)


def _merged(given: Sequence[Any]) -> Iterator[Message]:
    """Yield the messages; results that stand one after the other become one message."""
    names: dict[str, str] = {}
    results: list[Part] = []
    for each in given:
        if isinstance(each, Mapping) and each.get("role") == "tool":
            results.append(_result(each, names))
            continue
        if results:
            yield Message("user", tuple(results))
            results = []
        message = each if isinstance(each, Message) else _message(each)
        names |= {call.id: call.name for call in message.tool_calls}
        yield message
    if results:
        yield Message("user", tuple(results))


def _message(given: Mapping[str, Json]) -> Message:
    role, content = given.get("role"), given.get("content")
    calls = given.get("tool_calls") or ()
    if content is None and isinstance(calls, list | tuple) and calls:
        content = ()
    if role not in _ROLES or not isinstance(content, str | list | tuple):
        roles = ", ".join((*_ROLES, "tool"))
        message = f"a message has a role ({roles}) and content, not {given!r}"
        raise BadParameter(message)
    said = (_part(each) for each in _listed(content))
    called = (_call(each) for each in (calls if isinstance(calls, list | tuple) else [calls]))
    return Message(_ROLES[role], (*said, *called))


def _listed(content: Json) -> Sequence[Json]:
    return [content] if isinstance(content, str) else content


def _call(given: Json) -> ToolCall:
    try:
        function = given["function"]
        return ToolCall(given["id"], function["name"], arguments_of(function["arguments"]))
    except (KeyError, TypeError):
        message = f"a tool call has an id and a function with name and arguments, not {given!r}"
        raise BadParameter(message) from None


def _result(given: Mapping[str, Json], names: Mapping[str, str]) -> ToolResult:
    call, content = given.get("tool_call_id"), given.get("content")
    if not isinstance(call, str) or not isinstance(content, str | list | tuple):
        message = f"a tool's message has a tool_call_id and content, not {given!r}"
        raise BadParameter(message)
    parts = [_part(each) for each in _listed(content)]
    media = tuple(part for part in parts if isinstance(part, Text | Image | Blob))
    if len(media) < len(parts):
        message = f"a tool's result is made of words, pictures and files, not {content!r}"
        raise BadParameter(message)
    return ToolResult(call, media, name=given.get("name") or names.get(call))


# -- parts -----------------------------------------------------------------------------------------


def _part(given: object) -> Part:
    if isinstance(given, str):
        return Text(given)
    if isinstance(given, Part):
        return given
    if isinstance(given, Mapping):
        kind = given.get("type")
        reader = _PARTS.get(kind) if isinstance(kind, str) else None
        if reader is not None:
            with suppress(KeyError, TypeError, ValueError):
                return reader(given)
    message = f"a prompt is made of words, parts or messages, not {given!r}"
    raise BadParameter(message)


def _text(given: Mapping[str, Any]) -> Text:
    return Text(_string(given["text"]))


def _image(given: Mapping[str, Any]) -> Image:
    said = given["image_url"]
    url = _string(said["url"] if isinstance(said, Mapping) else said)
    detail = said.get("detail") if isinstance(said, Mapping) else given.get("detail")
    media_type, data = _inline(url)
    return Image(media_type, data, None if data is not None else url, detail)


def _file(given: Mapping[str, Any]) -> Blob:
    said = given.get("file", given)
    media_type, data = _inline(_string(said["file_data"]))
    return Blob(media_type or "application/octet-stream", data, name=said.get("filename"))


def _sound(given: Mapping[str, Any]) -> Blob:
    said = given["input_audio"]
    return Blob(f"audio/{_string(said['format'])}", _bytes(said["data"]))


def _inline(url: str) -> tuple[str | None, bytes | None]:
    """Return media type and bytes of a data URL; nothing for another address."""
    if not url.startswith("data:"):
        return None, None
    head, _, data = url.removeprefix("data:").partition(";base64,")
    return head.partition(";")[0] or None, _bytes(data)


def _bytes(text: str) -> bytes:
    from base64 import b64decode  # noqa: PLC0415 - only for media

    return b64decode(text, validate=True)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


_PARTS: dict[str, Callable[[Mapping[str, Any]], Part]] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "image_url": _image,
    "input_image": _image,
    "file": _file,
    "input_file": _file,
    "input_audio": _sound,
}
