"""What services have besides conversations: which address is whose, from ``endpoints.toml``.

Addresses are matched as they arrive, without decoding: an address that is spelled in any other way
is none of these, and what is sent on is made of the parts that matched.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Literal

from msgspec import Struct

from ..canon import HttpRequest, Json, MediaKind
from .paths import segment
from .registry import guess_dialect
from .resource_names import find_resource
from .tables import load_table

Place = Literal["", "json", "form", "query", "path", "setup"]
"""Where a request names its model; ``setup``: the first message of a socket."""

_STEP = r"(?!\.+(?:[/:]|$))[A-Za-z0-9_.~@-]+"  # one segment, and none that a server resolves
_MODEL = r"(?!\.+(?:[/:]|$))[A-Za-z0-9_.~@:-]+"
_VERSION = r"v\d+(?:alpha|beta)?\d*"
_BLANK = re.compile(r"\\\{(\w+)\\\}")
SOCKET = "SOCKET"
"""The method of a WebSocket in the table."""


class EndpointApi(Struct, frozen=True, kw_only=True):
    """The addresses of one API, and which parts of a request and an answer pass."""

    name: str
    dialects: tuple[str, ...]
    error: str
    versions: tuple[str, ...]
    headers: tuple[str, ...] = ()
    answer_headers: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    key_protocols: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    model_prefix: str = ""
    any_case: bool = False
    source: str

    def read_names(self, raw: Json) -> Json:
        """Return JSON with the names of its fields as the service reads them."""
        return _lower_names(raw) if self.any_case else raw

    def find_references(self, raw: Json) -> Iterator[str]:
        """Yield the ids of stored things in JSON, at any depth, each in its one spelling."""
        if isinstance(raw, list):
            for each in raw:
                yield from self.find_references(each)
        elif isinstance(raw, dict):
            for name, value in raw.items():
                if name in self.references or name in self.addresses:
                    yield from self._read_references(name, value)
                yield from self.find_references(value)

    def _read_references(self, name: str, value: Json) -> Iterator[str]:
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str):
                resource = find_resource(each)
                if resource is not None or name in self.references:
                    yield resource or each


def _lower_names(raw: Json) -> Json:
    if isinstance(raw, list):
        return [_lower_names(each) for each in raw]
    if isinstance(raw, dict):
        return {name.casefold(): _lower_names(value) for name, value in raw.items()}
    return raw


class OutputField(Struct, frozen=True):
    """The most tokens to write: a field, its default and whose that is, and its factors.

    Elsewhere a request without the field has no limit. ``others``: names of some engines for it.
    ``numbers_at``: providers that ignore one which is no number. ``prompts``: a field that may be a
    list, each item of which is answered.
    """

    field: str
    others: tuple[str, ...] = ()
    default: int | None = None
    default_at: tuple[str, ...] = ()
    numbers_at: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    prompts: str = ""


class MediaPlaces(Struct, frozen=True, kw_only=True):
    """Where an answer says how many of its tokens are of which medium, as ``UsagePlaces``.

    ``usual``: the medium of a count, by its path, if nothing says it.
    """

    input: tuple[str, ...] = ()
    cache_read: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    usual: Mapping[str, MediaKind] = {}


class UsagePlaces(Struct, frozen=True, kw_only=True):
    """Where an answer has its counts; the first path that is there is read."""

    input: tuple[str, ...] = ()
    input_beside: tuple[str, ...] = ()
    cache_read: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    output_beside: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    thinking_beside: tuple[str, ...] = ()
    units: Mapping[str, str] = {}
    text: tuple[str, ...] = ()
    media: MediaPlaces | None = None


class SocketLimit(Struct, frozen=True):
    """The most tokens of one answer of these models: its prompt, and what it writes."""

    models: tuple[str, ...]
    prompt: int
    output: int


class SocketTurns(Struct, frozen=True, kw_only=True):
    """How to tell the answers of a socket apart; the table's head says what its fields mean."""

    asks: tuple[str, ...]
    begins: tuple[str, ...] = ()
    ends: tuple[str, ...]
    errors: tuple[str, ...] = ()
    answer_id: str = ""
    request_id: str = ""
    failed_id: str = ""
    on_at: tuple[str, ...] = ()
    begins_if_on: tuple[str, ...] = ()
    cancel: str = ""
    cancel_id: str = ""
    is_parallel: bool = False
    unseen: tuple[str, ...] = ()
    limits: tuple[SocketLimit, ...]


class PurposeField(Struct, frozen=True):
    """The field that says what a file is for, and the values that are no requests to a model."""

    field: str
    call: str
    values: tuple[str, ...]


class BatchLines(Struct, frozen=True):
    """The requests in a batch: the list, the request in each, and the dialect and path of it."""

    at: str
    body: str
    dialect: str
    path: str


class Endpoint(Struct, frozen=True, kw_only=True, dict=True):
    """One row of the table, whose head says what its fields mean."""

    name: str
    api: str
    calls: tuple[str, ...]
    model: Place = ""
    optional_model: bool = False
    models_at: tuple[str, ...] = ()
    uses_at: tuple[str, ...] = ()
    carries: bool = False
    lines: BatchLines | None = None
    counts: Literal["body", "answer", "nothing"] = "answer"
    output: OutputField | None = None
    usage: UsagePlaces = UsagePlaces()
    media_fields: tuple[str, ...] = ()
    media_tokens: int = 0
    usage_marks: tuple[str, ...] = ()
    turns: SocketTurns | None = None
    transcriptions: SocketTurns | None = None
    setup: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    given_query: str = ""
    id_prefix: str = ""
    client_names: bool = False
    own_at: tuple[str, ...] = ()
    account_at: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    purpose: PurposeField | None = None
    before: str = ""
    shows_headers: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    source: str

    @cached_property
    def patterns(self) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
        """Return its calls: the text, the method, and the pattern of the path."""
        api = find_api(self.api)
        return tuple((each, *_compile(each, api, self.before)) for each in self.calls)


