"""Decodes JSON into types. Every room decodes here, because msgspec needs a lock.

msgspec 0.22 builds a table on a type when it first decodes into it. A second thread that decodes
into the same type meanwhile reads the unfinished table, and the process dies.
"""

import sys
from _thread import RLock  # cheaper than importing threading
from functools import lru_cache
from types import UnionType
from typing import (
    Any,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
    overload,
)

import msgspec
from msgspec.json import Decoder

T = TypeVar("T")

_LEARNING = RLock()
_KINDS = 1024  # more types than we have; users' types come and go


@overload
def get_decoder(kind: type[T]) -> Decoder[T]: ...
@overload
def get_decoder(kind: Any) -> Decoder[Any]: ...
def get_decoder(kind: Any) -> Decoder[Any]:
    """Return the decoder of a type; threads may call it at once."""
    with _LEARNING:
        return Decoder(kind)


@overload
def decode_json(data: bytes | str | msgspec.Raw, kind: type[T]) -> T: ...
@overload
def decode_json(data: bytes | str | msgspec.Raw, kind: Any) -> Any: ...
def decode_json(data: bytes | str | msgspec.Raw, kind: Any) -> Any:
    """Decode JSON into a type; raises ValidationError or DecodeError."""
    try:
        decoder = _cached(kind)
    except TypeError:  # an annotation without a hash
        decoder = get_decoder(kind)
    return decoder.decode(data)


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
    """Convert JSON values to a type; raises ValidationError.

    If not ``strict``, numbers and booleans may be strings. Values of the types ``builtins`` are
    kept unchanged.
    """
    _cached_decoder(kind)
    return msgspec.convert(value, kind, strict=strict, builtin_types=builtins or None)


def pydantic_adapter(kind: Any) -> Any:
    """Return pydantic's adapter for a type that needs it, else None.

    Types with pydantic models or fields need it, and those that msgspec cannot describe, as a union
    of two dataclasses; for the latter it is imported, if it is installed.
    """
    try:
        return _build_adapter(kind, sys.modules.get("pydantic"))
    except TypeError:  # an annotation without a hash
        return _build_adapter.__wrapped__(kind, sys.modules.get("pydantic"))


@lru_cache(_KINDS)
def _build_adapter(kind: Any, pydantic: Any) -> Any:
    inside: list[Any] = []  # types unknown to msgspec

    def note_type(each: Any) -> dict[str, Any]:
        inside.append(each)
        return {"type": "object"}

    try:
        msgspec.json.schema_components((kind,), schema_hook=note_type)
    except TypeError:
        pydantic = pydantic or _import_pydantic()
    else:
        limits = pydantic is not None and _has_limits(kind, set())
        if not limits and not any(_is_model(each, pydantic) for each in inside):
            return None
    if pydantic is None:
        return None
    try:
        return pydantic.TypeAdapter(kind)
    except (pydantic.PydanticUserError, pydantic.PydanticUndefinedAnnotation):
        return None  # the type also contains one unknown to pydantic


def _has_limits(kind: Any, seen: set[int]) -> bool:
    """Return whether a type has limits in pydantic's words, which msgspec would ignore."""
    if id(kind) in seen:
        return False
    seen.add(id(kind))
    said = getattr(kind, "__metadata__", ())
    if any(type(each).__module__.partition(".")[0] in _LIMITS for each in said):
        return True
    inside = [*get_args(kind), *getattr(kind, "__args__", ())]
    if isinstance(kind, type) and (is_typeddict(kind) or hasattr(kind, "__dataclass_fields__")):
        try:
            inside += get_type_hints(kind, include_extras=True).values()
        except (NameError, TypeError):
            return False
    return any(_has_limits(each, seen) for each in inside)


_LIMITS = ("pydantic", "annotated_types")


def _is_model(kind: Any, pydantic: Any) -> bool:
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def _import_pydantic() -> Any:
    try:
        import pydantic  # noqa: PLC0415 - not ours: few programs have it, and it is slow
    except ImportError:
        return None
    return pydantic


def union_members(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union; empty for another type."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else ()


_cached = lru_cache(_KINDS)(get_decoder)


def _cached_decoder(kind: Any) -> Decoder[Any]:
    try:
        return _cached(kind)
    except TypeError:  # an annotation without a hash
        return get_decoder(kind)
