"""Responses wire to canon: whole answers, streams, errors, and whether it is ours at all."""

from typing import Any

import msgspec

from pondero.canon import Event, Head, Json, Started
from pondero.dialects.dialect import Where
from pondero.errors import Malformed
from pondero.framing import parse

from .errors import error, in_stream
from .parts import Items
from .stream import Stream
from .usage import answer_decoder, finished

__all__ = ["decode", "error", "recognises", "stream"]

_output = msgspec.json.Decoder(list[Any])


def decode(head: Head, body: bytes, where: Where) -> list[Event]:
    """Return the events of a whole answer, the same a stream would give."""
    answer = parse(body, answer_decoder)
    if answer.error is not None or answer.status == "failed":
        raise in_stream(head, answer.error)
    if not answer.output:
        raise Malformed("missing required field `output`")
    items = Items(model=where.model or answer.model, route=where.route)
    items.answer_id = answer.id
    items.stored = answer.store is not False
    events: list[Event] = [Started(answer.model, answer.id)]
    output: list[Json] = parse(answer.output, _output, at="$.output")
    for place, item in enumerate(output):
        items.end(place, item, events, at=f"$.output[{place}]")
    events.append(finished(answer, items.seen))
    return events


def stream(head: Head, where: Where) -> Stream:
    """Return a decoder for one streamed answer."""
    return Stream(head, model=where.model, route=where.route)


def recognises(raw: Json, *, stream: bool) -> int:
    """Return how surely this JSON (a body, or a stream's first object) is ours: 0 to 100."""
    if not isinstance(raw, dict):
        return 0
    if stream:
        kind = raw.get("type")
        return 100 if isinstance(kind, str) and kind.startswith("response.") else 0
    if raw.get("object") == "response":
        return 100
    if isinstance(raw.get("output"), list) and "choices" not in raw:
        return 70
    inner = raw.get("error")
    return 15 if isinstance(inner, dict) and "message" in inner and "param" in inner else 0
