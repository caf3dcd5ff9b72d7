"""Ids of things that the service stores: where requests name them, and answers give them.

A gateway binds them to its clients, which share one account.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json, get_decoder, get_path
from pondero.dialects.bodies import iter_ids
from pondero.dialects.dialect import GivenAnswer, StoredCall, StoredId
from pondero.dialects.escaped_names import may_escape_names

from .errors import build_rejection

_NAMES_FILE = b'"file_id"'
_MADE = frozenset({"container_file_citation", "file_path"})  # annotations
MARKS = (b'"response"', _NAMES_FILE)
"""In every event of a stream that has the response, or a file that code wrote."""
END_MARKS = (b'"response.completed"', b'"response.incomplete"')
"""In the event that ends a stream and has all of its items."""

# Items that stand for a stored one if they lack this field (OpenAI, conversation state and image
# generation: vendor pages, 2026-11-15; the field is optional in openai 3.49.0 types).
_CONTENT = {
    "reasoning": ("encrypted_content", "content"),
    "compaction": ("encrypted_content",),
    "image_generation_call": ("result",),
    # What was found or run is no part of these items: with the id, the service has it.
    **dict.fromkeys(("web_search_call", "file_search_call", "code_interpreter_call"), ("status",)),
}
_FIELDS = get_decoder(dict[str, msgspec.Raw])
_SAID = ("content", "output", "outputs", "results")


def find(http: HttpRequest) -> tuple[StoredId, ...]:
    """Return the ids in a request that stand for something stored."""
    try:
        fields = _FIELDS.decode(http.body)
        names = [name for name in _NAMES if name in fields]
        if _may_have(http.body)[1]:  # a file may be named anywhere
            more = fields.keys() - {*_NAMES}
            names += [name for name in more if _may_have(bytes(fields[name]))[1]]
        return tuple(_iter_ids({name: _decode(fields, name) for name in names}, http.body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()  # ``parse`` rejects it


def is_named_in(item: bytes) -> bool:
    """Return whether an item of the input may name something stored."""
    if not _has_ids(item):
        return False
    try:
        decoded = msgspec.json.decode(item)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    has_boxes, has_files = _may_have(item)
    for each in _iter_objects([decoded]):
        if any(True for _ in _iter_item_ids(each, has_boxes=has_boxes)):
            return True
    return has_files and any(True for _ in iter_ids(decoded, (*_FILES, *_STORES)))


_COMPARED = ("prompt_cache_options", "comparison_response_id")
_NAMES = (
    "previous_response_id",
    "conversation",
    "prompt",
    _COMPARED[0],
    "input",
    "tools",
    "tool_choice",
)
LEVELS_AT = ("previous_response_id", "conversation", "input")
"""Fields whose ids stand for a conversation, in which an update may have set the effort."""
_BOXES, _FILES = ("container", "container_id"), ("file_id", "file_ids")
_STORE = "vector_store_ids"
_STORES = (_STORE, "vector_store_id")
NAMED_AT = ("file_id", _STORE)
"""Fields of files and of stores of them."""


def _decode(fields: dict[str, msgspec.Raw], name: str) -> Json:
    raw = bytes(fields[name])
    # Most tools and texts have no id; decoding them again would double the work.
    may_skip = name in ("input", "tools") and raw[:1] == b"["
    return None if may_skip and not _has_ids(raw) else msgspec.json.decode(raw)


def _has_ids(raw: bytes) -> bool:
    marks = (b'id"', b'ids"', b"container", b"item_reference")
    return any(map(raw.__contains__, marks)) or may_escape_names(raw.__contains__)


def _may_have(raw: bytes) -> tuple[bool, bool]:
    """Return whether a text of JSON may name boxes, and files or stores of them."""
    escapes = may_escape_names(raw.__contains__)
    return escapes or b"container" in raw, escapes or b"file_id" in raw or b"vector_store" in raw


def _iter_ids(body: dict[str, Json], data: bytes) -> Iterator[StoredId]:
    has_boxes, has_files = _may_have(data)
    # An id that is empty stands for a past too, which the service does not know.
    if (previous := body.get("previous_response_id")) is not None:
        yield StoredId("previous_response_id", str(previous), is_history=True)
    for name in ("conversation", "prompt"):
        if (held := body.get(name)) is not None:
            yield StoredId(name, _id_of(held), of_account=True, is_history=True)
    if compared := get_path(body, _COMPARED):
        yield StoredId(_COMPARED[0], str(compared), may_be_dropped=True, is_optional=True)
    for item in _iter_objects(body.get("input")):
        yield from _iter_item_ids(item, has_boxes=has_boxes)
    for field in ("tools", "tool_choice") if has_boxes else ():
        boxes = iter_ids(body.get(field), _BOXES)
        yield from (StoredId(field, id, is_optional=True) for id in boxes)
    if has_files:
        yield from _iter_files(body)


def _iter_files(body: dict[str, Json]) -> Iterator[StoredId]:
    for field, value in body.items():
        for each in value if field == "input" and isinstance(value, list) else [value]:
            is_answer = field == "input" and _is_answer(each)
            for id in iter_ids({field: each}, _FILES):
                yield StoredId(
                    field, id, may_be_dropped=True, is_shared=True, is_optional=is_answer
                )
        for id in iter_ids({field: value}, _STORES):
            yield StoredId(_STORE, id, may_be_dropped=True, is_shared=True)


def _is_answer(item: Json) -> bool:
    """Return whether an item is of an answer: code wrote its files, and nothing reads them."""
    if not isinstance(item, dict):
        return False
    return item.get("role") == "assistant" or str(item.get("type")).endswith("_call")


def leave_out(data: bytes, ids: frozenset[str]) -> bytes:
    """Return a body with new containers in the places of another account's."""
    body = msgspec.json.decode(data)
    for field in ("tools", "tool_choice"):
        if field in body:
            body[field] = _renew_boxes(body[field], ids)
    if get_path(body, _COMPARED) in ids:
        del body[_COMPARED[0]][_COMPARED[1]]
    return msgspec.json.encode(body)


