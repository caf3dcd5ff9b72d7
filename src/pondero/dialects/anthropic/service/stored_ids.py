"""Ids of containers: where requests name them, and answers give them (anthropic 2.8.0 types).

A gateway binds them to its clients, which share one account.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from pondero.canon import HttpRequest, HttpResponse, get_decoder
from pondero.dialects.dialect import StoredId, StoredIds

from .errors import error

_FIELDS = get_decoder(dict[str, Raw])
_FIELD = "container"


def find(http: HttpRequest) -> tuple[StoredId, ...]:
    """Return the container that a request names; one with skills alone is new."""
    if _FIELD.encode() not in http.body and b"\\u00" not in http.body:
        return ()
    try:
        named = msgspec.json.decode(_FIELDS.decode(http.body).get(_FIELD, b"null"))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()  # ``parse`` rejects it
    id = named.get("id") if isinstance(named, dict) else named
    return (StoredId(_FIELD, str(id), may_be_dropped=True),) if id else ()


def reject(stored: StoredId) -> HttpResponse:
    """Return the answer to an id that is not the client's; the wording is ours."""
    return error(404, f"{stored.field}: {stored.id!r} not found")


class _Container(Struct):
    id: str | None = None


class _Holder(Struct):
    container: _Container | None = None


class _Event(Struct):
    """An event: ``message_start`` has the message, ``message_delta`` its changes."""

    message: _Holder | None = None
    delta: _Holder | None = None


_EVENT = get_decoder(_Event)
_WHOLE = get_decoder(_Holder)


def find_given(data: bytes, *, stream: bool) -> Iterator[str]:
    """Yield the id of the container in an answer, or in one event of a stream."""
    try:
        event = _EVENT.decode(data) if stream else _Event(message=_WHOLE.decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    for holder in (event.message, event.delta):
        if holder is not None and holder.container is not None and holder.container.id:
            yield holder.container.id


STORED_IDS = StoredIds(find=find, reject=reject, find_given=find_given, mark=b'"container"')
