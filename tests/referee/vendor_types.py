"""Reads the vendors' own request types: TypedDicts, pydantic models and botocore shapes.

A hint is any of them. It is taken apart into leaves (a union has several); a leaf has one kind of
JSON, and an object's leaf has fields, which are hints again.
"""

import collections.abc
import enum
import inspect
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, Union, get_args

import pydantic
import typing_extensions
from botocore.model import ListShape, Shape, StructureShape

Hint = Any
Json = Any
OPEN = "any"  # what may hold any JSON

_WRAPPERS = {
    *(typing.Annotated, typing.Required, typing.NotRequired),
    *(typing_extensions.Required, typing_extensions.NotRequired, typing_extensions.ReadOnly),
}
_SCALARS: Mapping[Any, str] = {
    str: "string",
    bytes: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}
_CLASSES: tuple[tuple[type, str], ...] = (
    (types.NoneType, "null"),
    (enum.Enum, "string"),
    (pydantic.RootModel, OPEN),
    (pydantic.BaseModel, "object"),
    (Mapping, "object"),
    (collections.abc.Iterable, "array"),
)
_SHAPES = {
    **dict.fromkeys(("string", "blob", "timestamp"), "string"),
    **dict.fromkeys(("integer", "long"), "integer"),
    **dict.fromkeys(("float", "double"), "number"),
    "boolean": "boolean",
    "list": "array",
    **dict.fromkeys(("map", "structure"), "object"),
}


class Field(NamedTuple):
    """A field of an object: its type, and whether it must be there."""

    hint: Hint
    required: bool


def _origin(hint: Hint) -> Any:
    return typing.get_origin(hint)


