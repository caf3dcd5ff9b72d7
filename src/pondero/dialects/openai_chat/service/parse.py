"""A request's bytes to the strict types, or the service's own complaint about them."""

import re
from typing import NoReturn

import msgspec

from pondero.canon import Json

from . import types
from .errors import Denier, listed
from .lenient import FIELDS, eased
from .models import Service

_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?\$\.?(?P<path>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_TYPE = re.compile(r"Expected `(.*)`, got `(.*)`")
_VALUE = re.compile(r"Invalid (?:enum )?value (.*)")
_SHORT = re.compile(r"Expected `(array|str)` of length >= 1")
_ARTICLES = {
    "str": "a string",
    "int": "an integer",
    "float": "a decimal",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_PARTS = ("text", "image_url", "input_audio", "refusal", "audio", "file")

_TOP = set(types.Body.__struct_fields__)


def parse(
    data: bytes, service: Service, denier: Denier, *, named: str | None
) -> tuple[types.Body, dict[str, Json]]:
    """Return the typed request, and the fields beside it that the service takes.

    ``named`` is the model where the body says none.
    """
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        denier.deny("We could not parse the JSON body of your request.")
    if not isinstance(raw, dict):
        denier.deny("Invalid type for the request body: expected an object.", code="invalid_type")
    beside = {key: value for key, value in raw.items() if key not in _TOP}
    knobs = {knob.path[0] for knob in service.knob}
    if service.strict:
        for key in beside:
            if key not in service.fields and key not in knobs:
                denier.unknown(key)
    known = {key: value for key, value in raw.items() if key in _TOP}
    if isinstance(messages := known.get("messages"), list):
        _check_fields(messages, service, denier)
    if not service.strict:
        known = eased(known)
    if named is not None and known.get("model") is None:
        known["model"] = named
    try:
        return msgspec.convert(known, types.Body), beside
    except msgspec.ValidationError as error:
        _complain(str(error), denier)


def _check_fields(messages: list[Json], service: Service, denier: Denier) -> None:
    """Refuse what a service has on no list of a message's fields."""
    for index, message in enumerate(messages):
        role = str(message.get("role")) if isinstance(message, dict) else ""
        known = FIELDS.get(role, set())
        for key in message if known else ():
            if key in service.foreign or (service.closed and key not in known):
                where = f"messages.{index}.{key}"
                denier.say("field", param=where, index=index, role=role, field=key)
                denier.unknown(where)
        content = message.get("content") if known else None
        for part in content if service.parts and isinstance(content, list) else ():
            kind = part.get("type") if isinstance(part, dict) else None
            if kind not in service.parts:
                denier.say("part", index=index, kind=kind)


def _complain(error: str, denier: Denier) -> NoReturn:
    found = _AT.match(error)
    what, path = (found["what"], found["path"] or "") if found else (error, "")
    if unknown := _UNKNOWN.match(what):
        denier.unknown(f"{path}.{unknown[1]}" if path else unknown[1])
    if missing := _MISSING.match(what):
        param = f"{path}.{missing[1]}" if path else missing[1]
        message = f"Missing required parameter: '{param}'."
        denier.deny(message, param=param, code="missing_required_parameter")
    if wrong := _TYPE.match(what):
        expected = [_ARTICLES.get(each, each) for each in wrong[1].split(" | ") if each != "null"]
        first = "one of " + " or ".join(expected) if len(expected) > 1 else expected[0]
        if set(expected) == {"a string", "an array"}:
            first = "one of a string or array of objects"
        got = _ARTICLES.get(wrong[2], wrong[2])
        message = f"Invalid type for '{path}': expected {first}, but got {got} instead."
        denier.deny(message, param=path, code="invalid_type")
    if value := _VALUE.match(what):
        supported = _PARTS if path.endswith(".type") else _ROLES if path.endswith(".role") else ()
        message = f"Invalid value: {value[1]}."
        if supported:
            message += f" Supported values are: {listed(supported)}."
        denier.deny(message, param=path, code="invalid_value")
    if short := _SHORT.match(what):
        kind = "array" if short[1] == "array" else "string"
        message = (
            f"Invalid '{path}': empty {kind}. Expected {'an' if kind == 'array' else 'a'} {kind} "
            f"with minimum length 1, but got an empty {kind} instead."
        )
        denier.deny(message, param=path, code=f"empty_{kind}")
    denier.deny(f"Invalid '{path}': {what}.", param=path or None, code="invalid_value")
