"""Parses prompts: text, parts, our messages, messages as dicts, and messages of other SDKs.

Dicts have the Chat Completions format: ``role``, ``content`` (text or a list of typed parts),
``tool_calls``, and ``role: "tool"`` for results. An error names the path of the invalid value,
such as ``messages[2].content[0].type``. Messages in Anthropic's form are read by its dialect.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ...canon import (
    Blob,
    Image,
    Json,
    Message,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    parse_arguments,
)
from ...errors import BadParameter
from .attachments import Attachment, attach, attachment


class _SdkMessage(Protocol):
    """A message object of a vendor's SDK."""

    def model_dump(self) -> dict[str, Any]: ...


_Piece = str | Part | Message | Mapping[str, Json] | _SdkMessage
Prompt = _Piece | Sequence[_Piece]
System = str | Text | Sequence[str | Text] | None

_SHORT = 40
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}


def parse_prompt(prompt: Prompt, attachments: Sequence[Attachment] = ()) -> tuple[Message, ...]:
    """Return a prompt as messages, with attachments before the text of the last one."""
    if attachments:
        wordless = isinstance(prompt, str) and not prompt.strip()
        return attach((Message("user", ()),) if wordless else parse_prompt(prompt), attachments)
    if isinstance(prompt, str) and prompt.strip():  # most prompts
        return (Message("user", (Text(prompt),)),)
    if isinstance(prompt, Message):
        return (prompt,)
    if prompt is None:
        raise BadParameter("the prompt is None; pass text, parts or messages")
    listed = [prompt] if isinstance(prompt, str) or not isinstance(prompt, Sequence) else prompt
    ours = [each for each in listed if isinstance(each, Message)]
    if ours and len(ours) == len(listed):
        return tuple(ours)
    given = [_dump_message(each) for each in listed]
    if given and all(_is_message(each) for each in given):
        return _read_messages(given)
    at = "prompt[{}]" if listed is prompt else "prompt"
    parts = tuple(_part(each, at.format(place)) for place, each in enumerate(given))
    if all(isinstance(part, Text) and not part.text.strip() for part in parts):
        raise BadParameter("the prompt is empty; pass text, parts or messages")
    return (Message("user", parts),)


def parse_system(given: System) -> tuple[Text, ...]:
    """Return the system prompt as texts."""
    if given is None or given == "":
        return ()
    texts = [given] if isinstance(given, str | Text) else given
    return tuple(text if isinstance(text, Text) else Text(text) for text in texts)


def _dump_message(given: _Piece) -> object:
    dump = getattr(given, "model_dump", None)  # ten times as fast as isinstance of a protocol
    return dump() if callable(dump) else given


def _read_messages(given: Sequence[Any]) -> tuple[Message, ...]:
    try:
        return tuple(_merge_messages(given))
    except BadParameter:
        if not all(isinstance(each, Mapping) for each in given):
            raise
        from .foreign_messages import read_foreign_messages  # noqa: PLC0415 - loads every dialect

        if (messages := read_foreign_messages(given)) is None:
            raise
        return messages


def _is_message(given: object) -> bool:
    return isinstance(given, Message) or (isinstance(given, Mapping) and "type" not in given)


def _merge_messages(given: Sequence[Any]) -> Iterator[Message]:
    """Yield the messages; adjacent tool results become one message."""
    names: dict[str, str] = {}
    results: list[Part] = []
    for place, each in enumerate(given):
        at = f"messages[{place}]"
        if isinstance(each, Mapping) and each.get("role") == "tool":
            results.append(_result(each, names, at))
            continue
        if results:
            yield Message("user", tuple(results))
            results = []
        message = each if isinstance(each, Message) else _message(each, at)
        names |= {call.id: call.name for call in message.tool_calls}
        yield message
    if results:
        yield Message("user", tuple(results))


def _message(given: Mapping[str, Json], at: str) -> Message:
    role, calls = given.get("role"), given.get("tool_calls") or ()
    if not isinstance(role, str) or role not in _ROLES:
        raise _wrong(f"{at}.role", f"one of {', '.join((*_ROLES, 'tool'))}", role)
    if not isinstance(calls, list | tuple):
        raise _wrong(f"{at}.tool_calls", "a list", calls)
    if calls and role != "assistant":
        raise _wrong(f"{at}.tool_calls", "only in an assistant's message", role)
    content = given.get("content")
    if content is None and isinstance(given.get("refusal"), str):
        content = given["refusal"]
    said = _parts(() if content is None and calls else content, f"{at}.content")
    called = (_call(each, f"{at}.tool_calls[{place}]") for place, each in enumerate(calls))
    return Message(_ROLES[role], (*said, *called))


