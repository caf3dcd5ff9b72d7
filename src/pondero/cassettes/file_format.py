"""The file format of a cassette: a sequence of exchanges as JSON Lines.

Each exchange is ``_request``, ``_response``, then one ``_body`` or many ``_chunk`` lines, one per
piece received; ``_end`` follows only if the response did not end by itself. Bytes are text if they
are UTF-8, else ``{"base64": ...}``. An optional first line ``_source`` is the service's base URL.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeVar

import msgspec
from msgspec import Struct

from ..canon import HttpRequest, Json, ResponseHead, convert_json
from ..errors import CassetteError

YAML = (".yaml", ".yml")
# Headers that describe the bytes on the wire; a cassette's bodies are unpacked and redacted.
WIRE_HEADERS = ("content-encoding", "content-length", "transfer-encoding")

_T = TypeVar("_T")


class EarlyEnd(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Why a response ended early: it failed, or its reader closed it.

    ``connected`` is the error's: False if the service cannot have had the request.
    """

    error: str | None = None
    message: str = ""
    closed: bool = False
    connected: bool = True


class RecordedExchange(Struct, frozen=True):
    """A request and its response; ``head`` is None if no response began.

    ``line`` is its first line in the file, ``source`` the base URL that the file names.
    """

    request: HttpRequest
    head: ResponseHead | None = None
    pieces: tuple[bytes, ...] = ()
    end: EarlyEnd | None = None
    line: int = 0
    source: str | None = None

    @property
    def body(self) -> bytes:
        """Return the response's bytes, joined."""
        return b"".join(self.pieces)


class Base64(Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes that are not text."""

    base64: str


class _Source(Struct, frozen=True, forbid_unknown_fields=True):
    url: str


class _Request(Struct, frozen=True, forbid_unknown_fields=True):
    method: str
    url: str
    headers: Mapping[str, str] = {}
    body: str | Base64 = ""


class _Line(NamedTuple):
    number: int
    key: str
    value: Json


def load_cassette(path: Path) -> tuple[RecordedExchange, ...]:
    """Return the exchanges of a cassette, ours or vcrpy's."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        message = f"there is no cassette {path}; record it by running this again with VCR_RECORD=1"
        raise CassetteError(message) from None
    except OSError as error:
        message = f"the cassette {path} cannot be read: {error.strerror}"
        raise CassetteError(message) from None
    if path.suffix.lower() in YAML:
        from .vcrpy import parse as parse_yaml  # noqa: PLC0415 - few cassettes are YAML

        return parse_yaml(data, str(path))
    return parse(data, str(path))


def parse_cassette(data: bytes, name: str) -> tuple[RecordedExchange, ...]:
    """Return the exchanges of a cassette, ours or vcrpy's, by its content."""
    start = data.lstrip()
    if start.startswith(b"{") and start.partition(b'"')[2].startswith(b"_"):
        return parse(data, name)
    from .vcrpy import parse as parse_yaml  # noqa: PLC0415 - few cassettes are YAML

    return parse_yaml(data, name)


# -- writing ---------------------------------------------------------------------------------


def dump(exchanges: Iterable[RecordedExchange]) -> bytes:
    """Return the file's bytes."""
    written = tuple(exchanges)
    source = next((each.source for each in written if each.source is not None), None)
    lines: list[Json] = [] if source is None else [{"_source": _Source(source)}]
    lines += [line for each in written for line in _lines(each)]
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def _lines(exchange: RecordedExchange) -> Iterator[Json]:
    asked = exchange.request
    yield {"_request": _Request(asked.method, asked.url, asked.headers, _encode_bytes(asked.body))}
    if exchange.head is not None:
        yield {"_response": exchange.head}
        key = "_chunk" if len(exchange.pieces) > 1 else "_body"
        for piece in exchange.pieces:
            yield {key: _encode_bytes(piece)}
        if not exchange.pieces and exchange.end is None:
            yield {key: ""}
    if exchange.end is not None:
        yield {"_end": exchange.end}


def _encode_bytes(data: bytes) -> str | Base64:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return Base64(b64encode(data).decode("ascii"))


# -- reading ---------------------------------------------------------------------------------


def parse(data: bytes, name: str) -> tuple[RecordedExchange, ...]:
    """Return the exchanges in these bytes; ``name`` appears in errors."""
    groups: list[list[_Line]] = []
    source: str | None = None
    for number, text in enumerate(data.split(b"\n"), 1):
        if not text.strip():
            continue
        line = _line(name, number, text)
        if line.key == "_request":
            groups.append([line])
        elif groups:
            groups[-1].append(line)
        elif line.key == "_source" and source is None:
            source = _convert(name, line, _Source).url
        else:
            _reject_line(name, number, f"{line.key} comes before any _request")
    return tuple(_exchange(name, group, source) for group in groups)


def _line(name: str, number: int, text: bytes) -> _Line:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        _reject_line(name, number, f"this is not JSON ({error}); was the file cut?")
    if not isinstance(value, dict) or len(value) != 1 or (key := next(iter(value))) not in _KEYS:
        _reject_line(name, number, f"a line is an object with one key of {' '.join(_KEYS)}")
    return _Line(number, key, value[key])


_KEYS = ("_request", "_response", "_body", "_chunk", "_end", "_source")


def _exchange(name: str, lines: list[_Line], source: str | None) -> RecordedExchange:
    begin, *rest = lines
    asked = _convert(name, begin, _Request)
    request = HttpRequest(
        asked.method, asked.url, asked.headers, _bytes(name, begin.number, asked.body)
    )
    head = end = None
    if rest and rest[0].key == "_response":
        head = _convert(name, rest.pop(0), ResponseHead)
    if rest and rest[-1].key == "_end":
        end = _convert(name, rest.pop(), EarlyEnd)
    last = lines[-1].number
    if head is None and end is None:
        _reject_line(name, last, "the request has no answer; was the file cut?")
    if head is not None and end is None and not rest:
        _reject_line(name, last, "the answer has no body; was the file cut?")
    for line in rest:
        if head is None or line.key not in ("_body", "_chunk"):
            _reject_line(name, line.number, f"{line.key} is not allowed here")
    pieces = (_bytes(name, line.number, _piece(name, line)) for line in rest)
    received = tuple(piece for piece in pieces if piece)
    return RecordedExchange(request, head, received, end, begin.number, source)


def _piece(name: str, line: _Line) -> str | Base64:
    return line.value if isinstance(line.value, str) else _convert(name, line, Base64)


def _bytes(name: str, number: int, written: str | Base64) -> bytes:
    if isinstance(written, str):
        return written.encode("utf-8")
    try:
        return b64decode(written.base64, validate=True)
    except ValueError as error:
        _reject_line(name, number, f"this is not base64 ({error})")


def _convert(name: str, line: _Line, type_: type[_T]) -> _T:
    try:
        return convert_json(line.value, type_)
    except msgspec.ValidationError as error:
        _reject_line(name, line.number, f"{line.key} is invalid: {error}")


def _reject_line(name: str, number: int, why: str) -> NoReturn:
    message = f"{name}:{number}: {why}"
    raise CassetteError(message)
