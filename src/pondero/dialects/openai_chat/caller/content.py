"""What a message holds besides calls: words, pictures, sounds and files as this wire has them."""

import base64
from collections.abc import Iterable

from pondero.canon import Blob, Cache, Image, Json, Other, Part, Text

from .parts import NAME

_MARKS = {
    "cache_control": {"type": "ephemeral"},
    "prompt_cache_breakpoint": {"mode": "explicit"},
}
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def content_of(parts: Iterable[Part], *, marks: str) -> Json:
    """Return a message's content: a string where one text is all there is, else a list.

    ``marks`` is the field in which the deployment takes cache marks, or none.
    """
    content = [wire for part in parts if (wire := _part(part, marks=marks)) is not None]
    return flat(content) if content else ""


def flat(content: list[Json]) -> Json:
    """Return a lone text as a string, anything else as it is."""
    if len(content) == 1 and content[0].keys() == {"type", "text"}:
        return content[0]["text"]
    return content


def text_of(part: Text, *, marks: str) -> dict[str, Json]:
    """Return words as a content part."""
    return _marked({"type": "text", "text": part.text}, part.cache, marks=marks)


def _part(part: Part, *, marks: str) -> Json:
    match part:
        case Text():
            return text_of(part, marks=marks)
        case Image():
            image: dict[str, Json] = {"url": _address(part, part.media_type or "image/png")}
            if part.detail is not None:
                image["detail"] = part.detail
            return _marked({"type": "image_url", "image_url": image}, part.cache, marks=marks)
        case Blob():
            return _marked(_blob(part), part.cache, marks=marks)
        case Other():
            return part.raw if part.dialect == NAME else None
        case _:
            return None


def _blob(blob: Blob) -> dict[str, Json]:
    if blob.data is not None and blob.media_type in _SOUNDS:
        data = base64.b64encode(blob.data).decode()
        sound = {"data": data, "format": _SOUNDS[blob.media_type]}
        return {"type": "input_audio", "input_audio": sound}
    address = _address(blob, blob.media_type)
    if blob.media_type.startswith("video/"):
        return {"type": "video_url", "video_url": {"url": address}}
    file = {"file_data": address}
    if blob.name is not None:
        file["filename"] = blob.name
    return {"type": "file", "file": file}


def _address(medium: Image | Blob, media_type: str) -> str:
    if medium.data is None:
        return medium.url or ""
    return f"data:{media_type};base64,{base64.b64encode(medium.data).decode()}"


def _marked(part: dict[str, Json], cache: Cache | None, *, marks: str) -> dict[str, Json]:
    if cache is not None and marks != "none":
        mark = dict(_MARKS[marks])
        if cache.ttl is not None:
            mark["ttl"] = cache.ttl
        part[marks] = mark
    return part
