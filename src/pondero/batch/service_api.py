"""The API of a batch service as a record of pure functions, one for each shape of service."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from ..canon import HttpRequest, Json, get_path
from ..errors import Malformed

Ending = Literal["answered", "failed", "expired", "cancelled", "lost"]
"""How one request of a batch ended; ``lost``: perhaps answered, but the results are gone."""

ChunkState = Literal["ready", "creating", "adding", "sent", "ended"]
"""The state of a chunk; ``creating`` begins before the request that makes it is sent."""


class BatchEndpoint(Struct, frozen=True):
    """The base URL of a batch service, and the headers of every request."""

    url: str
    headers: Mapping[str, str]

    def __repr__(self) -> str:
        return f"BatchEndpoint({self.url!r}, headers={sorted(self.headers)})"

    def get(self, path: str, **query: str | int | None) -> HttpRequest:
        """Return a GET request; query parameters that are None are left out."""
        present = {name: value for name, value in query.items() if value is not None}
        tail = f"?{urlencode(present)}" if present else ""
        return HttpRequest("GET", f"{self.url}{path}{tail}", self.headers)

    def post(self, path: str, value: Json) -> HttpRequest:
        """Return a POST request with JSON; the fields keep their order."""
        return self._post(path, "application/json", msgspec.json.encode(value))

    def post_form(
        self, path: str, fields: Mapping[str, str], file: bytes, name: str
    ) -> HttpRequest:
        """Return a POST request with a form that has one file."""
        edge = f"----{name}"  # the random part of a chunk's name occurs in no request
        parts = [
            f'--{edge}\r\ncontent-disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
            for key, value in fields.items()
        ]
        head = (
            f'--{edge}\r\ncontent-disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
            "content-type: application/jsonl\r\n\r\n"
        ).encode()
        body = b"".join((*parts, head, file, f"\r\n--{edge}--\r\n".encode()))
        return self._post(path, f"multipart/form-data; boundary={edge}", body)

    def _post(self, path: str, kind: str, body: bytes) -> HttpRequest:
        return HttpRequest(
            "POST", f"{self.url}{path}", {**self.headers, "content-type": kind}, body
        )


class BatchLine(Struct, frozen=True):
    """One request in a batch: the id we gave it, and the body of the live request."""

    id: str
    body: bytes

    @property
    def raw(self) -> msgspec.Raw:
        """Return the body as a part of other JSON."""
        return msgspec.Raw(self.body)

    @property
    def without_model(self) -> Json:
        """Return the body without its model, for a batch that names one for all."""
        body = msgspec.json.decode(self.body)
        return {name: value for name, value in body.items() if name != "model"}


class BatchChunk(Struct, frozen=True, kw_only=True):
    """A part of a batch that is one batch at the service.

    ``name`` is told to the service, ``remote`` is its id of the chunk, ``file`` of the upload;
    ``endpoint`` is the path of a live request; creation began at ``since``. Of a chunk that is
    filled, the service has acknowledged the first ``added`` requests (None: not recorded), and may
    have the next ``pending``. ``maybe``: ids at the service that may be an unsure chunk's.
    ``fetches``: how often its results came incomplete.
    """

    number: int
    provider: str
    model: str
    endpoint: str
    name: str
    count: int
    factor: str
    headers: Mapping[str, str] = {}
    state: ChunkState = "ready"
    since: float = 0.0
    file: str | None = None
    remote: str | None = None
    done: int = 0
    note: str = ""
    added: int | None = None
    pending: int = 0
    maybe: str = ""
    fetches: int = 0


class ChunkStatus(Struct, frozen=True, kw_only=True):
    """What the service says about a chunk. ``rest`` ends requests without a result, for ``why``.

    ``asks`` is how many requests it has, ``counts`` how many of them ended in which way;
    ``closed``: it takes no more. ``odd`` is a state that no page of the service mentions.
    """

    ended: bool
    rest: Ending = "lost"
    done: int = 0
    asks: int | None = None
    counts: Mapping[Ending, int] = {}
    closed: bool = False
    odd: str = ""
    why: str = ""


class BatchOutcome(Struct, frozen=True):
    """The result of one request: the body of its answer or error, with its status."""

    id: str
    ending: Ending
    status: int = 200
    body: bytes = b""


class ListedBatch(Struct, frozen=True, kw_only=True):
    """A batch on the service's list; None for values that the list lacks."""

    remote: str
    name: str | None = None
    file: str | None = None
    created: float | None = None
    count: int | None = None


