"""Finds the secrets of an exchange and redacts them before it is written to disk.

A secret is found by the name of its header, query parameter or field, then redacted in every
encoding. All other bytes, and the split of a stream into pieces, stay unchanged.
"""

import re
from base64 import b64decode
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from msgspec.structs import replace

from ..canon import LEAST_LEARNED, HttpRequest, ResponseHead
from ..errors import BadParameter, WireError
from ..framing import AwsEventsReader, detect_framing, write_aws_event
from ..store import known_secrets, list_encodings
from .file_format import WIRE_HEADERS, RecordedExchange

HEADER = re.compile(
    r"(?!.*ratelimit)(?:.*[-_])?(?:authorization|auth|token|cookie2?|signature|secret|password"
    r"|credential|(?:api)?key|organization(?:[-_]id)?)",
    re.IGNORECASE,
)
QUERY = re.compile(
    r"(?:.*[-_])?(?:(?:api)?key|token|secret|password|credential|signature|sig|auth|authorization)",
    re.IGNORECASE,
)
SCHEME = re.compile(
    r"(?P<scheme>(?:Bearer|Basic|Token|Key|ApiKey|Digest|Negotiate|AWS4-[A-Z0-9-]+) )?"
    r"(?P<value>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NAMES = (
    rb"(?:x[-_])?api[-_]?key|(?:access|refresh|id|auth|authorization|bearer|session|security)"
    rb"[-_]?token|client[-_]?secret|secret[-_]?(?:access[-_]?)?key|private[-_]?key"
    rb"|authorization"
)
_PLAIN = re.compile(
    rb'(?<!\\)"(?:' + _NAMES + rb')"\s*:\s*"(?P<value>(?:[^"\\]|\\.)+)', re.IGNORECASE | re.DOTALL
)
# JSON that is itself a string in JSON has backslashes before its quotes.
_NESTED = re.compile(
    rb'(?<!\\)(\\+)"(?:' + _NAMES + rb')\1"\s*:\s*\1"(?P<value>.+?)\1"', re.IGNORECASE | re.DOTALL
)


def exchange_secrets(exchange: RecordedExchange) -> Iterator[str]:
    """Yield the secrets in headers, query parameters and fields for authentication."""
    for found in _find_values(exchange):
        value = found.strip()
        if len(value) >= LEAST_LEARNED:
            yield value


def _find_values(exchange: RecordedExchange) -> Iterator[str]:
    head = exchange.head.headers if exchange.head else {}
    for headers in (exchange.request.headers, head):
        for name, value in headers.items():
            if HEADER.fullmatch(name):
                yield from _in_header(name.lower(), value)
    split = urlsplit(exchange.request.url)
    yield from (value for name, value in parse_qsl(split.query) if QUERY.fullmatch(name))
    if split.password:
        yield unquote(split.password)
    for body in (exchange.request.body, exchange.body):
        for field in fields(body):
            yield _without_scheme(field["value"].decode("utf-8", "replace"))[1]


def _in_header(name: str, value: str) -> Iterator[str]:
    if name == "set-cookie":  # commas join several cookies, but are in their dates too
        cookies = re.split(r",\s*(?=[^\s;,=]+=)", value)
        yield from (cookie.split(";")[0].partition("=")[2] for cookie in cookies)
        return
    if name == "cookie":
        yield from (pair.partition("=")[2] for pair in value.split(";"))
        return
    scheme, rest = _without_scheme(value)
    yield rest
    if scheme.startswith("aws4"):
        yield from re.findall(r"(?:Credential=|Signature=)([^/,\s]+)", rest)
    elif scheme == "basic ":
        try:
            yield b64decode(rest, validate=True).decode("utf-8").partition(":")[2]
        except ValueError:
            return


def _without_scheme(value: str) -> tuple[str, str]:
    match = SCHEME.fullmatch(value)
    return ((match["scheme"] or "").lower(), match["value"]) if match else ("", value)


def fields(body: bytes) -> Iterator[re.Match[bytes]]:
    """Yield matches of JSON fields named like keys; group ``value`` is the key."""
    yield from _PLAIN.finditer(body)
    yield from _NESTED.finditer(body)


REDACTED: Final = "REDACTED"

_LEAST = 4
_MARK = REDACTED.encode()

Span = tuple[int, int]