class EndpointMatch(Struct, frozen=True, kw_only=True):
    """A request's endpoint; ``path`` is its address below the version of the API.

    ``model`` is the name in the path, ``ids`` are those of stored things.
    """

    endpoint: Endpoint
    api: EndpointApi
    call: str
    path: str
    version: str
    model: str | None = None
    ids: tuple[str, ...] = ()

    @property
    def is_list(self) -> bool:
        """Return whether it shows what all clients of an account have stored."""
        return self.call in self.endpoint.lists

    @property
    def deletes_name(self) -> bool:
        """Return whether it deletes a thing whose name clients may use again."""
        return self.endpoint.client_names and self.call.startswith("DELETE ")

    def address(self, base: str, model: str | None = None) -> str:
        """Return the address at a provider, whose ``base`` may end in a version of the API.

        Raises BadParameter for a ``model`` that no address can have.
        """
        path = self.path
        if model is not None and self.model is not None:
            path = path.replace(f"/{self.model}:", f"/{segment(model)}:", 1)
        base = base.rstrip("/")
        own = next((each for each in self.api.versions if each and base.endswith(each)), "")
        if self.version and not self.version.startswith("/"):  # the path itself has it
            return f"{base.removesuffix(own)}{path}"
        version = own or (self.version if self.endpoint.before else "")
        return f"{base.removesuffix(own)}{self.endpoint.before}{version}{path}"


class ClosedPath(Struct, frozen=True):
    """Addresses that no client may use through a gateway, and why."""

    pattern: str
    why: str
    source: str


class _Table(Struct, frozen=True):
    api: tuple[EndpointApi, ...]
    endpoint: tuple[Endpoint, ...]
    closed: tuple[ClosedPath, ...]


@cache
def _load() -> _Table:
    return load_table(__package__, "endpoints.toml", _Table)


def list_endpoints() -> tuple[Endpoint, ...]:
    """Return all rows."""
    return _load().endpoint


def list_apis() -> tuple[EndpointApi, ...]:
    """Return all APIs."""
    return _load().api


@cache
def endpoint_names() -> tuple[str, ...]:
    """Return the names that a key may list, each once."""
    return tuple(dict.fromkeys(each.name for each in _load().endpoint))


@cache
def find_api(name: str) -> EndpointApi:
    """Return an API by its name."""
    return next(each for each in _load().api if each.name == name)


def find_closed(path: str) -> str | None:
    """Return why an address is closed to all; None if it is not."""
    return next((each.why for each in _load().closed if re.search(each.pattern, path)), None)


def find_endpoint(http: HttpRequest, path: str) -> EndpointMatch | None:
    """Return the endpoint of a request; if several APIs have its path, its headers decide."""
    found = list(_iter_matches(http.method, path))
    if len({each.api.name for each in found}) > 1:
        guess = guess_dialect(http)
        found.sort(key=lambda each: guess not in each.api.dialects)
    return found[0] if found else None


def find_socket(path: str) -> EndpointMatch | None:
    """Return the endpoint of a WebSocket at a path."""
    return next(_iter_matches(SOCKET, path), None)


def list_key_protocols() -> tuple[str, ...]:
    """Return the beginnings of subprotocols that carry a key, for clients that set no headers."""
    return tuple(each for api in _load().api for each in api.key_protocols)


def _iter_matches(method: str, path: str) -> Iterator[EndpointMatch]:
    for endpoint in _load().endpoint:
        for call, called, pattern in endpoint.patterns:
            if called == method and (found := pattern.fullmatch(path)) is not None:
                yield _make_match(endpoint, call, found)


def _make_match(endpoint: Endpoint, call: str, found: re.Match[str]) -> EndpointMatch:
    named = found.groupdict()
    prefix = endpoint.id_prefix.replace("{name}", named.get("name") or "")
    ids = [value for name, value in named.items() if re.fullmatch(r"id\d+", name)]
    return EndpointMatch(
        endpoint=endpoint,
        api=find_api(endpoint.api),
        call=call,
        path=named["path"],
        version=named.get("version") or "",
        model=named.get("model"),
        ids=tuple(f"{prefix}{each}" for each in ids),
    )


def _compile(call: str, api: EndpointApi, before: str) -> tuple[str, re.Pattern[str]]:
    method, _, template = call.partition(" ")
    count = iter(range(9))
    kinds = {"model": _MODEL, "version": _VERSION}

    def fill(blank: re.Match[str]) -> str:
        name = blank[1]
        group = f"id{next(count)}" if name == "id" else name
        return f"(?P<{group}>{kinds.get(name, _STEP)})"

    path = _BLANK.sub(fill, re.escape(template))
    version = "|".join(map(re.escape, api.versions))
    # Clients of other gateways ask below the name of the API, as Azure's do (/openai/v1/...).
    name = f"(?:/{re.escape(api.name)})?"
    if "version" in template:
        return method, re.compile(f"{name}(?P<path>{path})")
    return method, re.compile(f"{name}{re.escape(before)}(?P<version>{version})(?P<path>{path})")