class BatchPage(Struct, frozen=True):
    """A page of the service's list, and the cursor of the next one."""

    batches: tuple[ListedBatch, ...]
    next: str | None = None


class BatchWire(Struct, frozen=True, kw_only=True):
    """The requests to one shape of batch service, and how its answers are read.

    ``upload`` is for services that want a file first; ``add`` puts at most ``adds`` requests into
    an empty chunk. ``inline`` reads results in the answer to ``poll``, given the ids of the
    requests in order; ``results`` requests others, ``lines`` reads them, ``more`` requests the next
    page. ``names``: the list has our names.
    """

    create: Callable[[BatchEndpoint, BatchChunk, Sequence[BatchLine]], HttpRequest]
    parse_created: Callable[[Json], str]
    poll: Callable[[BatchEndpoint, str], HttpRequest]
    parse_status: Callable[[Json, float], ChunkStatus]
    outcome: Callable[[Json], BatchOutcome]
    listing: Callable[[BatchEndpoint, str | None], HttpRequest]
    page: Callable[[Json, str | None], BatchPage]
    cancel: Callable[[BatchEndpoint, str], HttpRequest]
    names: bool
    upload: Callable[[BatchEndpoint, BatchChunk, Sequence[BatchLine]], HttpRequest] | None = None
    parse_uploaded: Callable[[Json], str] | None = None
    add: Callable[[BatchEndpoint, str, Sequence[BatchLine]], HttpRequest] | None = None
    adds: int = 0
    inline: Callable[[Json, Sequence[str]], Sequence[Json]] = lambda *_: ()
    results: Callable[[BatchEndpoint, str, Json], Sequence[HttpRequest]] = lambda *_: ()
    lines: Callable[[bytes], Sequence[Json]] = lambda _: ()
    more: Callable[[BatchEndpoint, str, bytes], HttpRequest | None] = lambda *_: None


def jsonl(body: bytes) -> Sequence[Json]:
    """Return the values of a file with one JSON value a line; None for a line that is no JSON."""
    return [_read_line(line) for line in body.splitlines() if line.strip()]


def _read_line(line: bytes) -> Json:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def text_at(value: Json, *path: str) -> str:
    """Return the text at a path; raise Malformed if there is none."""
    found = value_at(value, *path)
    if isinstance(found, str) and found:
        return found
    raise Malformed("the batch service left out a text", path=f"$.{'.'.join(path)}")


def value_at(value: Json, *path: str) -> Any:
    """Return the value at a path, or None."""
    return get_path(value, path)


def number_at(value: Json, *path: str) -> int:
    """Return the number at a path, or 0; Gemini writes counts as text."""
    found = value_at(value, *path)
    if isinstance(found, str) and found.isdecimal():
        return int(found)
    return found if isinstance(found, int) else 0


def when(value: Json) -> float | None:
    """Return seconds since 1970 from a number or an RFC 3339 text."""
    from datetime import datetime  # noqa: PLC0415 - only if a batch must be searched for

    if isinstance(value, int | float):
        return float(value)
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except ValueError:
        return None


def success_outcome(id: str, value: Json) -> BatchOutcome:
    """Return the outcome of a request that was answered."""
    return BatchOutcome(id, "answered", 200, msgspec.json.encode(value))


def error_outcome(id: str, status: int, value: Json) -> BatchOutcome:
    """Return the outcome of a request that the service rejected or failed to answer."""
    return BatchOutcome(id, "failed", status, msgspec.json.encode(value))


# gRPC status codes, as google.rpc.Code maps them to HTTP.
_BY_CODE = {1: 499, 3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 13: 500, 14: 503, 16: 401}


def parse_error_code(code: Json) -> int:
    """Return the HTTP status of an error code, which may be a gRPC code."""
    if not isinstance(code, int):
        return 500
    return code if code >= 100 else _BY_CODE.get(code, 500)


def count_endings(value: Json, *path: str, **names: str) -> dict[Ending, int]:
    """Return how many requests ended in which way; ``names`` has the service's word for each."""
    found = {ending: number_at(value, *path, name) for ending, name in names.items()}
    return {cast("Ending", ending): number for ending, number in found.items() if number}


def segment(text: str) -> str:
    """Return a service's id quoted as one part of a path; raise Malformed for a way upwards."""
    if text in ("", ".", ".."):
        message = f"the batch service gave the id {text!r}, which no address can have"
        raise Malformed(message, path=None)
    return quote(text, safe="")


def resource(name: str) -> str:
    """Return the name of a resource, such as ``batches/x``, quoted for a path."""
    return "/".join(segment(part) for part in name.split("/"))
