"""Ids of things that the service stores: where requests name them, and answers give them.

A gateway binds them to its clients, which share one account.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json, get_decoder
from pondero.dialects.dialect import StoredId

from .errors import build_rejection

MARK = b'"response"'
"""In every event of a stream that has the response."""
END_MARKS = (b'"response.completed"', b'"response.incomplete"')
"""In the event that ends a stream and has all of its items."""

# Items that stand for a stored one if they lack this field (OpenAI, conversation state and image
# generation: vendor pages, 2026-11-15; the field is optional in openai 3.49.0 types).
_CONTENT = {"reasoning": ("encrypted_content", "content"), "image_generation_call": ("result",)}
_FIELDS = get_decoder(dict[str, msgspec.Raw])


def find(http: HttpRequest) -> tuple[StoredId, ...]:
    """Return the ids in a request that stand for something stored."""
    try:
        fields = _FIELDS.decode(http.body)
        return tuple(_iter_ids({name: _decode(fields, name) for name in _NAMES if name in fields}))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()  # ``parse`` rejects it


_NAMES = ("previous_response_id", "conversation", "prompt", "input", "tools")


def _decode(fields: dict[str, msgspec.Raw], name: str) -> Json:
    raw = bytes(fields[name])
    # Most tools and texts have no id; decoding them again would double the work.
    return msgspec.json.decode(raw) if raw[:1] != b"[" or _has_ids(raw) else None


def _has_ids(raw: bytes) -> bool:
    return b'id"' in raw or b"container" in raw or b"\\u00" in raw


def _iter_ids(body: dict[str, Json]) -> Iterator[StoredId]:
    if previous := body.get("previous_response_id"):
        yield StoredId("previous_response_id", str(previous))
    for name in ("conversation", "prompt"):
        if held := body.get(name):
            yield StoredId(name, _id_of(held), of_account=True)
    for item in _iter_objects(body.get("input")):
        yield from _iter_item_ids(item)
    for tool in _iter_objects(body.get("tools")):
        for holder in (tool, tool.get("environment")):
            if isinstance(holder, dict):
                for name in ("container", "container_id"):
                    if isinstance(id := holder.get(name), str):
                        yield StoredId("tools", id)


def _iter_item_ids(item: dict[str, Json]) -> Iterator[StoredId]:
    kind, id = item.get("type"), item.get("id")
    if kind == "item_reference" or (kind is None and "role" not in item and id is not None):
        yield StoredId("input", str(id), is_item=True)
    elif isinstance(id, str) and kind in _CONTENT and not item.get("encrypted_content"):
        # The service checks encrypted content itself. For an id with other content it is not
        # documented whether the service reads its stored item instead.
        content = any(map(item.get, _CONTENT[kind]))
        yield StoredId("input", id, is_item=True, may_be_dropped=True, has_content=content)
    for holder in (item, item.get("environment")):
        if isinstance(holder, dict) and isinstance(box := holder.get("container_id"), str):
            yield StoredId("input", box, may_be_dropped=True)


def _id_of(held: Json) -> str:
    return str(held.get("id")) if isinstance(held, dict) else str(held)


def _iter_objects(several: Json) -> Iterator[dict[str, Any]]:
    for each in several if isinstance(several, list) else ():
        if isinstance(each, dict):
            yield each


def reject(stored: StoredId) -> HttpResponse:
    """Return the service's answer to an id that it does not know."""
    if stored.field == "previous_response_id":
        return build_rejection("unknown_previous", param=stored.field, id=stored.id)
    if stored.is_item:
        return build_rejection("unknown_item", param="input", id=stored.id)
    what = stored.field.capitalize() if stored.of_account else "Container"
    return build_rejection("unknown_stored", param=stored.field, what=what, id=stored.id)


class _Environment(Struct):
    container_id: str | None = None


class _Item(Struct):
    id: str | None = None
    container_id: str | None = None
    environment: _Environment | None = None

    @property
    def ids(self) -> tuple[str | None, ...]:
        """Return all ids of an item."""
        inside = self.environment.container_id if self.environment is not None else None
        return self.id, self.container_id, inside


class _Answer(Struct):
    id: str | None = None
    output: list[_Item] = []


class _StreamEvent(Struct):
    response: _Answer | None = None


_EVENT = get_decoder(_StreamEvent)
_WHOLE = get_decoder(_Answer)


def find_given(data: bytes, *, stream: bool) -> Iterator[str]:
    """Yield the ids in an answer, or in one event of a stream; not those that it repeats."""
    try:
        answer = _EVENT.decode(data).response if stream else _WHOLE.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    if answer is None:
        return
    ids = (answer.id, *(id for item in answer.output for id in item.ids))
    yield from (id for id in ids if id)


class _RawAnswer(Struct):
    output: list[msgspec.Raw] = []


class _RawEvent(Struct):
    response: _RawAnswer | None = None


_RAW_EVENT = get_decoder(_RawEvent)
_RAW_WHOLE = get_decoder(_RawAnswer)
_ITEM = get_decoder(_Item)


def find_items(data: bytes, *, stream: bool) -> dict[str, bytes]:
    """Return the items of an answer by id, or those of the event that ends a stream."""
    try:
        answer = _RAW_EVENT.decode(data).response if stream else _RAW_WHOLE.decode(data)
        items = {_ITEM.decode(raw).id: bytes(raw) for raw in (answer.output if answer else ())}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return {id: item for id, item in items.items() if id}
