"""Reads the size of a picture from its header; of formats unknown here it is not known."""

from ...dialects import Size

_PNG, _GIF, _RIFF = b"\x89PNG\r\n\x1a\n", (b"GIF87a", b"GIF89a"), b"RIFF"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers of JPEG that give a size
_ALONE = frozenset({0x01, *range(0xD0, 0xDA)})  # markers without a length


def read_size(data: bytes) -> Size | None:
    """Return width and height in pixels."""
    size: Size | None = None
    if data.startswith(_PNG) and data[12:16] == b"IHDR":
        size = _big(data[16:20]), _big(data[20:24])
    elif data.startswith(_GIF):
        size = _little(data[6:8]), _little(data[8:10])
    elif data.startswith(_RIFF) and data[8:12] == b"WEBP":
        size = _read_webp(data)
    elif data.startswith(b"\xff\xd8"):
        size = _read_jpeg(data)
    return size if size is not None and min(size) > 0 else None


def _read_webp(data: bytes) -> Size | None:
    match data[12:16]:
        case b"VP8X":
            return 1 + _little(data[24:27]), 1 + _little(data[27:30])
        case b"VP8L":
            bits = _little(data[21:25])
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
    return None


def _read_jpeg(data: bytes) -> Size | None:
    """Return the largest size of any frame before the first scan."""
    at, found = 2, []
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF or marker in _ALONE:
            at += 1 if marker == 0xFF else 2
            continue
        if marker == 0xDA:  # the picture itself
            break
        if marker in _FRAMES and len(data) >= at + 9:
            found.append((_big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])))
        at += 2 + _big(data[at + 2 : at + 4])
    return max(found, key=lambda size: size[0] * size[1], default=None)


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
