"""Reads the width and height of a picture from its first bytes, without decoding it."""

from collections.abc import Callable, Mapping

_Size = tuple[int, int]
_PNG = b"\x89PNG\r\n\x1a\n"
# JPEG (ITU-T T.81, table B.1): frames begin with these; C4, C8 and CC are tables among them.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))  # markers without a length


def measure_picture(data: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, JPEG, GIF or WebP; None if its bytes do not say them."""
    for begin, measure in _KINDS.items():
        if data.startswith(begin):
            try:
                return measure(data)
            except IndexError:  # it ends before it says
                return None
    return None


def _measure_png(data: bytes) -> _Size | None:
    return (_big(data, 16, 4), _big(data, 20, 4)) if data[12:16] == b"IHDR" else None


def _measure_gif(data: bytes) -> _Size:
    return _little(data, 6, 2), _little(data, 8, 2)


def _measure_jpeg(data: bytes) -> _Size | None:
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _FRAMES:
            return _big(data, at + 7, 2), _big(data, at + 5, 2)
        if marker == 0xFF:  # a byte that fills
            at += 1
        else:
            at += 2 if marker in _ALONE else 2 + _big(data, at + 2, 2)
    return None


def _measure_webp(data: bytes) -> _Size | None:
    match data[8:16]:
        case b"WEBPVP8X":
            return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
        case b"WEBPVP8L":
            bits = _little(data, 21, 4)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"WEBPVP8 ":
            return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
        case _:
            return None


def _big(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(_take(data, at, count), "big")


def _little(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(_take(data, at, count), "little")


def _take(data: bytes, at: int, count: int) -> bytes:
    if at + count > len(data):
        raise IndexError(at)
    return data[at : at + count]


_KINDS: Mapping[bytes, Callable[[bytes], _Size | None]] = {
    _PNG: _measure_png,
    b"\xff\xd8": _measure_jpeg,
    b"GIF87a": _measure_gif,
    b"GIF89a": _measure_gif,
    b"RIFF": _measure_webp,
}
