"""The types of a whole answer and of a stream's events, with only the fields that we read."""

import msgspec
from msgspec import Struct

from pondero.canon import Json, decoder
from pondero.framing import parse


class Piece(Struct, gc=False):
    """A part of the content, whole or a piece of it."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None


class Function(Struct, gc=False):
    """What is called; the arguments are JSON in a string."""

    name: str | None = None
    arguments: str | None = None


class Call(Struct, gc=False):
    """A tool call, whole or a piece of it."""

    id: str | None = None
    function: Function | None = None


class Told(Struct, gc=False):
    """A message, or an event's piece of one: an event has one thing where a message has a list."""

    content: Piece | list[Piece] | str | None = None
    tool_calls: Call | list[Call] | None = None
    tool_plan: str | None = None
    citations: Json = None


class Delta(Struct, gc=False):
    """The news of an event."""

    message: Told | None = None
    finish_reason: str | None = None
    usage: Json = None
    error: str | None = None
    error_type: str | None = None


class Frame(Struct, gc=False):
    """One event of a stream."""

    type: str | None = None
    delta: Delta | None = None
    id: str | None = None
    logprobs: Json = None


class Body(Struct, gc=False):
    """A whole answer; where ``message`` is a string, it is an error's."""

    message: Told | str | None = None
    id: str | None = None
    finish_reason: str | None = None
    usage: Json = None
    logprobs: Json = None


FRAMES = decoder(Frame)
BODIES = decoder(Body)
_ANYTHING: "msgspec.json.Decoder[Json]" = msgspec.json.Decoder()


def raw_part(data: bytes, number: int | None) -> Json:
    """Return a part of the content, untyped: by its number in a body, or an event's only one."""
    raw = parse(data, _ANYTHING)
    message = (raw if number is not None else raw["delta"])["message"]
    return message["content"] if number is None else message["content"][number]