def _renew_boxes(value: Json, ids: frozenset[str]) -> Json:
    if isinstance(value, list):
        return [_renew_boxes(each, ids) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("container_id") in ids:  # the environment of a shell (openai 3.49.0 types)
        return {"type": "container_auto"}
    new = {name: _renew_boxes(inner, ids) for name, inner in value.items()}
    return {**new, "container": {"type": "auto"}} if new.get("container") in ids else new


def _iter_item_ids(item: dict[str, Json], *, has_boxes: bool = True) -> Iterator[StoredId]:
    kind, id = item.get("type"), item.get("id")
    if kind == "item_reference" or (kind is None and "role" not in item and id is not None):
        yield StoredId("input", str(id), is_item=True)
    elif isinstance(id, str) and kind in _CONTENT and not item.get("encrypted_content"):
        # The service checks encrypted content itself. For an id with other content it is not
        # documented whether the service reads its stored item instead.
        content = any(map(item.get, _CONTENT[kind]))
        yield StoredId("input", id, is_item=True, may_be_dropped=True, has_content=content)
    for name, inner in item.items() if has_boxes else ():
        if name in _SAID:  # a box that a text mentions is opened by nothing
            boxes = ((id, True) for id in iter_ids(inner, _BOXES))
        else:
            boxes = ((id, False) for id in iter_ids({name: inner}, _BOXES))
        for id, mentioned in boxes:
            yield StoredId("input", id, may_be_dropped=True, is_shared=mentioned, is_optional=True)


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
    if stored.is_shared:
        what = "Vector store" if stored.field == _STORE else "File"
    elif stored.field == _COMPARED[0]:
        what = "Response"
    return build_rejection("unknown_stored", param=stored.field, what=what, id=stored.id)


_QUERY = ("include", "include[]", "stream", "starting_after", "after", "limit", "order")
_BELOW = {"cancel": "/cancel", "items": "/input_items"}


def forward(http: HttpRequest, call: StoredCall, home: HttpRequest) -> HttpRequest:
    """Return a request about a stored answer for the service that has it."""
    address = home.url.partition("?")[0]
    kept = [pair for pair in parse_qsl(urlsplit(http.url).query) if pair[0] in _QUERY]
    query = f"?{urlencode(kept)}" if kept else ""
    url = f"{address}/{quote(call.id, safe='')}{_BELOW.get(call.verb, '')}{query}"
    return HttpRequest(http.method, url, home.headers)


class _Environment(Struct):
    container_id: str | None = None


class _Item(Struct):
    id: str | None = None
    container_id: str | None = None
    environment: _Environment | None = None


class _Answer(Struct):
    id: str | None = None
    output: list[_Item] = []


class _StreamEvent(Struct):
    response: _Answer | None = None
    item: _Item | None = None


_EVENT = get_decoder(_StreamEvent)
_WHOLE = get_decoder(_Answer)


def find_given(data: bytes, *, stream: bool) -> list[str]:
    """Return the ids in an answer, or in one event of a stream; not those that it repeats."""
    ids: list[str | None] = []
    try:
        event = _EVENT.decode(data) if stream else None
        answer = _WHOLE.decode(data) if event is None else event.response
        if data.find(_NAMES_FILE) >= 0:
            ids += _iter_made(msgspec.json.decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    items: list[_Item] = []
    if answer is not None:
        ids.append(answer.id)
        items += answer.output
    if event is not None and event.item is not None:
        items.append(event.item)
    for item in items:
        ids += (item.id, item.container_id)
        if item.environment is not None:
            ids.append(item.environment.container_id)
    return [*filter(None, ids)]


def _iter_made(event: Json) -> Iterator[str]:
    """Yield the files that code wrote, where its call has them or a text cites them.

    Files that a search found are the account's own.
    """
    held: Any = event if isinstance(event, dict) else {}
    answer = held.get("response") if isinstance(held.get("response"), dict) else held
    items = (*_iter_objects(answer.get("output")), *_iter_objects([held.get("item")]))
    for item in items:
        if item.get("type") == "code_interpreter_call":
            yield from iter_ids(item.get("outputs"), _FILES)
    parts = [part for item in items for part in _iter_objects(item.get("content"))]
    parts += _iter_objects([held.get("part")])
    notes = [note for part in parts for note in _iter_objects(part.get("annotations"))]
    for note in (*notes, *_iter_objects([held.get("annotation")])):
        if note.get("type") in _MADE:
            yield from iter_ids(note, (*_BOXES, *_FILES))


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _RawAnswer(Struct):
    id: str | None = None
    output: list[msgspec.Raw] = []
    usage: _Usage | None = None


class _RawEvent(Struct):
    response: _RawAnswer | None = None


class ItemKind(Struct):
    """What an item is."""

    id: str | None = None
    type: str | None = None


_RAW_EVENT = get_decoder(_RawEvent)
_RAW_WHOLE = get_decoder(_RawAnswer)
_ITEM = get_decoder(ItemKind)
# Items that show all that the model read or wrote (openai 3.49.0 types). Reasoning is hidden, and
# part of the answer's output; results of searches and of code are no part of it.
_SHOWN = (
    *("message", "function_call", "custom_tool_call", "computer_call", "local_shell_call"),
    *("shell_call", "apply_patch_call", "mcp_approval_request"),
)
_HIDDEN: dict[str | None, int] = dict.fromkeys(_SHOWN, 0)


class ReadAnswer(Struct, frozen=True):
    """An answer: its id, its items with what each is, and what it reports to have used."""

    id: str | None
    items: list[tuple[ItemKind, bytes]]
    usage: _Usage

    @property
    def hidden(self) -> dict[str, int | None]:
        """Return the most tokens that each item does not show; None if unlimited."""
        thought = self.usage.output_tokens
        hidden: dict[str, int | None] = {}
        for item, _ in self.items:
            is_thought = item.type == "reasoning"
            hidden[item.id or ""] = thought if is_thought else _HIDDEN.get(item.type)
        return hidden


def read_answer(data: bytes, *, stream: bool) -> ReadAnswer | None:
    """Return the answer in a body, or in the event that ends a stream; None if it has none."""
    try:
        answer = _RAW_EVENT.decode(data).response if stream else _RAW_WHOLE.decode(data)
        items = [(_ITEM.decode(raw), bytes(raw)) for raw in (answer.output if answer else ())]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return None if answer is None else ReadAnswer(answer.id, items, answer.usage or _Usage())


def find_answer(data: bytes, *, stream: bool) -> GivenAnswer | None:
    """Return an answer with its items, or that of the event that ends a stream."""
    answer = read_answer(data, stream=stream)
    if answer is None:
        return None
    return GivenAnswer(
        id=answer.id,
        items={each.id: raw for each, raw in answer.items if each.id},
        hidden=answer.hidden,
        input=answer.usage.input_tokens,
        output=answer.usage.output_tokens,
    )
