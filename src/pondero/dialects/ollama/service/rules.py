"""The service reads a request: address, key, types, rules, then what it means."""

import re
from typing import NamedTuple

import msgspec

from pondero.canon import HttpRequest, Json, Output, Request, Tool
from pondero.dialects.dialect import Accepted
from pondero.thinking import Intent, Kind

from .models import Model, refuse, rules
from .options import read_options
from .parse import Reader
from .types import Body

HOUSE = "ollama"
_PATH = "/api/chat"
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
_WRONG = re.compile(r"Expected `(?P<wanted>.*)`, got `(?P<got>.*)` - at `\$\.?(?P<path>.*)`")
_TYPES = {"str": "string", "int": "number", "float": "number"}
_SAID = ("model", "messages", "tools", "format", "options", "stream", "think")


class _Wish(NamedTuple):
    kind: Kind
    level: str | None
    thinks: bool


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    return path.endswith(_PATH)


def accept(http: HttpRequest, service: str) -> Accepted[Json]:
    """Return what was asked, or raise Rejected in the service's own words."""
    _check_door(http, service)
    raw, body = _parsed(http.body)
    if not body.model:
        refuse("model is required")
    model = rules().model(body.model)
    if model is None:
        refuse(f"model '{body.model}' not found", status=404)
    wish = _wish(body, model)
    options = read_options(body.options or {})
    extras = {key: value for key, value in raw.items() if key not in _SAID}
    if options.rest:
        extras["options"] = options.rest
    system, messages = Reader().read(body.messages or ())
    return Accepted(
        request=Request(
            model=body.model,
            messages=messages,
            system=system,
            tools=tuple(_tool(tool) for tool in raw.get("tools") or ()),
            output=_output(body.format),
            max_tokens=options.max_tokens,
            temperature=options.temperature,
            top_p=options.top_p,
            top_k=options.top_k,
            stop=options.stop,
            stream=body.stream is not False,
            extras=extras or None,
        ),
        intent=Intent(wish.kind, wish.level),
        thinks=wish.thinks,
        context=None,
        shown=True,  # what was thought is told, also where it was not to be
    )


def _check_door(http: HttpRequest, service: str) -> None:
    if not serves(http.url.partition("?")[0]):
        refuse("404 page not found", status=404)
    if http.method != "POST":
        refuse("405 method not allowed", status=405)
    scheme, _, token = http.headers.get("authorization", "").partition(" ")
    if service not in rules().keyless and (scheme.lower() != "bearer" or not token.strip()):
        refuse("unauthorized", status=401)


def _parsed(data: bytes) -> tuple[dict[str, Json], Body]:
    try:
        raw = msgspec.json.decode(data)
    except _UNREADABLE as error:
        refuse(str(error) if data else "missing request body")
    try:
        return raw, msgspec.convert(raw, Body)
    except msgspec.ValidationError as error:
        found = _WRONG.match(str(error))
        if found is None:
            refuse(str(error))
        wanted, got = found["wanted"].partition(" | ")[0], found["got"]
        field = re.sub(r"\[\.*\d*\]", "", found["path"])
        refuse(
            f"json: cannot unmarshal {_TYPES.get(got, got)} into Go struct field "
            f"ChatRequest.{field} of type {_TYPES.get(wanted, wanted)}"
        )


def _wish(body: Body, model: Model) -> _Wish:
    think, words = body.think, rules().words
    if think is None:
        return _Wish("unset", None, model.thinks != "no")
    if not isinstance(think, bool) and think not in words:
        if not isinstance(think, str):
            refuse("think must be a boolean or string")
        listed = ", ".join(f'"{word}"' for word in words)
        refuse(f'invalid think value: "{think}" (must be {listed}, true, or false)')
    if think is False:
        return _Wish("off", None, model.thinks == "always")
    if model.thinks == "no":
        refuse(f'"{body.model}" does not support thinking')
    return _Wish("on", None, thinks=True) if think is True else _Wish("level", think, thinks=True)


def _tool(raw: Json) -> Tool:
    function = raw["function"]
    if raw.get("type", "function") != "function":
        return Tool(function["name"], raw=raw)
    return Tool(function["name"], function.get("description") or "", function.get("parameters"))


def _output(said: Json) -> Output | None:
    if said is None or said == "":
        return None
    if said == "json":
        return Output()
    if not isinstance(said, dict):
        refuse(
            f"invalid format: {msgspec.json.encode(said).decode()}; "
            'expected "json" or a valid JSON Schema object'
        )
    return Output(said)
