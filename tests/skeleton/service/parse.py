"""A request as it is meant: typed, then in our words. The rules are elsewhere."""

import msgspec

from pondero.canon import (
    HttpRequest,
    Message,
    Part,
    Request,
    Signature,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    decode_json,
)
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import ParsedRequest
from pondero.thinking import UNSET, Intent

from . import types
from .errors import refuse

_INTENTS = {None: UNSET, "on": Intent("on"), "off": Intent("off")}


class Context(msgspec.Struct, frozen=True):
    """What an answer must know of its request; this wire needs nothing more than the request."""


def parse(http: HttpRequest) -> ParsedRequest[Context]:
    """Return what was asked; what we do not know is left out and listed. For gateways."""
    unknown = UnknownFields()
    typed = body(http.body, unknown)
    return ParsedRequest(
        request=canon(typed),
        intent=intent(typed),
        unknown=tuple(unknown.paths),
        context=Context(),
    )


def body(data: bytes, unknown: UnknownFields | None = None) -> types.Body:
    """Return the typed body; strict, unless somebody collects what is unknown."""
    try:
        if unknown is not None:
            return unknown.decode(data, types.Body)
        return decode_json(data, types.Body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refuse(str(error)) from None


def intent(body: types.Body) -> Intent:
    """Return what the request says about thinking."""
    return _INTENTS[body.think]


def canon(body: types.Body) -> Request:
    """Return the request that a body stands for."""
    extras = None if body.seed is None else {"seed": body.seed}
    return Request(
        body.model,
        tuple(Message(each.role, tuple(map(_part, each.parts))) for each in body.messages),
        system=(Text(body.system),) if body.system else (),
        tools=tuple(Tool(each.name, each.description, each.schema) for each in body.tools or ()),
        max_tokens=body.max_tokens,
        temperature=body.temperature,
        stream=body.stream,
        extras=extras,
    )


def _part(part: types.Part) -> Part:
    match part:
        case types.TextPart():
            return Text(part.text)
        case types.ThinkingPart():
            return Thinking(part.text, Signature(types.NAME, part.proof) if part.proof else None)
        case types.CallPart():
            return ToolCall(part.id, part.name, part.arguments)
        case types.ResultPart():
            return ToolResult(part.id, tuple(map(Text, part.texts)))
