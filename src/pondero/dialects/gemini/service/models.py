"""The service's table of models (models.toml, apart from the catalog), lists and token counts."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json, decode_json, read_count
from pondero.dialects.dialect import ServedModel
from pondero.dialects.tables import load_table

from .address import COUNT, authorise
from .errors import JSON, Surface, pretty

HOME = "google"

_MODELS = re.compile(r".*/(?P<version>v\d\w*)(?:/publishers/google)?/models(?:/(?P<model>.+))?")
_COUNT = f":{COUNT}"
_WRAPPED = "generateContentRequest"
_PAGE = 50
_LONGEST = 1_000
_LABEL = re.compile(r"[a-z]+|\d[\d.]*")


HOSTED = (
    *("google_search", "code_execution", "url_context", "google_maps", "file_search"),
    *("retrieval", "enterprise_web_search", "mcp_servers", "parallel_ai_search", "exa_ai_search"),
)
"""Hosted tools of a usual model."""


class Media(Struct, frozen=True, forbid_unknown_fields=True):
    """Kinds of media: patterns of those that are known, and those of them that are not."""

    kinds: tuple[str, ...]
    unknown: tuple[str, ...]
    families: tuple[str, ...]


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of models.toml, which explains each field."""

    max_output: int
    match: tuple[str, ...] = ()
    like: str | None = None
    only: str | None = None
    levels: tuple[str, ...] = ()
    budget: tuple[int, int] | None = None
    zero: bool = False
    thinks: bool = True
    signs: bool = False
    settled: bool = False
    penalties: tuple[str, ...] = ("vertex",)
    window: int = 1_048_576
    system: bool = True
    functions: bool = True
    json: bool = True
    mixes: bool = False
    fetches: bool = True
    candidates: int = 1
    logprobs: tuple[str, ...] = ("vertex",)
    takes: tuple[str, ...] = ("image", "audio", "video")
    makes: tuple[tuple[str, ...], ...] = (("TEXT",),)
    hosted: tuple[str, ...] = HOSTED

    @property
    def can_think(self) -> bool:
        """Return whether it ever thinks."""
        return self.thinks or bool(self.levels) or self.budget is not None


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in models.toml."""

    surfaces: dict[str, Surface]
    media: Media
    models: tuple[Model, ...]

    def surface(self, provider: str) -> Surface:
        """Return how a deployment rejects; an unknown one rejects like Google's own."""
        return self.surfaces.get(provider) or self.surfaces[HOME]

    def model(self, name: str, *, provider: str) -> Model | None:
        """Return the row of a model, by the longest beginning of its name."""
        here = sorted(
            (row for row in self.models if row.only in (None, provider)),
            key=lambda row: row.only is not None,  # a deployment's own row wins
        )
        rows = {beginning: row for row in here for beginning in row.match}
        fitting = [each for each in rows if name == each or name.startswith(f"{each}-")]
        if fitting:
            return rows[max(fitting, key=len)]
        newer = (row for row in self.models if row.like and re.fullmatch(row.like, name))
        return next(newer, None)


@cache
def table() -> Table:
    """Return the table, read once."""
    return load_table(__package__, "models.toml", Table)


def asks(http: HttpRequest) -> Literal["models", "tokens"] | None:
    """Return which of the two a request asks for; on ``/v1/models`` the key's place decides."""
    parts = urlsplit(http.url)
    if http.method == "POST" and parts.path.endswith(_COUNT):
        return "tokens"
    found = _MODELS.fullmatch(parts.path)
    if http.method != "GET" or found is None:
        return None
    keyed = "x-goog-api-key" in http.headers or "key" in parse_qs(parts.query)
    return "models" if keyed or found["version"] != "v1" else None


def counts(http: HttpRequest) -> HttpRequest:
    """Return the request whose tokens are to be counted; countTokens may wrap it."""
    body = _object(http.body)
    if isinstance(inner := body.get(_WRAPPED), dict):
        body = {key: value for key, value in inner.items() if key != "model"}
    return msgspec.structs.replace(http, body=msgspec.json.encode(body))


def write_count(tokens: int) -> HttpResponse:
    """Return the answer to countTokens."""
    details = [{"modality": "TEXT", "tokenCount": tokens}]
    return _respond({"totalTokens": tokens, "promptTokensDetails": details})


def write_list(http: HttpRequest, known: Sequence[ServedModel], provider: str) -> HttpResponse:
    """Return a page of the list or the one requested model, or raise Rejected."""
    surface = table().surface(provider)
    parts = urlsplit(http.url)
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    authorise(http.headers, query.get("key"), surface)
    rows = {
        each.name: _model(each, max_output=row.max_output, thinks=row.can_think)
        for each in known
        if (row := table().model(each.name, provider=provider))
    }
    return _write_found(http, rows, surface)


def requested_model(http: HttpRequest) -> str | None:
    """Return the one requested model; None for the list."""
    found = _MODELS.fullmatch(urlsplit(http.url).path)
    return unquote(found["model"]) if found and found["model"] else None


def write_any_list(http: HttpRequest, known: Sequence[ServedModel]) -> HttpResponse:
    """Return a page of any models or the one requested, or raise Rejected."""
    rows = {
        each.name: _model(each, max_output=each.max_output, thinks=each.thinks) for each in known
    }
    return _write_found(http, rows, table().surface(HOME))


def _write_found(http: HttpRequest, rows: dict[str, Json], surface: Surface) -> HttpResponse:
    if (name := requested_model(http)) is None:
        return _respond(_page(list(rows.values()), http))
    if name in rows:
        return _respond(rows[name])
    found = _MODELS.fullmatch(urlsplit(http.url).path)
    version = found["version"] if found else ""
    # Google, models: an unknown one is 404 (recording rig gemini/error_envelope)
    raise surface.rejection("no_model", model=name, version=version, method="getModel")


def _page(every: list[Json], http: HttpRequest) -> Json:
    query = {key: values[-1] for key, values in parse_qs(urlsplit(http.url).query).items()}
    size, start = read_count(query.get("pageSize", "")), read_count(query.get("pageToken", "")) or 0
    end = start + (min(size, _LONGEST) if size else _PAGE)
    more = {"nextPageToken": str(end)} if end < len(every) else {}
    return {"models": every[start:end], **more}


def _model(facts: ServedModel, *, max_output: int | None, thinks: bool) -> Json:
    said = {
        "name": f"models/{facts.name}",
        "version": "001",
        "displayName": " ".join(word.capitalize() for word in _LABEL.findall(facts.name)),
        "inputTokenLimit": facts.context,
        "outputTokenLimit": max_output,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "thinking": thinks or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def _object(body: bytes) -> dict[str, Json]:
    try:
        return decode_json(body, dict)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def _respond(value: Json) -> HttpResponse:
    return HttpResponse(200, {"content-type": JSON}, pretty(value))