class Redactor:
    """Redacts these secrets, and the values of headers, parameters and fields named like keys."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets: frozenset[str] = frozenset(secrets) - {REDACTED}
        self._forms = sorted({form for secret in self.secrets for form in list_encodings(secret)})

    def exchange(self, exchange: RecordedExchange) -> RecordedExchange:
        """Return the exchange, redacted."""
        end = exchange.end
        return replace(
            exchange,
            request=self.request(exchange.request),
            head=None if exchange.head is None else self._head(exchange.head),
            pieces=self.pieces(exchange.pieces),
            end=None if end is None else replace(end, message=self.text(end.message)),
            source=None if exchange.source is None else self.url(exchange.source),
        )

    def request(self, request: HttpRequest) -> HttpRequest:
        """Return the request, redacted."""
        return replace(
            request,
            url=self.url(request.url),
            headers=self.headers(request.headers),
            body=b"".join(self.pieces((request.body,))),
        )

    def url(self, url: str) -> str:
        """Return the URL without its password and keys."""
        split = urlsplit(url)
        host = split.netloc.rpartition("@")[2]
        netloc = f"{REDACTED}@{host}" if "@" in split.netloc else split.netloc
        query = "&".join(_pair(pair) for pair in split.query.split("&"))
        if (netloc, query) != (split.netloc, split.query):
            url = urlunsplit(split._replace(netloc=netloc, query=query))
        return self.text(url)

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers by lower-case name; one for authentication keeps its scheme."""
        return {
            name.lower(): _header(value) if HEADER.fullmatch(name) else self.text(value)
            for name, value in headers.items()
        }

    def text(self, text: str) -> str:
        """Return the text, redacted."""
        return b"".join(self.pieces((text.encode("utf-8"),))).decode("utf-8")

    def pieces(self, pieces: Iterable[bytes]) -> tuple[bytes, ...]:
        """Redact the pieces of a body; a secret may span several pieces."""
        given = tuple(pieces)
        whole = b"".join(given)
        spans = _merge_spans(self._spans(whole))
        if spans and detect_framing(whole) == "aws_events":
            with suppress(WireError):
                return self._frames(whole)
        return tuple(_cut(given, spans)) if spans else given

    def _frames(self, whole: bytes) -> tuple[bytes, ...]:
        """Redact binary frames and correct lengths and checksums; drops an incomplete one."""
        return tuple(
            write_aws_event(frame.headers, b"".join(self.pieces((frame.payload,))))
            for frame in AwsEventsReader().feed(whole)
        )

    def _spans(self, whole: bytes) -> Iterator[Span]:
        for form in self._forms:
            at = whole.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = whole.find(form, at + 1)
        for field in fields(whole):
            yield field.span("value")

    def _head(self, head: ResponseHead) -> ResponseHead:
        headers = {k: v for k, v in head.headers.items() if k.lower() not in WIRE_HEADERS}
        return ResponseHead(head.status, self.headers(headers))


def redact_exchange(exchange: RecordedExchange) -> RecordedExchange:
    """Redact the secrets of the exchange, and all known ones."""
    return Redactor({*known_secrets(), *exchange_secrets(exchange)}).exchange(exchange)


def check_secrets(secrets: Iterable[str]) -> frozenset[str]:
    """Return the caller's secrets; raises BadParameter for one as short as a word."""
    given = frozenset((secrets,) if isinstance(secrets, str) else secrets)
    for secret in given:
        if len(secret) < _LEAST:
            message = (
                f"a secret of {len(secret)} characters occurs everywhere; "
                f"use one of {_LEAST} or more"
            )
            raise BadParameter(message)
    return given


def _pair(pair: str) -> str:
    name, _, value = pair.partition("=")
    return f"{name}={REDACTED}" if value and QUERY.fullmatch(unquote(name)) else pair


def _header(value: str) -> str:
    match = SCHEME.fullmatch(value)
    return f"{match['scheme'] or ''}{REDACTED}" if match else REDACTED


def _merge_spans(spans: Iterator[Span]) -> list[Span]:
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _cut(pieces: tuple[bytes, ...], spans: list[Span]) -> Iterator[bytes]:
    """Yield the pieces with each span replaced once, also across pieces."""
    begin = 0
    waiting = deque(spans)
    for piece in pieces:
        end = begin + len(piece)
        left, at = bytearray(), begin
        while waiting and waiting[0][0] < end:
            first, last = waiting[0]
            left += piece[at - begin : max(first, begin) - begin]
            left += _MARK if first >= begin else b""
            at = min(last, end)
            if last > end:
                break
            waiting.popleft()
        left += piece[at - begin :]
        if left:
            yield bytes(left)
        begin = end
