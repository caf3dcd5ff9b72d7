"""Reads protocol buffers in JSON: either case, null absent, one value for a list, any base64."""

import base64
import binascii
import re
from collections.abc import Callable, Collection
from functools import cache
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from pondero.canon import Json
from pondero.dialects.bodies import UnknownFields

from .types import (
    DynamicRetrievalConfig,
    GoogleSearchRetrieval,
    Schema,
    SpeechMetadata,
    Wire,
    WordInfo,
)
from .words import Base64, Int64

_PACKAGE = "type.googleapis.com/google.ai.generativelanguage.v1beta"
_HUMP = re.compile(r"(?<!^)([A-Z])")
_TYPES: dict[Any, str] = {
    str: "TYPE_STRING",
    bool: "TYPE_BOOL",
    int: "TYPE_INT32",
    Int64: "TYPE_INT64",
    float: "TYPE_FLOAT",
    Base64: "TYPE_BYTES",
}
_LEAST: dict[Any, int] = {int: -(2**31), Int64: -(2**63)}
# Messages of which the lenient reading leaves out a value that is no object.
_PASSABLE = (Schema, SpeechMetadata, WordInfo, GoogleSearchRetrieval, DynamicRetrievalConfig)
_M = TypeVar("_M", bound=Wire)
_LONG_SCHEMA, _SCHEMAS = 4_096, 1_024
_FITTING: dict[bytes, bool] = {}
"""The JSON of schemas in which everything is known, the oldest first."""


class Violation(Struct, frozen=True):
    """What is wrong with which field, and the name of the broken rule."""

    rule: str
    field: str
    description: str


class Reader:
    """Reads messages; leaves misfits out and lists them in ``violations``.

    With ``unknown``, most misfits go there by path; wrong messages and base64 stay violations.
    ``lacking`` are fields that this deployment does not have, with the names of their messages.
    """

    def __init__(
        self,
        text: Callable[..., str],
        unknown: UnknownFields | None = None,
        lacking: Collection[str] = (),
    ) -> None:
        self.violations: list[Violation] = []
        self._text = text
        self._unknown = unknown
        self._lacking = lacking

    def message(self, kind: type[_M], raw: Json, path: str = "") -> _M:
        """Return one message."""
        if not isinstance(raw, dict):
            self._invalid(path, f"{_PACKAGE}.{kind.__name__}", raw, passable=kind in _PASSABLE)
            return kind()
        fields, names = fields_of(kind), _names_of(kind)
        found: dict[str, Json] = {}
        for key, value in raw.items():
            name = names.get(key) or snake(key)
            if name not in fields or (self._lacking and f"{kind.__name__}.{name}" in self._lacking):
                self._reject_name("unknown_name", path, key)
            elif fields[name] is str and isinstance(value, str):  # as most are
                found[name] = value
            elif value is not None:
                read = self._field(fields[name], value, f"{path}.{name}" if path else name, key)
                if read is not None:
                    found[name] = read
        return kind(raw=raw, **found)

    def _field(self, kind: Any, value: Json, path: str, key: str) -> Json:
        origin, inner = _shape_of(kind)
        if origin is list:
            values = value if isinstance(value, list) else [value]
            of = inner[0]
            found = [self._one(of, one, f"{path}[{n}]") for n, one in enumerate(values)]
            return [one for one in found if one is not None]
        if isinstance(value, list) and kind is not Any:
            above = path.rpartition(".")[0]
            return self._reject_name("list", above, key)
        if origin is dict and inner[1] is not Any and isinstance(value, dict):
            return {
                name: self._one(inner[1], one, f"{path}[{number}].value")
                for number, (name, one) in enumerate(value.items())
            }
        return self._one(kind, value, path)

    def _one(self, kind: Any, value: Json, path: str) -> Json:
        if kind is str and isinstance(value, str):
            return value
        if kind is Schema and self._unknown is not None and isinstance(value, dict):
            return self._schema(value, path, self._unknown)
        if isinstance(kind, type) and issubclass(kind, Wire):
            return self.message(kind, value, path)
        origin, words = _shape_of(kind)
        if origin is Literal:
            return self._word(words, value, path)
        if kind is Base64 and self._takes_any_base64(value, path):
            return value
        read = _scalar(kind, value)
        if read is not None:
            return read
        if kind is Base64 and isinstance(value, str):
            text = self._text("bad_base64", path=path, value=_quote(value))
            return self._misfit(path, Violation("bad_base64", path, text), passable=False)
        return self._invalid(path, _TYPES.get(kind, "TYPE_MESSAGE"), value)

    def _takes_any_base64(self, value: Json, path: str) -> bool:
        """Return whether a signature is taken as it is: the service that made it will read it."""
        is_lenient = self._unknown is not None and path.endswith(".thought_signature")
        return is_lenient and isinstance(value, str)

    def _schema(self, value: dict[str, Json], path: str, unknown: UnknownFields) -> Schema:
        """Return a schema, of which only its JSON is used; clients send the same ones again."""
        try:
            data = msgspec.json.encode(value)
        except (UnicodeEncodeError, OverflowError):
            data = b""
        if data in _FITTING:
            return Schema(raw=value)
        before = len(unknown.paths), len(self.violations)
        read = self.message(Schema, value, path)
        fits = before == (len(unknown.paths), len(self.violations))
        if fits and 0 < len(data) < _LONG_SCHEMA:
            _FITTING[data] = True
            if len(_FITTING) > _SCHEMAS:
                del _FITTING[next(iter(_FITTING))]
        return read

    def _word(self, words: tuple[str, ...], value: Json, path: str) -> Json:
        if isinstance(value, str) and value.upper() in words:
            return value.upper()
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(words):
            return words[value]
        return self._invalid(path, f"{_PACKAGE}.{camel(path.rpartition('.')[2])}", value)

    def _reject_name(self, rule: str, path: str, key: str) -> None:
        text = self._text(rule, name=key, at=f" at '{path}'" if path else "")
        self._misfit(f"{path}.{key}" if path else key, Violation(rule, path, text))

    def _invalid(self, path: str, kind: str, value: Json, *, passable: bool = True) -> None:
        text = self._text("wrong_type", path=path, kind=kind, value=_quote(value))
        self._misfit(path, Violation("wrong_type", path, text), passable=passable)

    def _misfit(self, path: str, violation: Violation, *, passable: bool = True) -> None:
        if self._unknown is not None and passable:
            self._unknown.paths.append(path)
        else:
            self.violations.append(violation)


