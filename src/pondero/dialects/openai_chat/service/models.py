"""The tables of the providers that speak this wire: what each takes and gives back.

A provider's table is ``providers/NAME.toml``; the lenient road has a table of its own,
``lenient.toml``. The lists of models that providers give are here as well.
"""

import re
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec

from pondero.canon import HttpRequest, HttpResponse, Json, convert_json
from pondero.dialects.dialect import ServedModel

from .address import requested_model
from .errors import Denier, Saying, Shape

Place = Literal[
    "none",
    "reasoning_content",
    "reasoning",
    "both",
    "reasoning_details",
    "content_chunks",
    "think_tags",
]
Forced = Literal["taken", "unthinking", "not_thinking", "refused"]
Form = Literal["signed", "plain", "summary", "text", "encrypted"]

_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{4}|latest)$")
_USUAL = "compatible"
_CREATED = 1_700_000_000


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one line of models takes; ``match`` are names, or patterns with ``*``.

    ``thinks``: never, off by default, on by default, or always; a ``deaf`` model takes a wish not
    to think, and thinks. ``tools``: whether function tools are allowed while it thinks. ``shows``:
    where its thinking stands by default. ``elsewhere``: the model exists, but only on the
    Responses API. ``forced``, ``form``, ``sampling`` and ``must_replay`` override the provider's.
    """

    match: tuple[str, ...] = ()
    thinks: Literal["no", "off", "on", "always"] = "no"
    efforts: tuple[str, ...] = ()
    default: str | None = None
    max_output: int | None = None
    tools: bool = True
    refuses: tuple[str, ...] = ()
    elsewhere: bool = False
    deaf: bool = False
    forced: Forced | None = None
    shows: Place | None = None
    form: Form | None = None
    sampling: Literal["any", "default"] | None = None
    must_replay: str | None = None


class Knob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to ask for thinking or for its place: a field's path, and what its values mean.

    ``idle`` values are taken and do nothing. ``loose``: an effort may also be a switch or a number.
    ``least`` is the smallest budget. ``places`` are by value; values in ``alone`` are refused
    together with tools or JSON answers.
    """

    path: tuple[str, ...]
    kind: Literal["effort", "toggle", "budget", "place"]
    on: tuple[Json, ...] = ()
    off: tuple[Json, ...] = ()
    idle: tuple[Json, ...] = ()
    loose: bool = False
    least: int = 0
    places: dict[str, Place] = {}
    alone: tuple[str, ...] = ()


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One provider's table.

    What it takes. A ``strict`` provider refuses unknown fields, except ``fields`` and, inside
    messages, ``words``. A ``closed`` one refuses unknown fields of messages; ``foreign`` fields of
    messages are refused in any case. ``parts`` and ``tools``: the kinds of content and of tools it
    knows, where not all.
    ``other`` is the row of any model without one of its own; without it, such a model is not found.
    ``sampling``: while thinking, any value or only the default. ``vocabulary``: all efforts that
    some model takes. ``apart``: pairs of fields that it refuses together. ``forced``: a forced tool
    choice is taken, answered without thinking, refused while thinking, or refused. ``schemas``:
    whether answers may have a schema. ``must_replay``: its error for a call that is sent back
    without its thinking. ``call_ids``: a pattern for ids. ``says``: its own words for refusals.

    What it gives back. ``thinking``: the place for it; ``form``: the form of a detail.
    ``counting``: thinking is counted inside the completion, outside it, or never. ``usage`` and
    ``usage_at``: when token counts are sent, and on which chunk. ``done``: whether a marker ends
    the stream. ``comment``: the comment that a stream begins with. ``beside``: fields of every
    answer. ``native_finish``: the upstream's finish reason is sent too. ``nulls``: chunks have a
    null finish reason until the end. ``error``: the shape of its errors. ``carries``: what seals
    a part, of whatever kind, stands in a detail of its own.
    """

    name: str
    key_missing: str
    thinking: Place

    strict: bool = False
    words: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    closed: bool = False
    foreign: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    keyless: bool = False
    knob: tuple[Knob, ...] = ()
    model: tuple[Model, ...] = ()
    other: Model | None = None
    vocabulary: tuple[str, ...] = ()
    sampling: Literal["any", "default"] = "any"
    apart: tuple[tuple[str, str], ...] = ()
    forced: Forced = "taken"
    schemas: bool = True
    must_replay: str | None = None
    call_ids: str | None = None
    bad_seal: str = "The signature of a thought that was sent back is not valid."
    bad_seal_upstream: str | None = None
    says: dict[str, Saying] = {}

    form: Form = "signed"
    counting: Literal["inside", "outside", "never"] = "inside"
    obfuscation: bool = False
    usage: Literal["asked", "always"] = "asked"
    usage_at: Literal["after", "finish", "empty choice", "in choice"] = "after"
    done: bool = True
    comment: str | None = None
    beside: dict[str, Any] = {}
    native_finish: bool = False
    nulls: bool = True
    error: Shape = "nested"
    carries: bool = False

    @property
    def denier(self) -> Denier:
        """Return a Denier that refuses as this provider does."""
        return Denier(self.error, self.says)

    def find(self, name: str) -> Model | None:
        """Return the row of a model; a dated snapshot or a fine-tune is its model."""
        name = name.split(":")[1] if name.startswith("ft:") and name.count(":") > 1 else name
        plain = _SNAPSHOT.sub("", name)
        known = (
            *(row for row in self.model if name in row.match),
            *(row for row in self.model if any(fnmatchcase(name, each) for each in row.match)),
            *(row for row in self.model if plain in row.match),
        )
        return known[0] if known else self.other


@cache
def provider_of(name: str) -> Provider:
    """Return a provider's table; one that has none is like a compatible server."""
    table = _table(name) or {**(_table(_USUAL) or {}), "name": name}
    return convert_json(table, Provider)


