"""The server's table of models, and its lists (api/types.go of ollama/ollama, 2026-08-21)."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json
from pondero.dialects.bodies import model_of
from pondero.dialects.dialect import ServedModel
from pondero.dialects.tables import load_table

from .errors import JSON, reject

_VERSION = "0.13.5"  # clients reject an older server
_UNKNOWN_DAY = "1970-01-01T00:00:00Z"
_MAKER = "gateway"
_ASKED = {
    ("GET", "/api/tags"): "tags",
    ("GET", "/api/ps"): "running",
    ("GET", "/api/version"): "version",
    ("POST", "/api/show"): "show",
}


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of models.toml, where each field is explained."""

    match: tuple[str, ...]
    thinks: Literal["no", "on", "always"]


class Abilities(Struct, frozen=True, forbid_unknown_fields=True):
    """What a model takes besides text; models.toml explains each field."""

    match: tuple[str, ...] = ()
    tools: bool = True
    images: bool = True
    strict: bool = False
    cloud: bool = True
    inserts: bool = True


Row = TypeVar("Row", Model, Abilities)


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in models.toml."""

    keyless: tuple[str, ...]
    absent: tuple[str, ...]
    words: tuple[str, ...]
    abilities: tuple[Abilities, ...]
    models: tuple[Model, ...]

    def model(self, name: str, provider: str = "") -> Model | None:
        """Return the row of a name; None if the model is not pulled, or not in the cloud."""
        missing = _bare(name).partition(":")[0] in self.absent
        in_cloud = not provider or provider in self.keyless or self.ability(name).cloud
        return None if missing or not in_cloud else _longest(self.models, name)

    def ability(self, name: str) -> Abilities:
        """Return what a model takes."""
        return _longest(self.abilities, name) or Abilities()


def _bare(name: str) -> str:
    return name.rpartition("/")[2]


def _longest(table: Sequence[Row], name: str) -> Row | None:
    rows = {beginning: row for row in table for beginning in row.match}
    fitting = [each for each in rows if _begins(each).match(_bare(name))]
    return rows[max(fitting, key=len)] if fitting else None


@cache
def _begins(beginning: str) -> re.Pattern[str]:
    anything = ".*".join(re.escape(piece) for piece in beginning.split("*"))
    return re.compile(rf"{anything}(?=[:-]|$)" if beginning else "")


@cache
def table() -> Table:
    """Return the table, read once."""
    return load_table(__package__, "models.toml", Table)


def asks(http: HttpRequest) -> Literal["models"] | None:
    """Return "models" for a list of models, for one of them, and for the server's version."""
    return "models" if _kind(http) else None


def requested_model(http: HttpRequest) -> str | None:
    """Return the one requested model; None for the list or the version."""
    if _kind(http) != "show":
        return None
    return model_of(http) or model_of(msgspec.structs.replace(http, body=_rename_field(http.body)))


def write_list(http: HttpRequest, known: Sequence[ServedModel], provider: str) -> HttpResponse:
    """Return the list or the one requested model, or raise Rejected."""
    check_key(http, provider)
    if (name := requested_model(http)) is not None and (row := table().model(name)) is not None:
        facts = next((each for each in known if each.name == name), ServedModel(name))
        levels = () if row.thinks == "no" else table().words
        return write_any_list(http, [msgspec.structs.replace(facts, levels=levels)])
    return write_any_list(http, known)


def check_key(http: HttpRequest, provider: str) -> None:
    """Reject a request without a key, if the deployment wants one."""
    scheme, _, token = http.headers.get("authorization", "").partition(" ")
    if provider not in table().keyless and (scheme.lower() != "bearer" or not token.strip()):
        reject("no_key")


def write_any_list(http: HttpRequest, known: Sequence[ServedModel]) -> HttpResponse:
    """Return a list of any models or the one requested, or raise Rejected."""
    match _kind(http):
        case "version":
            return _respond({"version": _VERSION})
        case "running":
            return _respond({"models": []})
        case "tags":
            return _respond({"models": [_tag(each) for each in known]})
    name = requested_model(http)
    facts = next((each for each in known if each.name == name), None)
    if facts is None:
        reject("unknown_model", model=name)
    return _respond(_describe(facts))


def _kind(http: HttpRequest) -> str | None:
    path = urlsplit(http.url).path
    for (method, ending), kind in _ASKED.items():
        if http.method == method and path.endswith(ending):
            return kind
    return None


def _rename_field(body: bytes) -> bytes:
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body
    return msgspec.json.encode({"model": said.get("name")}) if isinstance(said, dict) else body


def _tag(facts: ServedModel) -> Mapping[str, Json]:
    return {
        "name": facts.name,
        "model": facts.name,
        "modified_at": _UNKNOWN_DAY,
        "size": 0,
        "digest": sha256(facts.name.encode()).hexdigest(),
        "details": _details(),
    }


def _describe(facts: ServedModel) -> Mapping[str, Json]:
    able = {"completion": True, "tools": True, "vision": facts.sees, "thinking": facts.thinks}
    length = {f"{_MAKER}.context_length": facts.context} if facts.context else {}
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": _details(),
        "model_info": {"general.architecture": _MAKER, **length},
        "capabilities": [name for name, has in able.items() if has],
        "modified_at": _UNKNOWN_DAY,
    }


def _details() -> Mapping[str, Json]:
    return {
        "parent_model": "",
        "format": "",
        "family": _MAKER,
        "families": [_MAKER],
        "parameter_size": "",
        "quantization_level": "",
    }


def _respond(value: Json) -> HttpResponse:
    return HttpResponse(200, {"content-type": JSON}, msgspec.json.encode(value))
