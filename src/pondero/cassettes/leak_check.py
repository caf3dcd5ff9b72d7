"""Finds values in a recording that look like keys: the last check before it is written.

It knows shapes only. A value that merely begins like a key (a format's name, a signature, base64)
does not count.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from ..canon import Json
from ..errors import WireError
from ..framing import read_payloads
from ..store import find_key_shapes
from .file_format import RecordedExchange, load_cassette
from .redaction import HEADER, REDACTED

_HEADER = "the header "
KNOWN = "a secret"  # the shape of a leak that is one of the given secrets
_SHOWN = 8  # characters of a key in a message, at most

_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


class Leak(Struct, frozen=True):
    """A value that looks like a key: its exchange, place and shape.

    >>> from pondero.vcr import find_leaks
    >>> for leak in find_leaks("sums.jsonl"):
    ...     print(leak)  # exchange 1, request.headers: a key of Anthropic 'sk-ant-a'...
    """

    exchange: int
    where: str
    shape: str
    begins: str

    def __str__(self) -> str:
        return f"exchange {self.exchange}, {self.where}: {self.shape} {self.begins!r}..."


def find_leaks(path: str | Path) -> tuple[Leak, ...]:
    """Return everything in a cassette that looks like a key; empty if there is nothing.

    >>> from pondero.vcr import find_leaks
    >>> find_leaks("sums.jsonl")
    ()
    """
    return find_in_exchanges(load_cassette(Path(path)))


def find_in_exchanges(
    exchanges: Iterable[RecordedExchange], secrets: Iterable[str] = ()
) -> tuple[Leak, ...]:
    """Return the values that look like a key or are one of these secrets in any spelling."""
    known = tuple(secrets)
    found = [
        Leak(number, where, shape, begins)
        for number, exchange in enumerate(exchanges, 1)
        for where, text in _places(exchange)
        for shape, begins in (*_in_text(text, known), *_in_header(where, text))
    ]
    return tuple(dict.fromkeys(found))


def _places(exchange: RecordedExchange) -> Iterator[tuple[str, str]]:
    asked, head = exchange.request, exchange.head
    yield "the address", asked.url.replace("/", " ")
    yield "the source", (exchange.source or "").replace("/", " ")
    yield from ((f"{_HEADER}{name}", value) for name, value in asked.headers.items())
    yield "the request's body", _text(asked.body)
    if head is not None:
        yield from ((f"{_HEADER}{name}", value) for name, value in head.headers.items())
    yield "the answer", _text(exchange.body)
    yield from (("the answer across its events", text) for text in _join_event_texts(exchange.body))
    if exchange.end is not None:
        yield "the error", exchange.end.message


def _in_header(where: str, value: str) -> Iterator[tuple[str, str]]:
    name = where.removeprefix(_HEADER)
    if name != where and HEADER.fullmatch(name) and value and REDACTED not in value:
        yield "a header of auth", value[: min(_SHOWN, len(value) // 4)]


def _in_text(text: str, secrets: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for variant in {text, _unescape(text), unquote(text)}:
        yield from ((found.shape, found.text[:_SHOWN]) for found in find_key_shapes(variant))
        for secret in secrets:
            if secret in variant:
                yield KNOWN, secret[: min(_SHOWN, len(secret) // 4)]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _WHITE.get(m[2], m[2]), text)


_WHITE = dict.fromkeys("nrtbf", " ")


def _join_event_texts(body: bytes) -> Iterator[str]:
    """Yield the strings at the same path of a stream's events, joined.

    A model that repeats a key spreads it over several events; no single one looks like a key.
    """
    texts_by_path: dict[str, list[str]] = {}
    try:
        frames = read_payloads(body)
    except WireError:
        return
    for frame in frames if len(frames) > 1 else ():
        try:
            _collect("", msgspec.json.decode(frame), texts_by_path)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    yield from ("".join(texts) for texts in texts_by_path.values() if len(texts) > 1)


def _collect(path: str, value: Json, texts_by_path: dict[str, list[str]]) -> None:
    if isinstance(value, str):
        texts_by_path.setdefault(path, []).append(value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            _collect(f"{path}.{name}", inner, texts_by_path)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            _collect(f"{path}[{place}]", inner, texts_by_path)
