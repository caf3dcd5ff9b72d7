"""The service's table of models (``models.toml``), and the lists of models that it sends."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json
from pondero.dialects.dialect import ServedModel
from pondero.dialects.tables import load_table

from .address import check_key
from .codex import codex_list
from .errors import reject

_MODELS = re.compile(r"(?:.*/v\d+|.*/openai|)/models(?:/(?P<model>.+))?")
_COUNT = "/responses/input_tokens"
_CREATED = 1_700_000_000
_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_ALL = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of the table; models.toml says what each column means."""

    match: tuple[str, ...] = ()
    provider: str = "openai"
    efforts: tuple[str, ...] = ()
    default: str | None = None
    always: bool = False
    summary: str | None = None
    max_output: int | None = None
    all_turns: bool = False
    context: str = "current_turn"
    pro: bool = False
    sealed: bool = False
    updates: bool = False
    concise: bool = False
    phases: bool = False
    sampling: bool = False
    verbose: bool = True
    sees: bool = True
    caches_a_day: bool = False
    runs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    hosted: tuple[str, ...] = ()
    most_tools: int | None = None
    elsewhere: bool = False


class Deployment(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The differences of one deployment; models.toml says what each column means."""

    errors: Literal["openai", "xai", "detail", "openrouter"] = "openai"
    like: str = ""
    ignores_unknown: bool = False
    insists: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    min_output: int = 1
    strict: bool = False
    updates: bool = False
    no_updates: tuple[str, ...] = ()
    adjacent_calls: bool = False
    unique_tools: bool = False
    null_content: bool = True
    tools: tuple[str, ...] = ()
    most_tools: int | None = None
    runs_custom: bool = False
    stateless: bool = False
    keyless: bool = False
    bounded: bool = False
    absent: tuple[str, ...] = ()
    missing: Literal["unknown_model", "missing_model"] = "unknown_model"


class _Book(Struct, frozen=True, forbid_unknown_fields=True):
    model: tuple[Model, ...]
    provider: Mapping[str, Deployment]


ANY = Model(
    efforts=_ALL,
    default="medium",
    all_turns=True,
    pro=True,
    updates=True,
    concise=True,
    sampling=True,
    provider="",
)
"""Any model of a deployment without a table: it takes everything."""


def model_of(name: str, *, provider: str) -> Model:
    """Return the row of a model, or reject a name that the deployment does not have."""
    deployment = deployment_of(provider)
    like = deployment.like
    if name in deployment.absent:
        reject(deployment.missing, param="model", model=name)
    rows = table().get(like or provider)
    if rows is None:
        return ANY
    plain = name.split(":")[1] if name.startswith("ft:") else name
    if like:  # it has names of its own too: whatever a user called it, or vendor/model
        plain = plain.rpartition("/")[2]
    row = rows.get(plain) or rows.get(_DATE.sub("", plain)) or _match_pattern(rows, name)
    if like and (row is None or row.elsewhere):
        return ANY  # a deployment's name does not say what it is
    if row is None:
        reject(deployment.missing, param="model", model=name)
    if row.elsewhere:
        reject("model_elsewhere", param="model", model=name)
    return row


def _match_pattern(rows: Mapping[str, Model], name: str) -> Model | None:
    patterns = (each for each in rows if "*" in each and fnmatchcase(name, each))
    return rows.get(next(patterns, ""))


def deployment_of(provider: str) -> Deployment:
    """Return the differences of a deployment; none if it is unknown."""
    return _book().provider.get(provider, Deployment())


@cache
def table() -> Mapping[str, Mapping[str, Model]]:
    """Return the rows of each deployment by model name."""
    rows: dict[str, dict[str, Model]] = {}
    for row in _book().model:
        rows.setdefault(row.provider, {}).update(dict.fromkeys(row.match, row))
    return rows


@cache
def _book() -> _Book:
    return load_table(__package__, "models.toml", _Book)


def asks(http: HttpRequest) -> Literal["models", "tokens"] | None:
    """Return which of the two a request asks for (Gemini's has the key in the query)."""
    parts = urlsplit(http.url)
    if http.method == "POST" and parts.path.endswith(_COUNT):
        return "tokens"
    ours = _MODELS.fullmatch(parts.path) and "key" not in parse_qs(parts.query)
    return "models" if http.method == "GET" and ours else None


def counts(http: HttpRequest) -> HttpRequest:
    """Return the request whose tokens are counted: its fields are some of that one's."""
    return msgspec.structs.replace(http, url=http.url.replace(_COUNT, "/responses"))


def write_count(tokens: int) -> HttpResponse:
    """Answer with the number of tokens (openai 3.49.0 types)."""
    return _json({"object": "response.input_tokens", "input_tokens": tokens})


def write_list(http: HttpRequest, known: Sequence[ServedModel], provider: str) -> HttpResponse:
    """Write the list or the requested model; raises Rejected for an unknown one."""
    check_key(http)
    rows = table().get(provider)
    names = [each.name for each in known if rows is None or each.name in rows]
    return _write_found(http, {name: _model(name, provider) for name in names})


def requested_model(http: HttpRequest) -> str | None:
    """Return the requested model; None if the request asks for the list."""
    found = _MODELS.fullmatch(urlsplit(http.url).path)
    return unquote(found["model"]) if found and found["model"] else None


def write_any_list(http: HttpRequest, known: Sequence[ServedModel]) -> HttpResponse:
    """Write the list or the requested model, in Codex's format for Codex; raises Rejected."""
    if requested_model(http) is None and "client_version" in parse_qs(urlsplit(http.url).query):
        return codex_list(known)
    return _write_found(http, {each.name: _model(each.name, each.owner) for each in known})


def _write_found(http: HttpRequest, models: Mapping[str, Json]) -> HttpResponse:
    if (name := requested_model(http)) is None:
        return _json({"object": "list", "data": list(models.values())})
    if name not in models:
        reject("unknown_listed_model", param="model", model=name)
    return _json(models[name])


def _model(name: str, provider: str) -> Json:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": provider}


def _json(value: Json) -> HttpResponse:
    headers = {"content-type": "application/json", "x-request-id": "req_emulated"}
    return HttpResponse(200, headers, msgspec.json.encode(value))
