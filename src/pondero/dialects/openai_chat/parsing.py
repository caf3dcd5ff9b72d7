"""A request's bytes to the strict types, or the service's own complaint about them."""

import re
from typing import NoReturn

import msgspec

from ...canon import Json
from . import wire
from .denial import Denier, listed
from .tables import Service

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

_TOP = set(wire.Body.__struct_fields__)
_MESSAGES = {
    kind.__struct_config__.tag: set(kind.__struct_fields__) | {"role"}
    for kind in (
        wire.System,
        wire.Developer,
        wire.User,
        wire.Assistant,
        wire.ToolAnswer,
        wire.FunctionAnswer,
    )
}
_CALL = set(wire.Call.__struct_fields__)


def parse(data: bytes, service: Service, denier: Denier) -> tuple[wire.Body, dict[str, Json]]:
    """Return the typed request, and the fields beside it that the service takes."""
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
    if not service.strict and isinstance(known.get("messages"), list):
        known["messages"] = [_pruned(message) for message in known["messages"]]
    try:
        return msgspec.convert(known, wire.Body), beside
    except msgspec.ValidationError as error:
        _complain(str(error), denier)


def _pruned(message: Json) -> Json:
    """A lenient service passes over what it does not know of a message."""
    fields = _MESSAGES.get(message.get("role")) if isinstance(message, dict) else None
    if fields is None:
        return message
    kept = {key: value for key, value in message.items() if key in fields}
    if isinstance(calls := kept.get("tool_calls"), list):
        kept["tool_calls"] = [
            {key: value for key, value in call.items() if key in _CALL}
            if isinstance(call, dict)
            else call
            for call in calls
        ]
        kept = kept if calls else {key: kept[key] for key in kept if key != "tool_calls"}
    return kept


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
