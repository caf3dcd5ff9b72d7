"""One request and its response on a connection of the server.

Unlike uvicorn's, it writes the head together with the first piece of the body, which is what ASGI
asks for and one system call less, and it checks all header lines at once.
"""

from collections.abc import Iterable, Mapping

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

from ...asgi import Message
from ...canon import HttpResponse
from ..answers.response_writer import RESPONSE
from ..requests.read_request import WHOLE

_WITHOUT_BODY = (204, 304)  # statuses
_NO_STATUS = STATUS_LINE[502]  # of an answer whose service sent no valid one
_CONTROLS = bytes((*range(0x09), *range(0x0A, 0x20), 0x7F))  # only the ends of lines may have any
_FRAMING = ("connection", "transfer-encoding")
_MOST_NAMES = 1_024  # of headers that are remembered as valid


class ResponseCycle(RequestResponseCycle):
    """A request whose head has arrived; ``send`` is for the application."""

    chunked_encoding: bool | None  # None before the head
    expected_content_length: int
    keep_alive: bool
    _head: bytes = b""  # which waits for the first piece of the body
    _ends_with_connection: bool = False

    async def send(self, message: Message) -> None:  # type: ignore[override]  # a plain dict
        """Take the head of the response, or write a piece of its body."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == RESPONSE and not self.response_started:
            self._send_whole(message["status"], message["headers"], message["body"])
            return
        expected = "http.response.body" if self.response_started else "http.response.start"
        if self.response_complete or message["type"] != expected:
            raise RuntimeError(f"unexpected ASGI message {message['type']!r}")
        if not self.response_started:
            self.response_started = True
            self.waiting_for_100_continue = False
            self._head = self._make_head(message["status"], message.get("headers", ()))
            return
        has_more = message.get("more_body", False)
        self._write(message.get("body", b""), has_more=has_more)
        if not has_more:
            self._end()

    def _send_whole(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Write a response in one piece, and end it."""
        self.response_started, self.waiting_for_100_continue = True, False
        lines = {**headers, "content-length": str(len(body))}
        if self.keep_alive and self.scope["method"] != "HEAD" and _plain_names.issuperset(lines):
            self.transport.write(self._make_plain_head(status, lines) + body)
        else:
            pairs = [
                (name.encode("latin-1"), value.encode("latin-1", "replace"))
                for name, value in lines.items()
            ]
            self._head = self._make_head(status, pairs)
            _keep_plain_names(lines)
            self._write(body, has_more=False)
        self._end()

    def _make_plain_head(self, status: int, lines: Mapping[str, str]) -> bytes:
        """Return the head of a response of known length, all of whose names are plain."""
        usual = b"".join([b"%b: %b\r\n" % pair for pair in self.default_headers])
        text = "\r\n".join(map(": ".join, lines.items()))
        written = b"%b%b\r\n\r\n" % (usual, text.encode("latin-1", "replace"))
        count = len(self.default_headers) + len(lines) + 1
        if len(written) - len(written.translate(None, _CONTROLS)) != 2 * count:
            raise RuntimeError(_INVALID)
        return STATUS_LINE.get(status, _NO_STATUS) + written

    def _make_head(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Return the head; raises RuntimeError if it would not be one."""
        pairs = [*self.default_headers, *headers]
        known = dict(pairs)
        if not _valid_names.issuperset(known):
            pairs = [(_check_name(name), value) for name, value in pairs]
            known = dict(pairs)
        if self.chunked_encoding is None and b"content-length" in known:
            self.expected_content_length = int(known[b"content-length"])
            self.chunked_encoding = False
        elif self.chunked_encoding is None and known.get(b"transfer-encoding") == b"chunked":
            self.chunked_encoding = True
        elif self.scope.get("http_version") == "1.0":
            self._ends_with_connection = True  # RFC 9112, 6.1: it does not know chunks
        elif self.scope["method"] != "HEAD" and status not in _WITHOUT_BODY:
            self.chunked_encoding = True
            pairs.append((b"transfer-encoding", b"chunked"))
        if b"connection" in known and _closes(known[b"connection"]):
            self.keep_alive = False
        elif not self.keep_alive:
            pairs.append((b"connection", b"close"))
        lines = b"\r\n".join([*map(b": ".join, pairs), b"", b""])
        if len(lines) - len(lines.translate(None, _CONTROLS)) != 2 * len(pairs) + 2:
            raise RuntimeError(_INVALID)
        return STATUS_LINE.get(status, _NO_STATUS) + lines

    def _write(self, body: bytes, *, has_more: bool) -> None:
        pieces = [self._head] if self._head else []
        self._head = b""
        if self.scope["method"] == "HEAD":
            self.expected_content_length = 0
        elif self.chunked_encoding:
            if body:
                pieces += (b"%x\r\n" % len(body), body, b"\r\n")
            if not has_more:
                pieces.append(b"0\r\n\r\n")
        elif self._ends_with_connection:
            pieces.append(body)
        else:
            self.expected_content_length -= len(body)
            if self.expected_content_length < 0:
                raise RuntimeError("the body is longer than its content-length")
            pieces.append(body)
        self.transport.writelines(pieces)

    def _end(self) -> None:
        if self.expected_content_length:
            raise RuntimeError("the body is shorter than its content-length")
        self.response_complete = True
        self.body = bytearray()  # its connection may rest for long
        self.scope.pop(WHOLE, None)  # type: ignore[misc]  # a plain dict
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


_INVALID = "a header has a character that HTTP does not allow there"
_valid_names: set[bytes] = set()  # in lower case
_plain_names: set[str] = set()  # of these, all that decide nothing


def _check_name(name: bytes) -> bytes:
    """Return the name of a header in lower case; nearly all are the same few."""
    name = name.lower()
    if HEADER_RE.search(name):
        raise RuntimeError(_INVALID)
    if len(_valid_names) >= _MOST_NAMES:
        _valid_names.clear()
    _valid_names.add(name)
    return name


def _keep_plain_names(names: Iterable[str]) -> None:
    """Keep valid names of headers that say nothing about the end of a response."""
    if len(_plain_names) >= _MOST_NAMES:
        _plain_names.clear()
    plain = (name for name in names if name.islower() and name not in _FRAMING)
    _plain_names.update(name for name in plain if name.encode("latin-1") in _valid_names)


def _closes(connection: bytes) -> bool:
    return b"close" in [option.strip() for option in connection.lower().split(b",")]


def write_last(response: HttpResponse) -> bytes:
    """Return the bytes of a response after which the connection is closed."""
    more = {"content-length": str(len(response.body)), "connection": "close"}
    lines = [f"{name}: {value}\r\n" for name, value in {**response.headers, **more}.items()]
    head = STATUS_LINE[response.status] + "".join(lines).encode("latin-1", "replace")
    return head + b"\r\n" + response.body
