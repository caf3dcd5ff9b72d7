"""Reads recorded exchanges from bytes: a cassette, a vcrpy cassette, or plain lines of JSON.

A plain line is ``{"request": {"url" or "path", "body", "method", "headers"}, "response": {"status",
"headers", and "body", "chunks" or "stream"}, "provider"}``; only URL and body are required.
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Literal, NoReturn
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from ...canon import HttpRequest, Json, ResponseHead
from ...cassettes import RecordedExchange, parse_cassette
from ...catalog import Provider
from ...client import load_catalog
from ...emulator import find_route
from ...errors import CassetteError, PonderoError
from ...exchange import Decoded, decode
from ...framing import UNREADABLE, parse_json_or_none
from ...thinking import NOTHING, Capability

Kind = Literal["cassette", "vcrpy", "exchanges", "chat", "thread"]
_MODEL = re.compile(r"/models?/([^/]+?)(?::[A-Za-z]+|/[a-z-]+)?$")


class GuardedExchange(Struct, frozen=True, kw_only=True):
    """An exchange of a known dialect, counted from 1; ``known``: the catalog has its provider."""

    number: int
    line: int
    dialect: str
    provider: str
    known: bool
    model: str | None
    facts: Capability
    quirks: Mapping[str, Json]
    body: dict[str, Json]
    status: int | None
    answer: Decoded | None

    @property
    def rejected(self) -> bool:
        """Return whether the service rejected the request."""
        return self.status is not None and 400 <= self.status < 500


def recognise(
    number: int, recorded: RecordedExchange, *, provider: str | None = None
) -> GuardedExchange | None:
    """Return an exchange with its dialect, or None; ``provider`` if the URL does not tell."""
    request = recorded.request
    body = parse_json_or_none(request.body)
    if not isinstance(body, dict):
        return None
    path = unquote(urlsplit(request.url).path)
    found = find_route(request.url) or (find_route(path) if path != request.url else None)
    answer = _answer(recorded, found.wire.name if found else None)
    if found is None:
        return None
    name = _deployment(found.wire.name, provider) if provider else found.provider
    home = load_catalog().catalog.providers.get(name or "")
    model = _model(body, path)
    return GuardedExchange(
        number=number,
        line=recorded.line,
        dialect=found.wire.name,
        provider=name or str(provider),
        known=home is not None,
        model=model,
        facts=_facts(name, model),
        quirks=home.quirks if home else {},
        body=body,
        status=recorded.head.status if recorded.head else None,
        answer=answer,
    )


def _answer(recorded: RecordedExchange, name: str | None) -> Decoded | None:
    head = recorded.head
    if head is None or name is None:
        return None
    try:
        return decode(recorded.body, dialect=name, status=head.status, headers=head.headers)
    except PonderoError:
        return None


def _model(body: Mapping[str, Json], path: str) -> str | None:
    named = body.get("model")
    if isinstance(named, str) and named:
        return named
    found = _MODEL.search(path)
    return found[1] if found else None


def _deployment(dialect: str, provider: str) -> str | None:
    names = [each.name for each in _list_providers(dialect)]
    return next(
        (name for name in names if name == provider or name.startswith(f"{provider}-")), None
    )


@cache
def _list_providers(dialect: str) -> tuple[Provider, ...]:
    return tuple(
        each for each in load_catalog().catalog.providers.values() if each.dialect == dialect
    )


@lru_cache(1024)  # an unknown name is searched for by similarity, which is slow
def _facts(provider: str | None, model: str | None) -> Capability:
    name = f"{provider}:{model}" if provider else model
    try:
        return load_catalog().entry(name).capability if name and model else NOTHING
    except PonderoError:
        return NOTHING


_KINDS: Mapping[str, Kind] = {
    "pondero": "chat",
    "pondero_thread": "thread",
    "_request": "cassette",
    "interactions": "vcrpy",
    "request": "exchanges",
    "response": "exchanges",
    "format": "chat",
}
_UNKNOWN = (
    "unknown kind of file; use a cassette, a vcrpy cassette, lines of exchanges, a saved chat or "
    "an exported thread; a line of an exchange has a request with url and body, and a response"
)


class GuardLine(Struct, frozen=True):
    """An exchange, and its provider if the line names one."""

    recorded: RecordedExchange
    provider: str | None = None


def detect_kind(data: bytes, name: str) -> Kind:
    """Return the kind of a file; raise CassetteError if it is unknown."""
    first = _first(data)
    if first is None and b"interactions:" in data:
        return "vcrpy"
    keys = first if isinstance(first, dict) else {}
    found = next((kind for key, kind in _KINDS.items() if key in keys), None)
    if found is None:
        _fail(name, "this is empty" if not data.strip() else _UNKNOWN)
    return found


def parse_lines(data: bytes, name: str, kind: Kind) -> list[GuardLine | None]:
    """Return the exchanges of a file, None for each without a request."""
    if kind == "exchanges":
        return list(_plain(data, name))
    return [GuardLine(recorded) for recorded in parse_cassette(data, name)]


def _first(data: bytes) -> Json:
    for text in (data, data.lstrip().partition(b"\n")[0]):
        try:
            value = msgspec.json.decode(text)
        except UNREADABLE:
            continue
        return value[0] if isinstance(value, list) and value else value
    return None


def _plain(data: bytes, name: str) -> Iterator[GuardLine | None]:
    for number, value in _values(data, name):
        if not isinstance(value, dict):
            _fail(name, "an exchange is an object", number)
        try:
            yield _line(value, number)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            _fail(name, f"invalid exchange ({type(error).__name__}: {error})", number)


def _values(data: bytes, name: str) -> Iterator[tuple[int, Json]]:
    try:
        whole = msgspec.json.decode(data)
    except UNREADABLE:
        for number, text in enumerate(data.split(b"\n"), 1):
            if text.strip():
                yield number, _decode_line(text, name, number)
    else:
        for value in whole if isinstance(whole, list) else [whole]:
            yield 1, value


def _decode_line(text: bytes, name: str, number: int) -> Json:
    try:
        return msgspec.json.decode(text)
    except UNREADABLE as error:
        _fail(name, f"this is not JSON ({error}); was the file cut?", number)


def _line(value: Mapping[str, Json], number: int) -> GuardLine | None:
    request_json, response_json = value.get("request"), value.get("response")
    if request_json is None:
        return None
    request = HttpRequest(
        str(request_json.get("method", "POST")),
        str(request_json["url"] if "url" in request_json else request_json["path"]),
        _headers(request_json.get("headers")),
        _body(request_json.get("body")),
    )
    provider = value.get("provider")
    if response_json is None:
        return GuardLine(RecordedExchange(request, line=number), _text(provider))
    head = ResponseHead(
        int(response_json.get("status", 200)), _headers(response_json.get("headers"))
    )
    return GuardLine(
        RecordedExchange(request, head, _pieces(response_json), line=number), _text(provider)
    )


def _pieces(response_json: Mapping[str, Json]) -> tuple[bytes, ...]:
    if (stream := response_json.get("stream")) is not None:
        if response_json.get("stream_encoding") == "base64":
            return (b64decode(stream),)
        return (_body(stream),)
    if (chunks := response_json.get("chunks")) is not None:
        return tuple(_body(chunk) for chunk in chunks)
    return (_body(response_json.get("body")),)


def _headers(raw: Json) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in (raw or {}).items()}


def _body(raw: Json) -> bytes:
    if raw is None:
        return b""
    return raw.encode() if isinstance(raw, str) else msgspec.json.encode(raw)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _fail(name: str, why: str, number: int | None = None) -> NoReturn:
    message = f"{name}:{number}: {why}" if number else f"{name}: {why}"
    raise CassetteError(message)
