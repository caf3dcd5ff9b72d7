"""Writes images, documents, videos and sounds."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping

import msgspec

from pondero.canon import Blob, Image, Json, Message, Part
from pondero.errors import BadParameter

_OFFICE = "application/vnd.openxmlformats-officedocument."
_IMAGE_FORMATS: Mapping[str, str] = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_DOCUMENT_FORMATS: Mapping[str, str] = {
    "application/pdf": "pdf",
    "text/plain": "txt",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "application/msword": "doc",
    f"{_OFFICE}wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    f"{_OFFICE}spreadsheetml.sheet": "xlsx",
}
_VIDEOS: Mapping[str, str] = {
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/x-matroska": "mkv",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}
_SOUNDS: Mapping[str, str] = {
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/aac": "aac",
    "audio/mp4": "m4a",
    "audio/webm": "webm",
}
_KINDS = (("document", _DOCUMENT_FORMATS), ("video", _VIDEOS), ("audio", _SOUNDS))
_BEGINNINGS = ((b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))
# Allowed: letters, digits, single spaces, - ( ) [ ] (service model, botocore 1.44.0); _ works too
_UNNAMEABLE = re.compile(r"[^0-9A-Za-z ()\[\]_-]+")


def image_block(part: Image) -> dict[str, Json]:
    """Return the block of an image."""
    format_ = _IMAGE_FORMATS.get(
        part.media_type or _media_type_of_address(part)
    ) or _format_of_data(part)
    return {"image": {"format": format_, "source": _source(part)}}


def blob_block(part: Blob) -> dict[str, Json]:
    """Return the block of a document, a video or a sound."""
    for kind, formats in _KINDS:
        if format_ := formats.get(part.media_type):
            block: dict[str, Json] = {"format": format_}
            if kind == "document":
                block["name"] = document_name(part)
                if part.context:
                    block["context"] = part.context
                if part.cited:
                    block["citations"] = {"enabled": True}
            return {kind: {**block, "source": _source(part)}}
    raise BadParameter(f"this wire takes documents, films and sounds, not {part.media_type!r}")


def document_name(part: Blob) -> str:
    """Return a document's name, which the service requires, in valid characters."""
    named = _UNNAMEABLE.sub("-", " ".join((part.name or "").split())).strip(" -")[:200]
    return named or "document"


def _source(part: Image | Blob) -> dict[str, Json]:
    if part.data is not None:
        return {"bytes": b64encode(part.data).decode()}
    if part.url and part.url.startswith("s3://"):
        return {"s3Location": {"uri": part.url}}
    head, _, data = (part.url or "").partition(",")
    if head.startswith("data:") and head.endswith(";base64"):
        return {"bytes": data}
    raise BadParameter(f"this wire fetches nothing but s3:// addresses, not {part.url!r}")


def _media_type_of_address(part: Image) -> str:
    return (part.url or "").removeprefix("data:").partition(";")[0]


def _format_of_data(part: Image) -> str:
    if part.media_type is not None:
        raise BadParameter(f"this wire takes PNG, JPEG, GIF and WebP, not {part.media_type!r}")
    data = part.data or b""
    return next((each for start, each in _BEGINNINGS if data.startswith(start)), "png")


def name_documents(messages: Iterable[Message]) -> Iterable[Message]:
    """Give documents of the same name different ones (AWS, DocumentBlock: vendor page)."""
    used: set[str] = set()
    for message in messages:
        if not any(isinstance(part, Blob) for part in message.parts):
            yield message
            continue
        parts = tuple(_rename(part, used) for part in message.parts)
        yield message if parts == message.parts else msgspec.structs.replace(message, parts=parts)


def _rename(part: Part, used: set[str]) -> Part:
    if not isinstance(part, Blob) or part.media_type not in _DOCUMENT_FORMATS:
        return part
    first = name = document_name(part)
    number = 1
    while name in used:
        number += 1
        name = f"{first} {number}"
    used.add(name)
    return part if name == first else msgspec.structs.replace(part, name=name)
