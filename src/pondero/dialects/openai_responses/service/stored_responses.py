"""Stored responses that a request continues by id; the emulator adds them to the input.

Instructions are not carried over (OpenAI, conversation state: vendor page, 2026-11-15).
"""

import msgspec

from pondero.canon import HttpRequest, HttpResponse, Json
from pondero.dialects.dialect import ReplyContext

from .parse import RESUMED_HEADER, Context
from .reply import response_id

_FIELD = "previous_response_id"


def previous_id(http: HttpRequest) -> str | None:
    """Return the id of the response that a request continues."""
    if _FIELD.encode() not in http.body:
        return None
    id = _parse_body(http.body).get(_FIELD)
    return id if isinstance(id, str) else None


def stored_id(answering: ReplyContext[Context]) -> str | None:
    """Return the id under which an answer is stored; None with ``store: false``."""
    return response_id(answering) if answering.context.stored else None


def resume(http: HttpRequest, before: HttpRequest, answer: HttpResponse) -> HttpRequest:
    """Return the request with the stored input and output before its own input."""
    body = _parse_body(http.body)
    id = body.pop(_FIELD)
    earlier = _items(_parse_body(before.body).get("input"))
    output = _parse_body(answer.body).get("output")
    body["input"] = [*earlier, *_items(output), *_items(body.get("input"))]
    headers = {**http.headers, RESUMED_HEADER: id}
    return msgspec.structs.replace(http, headers=headers, body=msgspec.json.encode(body))


def _items(given: Json) -> list[Json]:
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return given if isinstance(given, list) else []


def _parse_body(data: bytes) -> dict[str, Json]:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
