"""Replaces the model's name in an answer that passes through; all other bytes stay."""

import re
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw

from ...canon import get_decoder

_FIELDS = get_decoder(dict[str, Raw])

Places = tuple[tuple[str, ...], ...]
"""Where an answer names its model."""


def rename_model(body: bytes, places: Places, model: str) -> bytes:
    """Return a JSON object with another model name; other bytes stay."""
    for path in places:
        if b'"%b"' % path[-1].encode() in body:
            body = _rename_at(body, path, model)
    return body


def _rename_at(body: bytes, path: tuple[str, ...], model: str) -> bytes:
    try:
        fields = _FIELDS.decode(body)
    except msgspec.DecodeError:
        return body
    if path[0] not in fields:
        return body
    inner = bytes(fields[path[0]])
    new = msgspec.json.encode(model) if len(path) == 1 else _rename_at(inner, path[1:], model)
    if new == inner:
        return body
    pairs = ((name, new if name == path[0] else bytes(raw)) for name, raw in fields.items())
    return b"{%b}" % b",".join(b"%b:%b" % (msgspec.json.encode(k), v) for k, v in pairs)


class ModelRenamer:
    """Renames the model in a stream, a whole line at a time."""

    def __init__(self, places: Places, model: str, content_type: str) -> None:
        self._rename = _LINES.get(content_type.partition(";")[0].strip(), _keep_line)
        self._places = places
        self._model = model
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
        if not any(b'"%b"' % path[-1].encode() in lines for path in self._places):
            return lines  # nearly all of a stream: only its first events name the model
        return b"\n".join(
            self._rename(line, self._places, self._model) for line in lines.split(b"\n")
        )


def _sse_line(line: bytes, places: Places, model: str) -> bytes:
    if not line.startswith(b"data:"):
        return line
    data = line[5:].strip()
    if b'"model":"%b"' % model.encode() in data:
        return line
    new = rename_model(data, places, model)
    end = b"\r" if line.endswith(b"\r") else b""  # some SDKs know an event by both its ends
    return line if new == data else b"data: %b%b" % (new, end)


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