def snake(name: str) -> str:
    """Return a field's name as the messages have it."""
    return _HUMP.sub(r"_\1", name).lower() if name[:1].islower() else name


def camel(name: str) -> str:
    """Return a field's name as JSON usually has it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def from_base64(text: str) -> bytes | None:
    """Return the bytes, of either alphabet, padded or not; None if it is not base64."""
    standard = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


@cache
def fields_of(kind: type[Wire]) -> dict[str, Any]:
    """Return the types of a message's fields by their names."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name != "raw"}
    return {name: _without_none(hint) for name, hint in hints.items()}


@cache
def _names_of(kind: type[Wire]) -> dict[str, str]:
    """Return the names of a message's fields by their usual spellings."""
    return {spelt: name for name in fields_of(kind) for spelt in (name, camel(name))}


@cache
def _shape_of(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return what a type is made with, and of what."""
    return get_origin(kind), get_args(kind)


def _without_none(hint: Any) -> Any:
    if NoneType not in get_args(hint):
        return hint
    return next(each for each in get_args(hint) if each is not NoneType)


def _scalar(kind: Any, value: Json) -> Json:
    if kind is Any:
        return value
    if kind in _LEAST:
        return _whole(value, _LEAST[kind])
    if kind is float:
        return _number(value)
    if kind is Base64:
        return value if isinstance(value, str) and from_base64(value) is not None else None
    plain = _shape_of(kind)[0] or kind
    return value if isinstance(value, plain) else None


def _whole(value: Json, least: int) -> Json:
    read = _number(value)
    fits = read is not None and read == read // 1 and least <= read < -least
    return int(read) if fits else None


def _number(value: Json) -> Json:
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}(\.\d{1,18})?", value):
        value = float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None


def _quote(value: Json) -> str:
    return msgspec.json.encode(value).decode()
