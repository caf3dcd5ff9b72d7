"""Counts the pages of a PDF: never fewer than any reader finds, or None if that cannot be told.

All objects are read, also those in compressed object streams; the largest tree of pages counts.
References alone lead to pages, so a page that a tree names twice is two, and what is named in a
circle has no number. The work has limits: a gateway serves others meanwhile.
"""

import re
import zlib
from collections.abc import Iterator, Mapping

_MOST_BYTES = 32 << 20  # of a document, as services limit it
_MOST_TEXT = 2 << 20  # bytes of all objects without their streams, and of object streams
_MOST_OBJECTS = 20_000
_MOST_PAGES = 1_000_000
_BLANK = rb"[\0\t\n\f\r ]"
_BEFORE = 64  # bytes before the word "obj" that have the number of the object
_NUMBER = re.compile(rb"(?<!\d)(\d+)%b+\d+%b*\Z" % (_BLANK, _BLANK))
_REFERENCE = re.compile(rb"(?<!\d)(\d+)%b+\d+%b+R(?![A-Za-z0-9])" % (_BLANK, _BLANK))
_PARENT = re.compile(rb"/Parent%b+\d+%b+\d+%b+R\b" % (_BLANK, _BLANK, _BLANK))
_KIDS = re.compile(rb"/(?:K|#4[Bb])(?:i|#69)(?:d|#64)(?:s|#73)")
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")
_STRING = re.compile(rb"\([^()]*\)")
_DEEPEST = 4  # levels of brackets in a string
_STREAM = re.compile(rb"stream\r?\n")
_COUNT = re.compile(rb"/N%b+(\d+)\b" % _BLANK)
_FIRST = re.compile(rb"/First%b+(\d+)\b" % _BLANK)
_TEXTLESS = re.compile(rb"/Subtype%b*/Image\b|/Type%b*/XRef\b" % (_BLANK, _BLANK))
_WRITES = re.compile(rb"[)>\]]%b*(?:T[jJ]|['\"])(?=[\0\t\n\f\r \[(<]|\Z)" % _BLANK)  # operators
_MOST_UNPACKED = 8 << 20  # bytes of all streams


def count_pages(data: bytes) -> int | None:
    """Return the most pages of a document."""
    if len(data) > _MOST_BYTES or b"/Encrypt" in data:
        return None
    try:
        objects = _group(_iter_objects(data))
        trees = {number for number, texts in objects.items() if any(map(_is_tree, texts))}
        sizes: dict[int, int] = {}
        return max((_measure(number, objects, sizes) for number in trees), default=None)
    except (_Unknown, zlib.error, ValueError):
        return None


def count_text(data: bytes) -> int | None:
    """Return the bytes of all streams that write text, unpacked; None if that cannot be told.

    Pictures and tables of objects write none. A stream that is used several times counts once.
    """
    total, room = 0, _MOST_UNPACKED
    try:
        starts = list(_iter_starts(data))
        for (_, start), (_, after) in zip(starts, [*starts[1:], (0, len(data))], strict=True):
            stream = _STREAM.search(data, start, after)
            if stream is None or _TEXTLESS.search(head := data[start : stream.start()]):
                continue
            text = data[stream.end() : after]
            if b"Filter" in head:
                text = _inflate(_unescape(head), text, room)
                room -= len(text)
            if _WRITES.search(text):
                total += len(text)
    except (_Unknown, zlib.error, ValueError):
        return None
    return total


class _Unknown(Exception):
    """The number of pages cannot be told."""


def _group(found: Iterator[tuple[int, bytes]]) -> Mapping[int, list[bytes]]:
    """Return all versions of each object: readers differ in which one they take."""
    objects: dict[int, list[bytes]] = {}
    room = _MOST_TEXT
    for count, (number, text) in enumerate(found):
        room -= len(text)
        if room < 0 or count >= _MOST_OBJECTS:
            raise _Unknown
        objects.setdefault(number, []).append(text)
    return objects


# -- objects -------------------------------------------------------------------------------------


def _iter_objects(data: bytes) -> Iterator[tuple[int, bytes]]:
    starts = list(_iter_starts(data))
    room = _MOST_TEXT
    for (number, start), (_, after) in zip(starts, [*starts[1:], (0, len(data))], strict=True):
        stream = _STREAM.search(data, start, after)
        ends = stream.start() if stream else data.rfind(b"endobj", start, after)
        if stream is not None and _KIDS.search(data, stream.end(), after):
            raise _Unknown  # perhaps no stream
        head = _unescape(data[start : after if ends < 0 else ends])
        yield number, head
        if stream is not None and b"/First" in head:
            inner = _inflate(head, data[stream.end() : after], room)
            room -= len(inner)
            yield from _iter_packed(head, inner)


