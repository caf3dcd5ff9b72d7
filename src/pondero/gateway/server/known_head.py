"""A head that a connection has sent before: clients repeat it, but for the length of the body.

The parser does not read it again. If the rest of a piece is the body, nothing is left to parse.
Otherwise the parser gets a short head with the same method and length in its place, so that it is
the parser alone that finds the end of a body.
"""

from typing import Any, Self

from ...canon import HttpRequest
from ..requests.read_request import HEAD, WHOLE, read_head
from .arrival import find_head_problem

LONGEST = 4096
"""Maximum bytes of a head that is kept."""
_DIGITS = 10  # of a length
_LENGTH = b"content-length"
# What else decides about the end of a body, or makes the parser do more than read.
_FRAMING = frozenset((b"expect", b"proxy-connection", b"transfer-encoding", b"upgrade"))


class KnownHead:
    """A head that the parser has read; it has the client's key, and only its connection has it."""

    __slots__ = ("_after", "_at", "_before", "_is_packed", "_request", "_scope")

    def __init__(self, before: bytes, after: bytes, scope: dict[str, Any], at: int) -> None:
        self._before = before  # the digits of its length, as it was sent
        self._after = after
        self._at = at  # which of the headers is the length
        self._scope = {**scope, "headers": tuple(scope["headers"])}
        self._request = read_head(scope)
        self._is_packed = "content-encoding" in self._request.headers

    @classmethod
    def find(cls, sent: bytes, scope: dict[str, Any], url: bytes) -> Self | None:
        """Return the head with which ``sent`` begins; None if it is peculiar in any way.

        It must be what the parser read, written again: the same bytes, but for the case of names.
        """
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        names = [name for name, _ in headers]
        if names.count(_LENGTH) != 1 or not _FRAMING.isdisjoint(names):
            return None
        if any(name == b"connection" and v.lower() != b"keep-alive" for name, v in headers):
            return None
        at = names.index(_LENGTH)
        digits = headers[at][1]
        lines = [b"%b: %b\r\n" % pair for pair in headers]
        before = b"POST %b HTTP/1.1\r\n%bcontent-length: " % (url, b"".join(lines[:at]))
        after = b"\r\n%b\r\n" % b"".join(lines[at + 1 :])
        head = before + digits + after
        if len(head) > LONGEST or head.lower() != sent[: len(head)].lower():
            return None
        if not digits.isdigit() or find_head_problem(scope) is not None:
            return None
        end = len(before) + len(digits)
        return cls(sent[: len(before)], sent[end : len(head)], scope, at)

    def read_length(self, data: bytes) -> bytes:
        """Return the digits of the length if data begins with this head; else nothing."""
        if not data.startswith(self._before):
            return b""
        begin = len(self._before)
        end = data.find(b"\r", begin, begin + _DIGITS + 1)
        if end < 0 or not data.startswith(self._after, end):
            return b""
        digits = data[begin:end]
        return digits if digits.isdigit() else b""

    def count_bytes(self, digits: bytes) -> int:
        """Return the size of this head with another length."""
        return len(self._before) + len(digits) + len(self._after)

    def make_scope(self, digits: bytes, body: bytes | None = None) -> dict[str, Any]:
        """Return the scope of a request with this head and another length; ``body``: all of it."""
        headers = list(self._scope["headers"])
        headers[self._at] = (_LENGTH, digits)
        head = self._request
        lines = {**head.headers, "content-length": digits.decode("ascii")}
        request = HttpRequest(head.method, head.url, lines, b"")
        scope = {**self._scope, "headers": headers, HEAD: request}
        if body is not None and not self._is_packed:
            scope[WHOLE] = HttpRequest(head.method, head.url, lines, body)
        return scope


def write_short_head(digits: bytes) -> bytes:
    """Return what the parser reads in place of a known head."""
    return b"POST / HTTP/1.1\r\ncontent-length: %b\r\n\r\n" % digits
