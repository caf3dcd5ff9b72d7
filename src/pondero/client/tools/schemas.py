"""JSON Schema from types, hints and docstrings, for a tool's arguments and for ``output=``."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from ...canon import Json, pydantic_adapter, union_members
from ...errors import BadParameter

_ARGUMENT = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_SECTION = re.compile(r"(args|arguments|parameters|returns|raises|yields|examples?|notes?):\s*")


def make_schema(kind: Any) -> dict[str, Json]:
    """Return the schema of a type; pydantic makes those of its models."""
    own = getattr(kind, "model_json_schema", None)
    if own is None and (adapter := pydantic_adapter(kind)) is not None:
        own = adapter.json_schema
    if own is not None:
        own_schema: dict[str, Json] = _close_schema(own())
        return own_schema
    try:
        (schema,), components = msgspec.json.schema_components(
            (kind,), ref_template="#/$defs/{name}"
        )
    except TypeError:
        if members := union_members(kind):
            return _join_schemas(members)
        message = (
            f"{kind!r} has no JSON schema: a part of it is no type that JSON has, or a union whose "
            "members look alike; use pydantic's types, or give a JSON schema"
        )
        raise BadParameter(message) from None
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    if name in components and not _mentions(components[name], name):
        schema = {key: value for key, value in components.pop(name).items() if key != "title"}
    closed: dict[str, Json] = _close_schema(schema)
    if components:
        closed["$defs"] = {name: _close_schema(each) for name, each in components.items()}
    return closed


def _join_schemas(members: Iterable[Any]) -> dict[str, Json]:
    """Return the schema of a union: any of its members'."""
    options: list[Json] = []
    definitions: dict[str, Json] = {}
    for each in members:
        schema = make_schema(each)
        for name, meant in schema.pop("$defs", {}).items():
            if definitions.setdefault(name, meant) != meant:
                raise BadParameter(f"two types of the union are called {name!r}; rename one")
        options.append(schema)
    joined: dict[str, Json] = {"anyOf": options}
    return {**joined, "$defs": definitions} if definitions else joined


def arguments_schema(function: Callable[..., object]) -> type[msgspec.Struct]:
    """Return a struct type for the arguments of a call."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        message = f"cannot read the type hints of {_name(function)}: {error}"
        raise BadParameter(message) from None
    described = _parameter_texts(inspect.getdoc(function) or "")
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            message = f"{_name(function)} takes {parameter}; a tool's parameters have names"
            raise BadParameter(message)
        hint = _add_description(hints.get(name, Any), described.get(name))
        if parameter.default is parameter.empty:
            fields.append((name, hint))
        else:
            fields.append((name, hint, _default(parameter.default)))
    return msgspec.defstruct(
        _name(function), fields, kw_only=True, forbid_unknown_fields=True, frozen=True
    )


def parse_summary(function: Callable[..., object]) -> str:
    """Return the docstring of a function up to its first section."""
    lines = []
    for line in (inspect.getdoc(function) or "").splitlines():
        if _SECTION.fullmatch(line.strip().lower()):
            break
        lines.append(line)
    return "\n".join(lines).strip()


def _parameter_texts(doc: str) -> dict[str, str]:
    found: dict[str, str] = {}
    inside, name = False, ""
    for line in doc.splitlines():
        word = line.strip()
        if _SECTION.fullmatch(word.lower()):
            inside = word.lower().startswith(("arg", "param"))
        elif not inside or not word:
            continue
        elif argument := _ARGUMENT.fullmatch(word):
            name, found[argument[1]] = argument[1], argument[2]
        elif name:
            found[name] = f"{found[name]} {word}"
    return found


def _add_description(hint: Any, text: str | None) -> Any:
    """Add a description to a hint: the docstring's, else the text in ``Annotated``."""
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        text = text or next((note for note in notes if isinstance(note, str)), None)
        for note in notes:
            if isinstance(note, msgspec.Meta):
                kind = Annotated[kind, note]
        hint = kind
    return Annotated[hint, msgspec.Meta(description=text)] if text else hint


def _default(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return msgspec.field(default_factory=lambda: value)


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _close_schema(schema: Json) -> Json:
    """Forbid other keys in objects, and add a type to enums of strings."""
    if isinstance(schema, Mapping):
        made = {key: _close_schema(value) for key, value in schema.items()}
        if isinstance(made.get("properties"), dict) and made.get("type") == "object":
            made.setdefault("additionalProperties", False)
        words = made.get("enum")
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            made.setdefault("type", "string")
        return made
    return [_close_schema(each) for each in schema] if isinstance(schema, list) else schema


def _mentions(schema: Json, name: str) -> bool:
    if isinstance(schema, Mapping):
        return schema.get("$ref") == f"#/$defs/{name}" or any(
            _mentions(each, name) for each in schema.values()
        )
    return isinstance(schema, list) and any(_mentions(each, name) for each in schema)