def _iter_starts(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the number of each object, and where it begins."""
    at, count = data.find(b"obj"), 0
    while at >= 0:
        count += 1
        if count > 2 * _MOST_OBJECTS:  # each has the word at its end too
            raise _Unknown
        if data[at - 1 : at] in b"\0\t\n\f\r 0123456789":
            found = _NUMBER.search(data[max(0, at - _BEFORE - 20) : at])
            if found is None:
                raise _Unknown
            yield int(found[1]), at + 3
        at = data.find(b"obj", at + 3)


def _inflate(head: bytes, data: bytes, room: int) -> bytes:
    filters = head.partition(b"/Filter")[2].partition(b"/")[2]
    if head.count(b"/Filter") != 1 or not filters.startswith((b"FlateDecode", b"Fl ")):
        raise _Unknown
    if head.count(b"Decode") > 1 + head.count(b"DecodeParms"):
        raise _Unknown  # several filters
    if b"/Predictor" in head or room <= 0:
        raise _Unknown
    inner = zlib.decompressobj()
    text = inner.decompress(data, room)
    if not inner.eof:
        raise _Unknown
    return text


def _iter_packed(head: bytes, text: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the objects of a stream: pairs of number and place, then the objects."""
    count, first = _COUNT.search(head), _FIRST.search(head)
    if count is None or first is None:
        raise _Unknown
    begin = int(first[1])
    numbers = [int(each) for each in text[:begin].split()[: 2 * int(count[1])]]
    places = [*numbers[1::2], len(text) - begin]
    if places != sorted(places) or len(numbers) != 2 * int(count[1]):
        raise _Unknown
    for number, start, end in zip(numbers[::2], places, places[1:], strict=False):
        yield number, _unescape(text[begin + start : begin + end])


def _unescape(text: bytes) -> bytes:
    """Write names without escapes (``/Ki#64s``)."""
    if len(text) > _MOST_TEXT:
        raise _Unknown
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), text) if b"#" in text else text


# -- trees ---------------------------------------------------------------------------------------


def _is_tree(text: bytes) -> bool:
    return b"/Kids" in text


def _measure(number: int, objects: Mapping[int, list[bytes]], sizes: dict[int, int]) -> int:
    """Return the pages under an object, without recursion: trees may be deep."""
    waiting = [] if number in sizes else [number]
    opened: dict[int, list[list[int]]] = {}
    while waiting:
        current = waiting[-1]
        if current in sizes:
            waiting.pop()
        elif current in opened:
            waiting.pop()
            children = opened.pop(current)
            if any(each not in sizes for several in children for each in several):
                raise _Unknown  # a circle
            totals = (sum(sizes[each] for each in several) for several in children)
            sizes[current] = min(_MOST_PAGES, max((1, *totals)))
        else:
            texts = objects.get(current, ())
            children = opened[current] = [_children(text) for text in texts if _leads_on(text)]
            named = dict.fromkeys(each for several in children for each in several)
            waiting += (each for each in named if each not in sizes)
            if any(each in opened for each in named):
                raise _Unknown  # a circle
    return sizes[number]


def _leads_on(text: bytes) -> bool:
    """Return whether an object is a tree, or a list of references that a tree may name."""
    return _is_tree(text) or not text.lstrip(b"\0\t\n\f\r ").startswith(b"<<")


def _children(text: bytes) -> list[int]:
    return [int(each) for each in _REFERENCE.findall(_PARENT.sub(b"", _drop_strings(text)))]


def _drop_strings(text: bytes) -> bytes:
    """Return an object without its strings, which may look like anything.

    Raises _Unknown if this may be a part of it only, or if a comment may split what belongs
    together.
    """
    if b"%" in text or b"\\" in text:
        raise _Unknown
    for _ in range(_DEEPEST):
        text = _STRING.sub(b" ", text)
    pairs = ((b"[", b"]"), (b"<<", b">>"))
    if b"(" in text or b")" in text or any(text.count(a) != text.count(b) for a, b in pairs):
        raise _Unknown
    return text
