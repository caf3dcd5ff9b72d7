"""Stored responses and conversations that a request continues; the emulator adds them.

Instructions are not carried over (OpenAI, conversation state: vendor page, 2026-11-15).
"""

from collections.abc import Mapping, Sequence

import msgspec

from pondero.canon import HttpRequest, HttpResponse, Json
from pondero.dialects.dialect import ReplyContext

from .parse import CONVERSATION_HEADER, RESUMED_HEADER, Context
from .reply import response_id
from .signatures import ItemId, stem_of, write_id

_FIELD = "previous_response_id"
_OF_INPUT = 0x8000  # places of input items, far from those of the output


def previous_id(http: HttpRequest) -> str | None:
    """Return the id of the response that a request continues."""
    if _FIELD.encode() not in http.body:
        return None
    body = parse_body(http.body)
    id = body.get(_FIELD)
    return id if isinstance(id, str) and body.get("conversation") is None else None


def stored_id(answering: ReplyContext[Context]) -> str | None:
    """Return the id under which an answer is stored; None with ``store: false``."""
    return response_id(answering) if answering.context.stored else None


def is_background(answering: ReplyContext[Context]) -> bool:
    """Return whether an answer is fetched later."""
    return answering.context.background


def is_stored(context: Context) -> bool:
    """Return whether the answer to a request is stored."""
    return context.stored


def resume(http: HttpRequest, before: HttpRequest, answer: HttpResponse) -> HttpRequest:
    """Return the request with the stored input and output before its own input."""
    body = parse_body(http.body)
    id = body.pop(_FIELD)
    earlier = _items(parse_body(before.body).get("input"))
    output = parse_body(answer.body).get("output")
    body["input"] = [*earlier, *_items(output), *_items(body.get("input"))]
    return _with_body(http, body, {RESUMED_HEADER: id})


def conversation_id(http: HttpRequest) -> str | None:
    """Return the id of the conversation that a request is part of."""
    if b'"conversation"' not in http.body:
        return None
    body = parse_body(http.body)
    held = body.get("conversation")
    id = held.get("id") if isinstance(held, dict) else held
    return id if isinstance(id, str) and body.get(_FIELD) is None else None


def resume_conversation(http: HttpRequest, id: str, items: Sequence[Json]) -> HttpRequest:
    """Return the request with the items of its conversation before its own input."""
    body = parse_body(http.body)
    del body["conversation"]
    body["input"] = [*items, *_items(body.get("input"))]
    return _with_body(http, body, {CONVERSATION_HEADER: id})


def resumed_conversation(http: HttpRequest) -> str | None:
    """Return the conversation that was put into a request."""
    return http.headers.get(CONVERSATION_HEADER)


def references(http: HttpRequest) -> tuple[str, ...]:
    """Return the ids of all items that a request names instead of sending them."""
    if b"item_reference" not in http.body:
        return ()
    given = _items(parse_body(http.body).get("input"))
    return tuple(id for item in given if (id := _reference(item)) is not None)


def put_items(http: HttpRequest, known: Mapping[str, Json]) -> HttpRequest:
    """Return the request with known items in the places of their references."""
    body = parse_body(http.body)
    given = _items(body.get("input"))
    body["input"] = [known.get(_reference(item) or "", item) for item in given]
    return _with_body(http, body, {})


def list_items(http: HttpRequest, answer: HttpResponse | None) -> tuple[Json, ...]:
    """Return the items of a request and its answer; messages without an id get one."""
    stem, body = stem_of(http.body, emulated=True), parse_body(http.body)
    given = [
        _with_id(item, write_id("msg", ItemId(stem, _OF_INPUT + place, None, stored=True)))
        for place, item in enumerate(_items(body.get("input", body.get("items"))))
    ]
    output = () if answer is None else _items(parse_body(answer.body).get("output"))
    return (*given, *output)


def _with_id(item: Json, id: str) -> Json:
    """Add an id to a message; other items without one stay as they are."""
    has_one = not isinstance(item, dict) or item.get("id") is not None
    return item if has_one or "role" not in item else {"type": "message", **item, "id": id}


def _reference(item: Json) -> str | None:
    """Return the id in a reference; its type may be left out (openai 3.49.0 types)."""
    if not isinstance(item, dict):
        return None
    kind, id = item.get("type"), item.get("id")
    is_plain = kind is None and "role" not in item and id is not None
    return str(id) if kind == "item_reference" or is_plain else None


def _with_body(http: HttpRequest, body: Json, headers: Mapping[str, str]) -> HttpRequest:
    changed = {**http.headers, **headers}
    return msgspec.structs.replace(http, headers=changed, body=msgspec.json.encode(body))


def _items(given: Json) -> list[Json]:
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return given if isinstance(given, list) else []


def parse_body(data: bytes) -> dict[str, Json]:
    """Parse a JSON object; empty for anything else."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
