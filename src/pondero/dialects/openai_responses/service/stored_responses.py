"""Stored responses: a request may go on from one by its id instead of sending the conversation.

The rules refuse ``previous_response_id`` as not found, so the emulator puts the stored conversation
into the input before it asks them. Instructions are not carried over (wire sheet, section 5).
"""

import msgspec

from pondero.canon import HttpRequest, HttpResponse, Json
from pondero.dialects.dialect import ReplyContext

from .parse import RESUMED, Context
from .reply import response_id

_FIELD = "previous_response_id"


def previous_id(http: HttpRequest) -> str | None:
    """Return the id of the response that a request goes on from."""
    if _FIELD.encode() not in http.body:
        return None
    id = _body(http.body).get(_FIELD)
    return id if isinstance(id, str) else None


def stored_id(answering: ReplyContext[Context]) -> str | None:
    """Return the id under which an answer is stored; None with ``store: false``."""
    return response_id(answering) if answering.context.stored else None


def resume(http: HttpRequest, before: HttpRequest, answer: HttpResponse) -> HttpRequest:
    """Return the request with the stored input and output before its own input."""
    body = _body(http.body)
    id = body.pop(_FIELD)
    earlier = _items(_body(before.body).get("input"))
    output = _body(answer.body).get("output")
    body["input"] = [*earlier, *_items(output), *_items(body.get("input"))]
    headers = {**http.headers, RESUMED: id}
    return msgspec.structs.replace(http, headers=headers, body=msgspec.json.encode(body))


def _items(given: Json) -> list[Json]:
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return given if isinstance(given, list) else []


def _body(data: bytes) -> dict[str, Json]:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
