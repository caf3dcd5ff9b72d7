"""The tables of this wire's providers (``providers/NAME.toml``), and their lists of models."""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec

from pondero.canon import HttpRequest, HttpResponse, Json, convert_json
from pondero.dialects.dialect import ServedModel
from pondero.dialects.tables import load_table

from .address import requested_model
from .errors import Rejecter, RejectionText, Shape

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
Capability = Literal[
    "system",
    "later_system",
    "developer",
    "tools",
    "schemas",
    "search",
    "images",
    "audio",
    "verbosity",
]
Form = Literal["signed", "plain", "summary", "text", "encrypted"]

_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{4}|latest)$")
_USUAL = "compatible"
_CREATED = 1_700_000_000


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of models; ``match`` has names, or patterns with ``*``.

    ``thinks``: never, off by default, on by default, or always; a ``deaf`` model accepts off and
    still thinks. ``tools``: it accepts function tools while it thinks. ``shows``: the default place
    of its thinking. ``refuses``: parameters that it rejects. ``lacks``: what it cannot do, though
    others of the API can; ``later_system`` is a system message that is not first. ``elsewhere``: it
    is on the Responses API only. ``incompatible``: arguments that only others take.
    ``min_output``: the smallest maximum of tokens. ``forced``, ``form``, ``sampling`` and
    ``must_replay`` override the provider's.
    """

    match: tuple[str, ...] = ()
    thinks: Literal["no", "off", "on", "always"] = "no"
    efforts: tuple[str, ...] = ()
    default: str | None = None
    max_output: int | None = None
    min_output: int | None = None
    tools: bool = True
    refuses: tuple[str, ...] = ()
    elsewhere: bool = False
    deaf: bool = False
    forced: Forced | None = None
    shows: Place | None = None
    form: Form | None = None
    sampling: Literal["any", "default"] | None = None
    must_replay: bool = False
    lacks: tuple[Capability, ...] = ()
    incompatible: tuple[str, ...] = ()


class Knob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A field that sets thinking or its place, and the meaning of its values.

    ``idle`` values do nothing. ``loose``: an effort can also be a switch or a number. ``least``:
    the smallest budget. ``places``: by value; those in ``alone`` are rejected together with tools
    or JSON answers.
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


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which roles may follow each role, and end a conversation, with some models.

    A role without a row may be followed by any.
    """

    match: tuple[str, ...]
    after: dict[str, tuple[str, ...]] = {}
    last: tuple[str, ...] = ()


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One provider's table.

    Requests. A ``strict`` provider rejects unknown fields, except ``fields`` and, inside messages,
    ``words``. One that ``knows`` fields rejects all others at the top; ``unknown`` are such fields
    of the rest of the wire. ``refuses``: fields that it knows and takes with no model; ``gone``:
    those of a service that has ended. ``strings``: the longest strings; ``metadata``: the most
    names, and the longest name and value. ``field_types``: whose types its raw fields have
    (checks.field_types), if they are known. A ``closed`` one rejects unknown fields of messages,
    and all but ``message_fields`` of a role if it has them; all reject ``foreign`` fields.
    ``parts`` and ``tools``: the types of content and tools it knows, if not all.
    ``part_strings``: the field that must be a text, by type of content. ``other``: the row
    of a model without its own; without it, such a model is not found. ``sampling``: while thinking,
    any value or only the default. ``vocabulary``: all efforts of all models. ``apart``: pairs of
    fields that exclude each other. ``forced``: a forced tool choice is taken, answered without
    thinking, rejected while thinking, or rejected. ``schemas``: answers can have a schema.
    ``checks_schemas``: it rejects schemas outside its subset. ``json_word``: JSON answers need the
    word in a message. ``image_formats``: of images in a request. ``integers`` and ``lengths``: the
    bounds of whole numbers, and the longest lists; ``ranges``: of sampling parameters, if not the
    usual. ``needs_parameters``: a function must have a schema; ``needs_properties``: one that
    requires something has them. ``unique_tools``: no two have one name. ``files``: types of files'
    data. ``must_replay``: a call must come back with its thinking. ``call_ids``: a pattern.
    ``json_arguments``: those of a call that comes back are JSON. ``lacks``: by
    capability (checks.providers), the names and patterns of models that are known not to have it.
    ``roles``: those it knows, if not all.
    ``order``: of roles, the first row that matches a model. ``format_needs``: parts of a
    json_schema format. ``videos``: their formats. ``updates``: the models that take
    `configuration_update`. By pattern of models: ``context``: the sizes of context windows,
    ``max_outputs``: the largest maximum of tokens, ``most_tools``: the most tools.
    ``bad_seal_upstream``: what the model's service says of a signature. ``says``: its own texts of
    rejections, whose ``source`` and ``checked`` are the file's unless a text has its own.

    Answers. ``thinking``: its place; ``form``: the form of a detail. ``counting``: thinking tokens
    are inside the completion, outside it, or not counted. ``usage`` and ``usage_at``: when and on
    which chunk token counts are sent. ``done``: a marker ends the stream. ``comment``: the first
    line of a stream. ``beside``: fields of every answer. ``native_finish``: the upstream's finish
    reason is sent too. ``cache_counts``: where else cached tokens are counted:
    as hits and misses, or at the top of the usage. ``nulls``: chunks have a null finish reason
    until the end. ``error``: the shape of errors. ``carries``: each signature of a part is in its
    own detail.
    """

    name: str
    thinking: Place
    source: str = ""
    checked: str = ""

    strict: bool = False
    words: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    field_types: Literal["openai", "groq", "mistral"] | None = None
    closed: bool = False
    message_fields: dict[str, tuple[str, ...]] = {}
    knows: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    strings: dict[str, int] = {}
    metadata: tuple[int, int, int] | None = None
    foreign: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    part_strings: dict[str, str] = {}
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
    checks_schemas: bool = False
    json_word: bool = False
    image_formats: tuple[str, ...] = ()
    integers: dict[str, tuple[int, int]] = {}
    ranges: dict[str, tuple[float, float]] = {}
    needs_parameters: bool = False
    needs_properties: bool = False
    unique_tools: bool = False
    files: tuple[str, ...] = ()
    lengths: dict[str, int] = {}
    must_replay: bool = False
    call_ids: str | None = None
    json_arguments: bool = False
    lacks: dict[str, tuple[str, ...]] = {}
    roles: tuple[str, ...] = ()
    order: tuple[Order, ...] = ()
    format_needs: tuple[str, ...] = ()
    videos: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    context: dict[str, int] = {}
    max_outputs: dict[str, int] = {}
    most_tools: dict[str, int] = {}
    bad_seal_upstream: str | None = None
    says: dict[str, RejectionText] = {}

    form: Form = "signed"
    counting: Literal["inside", "outside", "never"] = "inside"
    obfuscation: bool = False
    usage: Literal["asked", "always"] = "asked"
    usage_at: Literal["after", "finish", "empty choice", "in choice"] = "after"
    done: bool = True
    comment: str | None = None
    beside: dict[str, Any] = {}
    native_finish: bool = False
    cache_counts: Literal["usual", "hits", "top"] = "usual"
    nulls: bool = True
    error: Shape = "nested"
    carries: bool = False

    @property
    def rejecter(self) -> Rejecter:
        """Return the Rejecter with this provider's shape and texts."""
        return Rejecter(self.error, self.says)

    def find(self, name: str) -> Model | None:
        """Return the row of a model; a dated snapshot or a fine-tune has its model's row."""
        name = name.split(":")[1] if name.startswith("ft:") and name.count(":") > 1 else name
        plain = _SNAPSHOT.sub("", name)
        known = (
            *(row for row in self.model if name in row.match),
            *(row for row in self.model if any(fnmatchcase(name, each) for each in row.match)),
            *(row for row in self.model if plain in row.match),
        )
        return known[0] if known else self.other

    def find_most(self, table: Mapping[str, int], name: str) -> int | None:
        """Return the number of the first pattern that matches a name."""
        return next((most for each, most in table.items() if self.lists((each,), name)), None)

    @staticmethod
    def lists(patterns: Iterable[str], name: str) -> bool:
        """Return whether a pattern matches a name, with or without the variant after its colon."""
        names = (name, name.partition(":")[0])
        return any(fnmatchcase(each, pattern) for pattern in patterns for each in names)


