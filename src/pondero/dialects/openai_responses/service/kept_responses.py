"""The JSON of stored answers, for a gateway that keeps them for models of any API.

Instructions are not carried over (OpenAI, conversation state: vendor page, 2026-11-15).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from pondero.canon import HttpRequest, Json, get_decoder
from pondero.dialects.dialect import ReplyContext
from pondero.dialects.kept_responses import Continuation, ItemRow, KeptAnswer, NamedItems

from .errors import reject
from .parse import Context
from .reply import Ending, answer, write_json
from .signatures import ItemId, parse_id, stem_of, write_id
from .stored_ids import END_MARKS, read_answer

ENDS = (*END_MARKS, b'"response.failed"')
"""In the event that ends a stream; a failed answer in the background is stored too."""
_END_TYPES = frozenset(mark.strip(b'"').decode() for mark in ENDS)
_OF_INPUT = 0x8000  # places of input items, far from those of the output
_KEPT_BY_US = ("previous_response_id", "conversation")
_FIELDS = get_decoder(dict[str, Raw])
_RAWS = get_decoder(list[Raw])
_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
}
_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _StateFields(Struct):
    """The fields of a request that are about stored answers."""

    previous_response_id: Any = None
    conversation: Any = None
    store: Any = None
    background: Any = None
    stream: Any = None
    input: Raw = Raw(b"null")


_SAID = get_decoder(_StateFields)


class _Item(Struct):
    id: Any = None
    type: Any = None
    role: Any = None


_ITEM = get_decoder(_Item)


def read(http: HttpRequest) -> Continuation:
    """Return what a request says of stored answers; ``parse`` rejects one that is no JSON."""
    try:
        said = _SAID.decode(http.body)
        items = _split(said.input)
    except _ERRORS:
        return Continuation(is_stored=False)
    for name in ("store", "background"):
        if not isinstance(getattr(said, name), bool | None):
            reject("invalid_type", param=name, wanted="a boolean", got="another type")
    held = said.conversation
    held = held.get("id") if isinstance(held, dict) else held
    previous = said.previous_response_id
    for name, id in (("previous_response_id", previous), ("conversation", held)):
        if not isinstance(id, str | None):
            reject("invalid_type", param=name, wanted="a string", got="another type")
    if previous is not None and said.conversation is not None:
        reject("exclusive")
    if held is None and said.conversation is not None:
        reject("missing", param="conversation.id")
    if said.background is True and said.store is False:
        reject("background_unstored", param="background")
    return Continuation(
        previous=previous if isinstance(previous, str) else None,
        conversation=held if isinstance(held, str) else None,
        is_stored=said.store is not False,
        is_background=said.background is True,
        streams=said.stream is True,
        input=items,
    )


def _split(given: Raw) -> tuple[bytes, ...]:
    """Return the items of an input as their sender wrote them."""
    text = bytes(given)
    if text[:1] == b'"':
        return (b'{"type":"message","role":"user","content":%b}' % text,)
    return tuple(map(bytes, _RAWS.decode(text))) if text[:1] == b"[" else ()


def resume(http: HttpRequest, before: Sequence[bytes], known: Mapping[str, bytes]) -> HttpRequest:
    """Return the request with items before its own, and without what a store understands."""
    fields = _FIELDS.decode(http.body)
    own = _split(fields.get("input", Raw(b"null")))
    for name in _KEPT_BY_US:
        fields.pop(name, None)
    if bytes(fields.get("store", b"")) == b"true":
        del fields["store"]  # what the gateway stores need not be stored elsewhere too
    if before or own or "input" in fields:
        items = put((*before, *own), known)
        fields["input"] = Raw(b"[%b]" % b",".join(items))
    return msgspec.structs.replace(http, body=msgspec.json.encode(fields))


def write_stream_request(http: HttpRequest) -> HttpRequest:
    """Return the request as one whose answer is a stream of now."""
    fields = _FIELDS.decode(http.body)
    fields.pop("background", None)
    if bytes(fields.get("store", b"")) == b"true":
        del fields["store"]
    fields["stream"] = Raw(b"true")
    return msgspec.structs.replace(http, body=msgspec.json.encode(fields))


def references(items: Sequence[bytes]) -> tuple[str, ...]:
    """Return the ids of items that are named instead of sent; the type may be left out."""
    return tuple(id for item in items if (id := _reference(item)) is not None)


def put(items: Sequence[bytes], known: Mapping[str, bytes]) -> tuple[bytes, ...]:
    """Return items with known ones in the places of their references."""
    if not known:
        return tuple(items)
    return tuple(known.get(_reference(item) or "", item) for item in items)


def _reference(item: bytes) -> str | None:
    if b'"id"' not in item and b"\\u" not in item:
        return None
    try:
        said = _ITEM.decode(item)
    except _ERRORS:
        return None
    is_plain = said.type is None and said.role is None and said.id is not None
    return str(said.id) if said.type == "item_reference" or is_plain else None


def note(context: Context, said: Continuation) -> Context:
    """Return the context of the answer to a request that continues, or is stored.

    Thinking is always signed: the service does so too (openai 3.49.0 types, reasoning item).
    """
    return msgspec.structs.replace(
        context,
        sealed=True,
        previous=said.previous,
        conversation=said.conversation,
        background=said.is_background,
    )


def repeat(data: bytes, said: Continuation) -> bytes:
    """Return an answer, or an event of its stream, with the names of its past.

    Every answer that continues something has them (openai 3.51.0 types). An event that ends in an
    error passes as its service wrote it.
    """
    if b'"response"' not in data:  # the kind of an answer, or where an event has one
        return data
    try:
        fields = _FIELDS.decode(data)
        if "response" not in fields:
            return _name_past(data, fields, said)
        if bytes(fields.get("type", b"")) == b'"response.failed"':
            return data
        answer = bytes(fields["response"])
        fields["response"] = Raw(_name_past(answer, _FIELDS.decode(answer), said))
    except _ERRORS:
        return data
    return msgspec.json.encode(fields)


def _name_past(data: bytes, fields: dict[str, Raw], said: Continuation) -> bytes:
    if bytes(fields.get("object", b"")) != b'"response"':
        return data
    named: dict[str, Json] = {}
    if said.conversation is not None:
        named["conversation"] = {"id": said.conversation}
    if said.previous is not None:
        named["previous_response_id"] = said.previous
    return msgspec.json.encode({**named, **fields, **named})


def make_id(seed: bytes) -> str:
    """Return the id of the answer that is written with this seed."""
    return _answer_id(stem_of(seed))


def find_holder(id: str) -> str | None:
    """Return the id of the answer that an item is of; None if its id does not tell."""
    known = parse_id(id)
    return None if known is None else _answer_id(known.stem)


def _answer_id(stem: str) -> str:
    return f"resp_{stem}{stem}"


def name_items(items: Sequence[bytes], seed: bytes) -> NamedItems:
    """Return items with their ids; those without one get one."""
    stem = stem_of(seed)
    rows: list[ItemRow] = []
    made: list[str] = []
    for place, item in enumerate(items):
        id, kind = _read_name(item)
        if id is None:
            id = _make_id(kind, stem, place)
            made.append(id)
        rows.append((id, item))
    return NamedItems(tuple(rows), tuple(made), _answer_id(stem))


def _read_name(item: bytes) -> tuple[str | None, str]:
    """Return an item's id, None if it has none, and its type."""
    try:
        said = _ITEM.decode(item)
    except _ERRORS:
        said = _Item()
    id, kind = said.id, said.type
    named = id if isinstance(id, str) and id else None
    return named, kind if isinstance(kind, str) else "message"


