"""Reads a request from ASGI: its head first, its body only for a client that may send one.

The size limit applies before decompression and parsing. A body has deadlines, so that a client that
announces one and sends nothing holds its connection for a short time only.
"""

import zlib
from asyncio import get_running_loop, timeout, timeout_at
from collections.abc import Awaitable, Coroutine, Generator
from contextlib import suppress
from types import CoroutineType, coroutine
from typing import Any

from ...asgi import Message, Receive
from ...canon import HttpRequest
from ...errors import BadParameter, MissingExtra, PonderoError
from ...extras import install_hint

LONGEST_NAME = 512
"""Maximum characters of a name in a path."""
BODY_SILENCE = 30.0
"""Seconds that a body may pause."""
BODY_RATE = 1024
"""Bytes per second that a body must have on average, once it has taken ``BODY_SILENCE``."""

PROBLEM = "pondero.problem"
"""In the scope of a request whose body is no HTTP: the status and the reason."""
HEAD = "pondero.head"
"""In the scope of a request whose head was read and checked before: the request without body."""
WHOLE = "pondero.whole"
"""In the scope of a request that came in one piece with such a head: the request with its body."""

# Of two such headers, a proxy may have checked the other; both together are valid nowhere.
_ONCE = ("host", "origin", "sec-fetch-site")
_SKIP_SECONDS = 1.0
_SKIP_BYTES = 1 << 20


class TooLarge(Exception):
    """The body exceeds the gateway's limit, compressed or not."""


class ClientLeft(Exception):
    """The client disconnected before its request was whole."""


class BodyProblem(Exception):
    """The body is rejected with ``status``."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def read_head(scope: Message) -> HttpRequest:
    """Return the request without its body."""
    head: HttpRequest | None = scope.get(HEAD)
    if head is not None:
        return head
    headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
    if len(headers) != len(scope["headers"]):
        for name in _ONCE:
            values = [v.decode("latin-1") for k, v in scope["headers"] if k == name.encode()]
            if len(values) > 1:
                headers[name] = ", ".join(values)
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    query = scope.get("query_string", b"").decode("latin-1")
    method = scope.get("method", "GET")  # a WebSocket has none
    return HttpRequest(method, f"http://gateway{path}{'?' if query else ''}{query}", headers, b"")


def announces_body(http: HttpRequest) -> bool:
    """Return whether a body follows the head."""
    return "transfer-encoding" in http.headers or http.headers.get("content-length", "0") != "0"


async def read_body(http: HttpRequest, receive: Receive, limit: int) -> HttpRequest:
    """Return the request with its body decompressed; raises BodyProblem and ClientLeft."""
    try:
        length = http.headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > limit:
            raise TooLarge  # noqa: TRY301 - told below
        body = await _receive_body(receive, limit)
        headers = http.headers
        if "content-encoding" in headers:
            encoding = headers["content-encoding"].strip().lower()
            headers = {k: v for k, v in headers.items() if k != "content-encoding"}
            if encoding not in ("", "identity"):
                body = decompress(body, encoding, limit)
    except TooLarge:
        raise BodyProblem(413, f"a request may have {limit:,} bytes") from None
    except TimeoutError:
        raise BodyProblem(408, "the body of the request did not arrive in time") from None
    except PonderoError as error:
        raise BodyProblem(400, str(error)) from None
    return HttpRequest(http.method, http.url, headers, body)


async def skip_body(receive: Receive) -> None:
    """Read and forget some of a body."""
    size, more = 0, True
    with suppress(TimeoutError):
        async with timeout(_SKIP_SECONDS):
            while more and size < _SKIP_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                more = message.get("more_body", False)


async def _receive_body(receive: Receive, limit: int) -> bytes:
    """Return a body; nearly all are here with their head, and need no timer."""
    message, coming = _begin_receiving(receive)
    if message is not None and not message.get("more_body", False):
        return _read_piece(message, limit)
    now = get_running_loop().time
    begun = now()
    pieces: list[bytes] = []
    size = 0
    async with timeout_at(begun + BODY_SILENCE) as deadline:
        while True:
            arrived = message if message is not None else await coming
            pieces.append(_read_piece(arrived, limit - size))
            size += len(pieces[-1])
            if not arrived.get("more_body", False):
                return b"".join(pieces)
            whole = begun + BODY_SILENCE + size / BODY_RATE
            deadline.reschedule(min(now() + BODY_SILENCE, whole))
            message, coming = None, receive()


def _read_piece(message: Message, room: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientLeft
    piece: bytes = message.get("body", b"")
    if len(piece) > room:
        raise TooLarge
    return piece


def _begin_receiving(receive: Receive) -> tuple[Message | None, Awaitable[Message]]:
    """Return a message if it is here already, and what to wait for if it is not."""
    receiving = receive()
    if not isinstance(receiving, CoroutineType):
        return None, receiving
    try:
        waits_for = receiving.send(None)
    except StopIteration as ended:
        return ended.value, receiving
    return None, _go_on(receiving, waits_for)


@coroutine
def _go_on(begun: Coroutine[Any, Any, Message], waits_for: Any) -> Generator[Any, Any, Message]:
    """Run a coroutine that has begun to its end; it waits for a future."""
    while True:
        try:
            try:
                sent = yield waits_for
            except BaseException as error:  # noqa: BLE001 - it is for the coroutine
                waits_for = begun.throw(error)
            else:
                waits_for = begun.send(sent)
        except StopIteration as ended:
            message: Message = ended.value
            return message


def decompress(body: bytes, encoding: str, limit: int) -> bytes:
    """Return a body decompressed; raises TooLarge, and BadParameter if it is damaged."""
    unpack = _DECODERS.get(encoding)
    if unpack is None:
        message = f"unsupported content-encoding {encoding!r}; use {' '.join(_DECODERS)}"
        raise BadParameter(message)
    try:
        return unpack(body, limit)
    except (zlib.error, EOFError) as error:
        message = f"the body is not {encoding}: {error}"
        raise BadParameter(message) from None


def _zlib(body: bytes, limit: int, bits: int) -> bytes:
    unpacking = zlib.decompressobj(bits)
    data = unpacking.decompress(body, limit + 1)
    if len(data) > limit:
        raise TooLarge
    if not unpacking.eof:
        raise EOFError("its end is missing")
    return data


def _gzip(body: bytes, limit: int) -> bytes:
    return _zlib(body, limit, 31)


def _deflate(body: bytes, limit: int) -> bytes:
    try:
        return _zlib(body, limit, 15)
    except zlib.error:  # some clients omit the header
        return _zlib(body, limit, -15)


def _zstd(body: bytes, limit: int) -> bytes:
    try:
        import zstandard  # noqa: PLC0415 - an extra; only Codex uses it
    except ImportError:
        raise MissingExtra(f"zstd bodies need zstandard: {install_hint('gateway')}") from None
    pieces, size = [], 0
    try:
        for piece in zstandard.ZstdDecompressor().read_to_iter(body):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise TooLarge
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from None
    return b"".join(pieces)


_DECODERS = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _deflate, "zstd": _zstd}
