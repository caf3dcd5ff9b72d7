"""Bytes to exchanges, by what is in them: a cassette, vcrpy's, or plain lines.

A plain line is ``{"request": {"url" or "path", "body", "method", "headers"}, "response":
{"status", "headers", and "body", "chunks" or "stream"}, "provider"}``; only the request's address
and body must be there. A body is JSON, or text.
"""

from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import NoReturn

import msgspec
from msgspec import Struct

from ...canon import Head, HttpRequest, Json
from ...errors import CassetteError
from ...framing import UNREADABLE
from ...transport import Recorded, exchanges
from .report import Kind

_KINDS: Mapping[str, Kind] = {
    "pondero": "chat",
    "pondero_thread": "thread",
    "_request": "cassette",
    "interactions": "vcrpy",
    "request": "exchanges",
    "response": "exchanges",
}
_UNKNOWN = (
    "neither a cassette, nor one of vcrpy's, nor lines of exchanges, nor a saved chat or thread; "
    "a line of an exchange has a request with url and body, and a response"
)


class Line(Struct, frozen=True):
    """An exchange, and who answered where its line says so."""

    recorded: Recorded
    provider: str | None = None


def kind_of(data: bytes, name: str) -> Kind:
    """Return what a file is, or raise CassetteError where it is none that is known."""
    first = _first(data)
    if first is None and b"interactions:" in data:
        return "vcrpy"
    keys = first if isinstance(first, dict) else {}
    found = next((kind for key, kind in _KINDS.items() if key in keys), None)
    if found is None:
        _broken(name, "this is empty" if not data.strip() else _UNKNOWN)
    return found


def lines(data: bytes, name: str, kind: Kind) -> list[Line | None]:
    """Return the exchanges of a file of this kind; None where the request was not recorded."""
    if kind == "exchanges":
        return list(_plain(data, name))
    return [Line(recorded) for recorded in exchanges(data, name)]


def _first(data: bytes) -> Json:
    """Return the whole where it is one JSON value, else its first line; a list's first item."""
    for text in (data, data.lstrip().partition(b"\n")[0]):
        try:
            value = msgspec.json.decode(text)
        except UNREADABLE:
            continue
        return value[0] if isinstance(value, list) and value else value
    return None


def _plain(data: bytes, name: str) -> Iterator[Line | None]:
    for number, value in _values(data, name):
        if not isinstance(value, dict):
            _broken(name, "an exchange is an object", number)
        try:
            yield _line(value, number)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            _broken(name, f"this is no exchange ({type(error).__name__}: {error})", number)


def _values(data: bytes, name: str) -> Iterator[tuple[int, Json]]:
    try:
        whole = msgspec.json.decode(data)
    except UNREADABLE:
        for number, text in enumerate(data.split(b"\n"), 1):
            if text.strip():
                yield number, _decoded(text, name, number)
    else:
        for value in whole if isinstance(whole, list) else [whole]:
            yield 1, value


def _decoded(text: bytes, name: str, number: int) -> Json:
    try:
        return msgspec.json.decode(text)
    except UNREADABLE as error:
        _broken(name, f"this is not JSON ({error}); was the file cut?", number)


def _line(value: Mapping[str, Json], number: int) -> Line | None:
    asked, answered = value.get("request"), value.get("response")
    if asked is None:
        return None
    request = HttpRequest(
        str(asked.get("method", "POST")),
        str(asked["url"] if "url" in asked else asked["path"]),
        _headers(asked.get("headers")),
        _body(asked.get("body")),
    )
    provider = value.get("provider")
    if answered is None:
        return Line(Recorded(request, line=number), _text(provider))
    head = Head(int(answered.get("status", 200)), _headers(answered.get("headers")))
    return Line(Recorded(request, head, _pieces(answered), line=number), _text(provider))


def _pieces(answered: Mapping[str, Json]) -> tuple[bytes, ...]:
    if (stream := answered.get("stream")) is not None:
        if answered.get("stream_encoding") == "base64":
            return (b64decode(stream),)
        return (_body(stream),)
    if (chunks := answered.get("chunks")) is not None:
        return tuple(_body(chunk) for chunk in chunks)
    return (_body(answered.get("body")),)


def _headers(raw: Json) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in (raw or {}).items()}


def _body(raw: Json) -> bytes:
    if raw is None:
        return b""
    return raw.encode() if isinstance(raw, str) else msgspec.json.encode(raw)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _broken(name: str, why: str, number: int | None = None) -> NoReturn:
    message = f"{name}:{number}: {why}" if number else f"{name}: {why}"
    raise CassetteError(message)
