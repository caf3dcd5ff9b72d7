"""The emulator's log: every request and its answer, without secrets."""

import re
from collections import deque
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from ..canon import LEAST_LEARNED, HttpRequest, Json
from ..store import SecretRedactor

_SECRET = re.compile(r"authorization|cookie|.*(?:api[-_]?key|token|secret)", re.IGNORECASE)
_IN_QUERY = re.compile(r"(?<=[?&])((?:key|token|access_token)=)[^&]*")
_HIDDEN = "***"
_KEPT = 1_000
_LONGEST = 1024 * 1024  # bytes of a body to store


class LogEntry(Struct, kw_only=True):
    """One exchange; ``end`` is complete, closed, broken or timed out."""

    method: str
    path: str = ""
    headers: dict[str, str] = {}
    body: Json = None
    dialect: str | None = None
    service: str | None = None
    model: str | None = None
    scripted: bool = False
    fault: str | None = None
    status: int | None = None
    refusal: Json = None
    sent: int = 0
    end: str | None = None


class RequestLog:
    """The latest exchanges. Reading redacts secrets, so that sending stays fast."""

    def __init__(self) -> None:
        self._entries: deque[tuple[HttpRequest, LogEntry]] = deque(maxlen=_KEPT)

    @property
    def entries(self) -> tuple[LogEntry, ...]:
        """Return the exchanges, oldest first."""
        redactor = SecretRedactor()
        return tuple(
            redactor.value(_fill_entry(request, entry)) for request, entry in tuple(self._entries)
        )

    def add(self, request: HttpRequest) -> LogEntry:
        """Return a new entry for a request."""
        if len(request.body) > _LONGEST:
            note = b'"%d bytes"' % len(request.body)
            request = msgspec.structs.replace(request, body=note)
        entry = LogEntry(method=request.method)
        self._entries.append((request, entry))
        return entry

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()


def _fill_entry(request: HttpRequest, entry: LogEntry) -> LogEntry:
    headers = request.headers
    parts = urlsplit(request.url)
    query = _IN_QUERY.sub(rf"\1{_HIDDEN}", f"?{parts.query}") if parts.query else ""
    entry.path = parts.path + query
    entry.headers = {k: _HIDDEN if _SECRET.fullmatch(k) else v for k, v in headers.items()}
    entry.body = _body(request.body, [v for k, v in headers.items() if _SECRET.fullmatch(k)])
    return entry


def _body(data: bytes, secrets: list[str]) -> Json:
    for secret in secrets:
        bare = secret.removeprefix("Bearer ").strip().encode()
        if len(bare) >= LEAST_LEARNED:  # shorter ones are words such as any or EMPTY
            data = data.replace(bare, _HIDDEN.encode())
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data.decode("utf-8", "replace") or None
