"""Requests about stored responses and conversations: fetch, list, cancel, delete."""

import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from pondero.canon import HttpRequest, HttpResponse, Json, read_count
from pondero.dialects.dialect import StoredAnswer, StoredCall

from .address import CREATED_AT, check_key, reject_stored
from .errors import reject
from .stored_responses import list_items, parse_body

_RESPONSE = re.compile(r".*/responses/([^/]+)(/cancel|/input_items)?")
_CONVERSATION = re.compile(r".*/conversations(?:/([^/]+))?(/items)?")
_MOST = 100
_Verb = Literal["create", "fetch", "delete", "cancel", "items"]
_OF_RESPONSES: dict[tuple[str, str], _Verb] = {
    ("GET", ""): "fetch",
    ("DELETE", ""): "delete",
    ("POST", "/cancel"): "cancel",
    ("GET", "/input_items"): "items",
}
_OF_CONVERSATIONS: dict[tuple[str, str], _Verb] = {
    ("GET", ""): "fetch",
    ("DELETE", ""): "delete",
    ("GET", "/items"): "items",
}


def classify(http: HttpRequest) -> StoredCall | None:
    """Return what a request asks about something stored; None for any other."""
    path = urlsplit(http.url).path
    if found := _RESPONSE.fullmatch(path):
        verb = _OF_RESPONSES.get((http.method, found[2] or ""))
        return None if verb is None else StoredCall("response", unquote(found[1]), verb)
    if (found := _CONVERSATION.fullmatch(path)) is None:
        return None
    if found[1] is None:
        return StoredCall("conversation", "", "create") if http.method == "POST" else None
    verb = _OF_CONVERSATIONS.get((http.method, found[2] or ""))
    return None if verb is None else StoredCall("conversation", unquote(found[1]), verb)


def write(http: HttpRequest, call: StoredCall, stored: StoredAnswer | None) -> HttpResponse:
    """Answer a request about a response, or raise Rejected."""
    check_key(http)
    if stored is None or (call.verb == "cancel" and stored.status == "foreground"):
        reject_stored(call.id, "" if stored is None else stored.status)
    if call.verb == "delete":
        return _respond({"id": call.id, "object": "response", "deleted": True})
    if call.verb == "items":
        return _list(http, list_items(stored.request, None))
    return _in_state(stored)


def write_conversation(
    http: HttpRequest, call: StoredCall, items: Sequence[Json] | None
) -> HttpResponse:
    """Answer a request about a conversation, or raise Rejected."""
    check_key(http)
    if items is None:
        reject("unknown_stored", what="Conversation", id=call.id)
    if call.verb == "items":
        return _list(http, items)
    if call.verb == "delete":
        return _respond({"id": call.id, "object": "conversation.deleted", "deleted": True})
    metadata = parse_body(http.body).get("metadata") or {}
    made = {"id": call.id, "object": "conversation", "created_at": CREATED_AT}
    return _respond({**made, "metadata": metadata})


def _in_state(stored: StoredAnswer) -> HttpResponse:
    if stored.status in ("foreground", "finished"):
        return stored.answer
    body = parse_body(stored.answer.body)
    changed: dict[str, Json] = {
        "status": stored.status,
        "output": [],
        "usage": None,
        "completed_at": None,
    }
    return _respond({**body, **changed})


def _list(http: HttpRequest, items: Sequence[Json]) -> HttpResponse:
    asked = parse_qs(urlsplit(http.url).query)
    found = list(items if asked.get("order") == ["asc"] else reversed(items))
    ids = [item.get("id") for item in found]
    after = asked.get("after", [None])[0]
    begin = ids.index(after) + 1 if after in ids else 0
    limit = read_count(asked.get("limit", [""])[0])
    end = begin + (20 if limit is None else min(limit, _MOST))
    shown = found[begin:end]
    first, last = (shown[0].get("id"), shown[-1].get("id")) if shown else (None, None)
    more = end < len(found)
    return _respond(
        {"object": "list", "data": shown, "first_id": first, "last_id": last, "has_more": more}
    )


def _respond(value: Json) -> HttpResponse:
    headers = {"content-type": "application/json", "x-request-id": "req_emulated"}
    return HttpResponse(200, headers, msgspec.json.encode(value))
