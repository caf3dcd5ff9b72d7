"""Decodes JSON into types; every room does it here, because msgspec needs a lock for it.

msgspec learns a type when it is first decoded into, and keeps what it learned on the type itself,
half finished at first: a second thread that decodes into the same type meanwhile reads an
unfinished table and the process dies (msgspec 0.22). So every type is learned under one lock.
"""

import sys
from _thread import RLock  # of threading, without its import
from functools import lru_cache
from typing import Any, TypeVar, overload

import msgspec
from msgspec.json import Decoder

T = TypeVar("T")

_LEARNING = RLock()
_KINDS = 1024  # more than there are here; a user's own types come and go


@overload
def get_decoder(kind: type[T]) -> Decoder[T]: ...
@overload
def get_decoder(kind: Any) -> Decoder[Any]: ...
def get_decoder(kind: Any) -> Decoder[Any]:
    """Return the decoder of a type; safe where many threads ask first."""
    with _LEARNING:
        return Decoder(kind)


@overload
def decode_json(data: bytes | str | msgspec.Raw, kind: type[T]) -> T: ...
@overload
def decode_json(data: bytes | str | msgspec.Raw, kind: Any) -> Any: ...
def decode_json(data: bytes | str | msgspec.Raw, kind: Any) -> Any:
    """Return JSON as a value of a type; raises ValidationError or DecodeError."""
    return _known(kind).decode(data)


@overload
def convert_json(
    value: Any, kind: type[T], *, strict: bool = True, builtins: tuple[type, ...] = ()
) -> T: ...
@overload
def convert_json(
    value: Any, kind: Any, *, strict: bool = True, builtins: tuple[type, ...] = ()
) -> Any: ...
def convert_json(
    value: Any, kind: Any, *, strict: bool = True, builtins: tuple[type, ...] = ()
) -> Any:
    """Return JSON values as a value of a type; raises ValidationError.

    Where it is not ``strict``, numbers and truth values may be written as strings. ``builtins``
    are types that stand in the values as they are, beside those of JSON.
    """
    _known(kind)
    return msgspec.convert(value, kind, strict=strict, builtin_types=builtins or None)


def pydantic_adapter(kind: Any) -> Any:
    """Return pydantic's adapter of a type that has pydantic models inside; None for any other.

    Who has such a model has loaded pydantic; it is not loaded here.
    """
    pydantic = sys.modules.get("pydantic")
    if pydantic is None:
        return None
    try:
        return _adapted(kind, pydantic)
    except TypeError:  # a type that msgspec cannot describe, or an annotation without a hash
        return None


@lru_cache(_KINDS)
def _adapted(kind: Any, pydantic: Any) -> Any:
    inside: list[Any] = []  # the types that msgspec does not know

    def noted(each: Any) -> dict[str, Any]:
        inside.append(each)
        return {"type": "object"}

    msgspec.json.schema_components((kind,), schema_hook=noted)
    if not any(isinstance(each, type) and issubclass(each, pydantic.BaseModel) for each in inside):
        return None
    try:
        return pydantic.TypeAdapter(kind)
    except pydantic.PydanticUserError:  # it does not know another type in there
        return None


_cached = lru_cache(_KINDS)(get_decoder)


def _known(kind: Any) -> Decoder[Any]:
    try:
        return _cached(kind)
    except TypeError:  # an annotation can hold what has no hash
        return get_decoder(kind)
