"""Requests about answers and conversations that a gateway keeps, and what the service answers."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from msgspec import Raw, Struct

from pondero.canon import HttpRequest, HttpResponse, Json, get_decoder, read_count
from pondero.dialects.dialect import Rejected
from pondero.dialects.kept_responses import (
    ConversationFacts,
    ItemRow,
    KeptCall,
    KeptVerb,
    NewConversation,
)

from .errors import build_error, build_rejection, reject
from .kept_responses import references
from .parse import ENCRYPTED, parse

_RESPONSE = re.compile(r".*/responses/([^/]+)(/cancel|/input_items)?")
_CONVERSATION = re.compile(r".*/conversations(?:/([^/]+)(?:(/items)(?:/([^/]+))?)?)?")
_OF_RESPONSES: dict[tuple[str, str], KeptVerb] = {
    ("GET", ""): "fetch",
    ("DELETE", ""): "delete",
    ("POST", "/cancel"): "cancel",
    ("GET", "/input_items"): "items",
}
# By method, whether an id is named, its items, one of them.
_OF_CONVERSATIONS: dict[tuple[str, bool, bool, bool], KeptVerb] = {
    ("POST", False, False, False): "create",
    ("GET", True, False, False): "fetch",
    ("POST", True, False, False): "update",
    ("DELETE", True, False, False): "delete",
    ("GET", True, True, False): "items",
    ("POST", True, True, False): "add_items",
    ("GET", True, True, True): "fetch_item",
    ("DELETE", True, True, True): "delete_item",
}
_USUAL, _MOST = 20, 100  # items of a page (openai 3.49.0 types)
_ADDED = 20  # items that one request may add (openai 3.49.0 types)
_LABELS, _LABEL, _VALUE = 16, 64, 512  # of metadata (openai 3.49.0 types)
_FIELDS = get_decoder(dict[str, Raw])


def classify(http: HttpRequest) -> KeptCall | None:
    """Return what a request asks about something stored; None for any other."""
    parts = urlsplit(http.url)
    if found := _RESPONSE.fullmatch(parts.path):
        verb = _OF_RESPONSES.get((http.method, found[2] or ""))
        if verb is None:
            return None
        asked = parse_qs(parts.query)
        after = read_count(asked.get("starting_after", [""])[0])
        return KeptCall(
            what="response",
            verb=verb,
            id=unquote(found[1]),
            streams=verb == "fetch" and asked.get("stream") in (["true"], ["True"], ["1"]),
            after=-1 if after is None else after,
        )
    if (found := _CONVERSATION.fullmatch(parts.path)) is None:
        return None
    id, items, item = (unquote(each or "") for each in found.groups())
    place = (http.method, bool(id), bool(items), bool(item))
    verb = _OF_CONVERSATIONS.get(place)
    if verb is None:
        return None
    return KeptCall(what="conversation", verb=verb, id=id, item=item)


# -- answers -------------------------------------------------------------------------------------


def write_response(http: HttpRequest, body: bytes) -> HttpResponse:
    """Return a stored answer; encrypted thinking only if it is asked for."""
    fields = _FIELDS.decode(body)
    if "output" in fields and not _includes(http):
        fields["output"] = _open(fields["output"])
    return _respond(fields)


def _open(output: Raw) -> Raw:
    items = msgspec.json.decode(output)
    return Raw(msgspec.json.encode([_without_encrypted(item) for item in items]))


def _without_encrypted(item: Json) -> Json:
    if not isinstance(item, dict) or item.get("type") != "reasoning":
        return item
    return {name: value for name, value in item.items() if name != "encrypted_content"}


def _includes(http: HttpRequest) -> bool:
    asked = parse_qs(urlsplit(http.url).query)
    return ENCRYPTED in (*asked.get("include", ()), *asked.get("include[]", ()))


def write_deleted(call: KeptCall) -> HttpResponse:
    """Return the answer to a deletion."""
    kind = "response" if call.what == "response" else "conversation.deleted"
    return _respond({"id": call.id, "object": kind, "deleted": True})


def write_items(http: HttpRequest, rows: Sequence[ItemRow]) -> HttpResponse:
    """Return a page of items, the newest first unless ``order`` says otherwise; raises Rejected."""
    asked = parse_qs(urlsplit(http.url).query)
    order = asked.get("order", ["desc"])[0]
    if order not in ("asc", "desc"):
        reject("invalid_value", param="order", value=order, supported="'asc' and 'desc'")
    wanted = asked.get("limit", [str(_USUAL)])[0]
    limit = read_count(wanted)
    if limit is None or not 1 <= limit <= _MOST:
        raise Rejected(_say(400, f"limit: {wanted!r} is no number from 1 to {_MOST}", "limit"))
    # Once each: a client may have sent again what the history has, and a page begins after an id.
    once = list(dict(rows).items())
    found = once if order == "asc" else once[::-1]
    after = asked.get("after", [None])[0]
    ids = [id for id, _ in found]
    if after is not None and after not in ids:
        reject("unknown_item", param="after", id=after)
    begin = 0 if after is None else ids.index(after) + 1
    shown = found[begin : begin + limit]
    with_encrypted = _includes(http)
    page = [_write_row(row, encrypted=with_encrypted) for row in shown]
    return _respond(
        {
            "object": "list",
            "data": page,
            "first_id": shown[0][0] if shown else None,
            "last_id": shown[-1][0] if shown else None,
            "has_more": begin + limit < len(found),
        }
    )


def write_item(http: HttpRequest, row: ItemRow) -> HttpResponse:
    """Return one item."""
    return _respond(_write_row(row, encrypted=_includes(http)))


def _write_row(row: ItemRow, *, encrypted: bool) -> Json:
    id, text = row
    item = msgspec.json.decode(text)
    if not isinstance(item, dict):
        return item
    if "role" in item:
        said = item.get("content")
        content = [{"type": _TEXT.get(item["role"], "input_text"), "text": said}]
        item = {"type": "message", "status": "completed", **item}
        item["content"] = content if isinstance(said, str) else said
    item = {**item, "id": id}
    return item if encrypted else _without_encrypted(item)


_TEXT = {"assistant": "output_text"}


# -- conversations -------------------------------------------------------------------------------


class _Body(Struct):
    items: list[Raw] | None = None
    metadata: dict[str, Any] | None = None


_BODY = get_decoder(_Body)


def read_conversation(http: HttpRequest) -> NewConversation:
    """Return the items and the labels in a request; raises Rejected."""
    try:
        body = _BODY.decode(http.body or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        reject("not_json")
    items = body.items or []
    if len(items) > _ADDED:
        raise Rejected(_say(400, f"items: one request may add {_ADDED} of them", "items"))
    for number, item in enumerate(items):
        if bytes(item)[:1] != b"{":
            raise Rejected(_say(400, f"items[{number}] is no object", f"items[{number}]"))
    _check_items(http, items)
    labels = body.metadata or {}
    fits = all(isinstance(each, str) and len(each) <= _VALUE for each in labels.values())
    if len(labels) > _LABELS or not fits or any(len(name) > _LABEL for name in labels):
        text = f"metadata: {_LABELS} texts of {_VALUE} characters, under names of {_LABEL}"
        raise Rejected(_say(400, text, "metadata"))
    return NewConversation(tuple(map(bytes, items)), msgspec.json.encode(labels))


def _check_items(http: HttpRequest, items: Sequence[Raw]) -> None:
    """Reject an item that no request with its conversation could be answered with.

    The service rejects it here too: Missing required parameter: 'items[0].id'
    (openai/openai-agents-python#3267, 2026-05-08).
    """
    given = [_ANY if references([item]) else item for item in map(bytes, items)]
    asked = b'{"model":"any","input":[%b]}' % b",".join(given)
    try:
        parse(msgspec.structs.replace(http, body=asked))
    except Rejected as rejected:
        told = rejected.response
        body = told.body.replace(b"input[", b"items[")
        raise Rejected(msgspec.structs.replace(told, body=body)) from None


_ANY = b'{"role":"user","content":""}'


def write_conversation(facts: ConversationFacts) -> HttpResponse:
    """Return a conversation."""
    said = {"id": facts.id, "object": "conversation", "created_at": facts.created}
    return _respond({**said, "metadata": Raw(facts.metadata)})


# -- rejections ----------------------------------------------------------------------------------


def reject_response(id: str) -> HttpResponse:
    """Return the error for an answer that is not stored."""
    return build_rejection("unknown_response", id=id)


def reject_conversation(id: str) -> HttpResponse:
    """Return the error for a conversation that is not stored."""
    return build_rejection("unknown_stored", what="Conversation", id=id)


def reject_item(id: str) -> HttpResponse:
    """Return the error for an item that is not stored."""
    return build_rejection("unknown_item", id=id)


def reject_cancel() -> HttpResponse:
    """Return the error for an answer that cannot be cancelled."""
    return build_rejection("cancel_foreground")


def reject_stream() -> HttpResponse:
    """Return the error for an answer whose events are not kept."""
    text = "The events are kept of an answer that was asked for with background and stream alone."
    return build_error(400, text, param="stream", code="invalid_value")


def _say(status: int, text: str, param: str) -> HttpResponse:
    return build_error(status, text, param=param, code="invalid_value")


def _respond(value: Json) -> HttpResponse:
    headers = {"content-type": "application/json", "x-request-id": "req_kept"}
    return HttpResponse(200, headers, msgspec.json.encode(value))
