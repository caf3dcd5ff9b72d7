"""Small files of media of any size: pages, pixels and seconds take few bytes here."""

import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from math import isqrt

Objects = dict[int, bytes]


# -- PDF -----------------------------------------------------------------------------------------


def _list(numbers: Iterable[int], between: bytes = b" ") -> bytes:
    return between.join(b"%d 0 R" % each for each in numbers)


def _page(number: int) -> dict[int, bytes]:
    return {number: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"}


def _tree(kids: bytes, pages: int) -> Objects:
    return {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, pages),
    }


def _write(objects: Objects, more: bytes = b"") -> bytes:
    body = b"".join(b"%d 0 obj\n%b\nendobj\n" % each for each in objects.items())
    return b"%%PDF-1.7\n%b%btrailer << /Root 1 0 R >>\nstartxref\n0\n%%%%EOF" % (body, more)


def _pack(objects: Objects, number: int = 9_999) -> bytes:
    """Return an object stream with these objects."""
    texts = [text + b" " for text in objects.values()]
    places = [sum(map(len, texts[:at])) for at in range(len(texts))]
    head = b" ".join(b"%d %d" % each for each in zip(objects, places, strict=True)) + b" "
    data = zlib.compress(head + b"".join(texts))
    about = b"/Type /ObjStm /N %d /First %d /Filter /FlateDecode" % (len(objects), len(head))
    return b"%d 0 obj\n<< %b /Length %d >>\nstream\n%b\nendstream\nendobj\n" % (
        *(number, about, len(data)),
        data,
    )


def plain(pages: int) -> bytes:
    numbers = range(10, 10 + pages)
    return _write(_tree(_list(numbers), pages) | {n: _page(n)[n] for n in numbers})


def _stream(about: bytes, data: bytes) -> bytes:
    return b"<< %b /Length %d >>\nstream\n%b\nendstream" % (about, len(data), data)


