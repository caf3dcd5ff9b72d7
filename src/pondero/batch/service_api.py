"""What a batch service's wire is: a record of pure functions, one for each shape of service.

``wires`` fills them in; ``submission`` and ``collection`` call them. A shape is how batches are
made and read; what stands inside a batch is the provider's own dialect, encoded and decoded where
every other request is.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from ..canon import HttpRequest, Json
from ..errors import Malformed

Ending = Literal["answered", "failed", "expired", "cancelled", "lost"]
"""How one ask of a batch ended; ``lost`` is answered perhaps, and the results are gone."""

LotState = Literal["ready", "creating", "adding", "sent", "ended"]
"""How far a lot is: ``creating`` is from before the request that makes it until its id is known."""


class BatchEndpoint(Struct, frozen=True):
    """Where a batch service is reached: its address, and the headers that every request has."""

    url: str
    headers: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Desk({self.url!r}, headers={sorted(self.headers)})"


class BatchLine(Struct, frozen=True):
    """One ask as it stands in a batch: the id we gave it, and the body that would be sent live."""

    id: str
    body: bytes


class BatchChunk(Struct, frozen=True, kw_only=True):
    """As much of a batch as one batch at the service holds.

    ``name`` is what the service is told to call it, where it can. ``endpoint`` is where each ask
    would go live, after the address. ``since`` is when its making began, ``file`` the id of what
    was uploaded for it, ``remote`` the service's own id of it.
    """

    number: int
    provider: str
    model: str
    endpoint: str
    name: str
    count: int
    factor: str
    headers: Mapping[str, str] = {}
    state: LotState = "ready"
    since: float = 0.0
    file: str | None = None
    remote: str | None = None
    done: int = 0
    note: str = ""


class ChunkStatus(Struct, frozen=True, kw_only=True):
    """What the service says of a lot.

    ``rest`` is how those asks ended that have no result of their own, and ``why`` is what the
    service says about that. ``asks`` is how many the service knows of, ``closed`` whether it takes
    no more of them.
    """

    ended: bool
    rest: Ending = "failed"
    done: int = 0
    asks: int | None = None
    closed: bool = False
    why: str = ""


class BatchOutcome(Struct, frozen=True):
    """The result of one ask: the bytes of its answer, or of the error, with its status."""

    id: str
    ending: Ending
    status: int = 200
    body: bytes = b""


class ListedBatch(Struct, frozen=True, kw_only=True):
    """A batch on the service's own list; what the list does not say is None."""

    remote: str
    name: str | None = None
    file: str | None = None
    created: float | None = None
    count: int | None = None


class BatchPage(Struct, frozen=True):
    """A page of the service's list, and what the next one is asked with."""

    batches: tuple[ListedBatch, ...]
    next: str | None = None


class BatchWire(Struct, frozen=True, kw_only=True):
    """What one shape of batch service is told and says.

    - ``create`` is the request that makes a lot; ``created`` reads the service's id from its
      answer.
    - ``upload`` puts the asks down as a file first, where the service wants that; ``uploaded``
      reads the file's id.
    - ``add`` puts more asks into a lot that was made empty, ``adds`` at most at once.
    - ``look`` asks how a lot is; ``seen`` reads that, given the time.
    - ``inline`` reads the results in that same answer; ``results`` are the requests for the others.
    - ``lines`` reads the results in an answer to one of those; ``more`` is the request for the
      next page.
    - ``outcome`` reads one result.
    - ``listing`` asks for a page of the service's list; ``page`` reads it, given what that page was
      asked with.
    - ``cancel`` asks the service to stop.
    - ``names`` is whether the list says what we called a lot, so that ours is known at once.
    """

    create: Callable[[BatchEndpoint, BatchChunk, Sequence[BatchLine]], HttpRequest]
    created: Callable[[Json], str]
    look: Callable[[BatchEndpoint, str], HttpRequest]
    seen: Callable[[Json, float], ChunkStatus]
    outcome: Callable[[Json], BatchOutcome]
    listing: Callable[[BatchEndpoint, str | None], HttpRequest]
    page: Callable[[Json, str | None], BatchPage]
    cancel: Callable[[BatchEndpoint, str], HttpRequest]
    names: bool
    upload: Callable[[BatchEndpoint, BatchChunk, Sequence[BatchLine]], HttpRequest] | None = None
    uploaded: Callable[[Json], str] | None = None
    add: Callable[[BatchEndpoint, str, Sequence[BatchLine]], HttpRequest] | None = None
    adds: int = 0
    inline: Callable[[Json], Sequence[Json]] = lambda _: ()
    results: Callable[[BatchEndpoint, str, Json], Sequence[HttpRequest]] = (
        lambda _desk, _id, _body: ()
    )
    lines: Callable[[bytes], Sequence[Json]] = lambda _: ()
    more: Callable[[BatchEndpoint, str, bytes], HttpRequest | None] = lambda _desk, _id, _body: None


