"""A cassette's file: exchanges one after the other, as JSON Lines.

``_request``, ``_response``, then one ``_body`` or many ``_chunk`` lines, each piece as it came;
``_end`` follows only where the answer did not end by itself. Bytes are text where they are UTF-8,
else ``{"base64": ...}``. A ``_source`` line, before them all, is the base URL of the service they
were recorded from, where whoever recorded them said so.
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
# Headers that describe bytes a cassette does not hold: its bodies are unpacked, and redacted.
OF_THE_JOURNEY = ("content-encoding", "content-length", "transfer-encoding")

_T = TypeVar("_T")


class EarlyEnd(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How an answer ended early: it failed, or its reader closed it."""

    error: str | None = None
    message: str = ""
    closed: bool = False


class RecordedExchange(Struct, frozen=True):
    """A request and its answer; ``head`` is None where no answer began.

    ``line`` is where it begins in its file, ``source`` the base URL that its file names.
    """

    request: HttpRequest
    head: ResponseHead | None = None
    pieces: tuple[bytes, ...] = ()
    end: EarlyEnd | None = None
    line: int = 0
    source: str | None = None

    @property
    def body(self) -> bytes:
        """Return the answer's bytes, joined."""
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
    """Return the exchanges of a cassette, ours or vcrpy's; the content says which."""
    begun = data.lstrip()
    if begun.startswith(b"{") and begun.partition(b'"')[2].startswith(b"_"):
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
    yield {"_request": _Request(asked.method, asked.url, asked.headers, _written(asked.body))}
    if exchange.head is not None:
        yield {"_response": exchange.head}
        key = "_chunk" if len(exchange.pieces) > 1 else "_body"
        for piece in exchange.pieces:
            yield {key: _written(piece)}
        if not exchange.pieces and exchange.end is None:
            yield {key: ""}
    if exchange.end is not None:
        yield {"_end": exchange.end}


def _written(data: bytes) -> str | Base64:
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
            _broken(name, number, f"{line.key} stands before any _request")
    return tuple(_exchange(name, group, source) for group in groups)


def _line(name: str, number: int, text: bytes) -> _Line:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        _broken(name, number, f"this is not JSON ({error}); was the file cut?")
    if not isinstance(value, dict) or len(value) != 1 or (key := next(iter(value))) not in _KEYS:
        _broken(name, number, f"a line is an object with one key of {' '.join(_KEYS)}")
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
        _broken(name, last, "the request has no answer; was the file cut?")
    if head is not None and end is None and not rest:
        _broken(name, last, "the answer has no body; was the file cut?")
    for line in rest:
        if head is None or line.key not in ("_body", "_chunk"):
            _broken(name, line.number, f"{line.key} may not stand here")
    pieces = (_bytes(name, line.number, _piece(name, line)) for line in rest)
    came = tuple(piece for piece in pieces if piece)
    return RecordedExchange(request, head, came, end, begin.number, source)


def _piece(name: str, line: _Line) -> str | Base64:
    return line.value if isinstance(line.value, str) else _convert(name, line, Base64)


def _bytes(name: str, number: int, written: str | Base64) -> bytes:
    if isinstance(written, str):
        return written.encode("utf-8")
    try:
        return b64decode(written.base64, validate=True)
    except ValueError as error:
        _broken(name, number, f"this is not base64 ({error})")


def _convert(name: str, line: _Line, type_: type[_T]) -> _T:
    try:
        return convert_json(line.value, type_)
    except msgspec.ValidationError as error:
        _broken(name, line.number, f"{line.key} is not one: {error}")


def _broken(name: str, number: int, why: str) -> NoReturn:
    message = f"{name}:{number}: {why}"
    raise CassetteError(message)
