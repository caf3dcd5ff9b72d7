"""Ids of spoken answers and containers: where requests name them, and answers give them.

A gateway binds them to its clients, which share one account (openai 3.49.0 types).
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json, get_decoder
from pondero.dialects.bodies import iter_ids
from pondero.dialects.dialect import StoredId, StoredIds
from pondero.dialects.escaped_names import may_escape_names

from .errors import error

_BODY = get_decoder(dict[str, Any])
_MARKS = (b'"audio"', b"container", b"file_id", b"vector_store")
_BOXES, _FILES = ("container", "container_id"), ("file_id", "file_ids")
_STORES = ("vector_store_id", "vector_store_ids")


def find(http: HttpRequest) -> tuple[StoredId, ...]:
    """Return the ids in a request that stand for something stored."""
    contains = http.body.__contains__
    if not (any(map(contains, _MARKS)) or may_escape_names(contains)):
        return ()
    try:
        body: dict[str, Json] = _BODY.decode(http.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()  # ``parse`` rejects it
    spoken = _iter_named(body.get("messages"), "audio", "id")
    boxes = iter_ids([body.get("tools"), body.get("tool_choice")], _BOXES)
    files = iter_ids(body, _FILES)
    stores = iter_ids(body, _STORES)
    return (
        *(StoredId("messages", id, is_item=True) for id in spoken),
        *(StoredId("tools", id, may_be_dropped=True, is_optional=True) for id in boxes),
        *(StoredId("file_id", id, may_be_dropped=True, is_shared=True) for id in files),
        *(StoredId(_STORES[0], id, may_be_dropped=True, is_shared=True) for id in stores),
    )


def _iter_named(several: Json, holder: str, name: str) -> Iterator[str]:
    for each in several if isinstance(several, list) else ():
        inner: Any = each.get(holder) if isinstance(each, dict) else None
        if isinstance(inner, dict) and isinstance(id := inner.get(name), str):
            yield id


def leave_out(data: bytes, ids: frozenset[str]) -> bytes:
    """Return a body without the tools that use containers of another account."""
    body = msgspec.json.decode(data)
    for field in ("tools", "tool_choice"):
        if ids.intersection(iter_ids(body.get(field), _BOXES)):
            kept = body[field] if isinstance(body[field], list) else ()
            body[field] = [each for each in kept if not ids.intersection(iter_ids(each, _BOXES))]
        if field in body and not body[field]:
            del body[field]
    return msgspec.json.encode(body)


def reject(stored: StoredId) -> HttpResponse:
    """Return the answer to an id that is not the client's; the wording is ours."""
    kinds = {"messages": "Audio", "file_id": "File", _STORES[0]: "Vector store"}
    what = kinds.get(stored.field, "Container")
    return error(404, f"{what} with id '{stored.id}' not found.", code=None, retry_after=None)


class _Audio(Struct):
    id: str | None = None


class _Speech(Struct):
    audio: _Audio | None = None


class _Choice(Struct):
    message: _Speech | None = None
    delta: _Speech | None = None


class _Answer(Struct):
    choices: list[_Choice] = []


_ANSWER = get_decoder(_Answer)


def find_given(data: bytes, *, stream: bool) -> Iterator[str]:  # noqa: ARG001 - both alike here
    """Yield the ids of the audio in an answer, or in one event of a stream."""
    try:
        choices = _ANSWER.decode(data).choices
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    for said in (each for choice in choices for each in (choice.message, choice.delta)):
        if said is not None and said.audio is not None and said.audio.id:
            yield said.audio.id


STORED_IDS = StoredIds(
    find=find,
    reject=reject,
    find_given=find_given,
    marks=(b'"audio"',),
    named_at=("file_id",),
    leave_out=leave_out,
)
