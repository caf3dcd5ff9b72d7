"""The most tokens of a picture, a document or a sound that is inside a request.

A service counts pages, pixels and seconds, which a few bytes can have many of. Where they cannot
be told from the bytes, the medium may fill the model's window.
"""

from base64 import b64decode
from collections.abc import Iterable
from math import ceil

from ...canon import MEDIA, Blob, Image, MediaKind, Part, ToolResult, UnknownPart
from ...dialects import MediaRules
from ...exchange import is_document, is_text, iter_encoded
from .pdf_pages import count_pages, count_text
from .picture_size import read_size

_SLOWEST_MP3 = 1_000  # bytes of a second: 8 kbit/s is the lowest rate of the standard
_SHIFTS = (21, 14, 7, 0)  # of the four bytes that say the length of a tag before the sound
_CHARACTERS = 2.5  # of a text in a PDF per token, at least
_PLAIN = (1, 3)  # kinds of samples that are not compressed
_NONE: frozenset[MediaKind] = frozenset()
_PICTURE: frozenset[MediaKind] = frozenset(("image",))
_SOUND: frozenset[MediaKind] = frozenset(("audio",))
_ANY: frozenset[MediaKind] = frozenset(MEDIA)  # a film has pictures and sound


def measure_media(part: Part, rules: MediaRules, model: str) -> int | None:
    """Return the most tokens of all media in a part; None if only the window limits them.

    Text files count by their characters, elsewhere.
    """
    if isinstance(part, ToolResult):
        return _add(measure_media(inner, rules, model) for inner in part.content)
    if isinstance(part, Image):
        return rules.picture(model, read_size(part.data) if part.data is not None else None)
    if isinstance(part, UnknownPart):
        return _add(_measure_unknown(each, rules, model) for each in iter_encoded(part.raw))
    if isinstance(part, Blob):
        return 0 if is_text(part) else _measure_blob(part, rules)
    return 0


def list_media(part: Part) -> frozenset[MediaKind]:
    """Return the media that a service may find in a part."""
    if isinstance(part, ToolResult):
        return frozenset().union(*map(list_media, part.content))
    if isinstance(part, Image):
        return _PICTURE
    if isinstance(part, UnknownPart):
        return _ANY
    if not isinstance(part, Blob) or is_text(part):
        return _NONE
    kind = part.media_type.partition("/")[0].lower()
    return _SOUND if kind == "audio" else _PICTURE if is_document(part) else _ANY


def _add(sizes: Iterable[int | None]) -> int | None:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def _measure_unknown(text: str, rules: MediaRules, model: str) -> int | None:
    try:
        data = b64decode(text.rpartition(",")[2] + "==", altchars=b"-_" if "-" in text else None)
    except ValueError:
        return None
    if (size := read_size(data)) is not None:
        return rules.picture(model, size)
    return _measure_blob(Blob("", data), rules)


def _measure_blob(part: Blob, rules: MediaRules) -> int | None:
    data = part.data
    if data is None:
        return None
    if is_document(part):
        return _measure_pages(data, rules)
    seconds = _measure_seconds(data)
    if seconds is None or rules.second is None:
        return None
    return ceil(seconds * rules.second)


def _measure_pages(data: bytes, rules: MediaRules) -> int | None:
    pages = count_pages(data)
    known = [each for each in (pages, rules.most_pages) if each is not None]
    if not known or rules.page is None:
        return None
    usual = min(known) * rules.page
    written = count_text(data)
    if written is None:
        return None
    text = ceil(written / _CHARACTERS)
    return usual + text if text > usual else usual  # a page may have any amount of text


def _measure_seconds(data: bytes) -> float | None:
    """Return the most seconds of a sound; None for formats in which silence takes no bytes."""
    if data.startswith(b"RIFF") and data[8:16] == b"WAVEfmt ":
        kind, channels = _little(data[20:22]), _little(data[22:24])
        rate, bits = _little(data[24:28]), _little(data[34:36])
        each = rate * channels * (bits // 8)
        return len(data) / each if kind in _PLAIN and each else None
    return len(data) / _SLOWEST_MP3 if _is_mp3(data) else None


def _is_mp3(data: bytes) -> bool:
    """Return whether a sound begins with a frame of layer III that states its rate."""
    at = 0
    if data.startswith(b"ID3"):
        at = 10 + sum(
            (each & 0x7F) << shift for each, shift in zip(data[6:10], _SHIFTS, strict=False)
        )
    head = int.from_bytes(data[at : at + 4], "big")
    return head >> 21 == 0x7FF and head >> 17 & 3 == 1 and 0 < head >> 12 & 15 < 15


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
