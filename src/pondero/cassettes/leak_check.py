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
from .file_format import RecordedExchange, load_cassette
from .redaction import HEADER, REDACTED

_HEADER = "the header "
KNOWN = "a secret"  # the shape of a leak that is one of the given secrets
_SHOWN = 8  # characters of a key in a message, at most

# A key begins where a word begins. One that begins with letters alone could also be a piece of
# base64, so no letter of base64 may precede it.
_WORD = r"(?<![A-Za-z0-9_-])"
_ALONE = r"(?<![A-Za-z0-9_+/-])"
_OVER = r"(?![A-Za-z0-9_+/=-])"
_LETTERS = r"[A-Za-z0-9]{20,}"
_SK = (
    r"sk-(?:(?:ant|proj|or|svcacct|admin|lf)-[A-Za-z0-9_-]{8,}|[A-Za-z0-9]{16,}"
    r"|(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{24,})"
)
_BEARER = r"[Bb]earer +(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{20,}=*"
_SHAPES = (
    # Its name, its possible beginnings (a fast first search), and its pattern.
    ("an sk- key", ("sk-",), _SK),
    ("a Google key", ("AIza",), r"AIza[A-Za-z0-9_-]{30,}"),
    ("a Google token", ("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("a key", ("gsk_", "csk-", "xai-", "hf_", "r8_", "pplx-", "fw_"), r"[a-z0-9]+[_-]" + _LETTERS),
    ("a key", ("tgp_v1_", "nvapi-", "bedrock-api-key-"), r"[A-Za-z0-9_+/=-]{28,}"),
    ("a GitHub token", ("ghp_", "gho_", "ghs_", "github_pat_"), r"[a-z_]+_" + _LETTERS),
    ("a Slack token", ("xoxb-", "xoxp-", "xoxa-"), r"xox[abp]-[A-Za-z0-9-]{20,}"),
    ("an AWS key id", ("AKIA", "ASIA"), r"A[KS]IA[A-Z0-9]{16}" + _OVER),
    ("an AWS key", ("ABSK",), r"ABSK[A-Za-z0-9+/]{40,}={0,2}" + _OVER),
    ("a search key", ("BSA",), r"BSA[A-Za-z0-9_-]{27,29}" + _OVER),
    ("a JSON Web Token", ("eyJ",), r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    ("a private key", ("-----BEGIN ",), r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    ("a bearer token", ("Bearer ", "bearer "), _BEARER),
)
_STARTS = tuple(
    (shape, start, re.compile((_WORD if {"-", "_"} & set(start) else _ALONE) + pattern, re.ASCII))
    for shape, starts, pattern in _SHAPES
    for start in starts
)

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
        yield from _find_shapes(variant)
        for secret in secrets:
            if secret in variant:
                yield KNOWN, secret[: min(_SHOWN, len(secret) // 4)]


def _find_shapes(text: str) -> Iterator[tuple[str, str]]:
    for shape, start, pattern in _STARTS:
        at = text.find(start)
        while at >= 0:
            match = pattern.match(text, at)
            if match and REDACTED not in match[0]:
                yield shape, match[0][:_SHOWN]
            at = text.find(start, at + len(start))


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