@cache
def lenient_provider() -> Provider:
    """Return the table that requests are read by where no provider's rules apply."""
    path = files(__package__).joinpath("lenient.toml")
    return convert_json(tomllib.loads(path.read_text(encoding="utf-8")), Provider)


def _table(name: str) -> dict[str, Any] | None:
    """Return the content of providers/NAME.toml, laid over the table that it is ``like``."""
    path = files(__package__).joinpath("providers", f"{name}.toml")
    if not name.replace("-", "").isalnum() or not path.is_file():
        return None
    own: dict[str, Any] = msgspec.toml.decode(path.read_text(encoding="utf-8"))
    below = _table(own.pop("like")) if "like" in own else None
    says = {**(below or {}).get("says", {}), **own.get("says", {})}
    return {**(below or {}), **own, "says": says, "name": name}


# -- lists of models -----------------------------------------------------------------------------


def write_list(http: HttpRequest, known: Sequence[ServedModel], provider: str) -> HttpResponse:
    """Return the list, or the one model that is asked for; or raise Rejected."""
    table = provider_of(provider)
    check_key(http, table)
    names = [each.name for each in known if table.find(each.name) is not None]
    name = requested_model(http)
    if name is None:
        return _answer({"object": "list", "data": [_model(name, provider) for name in names]})
    if name not in names:
        message = f"The model '{name}' does not exist"
        table.denier.deny(message, status=404, param="model", code="model_not_found")
    return _answer(_model(name, provider))


def write_any_list(http: HttpRequest, known: Sequence[ServedModel]) -> HttpResponse:
    """Return the list of any models, or the one that is asked for; or raise Rejected."""
    models = {each.name: _model(each.name, each.owner) for each in known}
    if (name := requested_model(http)) is None:
        return _answer({"object": "list", "data": list(models.values())})
    if name not in models:
        message = f"The model '{name}' does not exist"
        provider_of(_USUAL).denier.deny(message, status=404, param="model", code="model_not_found")
    return _answer(models[name])


def check_key(http: HttpRequest, provider: Provider) -> None:
    """Refuse a request without a key, where the provider wants one."""
    if provider.keyless:
        return
    key = http.headers.get("authorization", "")
    scheme, _, token = key.partition(" ")
    if not http.headers.get("api-key") and (scheme.lower() != "bearer" or not token.strip()):
        provider.denier.deny(provider.key_missing, status=401)


def _model(name: str, provider: str) -> Json:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": provider}


def _answer(value: Json) -> HttpResponse:
    headers = {"content-type": "application/json", "x-request-id": "req_emulated"}
    return HttpResponse(200, headers, msgspec.json.encode(value))