def _parts(content: Json, at: str) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)]
    if not isinstance(content, list | tuple):
        raise _wrong(at, "text or a list of parts", content)
    return [_part(each, f"{at}[{place}]") for place, each in enumerate(content)]


def _call(given: Json, at: str) -> ToolCall:
    function = given.get("function") if isinstance(given, Mapping) else None
    if not isinstance(function, Mapping):
        raise _wrong(at, "a call with an id and a function", given)
    id = _text_at(given.get("id"), f"{at}.id")
    name = _text_at(function.get("name"), f"{at}.function.name")
    arguments = function.get("arguments")
    if not isinstance(arguments, str | dict):
        raise _wrong(f"{at}.function.arguments", "JSON in a text", arguments)
    return ToolCall(
        id, name, parse_arguments(arguments) if isinstance(arguments, str) else arguments
    )


def _text_at(value: Json, at: str) -> str:
    if not isinstance(value, str):
        raise _wrong(at, "text", value)
    return value


def _result(given: Mapping[str, Json], names: Mapping[str, str], at: str) -> ToolResult:
    call = given.get("tool_call_id")
    if not isinstance(call, str):
        raise _wrong(f"{at}.tool_call_id", "the id of a call", call)
    parts = _parts(given.get("content"), f"{at}.content")
    media = tuple(part for part in parts if isinstance(part, Text | Image | Blob))
    if len(media) < len(parts):
        raise _wrong(f"{at}.content", "made of words, pictures and files", given.get("content"))
    return ToolResult(call, media, name=given.get("name") or names.get(call))


def _wrong(at: str, right: str, given: object) -> BadParameter:
    """Return the error for a value; shows only a short text."""
    found = type(given).__name__
    if given is None:
        found = "missing"
    elif isinstance(given, str) and len(given) <= _SHORT:
        found = repr(given)
    return BadParameter(f"{at} must be {right}, and is {found}")


# -- parts -----------------------------------------------------------------------------------------


def _part(given: object, at: str) -> Part:
    if isinstance(given, str):
        return Text(given)
    if isinstance(given, Part):
        return given
    if not isinstance(given, Mapping):
        raise _wrong(at, "a text, a part or a message", given)
    kind = given.get("type")
    reader = _PARTS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise _wrong(f"{at}.type", f"one of {', '.join(_PARTS)}", kind)
    try:
        return reader(given)
    except (KeyError, TypeError, ValueError) as error:
        message = f"{at} is not a valid {kind}: {_why(error)}"
        raise BadParameter(message) from None


def _why(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it lacks {error.args[0]!r}"
    return str(error) or "a value is of the wrong type"


def _text(given: Mapping[str, Any]) -> Text:
    return Text(_string(given["text"]))


def _image(given: Mapping[str, Any]) -> Image:
    said = given["image_url"]
    url = _string(said["url"] if isinstance(said, Mapping) else said)
    detail = said.get("detail") if isinstance(said, Mapping) else given.get("detail")
    media_type, data = _inline(url)
    return Image(media_type, data, None if data is not None else url, detail)


def _file(given: Mapping[str, Any]) -> Part:
    said, name = given.get("file", given), given.get("file", given).get("filename")
    if "file_url" in said:
        url = _string(said["file_url"])
        found = attachment(url, name=name)
        named = isinstance(found, Blob) or (isinstance(found, Image) and found.media_type)
        return found if named else Blob("application/pdf", url=url, name=name)
    if "file_id" in said and "file_data" not in said:
        raise ValueError("a file_id is known to one service only; give file_data or file_url")
    media_type, data = _inline(_string(said["file_data"]))
    if data is None:
        raise ValueError("file_data is an address that begins with data:")
    return Blob(media_type or "application/octet-stream", data, name=name)


def _refusal(given: Mapping[str, Any]) -> Text:
    return Text(_string(given["refusal"]))


def _sound(given: Mapping[str, Any]) -> Blob:
    said = given["input_audio"]
    return Blob(f"audio/{_string(said['format'])}", _bytes(said["data"]))


def _inline(url: str) -> tuple[str | None, bytes | None]:
    """Return media type and bytes of a data URL, (None, None) for another URL."""
    if not url.startswith("data:"):
        return None, None
    head, _, data = url.removeprefix("data:").partition(";base64,")
    return head.partition(";")[0] or None, _bytes(data)


def _bytes(text: str) -> bytes:
    from base64 import b64decode  # noqa: PLC0415 - only for media

    return b64decode(text, validate=True)


def _string(value: object) -> str:
    if not isinstance(value, str):
        message = f"expected text, not {type(value).__name__}"
        raise TypeError(message)
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
    "refusal": _refusal,
}