def leaves(hint: Hint) -> list[Hint]:
    """Return the alternatives of a type, without what only wraps them."""
    if isinstance(hint, list):  # of leaves
        return hint
    if isinstance(hint, Shape):
        return [hint]
    if isinstance(hint, typing_extensions.TypeAliasType):
        return leaves(hint.__value__)
    origin = _origin(hint)
    if isinstance(origin, typing_extensions.TypeAliasType):
        return leaves(origin.__value__[get_args(hint)])
    if origin in _WRAPPERS:
        return leaves(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return [leaf for each in get_args(hint) for leaf in leaves(each)]
    return [hint]


def kind_of(leaf: Hint) -> str:
    """Return the kind of JSON that a leaf is."""
    if isinstance(leaf, Shape):
        document = getattr(leaf, "is_document_type", False)
        return OPEN if document else _SHAPES.get(leaf.type_name, OPEN)
    if leaf in _SCALARS:
        return _SCALARS[leaf]
    origin = _origin(leaf) or leaf
    if origin in (Literal, typing_extensions.Literal):
        return _SCALARS.get(type(get_args(leaf)[0]), OPEN)
    if typing_extensions.is_typeddict(origin):
        return "object"
    fitting = (kind for base, kind in _CLASSES if _is_a(origin, base))
    return next(fitting, OPEN)


def _is_a(found: Hint, base: type) -> bool:
    return inspect.isclass(found) and found is not object and issubclass(found, base)


@cache
def fields_of(leaf: Hint) -> dict[str, Field]:
    """Return the fields of an object by their names on the wire; a plain map has none."""
    if isinstance(leaf, StructureShape):
        needed = leaf.required_members
        return {name: Field(each, name in needed) for name, each in leaf.members.items()}
    if inspect.isclass(leaf) and issubclass(leaf, pydantic.BaseModel):
        return {
            each.alias or name: Field(each.annotation, each.is_required())
            for name, each in leaf.model_fields.items()
        }
    if typing_extensions.is_typeddict(leaf):
        hints = typing_extensions.get_type_hints(leaf, include_extras=True)
        return {name: Field(each, _is_required(leaf, name, each)) for name, each in hints.items()}
    return {}


def _is_required(leaf: Hint, name: str, hint: Hint) -> bool:
    """Say it by the wrapper; annotations that are strings hide it from the class."""
    if _origin(hint) in (typing.Required, typing_extensions.Required):
        return True
    optional = _origin(hint) in (typing.NotRequired, typing_extensions.NotRequired)
    return name in leaf.__required_keys__ and not optional


def items_of(leaf: Hint) -> Hint:
    """Return the type of an array's items."""
    if isinstance(leaf, ListShape):
        return leaf.member
    return next(iter(get_args(leaf)), Any)


def object_leaf(hint: Hint, value: Mapping[str, Json]) -> Hint | None:
    """Return the alternative that an object is meant to be: the first that its fields fit."""
    for leaf in leaves(hint):
        fields = fields_of(leaf)
        known = kind_of(leaf) == "object" and fields and value.keys() <= fields.keys()
        if known and all(_fits(fields[name].hint, each) for name, each in value.items()):
            return leaf
    return None


def _fits(hint: Hint, value: Json) -> bool:
    words = [word for leaf in leaves(hint) for word in words_of(leaf)]
    plain = any(not words_of(leaf) for leaf in leaves(hint))
    return plain or not isinstance(value, str) or value in words


def words_of(leaf: Hint) -> list[Json]:
    """Return the words of an enumeration; none for other leaves."""
    if _origin(leaf) in (Literal, typing_extensions.Literal):
        return list(get_args(leaf))
    if inspect.isclass(leaf) and issubclass(leaf, enum.Enum):
        return [each.value for each in leaf]
    return list(getattr(leaf, "enum", ())) if isinstance(leaf, Shape) else []


def wrong_value(hint: Hint) -> Json:
    """Return a value of a kind that a type does not have; None if it may hold any."""
    kinds = {kind_of(leaf) for leaf in leaves(hint)}
    if OPEN in kinds:
        return None
    if "object" not in kinds:
        return {"surprise": 1}
    if "string" not in kinds:
        return "seven"
    return None if kinds & {"number", "integer"} else 7


def right_value(hint: Hint) -> Json:
    """Return a plausible value of a type: what must be there, and no more."""
    found = [leaf for leaf in leaves(hint) if kind_of(leaf) not in ("null", OPEN)]
    return _right_leaf(found[0]) if found else "a"


def _right_leaf(leaf: Hint) -> Json:
    if words := [word for word in words_of(leaf) if "UNSPECIFIED" not in str(word)]:
        return words[0]
    kind = kind_of(leaf)
    if leaf is bytes or getattr(leaf, "type_name", "") == "blob":
        return "QUJD"
    if kind == "array":
        return [right_value(items_of(leaf))]
    if kind == "object":
        fields = fields_of(leaf)
        needed = {name for name, each in fields.items() if each.required}
        if isinstance(leaf, StructureShape) and leaf.is_tagged_union:
            needed = {next(iter(fields))}
        return {name: right_value(fields[name].hint) for name in fields if name in needed}
    return {"string": "a", "integer": 1, "number": 0.5, "boolean": True}[kind]


class Place(NamedTuple):
    """An object inside a request, with its type."""

    path: tuple[str | int, ...]
    leaf: Hint


def places(value: Json, hint: Hint, path: tuple[str | int, ...] = ()) -> Iterator[Place]:
    """Yield every object of a request that the vendor's types describe."""
    if isinstance(value, list):
        arrays = [leaf for leaf in leaves(hint) if kind_of(leaf) == "array"]
        inner = [leaf for array in arrays for leaf in leaves(items_of(array))]
        for number, each in enumerate(value if arrays else ()):
            yield from places(each, inner, (*path, number))
    if isinstance(value, dict) and (leaf := object_leaf(hint, value)) is not None:
        yield Place(path, leaf)
        for name, each in value.items():
            yield from places(each, fields_of(leaf)[name].hint, (*path, name))
