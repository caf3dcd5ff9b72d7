"""Items that a client names instead of sending them (OpenAI, conversation state)."""

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from pondero.canon import HttpRequest, get_decoder

MARK = b'"response.completed"'
"""In the event that has the whole answer."""

_FIELDS = get_decoder(dict[str, Raw])
_LIST = get_decoder(list[Raw])
_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Head(Struct):
    type: str | None = None
    id: str | None = None
    role: str | None = None


class _Answer(Struct):
    output: list[Raw] = []


class _StreamEvent(Struct):
    response: _Answer | None = None


_HEAD, _WHOLE, _EVENT = get_decoder(_Head), get_decoder(_Answer), get_decoder(_StreamEvent)


def find(http: HttpRequest) -> tuple[str, ...]:
    """Return the ids of the items that a request names."""
    return tuple(id for _, id in _references(http)[1])


def replace_items(http: HttpRequest, items: Mapping[str, bytes]) -> HttpRequest:
    """Return the request with these items in place of their references."""
    turns, references = _references(http)
    for place, id in references:
        if id in items:
            turns[place] = Raw(items[id])
    fields = {**_FIELDS.decode(http.body), "input": turns}
    return replace(http, body=msgspec.json.encode(fields))


def _references(http: HttpRequest) -> tuple[list[Raw], list[tuple[int, str]]]:
    """Return the items of the input, and the places and ids of references among them."""
    if b'"id"' not in http.body and b"\\u00" not in http.body:
        return [], []
    try:
        turns = _LIST.decode(_FIELDS.decode(http.body).get("input", b"[]"))
        heads = [_HEAD.decode(raw) for raw in turns]
    except _ERRORS:
        return [], []  # ``parse`` rejects it, or it is plain text
    found = [
        (place, head.id)
        for place, head in enumerate(heads)
        if head.id is not None
        and (head.type == "item_reference" or (head.type is None and head.role is None))
    ]
    return turns, found


def keeps(http: HttpRequest) -> bool:
    """Return whether the client lets its answer be stored; it does unless it says no."""
    try:
        return bytes(_FIELDS.decode(http.body).get("store", b"true")) != b"false"
    except _ERRORS:
        return False


def find_items(data: bytes, *, stream: bool) -> dict[str, bytes]:
    """Return the items of an answer, or of the last event of a stream, by id."""
    try:
        answer = _EVENT.decode(data).response if stream else _WHOLE.decode(data)
        output = answer.output if answer is not None else []
        return {head.id: bytes(raw) for raw in output if (head := _HEAD.decode(raw)).id is not None}
    except _ERRORS:
        return {}
