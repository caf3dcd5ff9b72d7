"""The service's table of models (models.toml, apart from the catalog), and its lists of models."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json
from pondero.dialects.dialect import ServedModel
from pondero.dialects.tables import load_table

from .errors import reject

HOME = "cohere"
SDK = "x-fern-sdk-name"
"""A header of its SDK; others list models at the same address, and no other wire sends it."""

_DATE = re.compile(r"-\d{2}-\d{4}")
_MODELS = re.compile(r".*/v1/models(?:/(?P<model>.+))?")


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of models.toml, which explains each field."""

    match: tuple[str, ...]
    thinks: bool = False
    images: bool = False
    tools: bool = True
    chooses: bool = True
    strict: bool = True
    output: int = 4096
    window: int = 131_072
    exact: bool = False


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in models.toml."""

    models: tuple[Model, ...]

    def model(self, name: str) -> Model | None:
        """Return the row of a model, by the longest beginning of its name."""
        rows = {beginning: row for row in self.models for beginning in row.match}
        fitting = [each for each in rows if _fits(name, each, exact=rows[each].exact)]
        return rows[max(fitting, key=len)] if fitting else None


def _fits(name: str, beginning: str, *, exact: bool) -> bool:
    rest = name.removeprefix(beginning)
    if not name.startswith(beginning):
        return False
    return not rest or (rest[0] == "-" and not exact) or _DATE.fullmatch(rest) is not None


@cache
def table() -> Table:
    """Return the table, read once."""
    return load_table(__package__, "models.toml", Table)


def asks(http: HttpRequest) -> Literal["models"] | None:
    """Return "models" for the list of models, or for one of them; others list at this path too."""
    parts = urlsplit(http.url)
    named = SDK in http.headers or "endpoint" in parse_qs(parts.query)
    ours = named and _MODELS.fullmatch(parts.path)
    return "models" if http.method == "GET" and ours else None


def requested_model(http: HttpRequest) -> str | None:
    """Return the one requested model; None for the list."""
    found = _MODELS.fullmatch(urlsplit(http.url).path)
    return unquote(found["model"]) if found and found["model"] else None


def write_list(http: HttpRequest, known: Sequence[ServedModel], _provider: str) -> HttpResponse:
    """Return the list or the one requested model, or raise Rejected."""
    check_key(http)
    return write_any_list(http, [each for each in known if table().model(each.name) is not None])


def write_any_list(http: HttpRequest, known: Sequence[ServedModel]) -> HttpResponse:
    """Return a list of any models or the one requested, or raise Rejected."""
    models = {each.name: _model(each) for each in known}
    if (name := requested_model(http)) is None:
        return _respond({"models": list(models.values()), "next_page_token": ""})
    if name not in models:
        reject("unknown_listed_model", model=name)
    return _respond(models[name])


def check_key(http: HttpRequest) -> None:
    """Reject a request without a key, or with the key that stands for a wrong one."""
    scheme, _, token = http.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        reject("no_key")
    if token.strip() == "invalid":
        reject("bad_key")


def _model(facts: ServedModel) -> Json:
    return {
        "name": facts.name,
        "endpoints": ["chat"],
        "finetuned": False,
        "context_length": facts.context or 0,
        "tokenizer_url": None,
        "default_endpoints": [],
        "features": None,
    }


def _respond(value: Json) -> HttpResponse:
    return HttpResponse(200, {"content-type": "application/json"}, msgspec.json.encode(value))
