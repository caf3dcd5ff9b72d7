"""Pictures: their types and sizes, and whether the bytes are of the type that is said."""

from base64 import b64decode
from collections.abc import Iterator, Mapping

from pondero.canon import Json, measure_picture

from ..errors import reject
from .facts import RequestFacts

_BEGINS: Mapping[str, tuple[bytes, ...]] = {
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}

# Vendor page, vision: general limits
_SIDE, _CROWD, _CROWD_SIDE = 8000, 20, 2000
_MOST_LETTERS = 10 * 2**20


def check_pictures(asked: RequestFacts) -> None:
    """Reject pictures of other types, without bytes, or with those of another type."""
    crowded = _count_images(asked.raw) > _CROWD
    for at, source in _pictures(asked.raw):
        kind, data = source["media_type"], source["data"]
        if kind not in _BEGINS:
            reject("image_type", at=at)
        if not data:
            reject("empty_image", at=at)
        if asked.row.at is None:
            _check_size(at, data, crowded=crowded)
        found = _kind_of(b64decode(data[:16]))
        if asked.row.pictures == "checked" and found not in (None, kind):
            reject("image_mismatch", at=at, said=kind, found=found)


def _check_size(at: str, data: str, *, crowded: bool) -> None:
    if len(data) > _MOST_LETTERS:
        reject("image_bytes", at=at, size=len(data), most=_MOST_LETTERS)
    size = measure_picture(b64decode(data))
    if size is not None and crowded and max(size) > _CROWD_SIDE:
        reject("image_crowd", at=at, most=_CROWD_SIDE)
    if size is not None and max(size) > _SIDE:
        reject("image_pixels", at=at, most=_SIDE)


def _count_images(raw: Json) -> int:
    """Count all pictures, also those that the service fetches."""
    found = [each for message in raw["messages"] for each in _blocks_of(message)]
    inside = [each for block in found for each in _blocks_of(block)]
    return sum(each.get("type") == "image" for each in (*found, *inside))


def _blocks_of(holder: Json) -> list[Json]:
    content = holder.get("content")
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def _kind_of(data: bytes) -> str | None:
    kinds = (kind for kind, begins in _BEGINS.items() if data.startswith(begins))
    return next(kinds, None)


def _pictures(raw: Json) -> Iterator[tuple[str, Json]]:
    for number, message in enumerate(raw["messages"]):
        if isinstance(message["content"], list):
            yield from _in_blocks(message["content"], f"messages.{number}.content")


def _in_blocks(blocks: list[Json], at: str) -> Iterator[tuple[str, Json]]:
    for number, block in enumerate(blocks):
        source, inner = block.get("source"), block.get("content")
        if block.get("type") == "image" and source["type"] == "base64":
            yield f"{at}.{number}.image.source.base64", source
        if block.get("type") == "tool_result" and isinstance(inner, list):
            yield from _in_blocks(inner, f"{at}.{number}.tool_result.content")
