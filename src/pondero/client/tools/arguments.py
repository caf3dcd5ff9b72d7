"""What a tool takes: its name, description and schema, and its arguments read from JSON.

A tool is a function, a method, a ``functools.partial``, an object with ``__call__``, or a class.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from ...canon import Json, convert_json
from ...errors import BadParameter
from .schemas import close_schema, make_schema

_ARGUMENT = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_SECTION = re.compile(r"(args|arguments|parameters|returns|raises|yields|examples?|notes?):\s*")


class ToolArguments(Struct, frozen=True):
    """A tool's name, description and schema; ``call`` runs it with arguments that are JSON."""

    name: str
    description: str
    schema: dict[str, Json]
    call: Callable[[dict[str, Json]], object]


def read_signature(tool: Callable[..., object]) -> ToolArguments:
    """Return what a tool takes, from its type hints and docstring; raises BadParameter."""
    if _is_pydantic(tool):
        return _read_model(tool)
    name, doc = _name(tool), _find_doc(tool)
    parameters = _parameters(tool, name)
    hints, texts = _hints(tool, name), _parameter_texts(doc)
    fields = {
        each.name: _add_description(hints.get(each.name, Any), texts.get(each.name))
        for each in parameters
    }
    if any(_mentions_pydantic(hint) for hint in fields.values()):
        schema, read = _read_with_pydantic(name, parameters, fields)
    else:
        schema, read = _read_with_msgspec(name, parameters, fields)
    first = [each.name for each in parameters if each.kind is each.POSITIONAL_ONLY]

    def call(arguments: dict[str, Json]) -> object:
        named = dict(read(arguments))
        return tool(*(named.pop(each) for each in first if each in named), **named)

    return ToolArguments(name, _summary(doc), schema, call)


_Reader = Callable[[dict[str, Json]], Mapping[str, object]]


def _read_with_msgspec(
    name: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any]
) -> tuple[dict[str, Json], _Reader]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = [
        (each.name, hints[each.name])
        if each.default is each.empty
        else (each.name, hints[each.name], _default(each.default))
        for each in parameters
    ]
    kind = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True, frozen=True)

    def read(arguments: dict[str, Json]) -> dict[str, object]:
        given = convert_json(arguments, kind, strict=False)
        return {each.name: getattr(given, each.name) for each in parameters}

    return make_schema(kind), read


def _read_with_pydantic(
    name: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any]
) -> tuple[dict[str, Json], _Reader]:
    """Read arguments as pydantic does, because msgspec cannot read its models."""
    # pydantic rejects typing.TypedDict before Python 3.12, and needs this package itself.
    from typing import NotRequired  # noqa: PLC0415 - as pydantic

    from pydantic import PydanticUserError, TypeAdapter  # noqa: PLC0415 - the program has it
    from typing_extensions import TypedDict  # noqa: PLC0415 - as pydantic

    fields = {
        each.name: hints[each.name] if each.default is each.empty else NotRequired[hints[each.name]]
        for each in parameters
    }
    make_type: Any = TypedDict
    kind = make_type(name, fields)
    kind.__pydantic_config__ = {"extra": "forbid"}
    try:
        adapter: Any = TypeAdapter(kind)
    except PydanticUserError as error:
        message = f"{name} has pydantic models next to a type that pydantic cannot read: {error}"
        raise BadParameter(message.split("\n", maxsplit=1)[0]) from None
    schema: dict[str, Json] = close_schema(adapter.json_schema())
    for each in parameters:
        if text := _description(hints[each.name]):
            schema["properties"][each.name]["description"] = text
        if each.default is None or isinstance(each.default, bool | int | float | str):
            schema["properties"][each.name].setdefault("default", each.default)
    schema.pop("title", None)
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}

    def read(arguments: dict[str, Json]) -> dict[str, object]:
        return {**defaults, **adapter.validate_python(arguments)}

    return schema, read


def _read_model(model: Any) -> ToolArguments:
    """Return what a pydantic class takes: its fields; a call makes an object of it."""
    schema: dict[str, Json] = make_schema(model)
    kept = {key: value for key, value in schema.items() if key not in ("title", "description")}
    return ToolArguments(model.__name__, _summary(_find_doc(model)), kept, model.model_validate)


def _is_pydantic(kind: object) -> bool:
    pydantic = sys.modules.get("pydantic")  # else the program has no pydantic model
    base = getattr(pydantic, "BaseModel", None)
    return base is not None and isinstance(kind, type) and issubclass(kind, base)


def _mentions_pydantic(hint: Any) -> bool:
    return _is_pydantic(hint) or any(_mentions_pydantic(each) for each in get_args(hint))


# -- names, hints and docstrings -----------------------------------------------------------------


def _unwrap(tool: Any) -> Any:
    """Return the function under a partial."""
    while isinstance(tool, functools.partial):
        tool = tool.func
    return tool


def _name(tool: Any) -> str:
    inner = _unwrap(tool)
    return str(getattr(tool, "__name__", None) or getattr(inner, "__name__", type(inner).__name__))


def _parameters(tool: Any, name: str) -> list[inspect.Parameter]:
    """Return the parameters that the model fills; those that a partial set are not offered."""
    try:
        found = inspect.signature(tool).parameters
    except (TypeError, ValueError) as error:
        raise BadParameter(f"cannot read the parameters of {name}: {error}") from None
    bound: set[str] = set()
    while isinstance(tool, functools.partial):
        bound.update(tool.keywords)
        tool = tool.func
    kept = [each for each in found.values() if each.name not in bound]
    for each in kept:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            raise BadParameter(f"{name} takes {each}; a tool's parameters have names")
    return kept


def _hints(tool: Any, name: str) -> dict[str, Any]:
    inner = _unwrap(tool)
    if isinstance(inner, type):
        inner = inner if "__init__" not in vars(inner) else inner.__init__  # type: ignore[misc]
    elif not inspect.isroutine(inner):
        inner = type(inner).__call__
    try:
        return get_type_hints(inner, include_extras=True)
    except NameError as error:
        raise BadParameter(f"cannot read the type hints of {name}: {error}") from None
    except TypeError:  # a builtin has none
        return {}


def _find_doc(tool: Any) -> str:
    """Return a tool's own docstring, never that of a base class such as pydantic's."""
    inner = _unwrap(tool)
    if isinstance(inner, type):
        own = vars(inner).get("__doc__") or ""
        # A dataclass without a docstring gets its signature as one.
        return "" if own.startswith(f"{inner.__name__}(") else inspect.cleandoc(own)
    if inspect.isroutine(inner):
        return inspect.getdoc(inner) or ""
    called = vars(type(inner)).get("__call__")
    own = getattr(called, "__doc__", None) or vars(type(inner)).get("__doc__") or ""
    return inspect.cleandoc(own)


def _summary(doc: str) -> str:
    """Return a docstring up to its first section."""
    lines = []
    for line in doc.splitlines():
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


def _description(hint: Any) -> str | None:
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((note.description for note in notes if isinstance(note, msgspec.Meta)), None)


def _default(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return msgspec.field(default_factory=lambda: value)
