"""The depth that a client's body states, in every place where its API can carry it."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ...canon import Json, Message, Part, Request, UnknownPart, get_decoder
from ...dialects import DepthPlaces, may_escape_names
from ...exchange import fold_path, with_fields
from ..requests.split_body import SplitBody, make_search, read_fields

Limit = Callable[[Json], Json]
"""Returns the value to send in place of a stated one; None leaves it out."""

_TURNS = get_decoder(list[Raw])
_EMPTY_FRAME = {"type", "id", "role", "content"}


class TurnLimits(Struct, frozen=True):
    """A conversation with its own levels limited, and ``bare``, without them."""

    limited: bytes
    bare: bytes
    stated: bool


def limit_turns(
    fields: Mapping[str, Raw], places: DepthPlaces, limit: Limit, *, body: bytes = b""
) -> TurnLimits | None:
    """Limit the levels that turns set for themselves; None if no turn can have one.

    A turn that may have one is encoded again, so that no name occurs twice in it. All other turns
    keep their bytes. ``body`` is what the fields are of, if it may have been searched before.
    """
    if not places.in_turns or (sent := fields.get(places.turns)) is None:
        return None
    if not _may_state(sent, places, body):
        return None
    marks = _compile_marks(places.marks)
    try:
        turns = [bytes(turn) for turn in _TURNS.decode(sent)]
    except msgspec.DecodeError:
        return None  # one text
    limited: list[bytes] = []
    bare: list[bytes] = []
    stated = False
    for turn in turns:
        if not _has_mark(turn, marks):
            limited.append(turn)
            bare.append(turn)
            continue
        for kept, rule in ((limited, limit), (bare, _leave_out)):
            raw = msgspec.json.decode(turn)
            found = isinstance(raw, dict) and _limit_turn(raw, places, rule)
            stated = stated or found
            if not (found and _is_empty(raw)):
                kept.append(msgspec.json.encode(raw))
    return TurnLimits(_join(limited), _join(bare), stated)


def _may_state(turns: Raw, places: DepthPlaces, body: bytes) -> bool:
    """Return whether a conversation may have a turn that sets a level; nearly none has."""
    data = bytes(turns)
    is_split = isinstance(body, SplitBody) and body.fields.get(places.turns) is turns
    contains = body.has_in_turns if is_split else data.__contains__  # type: ignore[attr-defined]
    if any(map(contains, _encode_marks(places.marks))):
        return True
    return may_escape_names(contains)


def drop_stated_turns(request: Request, places: DepthPlaces, *, simple: int = 0) -> Request:
    """Return a request without the turns that only set a level, for a plan that states it.

    Otherwise they would set another level than the plan, or one that the model does not have.
    ``simple``: how many first messages are known to be none.
    """
    if not has_stated_turns(request, places, simple=simple):
        return request
    messages: list[Message] = []
    for message in request.messages:
        parts = tuple(part for part in message.parts if not _is_stated(part, places.marks))
        if parts or not message.parts:
            kept = len(parts) == len(message.parts)
            messages.append(message if kept else replace(message, parts=parts))
    return replace(request, messages=tuple(messages))


def has_stated_turns(request: Request, places: DepthPlaces, *, simple: int = 0) -> bool:
    """Return whether a request has turns that only set a level."""
    if not places.marks:
        return False
    for message in request.messages[simple:]:
        for part in message.parts:
            if isinstance(part, UnknownPart) and _is_stated(part, places.marks):
                return True
    return False


def _is_stated(part: Part, marks: tuple[str, ...]) -> bool:
    raw = part.raw if isinstance(part, UnknownPart) else None
    return isinstance(raw, dict) and raw.get("type") in marks


def find_last_level(body: bytes, places: DepthPlaces) -> str | None:
    """Return the level that the last such turn of a conversation sets; None if none does."""
    if not places.in_turns:
        return None
    contains, marks = make_search(body), _encode_marks(places.marks)
    if not (any(map(contains, marks)) or may_escape_names(contains)):
        return None
    found: list[str] = []

    def note(value: Json) -> Json:
        found.append(str(value))
        return value

    limit_turns(read_fields(body), places, note, body=body)
    return found[-1] if found else None


def limit_fields(body: bytes, places: DepthPlaces, limit: Limit) -> bytes:
    """Limit the depth in the fields of a body, each in its place."""
    names = {fold_path(path)[0] for path in places.fields}
    fields = read_fields(body)
    stated = {name: fields[name] for name in fields if fold_path((name,))[0] in names}
    if not stated:
        return body
    values: dict[str, Json] = {name: msgspec.json.decode(raw) for name, raw in stated.items()}
    for path in places.fields:
        _limit_at(values, fold_path(path), limit)
    return with_fields(body, [(name,) for name in stated], values, rewritten=names)


@lru_cache(maxsize=16)
def _encode_marks(marks: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(mark.encode() for mark in marks)


@lru_cache(maxsize=16)
def _compile_marks(marks: tuple[str, ...]) -> re.Pattern[bytes]:
    names = "|".join(map(re.escape, marks))
    return re.compile(rf'(?<!\\)"(?:{names})"'.encode())


def _has_mark(turn: bytes, marks: re.Pattern[bytes]) -> bool:
    if marks.search(turn) is not None:
        return True
    if not may_escape_names(turn.__contains__):
        return False
    return marks.search(msgspec.json.encode(msgspec.json.decode(turn))) is not None


def _limit_turn(turn: dict[str, Json], places: DepthPlaces, limit: Limit) -> bool:
    found = [_limit_at(turn, fold_path(path), limit) for path in places.in_turns]
    return any(found)


def _limit_at(value: dict[str, Json], path: tuple[str, ...], limit: Limit) -> bool:
    """Limit what is at a folded path; returns whether something was."""
    names = [name for name in value if fold_path((name,))[0] == path[0]]
    for name in names[:-1]:  # two spellings of one name: servers differ in which they read
        del value[name]
    if not names:
        return False
    name, inner = names[-1], value[names[-1]]
    if inner is None:  # it may mean no change or the model's default: services differ
        del value[name]
        return True
    if len(path) > 1 and isinstance(inner, dict | list):
        within = inner if isinstance(inner, list) else [inner]
        stated = [isinstance(each, dict) and _limit_at(each, path[1:], limit) for each in within]
        if not inner:
            del value[name]
        return any(stated)
    value[name] = limit(inner)
    if value[name] is None:
        del value[name]
    return True


def _leave_out(_value: Json) -> None:
    return None


def _is_empty(turn: Json) -> bool:
    """Return whether a turn has nothing left to say; services reject such turns."""
    return isinstance(turn, dict) and not turn.keys() - _EMPTY_FRAME and not turn.get("content")


def _join(turns: list[bytes]) -> bytes:
    return b"[%b]" % b",".join(turns)
