"""Request bodies on the services' sides: the model they name, and their unknown fields."""

from collections.abc import Collection, Iterator
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

from ..canon import HttpRequest, Json, convert_json, decode_json

T = TypeVar("T")


class UnknownFields:
    """Collects the paths of unknown fields."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def convert(self, raw: Json, kind: type[T], *, at: str = "") -> T:
        """Return JSON values as a type; raises ValidationError for invalid, not unknown, fields."""
        try:
            return convert_json(raw, kind)
        except msgspec.ValidationError:
            return convert_json(self.strip_unknown(raw, kind, at=at), kind)

    def decode(self, data: bytes | msgspec.Raw, kind: type[T], *, at: str = "") -> T:
        """Return bytes of JSON as a type; raises like ``convert``, and DecodeError."""
        try:
            return decode_json(data, kind)
        except msgspec.ValidationError:
            known = self.strip_unknown(msgspec.json.decode(data), kind, at=at)
            return decode_json(msgspec.json.encode(known), kind)

    def strip_unknown(self, raw: Json, kind: type, *, at: str = "") -> Json:
        """Return JSON values without the fields that a type lacks."""
        return self._strip(raw, _info(kind), at)

    def _strip(self, raw: Json, info: inspect.Type, at: str) -> Json:
        info = _select_member(info, raw)
        if isinstance(info, inspect.StructType) and isinstance(raw, dict):
            return self._strip_struct(raw, info, at)
        if isinstance(raw, list):
            inner = getattr(info, "item_type", None)
            if inner is not None:
                return [self._strip(each, inner, _join(at, n)) for n, each in enumerate(raw)]
        if isinstance(info, inspect.DictType) and isinstance(raw, dict):
            return {k: self._strip(v, info.value_type, _join(at, k)) for k, v in raw.items()}
        return raw

    def _strip_struct(self, raw: dict[str, Json], info: inspect.StructType, at: str) -> Json:
        fields = {field.encode_name: field.type for field in info.fields}
        kept: dict[str, Json] = {}
        for name, value in raw.items():
            if name in fields:
                kept[name] = self._strip(value, fields[name], _join(at, name))
            elif name == info.tag_field or not info.forbid_unknown_fields:
                kept[name] = value
            else:
                self.paths.append(_join(at, name))
        return kept


def make_lenient_type(kind: type[T]) -> type[T]:
    """Return a type that reads the same JSON without checking ranges, patterns and literals."""
    hashable: Any = kind
    found: type[T] = _relax(hashable)
    return found


@cache
def _relax(kind: Any) -> Any:
    origin, within = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _relax(within[0])
    if origin is Literal:
        return str if all(isinstance(each, str) for each in within) else kind
    if origin in (Union, UnionType):
        return reduce(or_, (_relax(each) for each in within))
    if origin is not None:
        return origin[tuple(_relax(each) for each in within)]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _relax_struct(kind)
    return kind


def _relax_struct(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    types = get_type_hints(kind, include_extras=True)
    fields = [
        (field.name, _relax(types[field.name]), _default(field))
        for field in msgspec.structs.fields(kind)
        if _relax(types[field.name]) != types[field.name]
    ]
    if not fields:
        return kind
    frozen = kind.__struct_config__.frozen
    return msgspec.defstruct(kind.__name__, fields, bases=(kind,), frozen=frozen, kw_only=True)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return field.default


@cache
def _info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _select_member(info: inspect.Type, raw: Json) -> inspect.Type:
    while isinstance(info, inspect.Metadata):
        info = info.type
    if not isinstance(info, inspect.UnionType):
        return info
    return next((_select_member(each, raw) for each in info.types if _fits(each, raw)), info)


def _fits(info: inspect.Type, raw: Json) -> bool:
    while isinstance(info, inspect.Metadata):
        info = info.type
    if isinstance(info, inspect.StructType):
        if not isinstance(raw, dict):
            return False
        return info.tag_field is None or raw.get(info.tag_field) == info.tag
    if isinstance(info, inspect.DictType):
        return isinstance(raw, dict)
    if isinstance(info, inspect.ListType | inspect.VarTupleType | inspect.FrozenSetType):
        return isinstance(raw, list)
    return False


def _join(at: str, name: str | int) -> str:
    return f"{at}.{name}" if at else str(name)


def model_of(http: HttpRequest) -> str | None:
    """Return the model's name; None if the body has none."""
    try:
        return decode_json(http.body, _ModelOnly).model
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def describe_invalid_json(error: Exception) -> str:
    """Return why a body is not JSON; Python's words for its own limit are no client's business."""
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def with_model(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; it must name one already."""
    body = msgspec.json.decode(http.body) | {"model": model}
    return msgspec.structs.replace(http, body=msgspec.json.encode(body))


class _ModelOnly(msgspec.Struct):
    model: str


_CLIENTS_JSON = frozenset(
    {"arguments", "parameters", "input_schema", "output_schema", "schema", "metadata"}
)


def iter_ids(value: Json, names: Collection[str]) -> Iterator[str]:
    """Yield the texts of fields with these names, at any depth; an object stands for its ``id``.

    Schemas and arguments are the client's own JSON, in which such names mean nothing.
    """
    if isinstance(value, list):
        for each in value:
            yield from iter_ids(each, names)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name in names:
                yield from _iter_texts(inner)
            if name not in _CLIENTS_JSON:
                yield from iter_ids(inner, names)


def _iter_texts(value: Json) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        id = each.get("id") if isinstance(each, dict) else each
        if isinstance(id, str) and id:
            yield id


def drop_named(value: Json, names: Collection[str], ids: Collection[str]) -> Json:
    """Return JSON without the list items that have one of these ids in a field of these names."""
    if isinstance(value, list):
        kept = [each for each in value if not _is_named(each, names, ids)]
        return [drop_named(each, names, ids) for each in kept]
    if isinstance(value, dict):
        return {name: drop_named(inner, names, ids) for name, inner in value.items()}
    return value


def _is_named(value: Json, names: Collection[str], ids: Collection[str]) -> bool:
    return isinstance(value, dict) and any(value.get(name) in ids for name in names)
