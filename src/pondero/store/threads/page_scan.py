"""Finds rows in the pages of a damaged SQLite file, without its header, schema or inner pages.

``salvage`` calls it for the rows that SQLite itself cannot reach. The format is documented at
https://sqlite.org/fileformat2.html. No page is trusted: what cannot be read is left out.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from mmap import mmap
from typing import Any

_MAGIC = b"SQLite format 3\0"
_USUAL_PAGE = 4096
_HEADER = 100
"""Bytes of the file's header, which is in its first page."""
_LEAF = 0x0D
"""The first byte of a page with rows of a table."""
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of an integer, by its serial type."""
_REAL = 7
_FIRST_BLOB = 12


def scan_rows(data: bytes | mmap) -> Iterator[tuple[Any, ...]]:
    """Yield the values of every row of any table; an integer primary key is None."""
    size = _page_size(data)
    for number in range(-(-len(data) // size)):
        page = data[number * size : (number + 1) * size]
        first = _HEADER if number == 0 else 0
        if len(page) < first + 8 or page[first] != _LEAF:
            continue
        (count,) = struct.unpack_from(">H", page, first + 3)
        for at in range(first + 8, first + 8 + 2 * count, 2):
            with suppress(ValueError, IndexError, struct.error):
                (begin,) = struct.unpack_from(">H", page, at)
                yield _read_record(_read_payload(data, page, begin, size))


def _page_size(data: bytes | mmap) -> int:
    """Return the size of a page as the header has it, or the usual one."""
    if data[: len(_MAGIC)] != _MAGIC:
        return _USUAL_PAGE
    size = int.from_bytes(data[16:18], "big")
    return 65536 if size == 1 else max(size, 512)


def _read_payload(data: bytes | mmap, page: bytes, at: int, size: int) -> bytes:
    """Return the bytes of a row, also those on the pages that follow its own."""
    total, at = _read_varint(page, at)
    _, at = _read_varint(page, at)  # the row's number
    most, least = size - 35, (size - 12) * 32 // 255 - 23
    fitting = least + (total - least) % (size - 4)
    here = total if total <= most else fitting if fitting <= most else least
    found = page[at : at + here]
    if here == total:
        return found
    (following,) = struct.unpack_from(">I", page, at + here)
    while len(found) < total and following:
        more = data[(following - 1) * size : following * size]
        (following,) = struct.unpack_from(">I", more, 0)
        found += more[4 : 4 + total - len(found)]
    if len(found) < total:
        raise ValueError("a page of this row is missing")
    return found


def _read_record(payload: bytes) -> tuple[Any, ...]:
    size, at = _read_varint(payload, 0)
    kinds = []
    while at < size:
        kind, at = _read_varint(payload, at)
        kinds.append(kind)
    values = []
    for kind in kinds:
        length = _length_of(kind)
        if at + length > len(payload):
            raise ValueError("this row is cut off")
        values.append(_read_value(kind, payload[at : at + length]))
        at += length
    return tuple(values)


def _length_of(kind: int) -> int:
    if kind >= _FIRST_BLOB:
        return (kind - _FIRST_BLOB) // 2
    return 8 if kind == _REAL else _INTEGERS.get(kind, 0)


def _read_value(kind: int, raw: bytes) -> Any:
    if kind in _INTEGERS:
        return int.from_bytes(raw, "big", signed=True)
    if kind == _REAL:
        return struct.unpack(">d", raw)[0]
    if kind >= _FIRST_BLOB:
        return raw.decode() if kind % 2 else raw
    return {8: 0, 9: 1}.get(kind)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and where it ends."""
    value = 0
    for _ in range(8):
        byte = data[at]
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | data[at], at + 1