def written(text: bytes, *, is_packed: bool = True) -> bytes:
    """Return one page with this text."""
    shown = b"BT /F1 1 Tf 0 700 Td (%b) Tj ET" % text
    page = {10: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 11 0 R >>"}
    flate = _stream(b"/Filter /FlateDecode", zlib.compress(shown))
    return _write(_tree(_list([10]), 1) | page | {11: flate if is_packed else _stream(b"", shown)})


def illustrated(noise: bytes) -> bytes:
    """Return one page with a font and a picture."""
    font = _stream(b"/Length1 9 /Filter /FlateDecode", zlib.compress(noise))
    picture = _stream(b"/Type /XObject /Subtype /Image /Filter /DCTDecode", noise)
    return _write(_tree(_list([10]), 1) | _page(10) | {11: font, 12: picture})


def repeated(pages: int) -> bytes:
    """Return one page, named often."""
    return _write(_tree(_list([10] * pages), pages) | _page(10))


def nested(pages: int) -> bytes:
    """Return a tree whose branches are all the same one."""
    side = isqrt(pages)
    branch = {3: b"<< /Type /Pages /Parent 2 0 R /Kids [%b] >>" % _list([10] * side)}
    kids = _list([3] * side + [10] * (pages - side * side))
    return _write(_tree(kids, pages) | branch | _page(10))


def packed(pages: int) -> bytes:
    """Return a document whose tree is in a compressed object stream."""
    numbers = range(10, 10 + pages)
    return _write({}, _pack(_tree(_list(numbers), pages) | {n: _page(n)[n] for n in numbers}))


def escaped(pages: int) -> bytes:
    return repeated(pages).replace(b"/Kids", b"/K#69ds").replace(b"/Type /Page ", b"/Type /P#61ge ")


def commented(pages: int) -> bytes:
    kids = _list([10] * pages, b" % ]\n ")
    return _write(_tree(kids, pages) | _page(10))


def spaced(pages: int) -> bytes:
    """Return references with the other white space of the format."""
    return repeated(pages).replace(b"10 0 R", b"10\x000\x0cR")


def listed(pages: int) -> bytes:
    """Return a tree whose list of pages is an object of its own."""
    objects = _tree(b"", pages) | {5: b"[%b]" % _list([10] * pages)} | _page(10)
    objects[2] = b"<< /Type /Pages /Kids 5 0 R >>"
    return _write(objects)


def interrupted(pages: int) -> bytes:
    """Return a tree with text that looks like the end of its object."""
    kids = b"(endobj 77 0 obj) " + _list([10] * pages)
    return _write(_tree(kids, pages) | _page(10))


def revised(pages: int) -> bytes:
    """Return a document whose second version has the pages."""
    first, second = _write(_tree(_list([10]), 1) | _page(10)), _tree(_list([10] * pages), pages)
    return first + b"\n" + _write(second)


def packed_twice(pages: int) -> bytes:
    """Return a tree in two streams, of which one is hidden from a search for the word."""
    stream = _pack({2: _tree(_list([10] * pages), pages)[2]}).replace(b"/Type /ObjStm ", b"")
    return _write({1: _tree(b"", 1)[1]}, stream + _pack(_page(10), 9_998))


def disguised(pages: int) -> bytes:
    """Return a tree that looks like a stream before its pages are named."""
    kids = b"(stream\n)"
    objects = _tree(b"", pages) | _page(10)
    objects[2] = b"<< /Type /Pages /A %b /K#69ds [%b] >>" % (kids, _list([10] * pages))
    return _write(objects)


def cut(pages: int) -> bytes:
    """Return an object stream with an object that begins inside of the tree."""
    tree = _tree(_list([10] * pages), pages)[2]
    whole = _pack({2: tree + b" "})
    inner = zlib.decompress(whole[whole.index(b"stream\n") + 7 :])
    text = b"2 0 77 30 " + inner.partition(b"<<")[1] + inner.partition(b"<<")[2]
    data = zlib.compress(text)
    head = b"<< /Type /ObjStm /N 2 /First 10 /Filter /FlateDecode >>"
    stream = b"9 0 obj\n%b\nstream\n%b\nendstream\nendobj\n" % (head, data)
    return _write({1: _tree(b"", 1)[1]} | _page(10), stream)


def encrypted(pages: int) -> bytes:
    return repeated(pages).replace(b"trailer <<", b"trailer << /Encrypt 8 0 R")


PDFS: Sequence[Callable[[int], bytes]] = (
    *(plain, repeated, nested, packed, escaped, commented, spaced, listed),
    *(interrupted, revised, packed_twice, disguised, cut, encrypted),
)

# -- pictures ------------------------------------------------------------------------------------


def png(width: int, height: int) -> bytes:
    head = struct.pack(">II5B", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + b"\0\0\0\0"


def jpeg(width: int, height: int) -> bytes:
    """Return a picture after a small one in its metadata."""
    small = b"\xff\xd8\xff\xc0\x00\x11\x08\x00\x08\x00\x08"
    app = b"\xff\xe1" + struct.pack(">H", 2 + len(small)) + small
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + b"\0" * 9
    return b"\xff\xd8" + app + frame + b"\xff\xda\x00\x02" + b"\0" * 20


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def webp(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + size


def webp_lossless(width: int, height: int) -> bytes:
    bits = (min(width, 16_384) - 1) | (min(height, 16_384) - 1) << 14
    return b"RIFF\x20\0\0\0WEBPVP8L\x08\0\0\0\x2f" + struct.pack("<I", bits)


PICTURES: dict[str, Callable[[int, int], bytes]] = {
    "image/png": png,
    "image/jpeg": jpeg,
    "image/gif": gif,
    "image/webp": webp,
}

# -- sounds --------------------------------------------------------------------------------------


def wav(seconds: int, rate: int = 8, bits: int = 8) -> bytes:
    size = seconds * rate * bits // 8
    form = struct.pack("<HHIIHH", 1, 1, rate, rate * bits // 8, bits // 8, bits)
    return (b"RIFF" + struct.pack("<I", 36 + size) + b"WAVEfmt " + struct.pack("<I", 16) + form) + (
        b"data" + struct.pack("<I", size) + b"\x80" * size
    )


def mp3(seconds: int) -> bytes:
    """Return frames of the lowest rate: 8 kbit/s at 8 kHz, 72 bytes for 72 ms."""
    frame = b"\xff\xe3\x18\xc4" + b"\0" * 68
    return frame * -(-seconds * 1000 // 72)


def ogg(_seconds: int) -> bytes:
    """Return a sound whose silence takes no bytes."""
    return b"OggS\0\x02" + b"\0" * 60


SOUNDS: dict[str, Callable[[int], bytes]] = {"wav": wav, "mp3": mp3, "ogg": ogg}