@cache
def provider_of(name: str) -> Provider:
    """Load a provider's table; the default is that of a compatible server."""
    table = _table(name) or {**(_table(_USUAL) or {}), "name": name}
    return convert_json(table, Provider)


@cache
def lenient_provider() -> Provider:
    """Load the table of the lenient reading."""
    return load_table(__package__, "lenient.toml", Provider)


def _table(name: str) -> dict[str, Any] | None:
    path = files(__package__).joinpath("providers", f"{name}.toml")
    if not name.replace("-", "").isalnum() or not path.is_file():
        return None
    own: dict[str, Any] = msgspec.toml.decode(path.read_text(encoding="utf-8"))
    below = _table(own.pop("like")) if "like" in own else None
    known = {"source": own.get("source", ""), "checked": own.get("checked", "")}
    texts = {rule: {**known, **row} for rule, row in own.get("says", {}).items()}
    says = {**(below or {}).get("says", {}), **texts}
    return {**(below or {}), **own, "says": says, "name": name}


def write_list(http: HttpRequest, known: Sequence[ServedModel], provider: str) -> HttpResponse:
    """Write the list or the requested model; raises Rejected for an unknown one."""
    table = provider_of(provider)
    check_key(http, table)
    names = [each.name for each in known if table.find(each.name) is not None]
    return _write_found(http, {name: _model(name, provider) for name in names}, table)


def write_any_list(http: HttpRequest, known: Sequence[ServedModel]) -> HttpResponse:
    """Write the list or the requested model, for any provider; raises Rejected."""
    models = {each.name: _model(each.name, each.owner) for each in known}
    return _write_found(http, models, provider_of(_USUAL))


def _write_found(http: HttpRequest, models: Mapping[str, Json], table: Provider) -> HttpResponse:
    if (name := requested_model(http)) is None:
        return _answer({"object": "list", "data": list(models.values())})
    if name not in models:
        table.rejecter.reject("no_listed_model", param="model", model=name)
    return _answer(models[name])


def check_key(http: HttpRequest, provider: Provider) -> None:
    """Reject a request without a key, unless the provider needs none."""
    if provider.keyless:
        return
    key = http.headers.get("authorization", "")
    scheme, _, token = key.partition(" ")
    if not http.headers.get("api-key") and (scheme.lower() != "bearer" or not token.strip()):
        provider.rejecter.reject("no_key")


def _model(name: str, provider: str) -> Json:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": provider}


def _answer(value: Json) -> HttpResponse:
    headers = {"content-type": "application/json", "x-request-id": "req_emulated"}
    return HttpResponse(200, headers, msgspec.json.encode(value))
