"""Replaces the model's name in an answer that passes through; all other bytes stay."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.json import Decoder

from ...canon import get_decoder

_FIELDS = get_decoder(dict[str, Raw])

_BETWEEN = b": \t\r\n"  # between a name and its value

Places = tuple[tuple[str, ...], ...]
"""Where an answer names its model."""


def rename_model(body: bytes, places: Places, model: str) -> bytes:
    """Return a JSON object with another model name; other bytes stay."""
    for path in places:
        if _quote(path[-1]) in body:
            body = _rename_at(body, path, model)
    return body


@lru_cache(maxsize=64)
def _quote(name: str) -> bytes:
    return b'"%b"' % name.encode()


@lru_cache(maxsize=64)
def _get_field_decoder(name: str) -> Decoder[Any]:
    """Return a decoder of one field of an object: reading all of them takes twice the time."""
    missing = msgspec.field(default=Raw(), name=name)
    return get_decoder(msgspec.defstruct("Named", [("value", Raw, missing)]))


def _rename_at(body: bytes, path: tuple[str, ...], model: str) -> bytes:
    try:
        inner = bytes(_get_field_decoder(path[0]).decode(body).value)
    except msgspec.DecodeError:
        return body
    if not inner:
        return body
    new = msgspec.json.encode(model) if len(path) == 1 else _rename_at(inner, path[1:], model)
    if new == inner:
        return body
    key = _quote(path[0])
    if body.count(key) == 1:  # nearly always
        before, _, after = body.partition(key)
        between, found, rest = after.partition(inner)
        if found and not between.translate(None, _BETWEEN):
            return b"%b%b%b%b%b" % (before, key, between, new, rest)
    pairs = (
        (name, new if name == path[0] else bytes(raw)) for name, raw in _FIELDS.decode(body).items()
    )
    return b"{%b}" % b",".join(b"%b:%b" % (msgspec.json.encode(k), v) for k, v in pairs)


class ModelRenamer:
    """Renames the model in a stream, a whole line at a time.

    Some services name it in every event. One line is read; those that begin with the same bytes up
    to the name, or end with the same bytes from the name on, are renamed together without reading.
    """

    def __init__(self, places: Places, model: str, content_type: str) -> None:
        self._rename = _LINES.get(content_type.partition(";")[0].strip(), _keep_line)
        self._places = places
        self._model = model
        self._keys = tuple({b'"%b"' % path[-1].encode() for path in places})
        self._quoted = msgspec.json.encode(model)
        self._known: _KnownLine | None = None
        self._partial = b""

    def feed(self, data: bytes) -> bytes:
        """Return complete lines; SSE lines can be split across chunks."""
        if self._rename is _keep_line:
            return data
        whole, newline, self._partial = (self._partial + data).rpartition(b"\n")
        return self._lines(whole) + newline if newline else b""

    def eof(self) -> bytes:
        """Return the last line."""
        last, self._partial = self._partial, b""
        return self._lines(last) if last else b""

    def _lines(self, lines: bytes) -> bytes:
        if not any(key in lines for key in self._keys):
            return lines  # nearly all of most streams: only their first events name the model
        if self._rename is not _sse_line or len(self._keys) != 1:
            return b"\n".join(map(self._rename_line, lines.split(b"\n")))
        (key,) = self._keys
        count = lines.count(key)
        if self._known is not None and (renamed := self._known.rename(lines, count)) is not None:
            return renamed
        if count == lines.count(b"%b:%b" % (key, self._quoted)):
            return lines  # every name in them is the one to be
        return b"\n".join(map(self._read_line, lines.split(b"\n")))

    def _rename_line(self, line: bytes) -> bytes:
        return self._rename(line, self._places, self._model)

    def _read_line(self, line: bytes) -> bytes:
        """Return a line renamed; others may be like it."""
        count = line.count(self._keys[0])
        if not count:
            return line
        if self._known is not None and (known := self._known.rename(line, count)) is not None:
            return known
        renamed = self._rename_line(line)
        if renamed != line:
            self._known = _find_pattern(line, renamed, self._keys[0], self._quoted) or self._known
        return renamed


class _KnownLine(Struct, frozen=True):
    """The bytes of a line up to the name's end, and from the name's field on; old and new.

    Both are certain: what begins with the same bytes has the field at the same place. And an object
    that ends with the same bytes has it at the top, if only the last of them is a bracket: its
    quotes cannot be those of a text, where they would be escaped.
    """

    begins: tuple[bytes, bytes]
    ends: tuple[bytes, bytes] | None

    def rename(self, lines: bytes, count: int) -> bytes | None:
        """Return lines that have so many names with the new one; None if one has another form."""
        text = b"\n%b\n" % lines
        for old, new in filter(None, (self.begins, self.ends)):
            if text.count(old) == count:
                # A letter of another such field may be escaped.
                return None if b"\\u00" in text else text.replace(old, new)[1:-1]
        return None


def _find_pattern(old: bytes, new: bytes, key: bytes, quoted: bytes) -> _KnownLine | None:
    """Return the form of a line by its old and new bytes; None if more than the name differs."""
    at = new.find(key)
    end = new.find(quoted, at) + len(quoted)
    rest = len(new) - end
    if old.count(key) != 1 or new.count(key) != 1 or not old.startswith(new[:at]):
        return None
    if new[at - 1 : at] not in (b"{", b",") or (rest and old[-rest:] != new[end:]):
        return None
    begins = (b"\n" + old[: len(old) - rest], b"\n" + new[:end])
    if any(bracket in old[at - 1 :].rstrip()[:-1] for bracket in b"{}[]"):
        return _KnownLine(begins, None)
    return _KnownLine(begins, (old[at - 1 :] + b"\n", new[at - 1 :] + b"\n"))


def _sse_line(line: bytes, places: Places, model: str) -> bytes:
    if not line.startswith(b"data:"):
        return line
    data = line[5:].strip()
    if b'"model":"%b"' % model.encode() in data:
        return line
    new = rename_model(data, places, model)
    return line if new == data else line.replace(data, new, 1)


def _array_line(line: bytes, places: Places, model: str) -> bytes:
    """Rename in a line of JSON; in an indented array no line is a whole object."""
    if line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}"):
        return rename_model(line, places, model)
    name = b"|".join(path[0].encode() for path in places if len(path) == 1)
    found = re.match(rb'(\s*"(?:%b)"\s*:\s*)"[^"\\]*"' % name, line) if name else None
    return found[1] + msgspec.json.encode(model) + line[found.end() :] if found else line


def _keep_line(line: bytes, _places: Places, _model: str) -> bytes:
    return line


_LINES: Mapping[str, Callable[[bytes, Places, str], bytes]] = {
    "text/event-stream": _sse_line,
    "application/x-ndjson": _array_line,
    "application/json": _array_line,
}
