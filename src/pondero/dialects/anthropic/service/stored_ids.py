"""Ids of containers, files and messages: where requests name them, and answers give them.

A gateway binds them to its clients, which share one account (anthropic 2.8.0 types).
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json, get_decoder, get_path
from pondero.dialects.bodies import drop_named, iter_ids
from pondero.dialects.dialect import StoredId, StoredIds
from pondero.dialects.escaped_names import may_escape_names

from .errors import error

_BODY = get_decoder(dict[str, Any])
_CONTAINER, _FILES, _BEFORE = "container", ("file_id",), ("diagnostics", "previous_message_id")
_THREAD = ("thread", "previous_message_id")  # a conversation that the service holds
_ANSWERS = (b"diagnostics", b"thread")  # requests whose answers can be named later
_MARKS = (b"container", b"file_id", *_ANSWERS)
# The ends of the types of blocks with files that the service wrote. Citations name those of others.
_MADE = ("code_execution_tool_result", "container_upload")


def find(http: HttpRequest) -> tuple[StoredId, ...]:
    """Return the ids that a request names; a container with skills alone is new."""
    contains = http.body.__contains__
    if not (any(map(contains, _MARKS)) or may_escape_names(contains)):
        return ()
    try:
        body = _BODY.decode(http.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()  # ``parse`` rejects it
    return tuple(_iter_ids(body))


def _iter_ids(body: dict[str, Any]) -> Iterator[StoredId]:
    named = body.pop(_CONTAINER, None)
    if id := named.get("id") if isinstance(named, dict) else named:
        yield StoredId(_CONTAINER, str(id), may_be_dropped=True, is_optional=True)
    if id := get_path(body, _BEFORE):
        yield StoredId(".".join(_BEFORE), str(id), may_be_dropped=True, is_optional=True)
    if id := get_path(body, _THREAD):
        yield StoredId(".".join(_THREAD), str(id))
    turns = body.pop("messages", None)
    for turn in turns if isinstance(turns, list) else ():
        # Files in an answer were written by code; nothing reads them there.
        is_answer = isinstance(turn, dict) and turn.get("role") == "assistant"
        for id in iter_ids(turn, _FILES):
            yield _make_file_id(id, is_optional=is_answer)
    yield from map(_make_file_id, iter_ids(body, _FILES))


def _make_file_id(id: str, *, is_optional: bool = False) -> StoredId:
    return StoredId("file_id", id, may_be_dropped=True, is_shared=True, is_optional=is_optional)


def leave_out(data: bytes, ids: frozenset[str]) -> bytes:
    """Return a body without the containers and written files of another account."""
    body = msgspec.json.decode(data)
    named = body.get(_CONTAINER)
    if isinstance(named, dict) and named.get("id") in ids:
        body[_CONTAINER] = {name: value for name, value in named.items() if name != "id"} or None
    elif named in ids:
        body[_CONTAINER] = None
    if body.get(_CONTAINER) is None:
        body.pop(_CONTAINER, None)
    if get_path(body, _BEFORE) in ids:
        del body[_BEFORE[0]]
    for turn in body.get("messages", ()):
        if turn.get("role") == "assistant" and isinstance(turn.get("content"), list):
            kept = (block for block in turn["content"] if not _is_upload(block, ids))
            turn["content"] = [_drop_files(block, ids) for block in kept]
    return msgspec.json.encode(body)


def _is_upload(block: Json, ids: frozenset[str]) -> bool:
    return isinstance(block, dict) and block.get("type") == _MADE[1] and block.get("file_id") in ids


def _drop_files(block: Json, ids: frozenset[str]) -> Json:
    is_made = isinstance(block, dict) and str(block.get("type")).endswith(_MADE)
    return drop_named(block, _FILES, ids) if is_made else block


def reject(stored: StoredId) -> HttpResponse:
    """Return the answer to an id that is not the client's; the wording is ours."""
    return error(404, f"{stored.field}: {stored.id!r} not found")


class _Container(Struct):
    id: str | None = None


class _Holder(Struct):
    id: str | None = None
    container: _Container | None = None


class _Event(Struct):
    """An event: ``message_start`` has the message, ``message_delta`` its changes."""

    message: _Holder | None = None
    delta: _Holder | None = None


_NAMES_FILE = b'"file_id"'
_EVENT = get_decoder(_Event)
_WHOLE = get_decoder(_Holder)


def find_given(data: bytes, *, stream: bool) -> Iterator[str]:
    """Yield the ids of containers and written files in an answer, or in one event of a stream."""
    try:
        event = _read(data, stream=stream)
        files = list(_iter_made(msgspec.json.decode(data))) if _NAMES_FILE in data else []
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    for holder in (event.message, event.delta):
        if holder is not None and holder.container is not None and holder.container.id:
            yield holder.container.id
    yield from files


def find_answer(data: bytes, *, stream: bool) -> Iterator[str]:
    """Yield the id of an answer, or of one that an event begins."""
    try:
        message = _read(data, stream=stream).message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    if message is not None and message.id:
        yield message.id


def _read(data: bytes, *, stream: bool) -> _Event:
    return _EVENT.decode(data) if stream else _Event(message=_WHOLE.decode(data))


def _iter_made(answer: Json) -> Iterator[str]:
    """Yield the files in results of the service's own tools; a call's input is the model's."""
    held: Any = answer if isinstance(answer, dict) else {}
    content = held.get("content")
    for block in (*(content if isinstance(content, list) else ()), held.get("content_block")):
        if isinstance(block, dict) and str(block.get("type")).endswith(_MADE):
            yield from iter_ids(block, _FILES)


STORED_IDS = StoredIds(
    find=find,
    reject=reject,
    find_given=find_given,
    marks=(b'"container"', _NAMES_FILE),
    find_answer=find_answer,
    answer_marks=_ANSWERS,
    levels_at=(".".join(_THREAD),),
    named_at=_FILES,
    leave_out=leave_out,
)
