"""One request to a batch service, and what every shape needs to read and answer it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, NoReturn, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from ...canon import HttpRequest, HttpResponse, Json, convert_json, decode_json
from ...catalog import parse_toml
from ...dialects import Dialect, Rejected
from ..faults import Fault
from . import BatchSettings
from .job import BatchItem, BatchJob
from .store import BatchStore, StoredFile

T = TypeVar("T")
_OF_KEYS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_AT = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
DAY = 86_400


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """What a service takes in one batch; limits.toml says what each field means."""

    requests: int = 100_000
    bytes: int = 268_435_456
    file_bytes: int | None = None
    ids: str = "(?s:.{1,64})"
    endpoints: tuple[str, ...] = ("/v1/chat/completions",)
    windows: str = "24h"
    one_model: bool = False
    without: str = ""


@cache
def _limits() -> dict[str, Limits]:
    text = files(__package__).joinpath("limits.toml").read_text(encoding="utf-8")
    return convert_json(parse_toml(text, "limits.toml").values, dict[str, Limits])


def limits_of(provider: str) -> Limits:
    """Return what a provider takes; one that is not in the table takes the usual."""
    return _limits().get(provider, Limits())


class BatchCall(Struct, frozen=True, kw_only=True):
    """One request: where it came, whose it is, and what its address names.

    ``root`` is the address before the endpoint's own part; ``named`` are the parts of its path.
    """

    request: HttpRequest
    wire: Dialect
    provider: str
    root: str
    named: Mapping[str, str]
    settings: BatchSettings = BatchSettings()
    fault: Fault | None = None

    @property
    def limits(self) -> Limits:
        """Return what the provider takes."""
        return limits_of(self.provider)

    @property
    def owner(self) -> str:
        """Return whose key this is, without the key."""
        keys = [self.request.headers.get(name, "") for name in _OF_KEYS]
        return sha256("\n".join((*keys, self.query.get("key", ""))).encode()).hexdigest()

    @property
    def query(self) -> dict[str, str]:
        """Return what stands behind the question mark."""
        return dict(parse_qsl(urlsplit(self.request.url).query))

    def error(self, status: int, message: str, code: str | None = None) -> HttpResponse:
        """Return an error in the provider's shape."""
        service = self.wire.service()
        told = service.error(status, message, code=code, retry_after=None)
        return (
            service.restate_error(told, self.provider)
            if service.restate_error is not None
            else told
        )

    def refuse(self, status: int, message: str, code: str | None = None) -> NoReturn:
        """Raise Rejected with such an error."""
        raise Rejected(self.error(status, message, code))

    def body(self, kind: type[T]) -> T:
        """Return the body as a type; refuse what does not fit."""
        if len(self.request.body) > self.limits.bytes:
            self.refuse(413, f"The request is larger than {self.limits.bytes} bytes.")
        read: T = self.read(self.request.body, kind)
        return read

    def read(self, data: bytes, kind: Any) -> Any:
        """Return JSON as a type; refuse what does not fit."""
        try:
            return decode_json(data, kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self.refuse(400, describe_error(error))

    def item(self, id: str, where: str, body: bytes) -> BatchItem:
        """Return one request of a batch, as it would have been sent alone to ``where``."""
        headers = {**self.request.headers, "content-type": "application/json"}
        return BatchItem(id, HttpRequest("POST", where, headers, body))

    def job(self, desk: BatchStore, what: str = "batch") -> BatchJob:
        """Return the job that the address names; refuse what is not there for this key."""
        found = desk.job(self.named["id"], self.owner)
        if found is None:
            self.refuse(404, f"No {what} found with id '{self.named['id']}'.")
        return found

    def look(self, desk: BatchStore, job: BatchJob) -> bool:
        """Look at a job, which moves it on; return whether that ended it."""
        return desk.look(job, self.error(500, "Internal server error"))


Handler = Callable[[BatchStore, BatchCall], HttpResponse]


class Endpoint(Struct, frozen=True):
    """An address of a shape: the method, its own part of the path, and who answers.

    ``makes`` is whether a batch comes into being here: faults of batches wait for that.
    ``keyless`` is whether its address is a secret, in place of a key.
    """

    method: str
    path: str
    handler: Handler
    makes: bool = False
    keyless: bool = False

    def named(self, method: str, path: str) -> re.Match[str] | None:
        """Return the match of a request that is for this endpoint."""
        return re.fullmatch(f"(?P<root>.*?){self.path}", path) if method == self.method else None


def public_root(visit: BatchCall) -> str:
    """Return the root as the caller knows it: behind a server the host is in the headers."""
    parts = urlsplit(visit.root)
    host = visit.request.headers.get("host")
    return visit.root if host is None else f"{parts.scheme}://{host}{parts.path}"


def describe_error(error: Exception) -> str:
    """Return what is wrong with a body, the place first."""
    found = _AT.fullmatch(str(error))
    what, path = (found["what"], found["path"]) if found else (str(error), None)
    return f"{path}: {what}" if path else what


def json_response(value: Json, status: int = 200) -> HttpResponse:
    """Return JSON as an answer."""
    return HttpResponse(status, {"content-type": "application/json"}, msgspec.json.encode(value))


def split_lines(values: Iterable[Json]) -> bytes:
    """Return values as lines of JSON."""
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def parse_body(response: HttpResponse) -> Json:
    """Return the JSON in a response; its text where it is none."""
    try:
        return msgspec.json.decode(response.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return response.body.decode("utf-8", "replace")


def check_names(visit: BatchCall, ids: Sequence[str], field: str = "custom_id") -> str | None:
    """Return what is wrong with the names of the requests, or with their number."""
    limits = visit.limits
    if not ids:
        return "requests: at least one request is needed"
    if len(ids) > limits.requests:
        return f"requests: {len(ids)} are more than {limits.requests}"
    seen: set[str] = set()
    for at, id in enumerate(ids):
        if re.fullmatch(limits.ids, id) is None:
            return f"requests.{at}.{field}: String should match pattern '^{limits.ids}$'"
        if id in seen:
            return f"requests.{at}.{field}: {id!r} is used twice; it must be unique in a batch"
        seen.add(id)
    return None


def position_after(things: Sequence[BatchJob | StoredFile], id: str | None) -> int:
    """Return the place behind the thing of this id; the beginning where there is none."""
    return next((at + 1 for at, each in enumerate(things) if each.id == id), 0)


def slice_page(
    values: Sequence[T], after: int, limit: str | None, *, usual: int, most: int
) -> list[T]:
    """Return so many values from a place on."""
    number = int(limit) if limit is not None and limit.isdecimal() else usual
    return list(values[after : after + max(1, min(number, most))])


def date(seconds: int | None) -> str | None:
    """Return a time as RFC 3339 writes it."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
