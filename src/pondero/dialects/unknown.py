"""The lenient road of a service's side: fields its types do not have are left out and listed.

A gateway reads requests of clients that are newer than our types; the emulator refuses the same
fields, as the services do.
"""

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from ..canon import Json

T = TypeVar("T")


class Unknown:
    """Collects the paths of the fields that were left out."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def convert(self, raw: Json, kind: type[T], *, at: str = "") -> T:
        """Return JSON values as a type; raises ValidationError for what is wrong, not unknown."""
        try:
            return msgspec.convert(raw, kind)
        except msgspec.ValidationError:
            return msgspec.convert(self.known(raw, kind, at=at), kind)

    def decode(self, data: bytes | msgspec.Raw, kind: type[T], *, at: str = "") -> T:
        """Return bytes of JSON as a type; raises as ``convert`` does, and DecodeError."""
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.ValidationError:
            known = self.known(msgspec.json.decode(data), kind, at=at)
            return msgspec.json.decode(msgspec.json.encode(known), type=kind)

    def known(self, raw: Json, kind: type, *, at: str = "") -> Json:
        """Return the JSON values without the fields that a type does not have."""
        return self._known(raw, _info(kind), at)

    def _known(self, raw: Json, info: inspect.Type, at: str) -> Json:
        info = _chosen(info, raw)
        if isinstance(info, inspect.StructType) and isinstance(raw, dict):
            return self._struct(raw, info, at)
        if isinstance(raw, list):
            inner = getattr(info, "item_type", None)
            if inner is not None:
                return [self._known(each, inner, _join(at, n)) for n, each in enumerate(raw)]
        if isinstance(info, inspect.DictType) and isinstance(raw, dict):
            return {k: self._known(v, info.value_type, _join(at, k)) for k, v in raw.items()}
        return raw

    def _struct(self, raw: dict[str, Json], info: inspect.StructType, at: str) -> Json:
        fields = {field.encode_name: field.type for field in info.fields}
        kept: dict[str, Json] = {}
        for name, value in raw.items():
            if name in fields:
                kept[name] = self._known(value, fields[name], _join(at, name))
            elif name == info.tag_field or not info.forbid_unknown_fields:
                kept[name] = value
            else:
                self.paths.append(_join(at, name))
        return kept


@cache
def _info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _chosen(info: inspect.Type, raw: Json) -> inspect.Type:
    """Return the member of a union that a value is meant for; the type itself where it is none."""
    while isinstance(info, inspect.Metadata):
        info = info.type
    if not isinstance(info, inspect.UnionType):
        return info
    return next((_chosen(each, raw) for each in info.types if _fits(each, raw)), info)


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
