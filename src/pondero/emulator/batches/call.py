"""One request to a batch service, with the helpers that all shapes share."""

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
from .job import BatchItem, BatchJob, ValidationProblem, length_of
from .store import BatchStore, StoredFile

T = TypeVar("T")
_OF_KEYS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_AT = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
_FAILED = ValidationProblem("The batch could not be validated.", "invalid_batch", 1)
DAY = 86_400


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """A service's limits for one batch; limits.toml explains the fields."""

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
    """Return a provider's limits, or the defaults."""
    return _limits().get(provider, Limits())


class BatchCall(Struct, frozen=True, kw_only=True):
    """One request to a batch service; ``root`` is the URL before the endpoint's own path."""

    request: HttpRequest
    wire: Dialect
    provider: str
    root: str
    path_names: Mapping[str, str]
    settings: BatchSettings = BatchSettings()
    fault: Fault | None = None

    @property
    def limits(self) -> Limits:
        """Return the provider's limits."""
        return limits_of(self.provider)

    @property
    def owner(self) -> str:
        """Return a digest of the key."""
        keys = [self.request.headers.get(name, "") for name in _OF_KEYS]
        return sha256("\n".join((*keys, self.query.get("key", ""))).encode()).hexdigest()

    @property
    def query(self) -> dict[str, str]:
        """Return the parameters of the query."""
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
        """Raise Rejected with an error in the provider's shape."""
        raise Rejected(self.error(status, message, code))

    def body(self, kind: type[T]) -> T:
        """Parse the body as a type; reject any other."""
        if len(self.request.body) > self.limits.bytes:
            self.refuse(413, f"The request is larger than {self.limits.bytes} bytes.")
        read: T = self.read(self.request.body, kind)
        return read

    def read(self, data: bytes, kind: Any) -> Any:
        """Parse JSON as a type; reject any other."""
        try:
            return decode_json(data, kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self.refuse(400, describe_error(error))

    def item(self, id: str, where: str, body: bytes) -> BatchItem:
        """Return one request of a batch as a request to ``where``."""
        headers = {**self.request.headers, "content-type": "application/json"}
        return BatchItem(id, HttpRequest("POST", where, headers, body))

    def make(
        self,
        store: BatchStore,
        id: str,
        items: list[BatchItem],
        facts: dict[str, Json],
        complaints: tuple[ValidationProblem, ...] = (),
    ) -> BatchJob:
        """Create and store a job."""
        if self.fault is not None and self.fault.kind == "failed":
            complaints = complaints or (_FAILED,)
        return store.add_job(
            BatchJob(
                id=id,
                owner=self.owner,
                provider=self.provider,
                created=store.now(),
                length=length_of(self.settings.looks, self.fault),
                items=items,
                facts=facts,
                fault=self.fault,
                complaints=complaints,
            )
        )

    def job(self, store: BatchStore, noun: str = "batch") -> BatchJob:
        """Return the job in the path; reject an unknown one, or another key's."""
        found = store.job(self.path_names["id"], self.owner)
        if found is None:
            self.refuse(404, f"No {noun} found with id '{self.path_names['id']}'.")
        return found

    def look(self, store: BatchStore, job: BatchJob) -> bool:
        """Poll a job, which advances it; return whether that ended it."""
        return store.look(job, self.error(500, "Internal server error"))


Handler = Callable[[BatchStore, BatchCall], HttpResponse]


class Endpoint(Struct, frozen=True):
    """An endpoint of a shape. ``makes``: creates batches; ``keyless``: a secret URL is its key."""

    method: str
    path: str
    handler: Handler
    makes: bool = False
    keyless: bool = False

    def match(self, method: str, path: str) -> re.Match[str] | None:
        """Match a request to this endpoint."""
        return re.fullmatch(f"(?P<root>.*?){self.path}", path) if method == self.method else None


def public_root(call: BatchCall) -> str:
    """Return the root with the caller's host: behind a server it is in the headers."""
    parts = urlsplit(call.root)
    host = call.request.headers.get("host")
    return call.root if host is None else f"{parts.scheme}://{host}{parts.path}"


def describe_error(error: Exception) -> str:
    """Describe what is wrong with a body, the place first."""
    found = _AT.fullmatch(str(error))
    what, path = (found["what"], found["path"]) if found else (str(error), None)
    return f"{path}: {what}" if path else what


def json_response(value: Json, status: int = 200) -> HttpResponse:
    """Return a response with JSON."""
    return HttpResponse(status, {"content-type": "application/json"}, msgspec.json.encode(value))


def split_lines(values: Iterable[Json]) -> bytes:
    """Write values as lines of JSON."""
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def parse_body(response: HttpResponse) -> Json:
    """Return a response's JSON, or its text if it is not JSON."""
    try:
        return msgspec.json.decode(response.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return response.body.decode("utf-8", "replace")


def check_names(call: BatchCall, ids: Sequence[str], field: str = "custom_id") -> str | None:
    """Return an error for the ids of the requests or their number, or None."""
    limits = call.limits
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


def position_after(stored: Sequence[BatchJob | StoredFile], id: str | None) -> int:
    """Return the index after the entry with this id, 0 if there is none."""
    return next((at + 1 for at, each in enumerate(stored) if each.id == id), 0)


def slice_page(
    values: Sequence[T], after: int, limit: str | None, *, usual: int, most: int
) -> list[T]:
    """Return one page of values, from an index on."""
    number = int(limit) if limit is not None and limit.isdecimal() else usual
    return list(values[after : after + max(1, min(number, most))])


def date(seconds: int | None) -> str | None:
    """Format a time as RFC 3339."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