# -- what the wires share --------------------------------------------------------------------------


def get_request(desk: BatchEndpoint, path: str, **query: str | int | None) -> HttpRequest:
    """Return a request that reads; what is None is not asked."""
    asked = {name: value for name, value in query.items() if value is not None}
    tail = f"?{urlencode(asked)}" if asked else ""
    return HttpRequest("GET", f"{desk.url}{path}{tail}", desk.headers)


def post(desk: BatchEndpoint, path: str, value: Json) -> HttpRequest:
    """Return a request with JSON; the order of its fields is kept."""
    headers = {**desk.headers, "content-type": "application/json"}
    return HttpRequest("POST", f"{desk.url}{path}", headers, msgspec.json.encode(value))


def form(
    desk: BatchEndpoint, path: str, fields: Mapping[str, str], file: bytes, name: str
) -> HttpRequest:
    """Return a request with a form and one file in it."""
    edge = f"----{name}"  # a lot's name has a random part, which no ask can have in it
    parts = [
        f'--{edge}\r\ncontent-disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in fields.items()
    ]
    head = (
        f'--{edge}\r\ncontent-disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
        "content-type: application/jsonl\r\n\r\n"
    ).encode()
    body = b"".join((*parts, head, file, f"\r\n--{edge}--\r\n".encode()))
    headers = {**desk.headers, "content-type": f"multipart/form-data; boundary={edge}"}
    return HttpRequest("POST", f"{desk.url}{path}", headers, body)


def raw(line: BatchLine) -> msgspec.Raw:
    """Return an ask's body as it is, to stand inside other JSON."""
    return msgspec.Raw(line.body)


def without_model(line: BatchLine) -> Json:
    """Return an ask's body without its model, where the batch names one for all."""
    body = msgspec.json.decode(line.body)
    return {name: value for name, value in body.items() if name != "model"}


def jsonl(body: bytes) -> Sequence[Json]:
    """Return the values of a file with one to a line."""
    try:
        return [msgspec.json.decode(line) for line in body.splitlines() if line.strip()]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"a line of the results is no JSON: {error}"
        raise Malformed(message) from None


def text_at(value: Json, *path: str) -> str:
    """Return the text at a path; raises Malformed where there is none."""
    found = endpoint_url(value, *path)
    if isinstance(found, str) and found:
        return found
    raise Malformed("the batch service left out a text", path=f"$.{'.'.join(path)}")


def endpoint_url(value: Json, *path: str) -> Any:
    """Return what stands at a path; None where nothing does."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def number_at(value: Json, *path: str) -> int:
    """Return the number at a path, 0 where there is none; some services write it as text."""
    found = endpoint_url(value, *path)
    if isinstance(found, str) and found.isdecimal():
        return int(found)
    return found if isinstance(found, int) else 0


def when(value: Json) -> float | None:
    """Return seconds since 1970 from a number or an RFC 3339 text."""
    from datetime import datetime  # noqa: PLC0415 - only where a batch was lost from sight

    if isinstance(value, int | float):
        return float(value)
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except ValueError:
        return None


def success_outcome(id: str, value: Json) -> BatchOutcome:
    """Return the outcome of an ask that has an answer."""
    return BatchOutcome(id, "answered", 200, msgspec.json.encode(value))


def error_outcome(id: str, status: int, value: Json) -> BatchOutcome:
    """Return the outcome of an ask that the service refused or broke over."""
    return BatchOutcome(id, "failed", status, msgspec.json.encode(value))


_BY_CODE = {1: 499, 3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 13: 500, 14: 503, 16: 401}


def parse_status(code: Json) -> int:
    """Return the HTTP status of an error's code: itself, or the one that gRPC's stands for."""
    if not isinstance(code, int):
        return 500
    return code if code >= 100 else _BY_CODE.get(code, 500)


def segment(text: str) -> str:
    """Return an id as it stands in a path; slashes in it stay."""
    return quote(text, safe="/:@")
