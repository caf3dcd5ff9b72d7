"""An exchange with its secrets taken out, as it may stand on disk.

Everything else stays byte for byte, and every piece of a stream stays a piece.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from msgspec.structs import replace

from ..canon import Head, HttpRequest
from ..errors import BadParameter, WireError
from ..framing import AwsEventsReader, sniff, write_aws_event
from .cassette import OF_THE_JOURNEY, Ending, Recorded
from .secret import HEADER, QUERY, SCHEME, fields, forms, of_environment, of_exchange

REDACTED: Final = "REDACTED"

_LEAST = 4
_MARK = REDACTED.encode()

Span = tuple[int, int]


class Redactor:
    """Takes these secrets out, and whatever a name (of a header, query or field) says is one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets = frozenset(secrets) - {REDACTED}
        self._forms = sorted({form for secret in self.secrets for form in forms(secret)})

    def exchange(self, exchange: Recorded) -> Recorded:
        """Return the exchange as it may be written."""
        end = exchange.end
        return replace(
            exchange,
            request=self.request(exchange.request),
            head=None if exchange.head is None else self._head(exchange.head),
            pieces=self.pieces(exchange.pieces),
            end=None if end is None else self._ending(end),
        )

    def request(self, request: HttpRequest) -> HttpRequest:
        """Return the request as it may be written or shown."""
        return replace(
            request,
            url=self.url(request.url),
            headers=self.headers(request.headers),
            body=b"".join(self.pieces((request.body,))),
        )

    def url(self, url: str) -> str:
        """Return the address without its password, its keys in the query, or a secret."""
        split = urlsplit(url)
        host = split.netloc.rpartition("@")[2]
        netloc = f"{REDACTED}@{host}" if "@" in split.netloc else split.netloc
        query = "&".join(_pair(pair) for pair in split.query.split("&"))
        if (netloc, query) != (split.netloc, split.query):
            url = urlunsplit(split._replace(netloc=netloc, query=query))
        return self.text(url)

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers by lower-case name; of one for auth only its scheme is left."""
        return {
            name.lower(): _header(value) if HEADER.fullmatch(name) else self.text(value)
            for name, value in headers.items()
        }

    def text(self, text: str) -> str:
        """Return the text without a secret."""
        return b"".join(self.pieces((text.encode("utf-8"),))).decode("utf-8")

    def pieces(self, pieces: Iterable[bytes]) -> tuple[bytes, ...]:
        """Return the pieces of a body without a secret, also where one lies across several."""
        kept = tuple(pieces)
        whole = b"".join(kept)
        spans = _merged(self._spans(whole))
        if spans and sniff(whole) == "aws_events":
            with suppress(WireError):
                return self._frames(whole)
        return tuple(_cut(kept, spans)) if spans else kept

    def _frames(self, whole: bytes) -> tuple[bytes, ...]:
        """Return binary frames without a secret, their lengths and checksums right again.

        Each is a piece of its own then; what is left of a frame that was cut goes.
        """
        reader = AwsEventsReader()
        return tuple(
            write_aws_event(frame.headers, b"".join(self.pieces((frame.payload,))))
            for frame in reader.feed(whole)
        )

    def _spans(self, whole: bytes) -> Iterator[Span]:
        for form in self._forms:
            at = whole.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = whole.find(form, at + 1)
        for field in fields(whole):
            yield field.span("value")

    def _head(self, head: Head) -> Head:
        told = {k: v for k, v in head.headers.items() if k.lower() not in OF_THE_JOURNEY}
        return Head(head.status, self.headers(told))

    def _ending(self, end: Ending) -> Ending:
        return replace(end, message=self.text(end.message))


def presentable(exchange: Recorded) -> Recorded:
    """Return the exchange as it may be shown: without what it, or the environment, holds secret."""
    return Redactor({*of_environment(), *of_exchange(exchange)}).exchange(exchange)


def registered(secrets: Iterable[str]) -> frozenset[str]:
    """Return the secrets a caller named, or raise for one that cannot be told from a word."""
    given = frozenset((secrets,) if isinstance(secrets, str) else secrets)
    for secret in given:
        if len(secret) < _LEAST:
            message = (
                f"a secret of {len(secret)} characters would be found everywhere; "
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


def _merged(spans: Iterator[Span]) -> list[Span]:
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _cut(pieces: tuple[bytes, ...], spans: list[Span]) -> Iterator[bytes]:
    """Yield the pieces with a mark where a span begins and nothing where it goes on."""
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
