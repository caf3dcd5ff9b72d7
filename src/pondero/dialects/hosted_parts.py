"""Parts of tools that a service ran itself, in words and pictures that other models can read.

A dialect lists its parts in a table: the tool's name, what it was asked, and what it gave back.
"""

from base64 import b64decode
from binascii import Error
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ..canon import Blob, Image, Json, Text, dump_json, get_path

Told = tuple[Text | Image | Blob, ...]
LOST: Told = (Text(""),)
"""Told of a part that holds the conversation before it, and that only its maker can read."""

# Opaque to all but the maker, or without a meaning elsewhere.
_HIDDEN = frozenset({
    "type", "id", "call_id", "tool_use_id", "caller", "status", "container_id", "cache_control",
    "signature", "encrypted_content", "encrypted_index", "encrypted_stdout", "file_id",
    "approval_request_id", "internal_chat_message_metadata_passthrough",
})  # fmt: skip
_LONGEST = 200_000  # characters of one result; more is cut, and the cut is told


class HostedPart(Struct, frozen=True, kw_only=True):
    """How a part of a hosted tool is told: ``tool`` is its name, or the path of it in the part.

    ``asked`` and ``result`` are fields; ``picture`` is the one that holds base64.
    """

    tool: str | tuple[str, ...]
    asked: tuple[str, ...] = ()
    result: tuple[str, ...] = ()
    picture: str = ""


def tell_part(raw: Mapping[str, Json], part: HostedPart) -> Told:
    """Return a part in words and pictures, under the name of its tool."""
    name = part.tool if isinstance(part.tool, str) else str(get_path(raw, part.tool) or "a tool")
    media: list[Image | Blob] = []
    asked = _prune({key: raw.get(key) for key in part.asked}, media)
    found = _prune({key: raw.get(key) for key in part.result}, media)
    picture = _read_medium(raw.get(part.picture), f"image/{raw.get('output_format') or 'png'}")
    told: list[Text | Image | Blob] = []
    if asked:
        told.append(Text(f"[A note: another model used {name}: {_write(asked)}]"))
    if found:
        told.append(Text(f"[A note: the result of {name}:]\n{_write(found)}"))
    if (picture or media) and not found:
        told.append(Text(f"[A note: the result of {name}:]"))
    return (*told, *media, *((picture,) if picture is not None else ()))


def _write(value: Json) -> str:
    """Return a value as text: bare if it is one text, otherwise as JSON."""
    texts = list(_iter_texts(value))
    text = "\n".join(texts) if texts else dump_json(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[the rest is left out]"


def _iter_texts(value: Json) -> Iterator[str]:
    """Yield the texts of a value that has nothing else: a text, or blocks of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and len(value) == 1:
        yield from _iter_texts(next(iter(value.values())))
    elif isinstance(value, list):
        each = [list(_iter_texts(inner)) for inner in value]
        if all(each):
            yield from (text for texts in each for text in texts)


def _prune(value: Json, media: list[Image | Blob]) -> Json:
    """Return what can be read of a value, None if there is nothing; its media go to ``media``."""
    if isinstance(value, Mapping):
        found = _read_medium(value.get("data"), value.get("media_type", value.get("mimeType")))
        if found is not None:
            media.append(found)
            return None
        pairs = {key: _prune(each, media) for key, each in value.items() if key not in _HIDDEN}
        return {key: each for key, each in pairs.items() if each is not None} or None
    if isinstance(value, list):
        return [each for inner in value if (each := _prune(inner, media)) is not None] or None
    if isinstance(value, str) and value.startswith("data:") and ";base64," in value:
        kind, _, data = value.removeprefix("data:").partition(";base64,")
        found = _read_medium(data, kind)
        if found is not None:
            media.append(found)
            return None
    return None if value == "" else value


def _read_medium(data: Json, kind: Json) -> Image | Blob | None:
    if not isinstance(data, str) or not data or not isinstance(kind, str) or kind == "text/plain":
        return None
    try:
        content = b64decode(data, validate=True)
    except (Error, ValueError):
        return None
    return Image(kind, content) if kind.startswith("image/") else Blob(kind, content)