def _make_id(kind: str, stem: str, place: int) -> str:
    return write_id(_PREFIXES.get(kind, "item"), ItemId(stem, _OF_INPUT + place, None, stored=True))


class _StreamEvent(Struct):
    type: str = ""
    response: Raw = Raw(b"null")


_EVENT = get_decoder(_StreamEvent)


def find_ended(event: bytes) -> KeptAnswer | None:
    """Return the answer in the last event of a stream; None for any other event.

    The first event repeats texts of the request, which may be the type of the last one.
    """
    try:
        found = _EVENT.decode(event)
    except _ERRORS:
        return None
    return find_kept(bytes(found.response)) if found.type in _END_TYPES else None


def find_kept(body: bytes) -> KeptAnswer | None:
    """Return an answer with all of its items; those without an id get one."""
    found = read_answer(body, stream=False)
    if found is None or found.id is None:
        return None
    rows: list[ItemRow] = []
    for place, (item, raw) in enumerate(found.items):
        id = item.id or _make_id(item.type or "message", stem_of(found.id.encode()), place)
        rows.append((id, raw))
    return KeptAnswer(
        id=found.id,
        body=body,
        items=tuple(rows),
        hidden=found.hidden,
        input=found.usage.input_tokens,
        output=found.usage.output_tokens,
    )


def begin(answering: ReplyContext[Context]) -> bytes:
    """Return an answer that is fetched later."""
    return write_json(answer(answering, [], end=Ending("queued")))


def write_status(body: bytes, status: str, why: str | None) -> bytes:
    """Return an answer in another state, with the reason if it failed."""
    fields = _FIELDS.decode(body)
    changed: dict[str, Json] = {"status": status, "completed_at": None}
    if why is not None:
        changed["error"] = {"code": "server_error", "message": why}
    return msgspec.json.encode({**fields, **changed})


class _Status(Struct):
    status: str = ""


_STATUS = get_decoder(_Status)


def status_of(body: bytes) -> str:
    """Return the state of an answer."""
    return _STATUS.decode(body).status


def write_ended(body: bytes, number: int) -> bytes:
    """Return the last event of the stream of an answer."""
    kind = f"response.{status_of(body)}"
    event = {"type": kind, "sequence_number": number, "response": Raw(body)}
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode(event))


class _Number(Struct):
    sequence_number: int | None = None


_NUMBER = get_decoder(_Number)


def number_of(event: bytes) -> int | None:
    """Return the number of an event; None if it has none."""
    try:
        return _NUMBER.decode(event).sequence_number
    except _ERRORS:
        return None
