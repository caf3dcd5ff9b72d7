"""Reads messages of sockets: which of them ask for an answer, begin one, end one or reject one."""

import json

import msgspec
from msgspec import Struct

from ..canon import Json, get_path
from .endpoints import SocketTurns


class TurnEvent(Struct, frozen=True):
    """What a message of a service says about answers; ``failed``: the request that it rejects.

    ``may_begin``: it begins one if these are turned on.
    """

    begins: bool = False
    may_begin: bool = False
    ends: bool = False
    is_error: bool = False
    answer: str = ""
    failed: str | None = None


_NO_EVENT = TurnEvent()


def asks_for_answer(raw: Json, turns: SocketTurns) -> bool:
    """Return whether a client's message asks for an answer."""
    return _matches(raw, turns.asks)


def read_turn_event(message: str | bytes, turns: SocketTurns) -> TurnEvent:
    """Return what a message of the service says about its answers."""
    data = message.encode() if isinstance(message, str) else message
    places = (*turns.begins, *turns.begins_if_on, *turns.ends, *turns.errors)
    if not any(_find_mark(place) in data for place in places):
        return _NO_EVENT
    raw = parse_message(message)
    failed = get_path(raw, turns.failed_id.split(".")) if turns.failed_id else None
    answer = get_path(raw, turns.answer_id.split(".")) if turns.answer_id else None
    return TurnEvent(
        begins=_matches(raw, turns.begins),
        may_begin=_matches(raw, turns.begins_if_on),
        ends=_matches(raw, turns.ends),
        is_error=_matches(raw, turns.errors),
        answer=answer if isinstance(answer, str) else "",
        failed=failed if isinstance(failed, str) else None,
    )


def has_setting(message: str | bytes, turns: SocketTurns) -> bool:
    """Return whether a message of the service may say that these answers are turned on or off."""
    data = message.encode() if isinstance(message, str) else message
    return any(f'"{path.rpartition(".")[2]}"'.encode() in data for path in turns.on_at)


def read_setting(raw: Json, turns: SocketTurns) -> bool | None:
    """Return whether a message turns these answers on or off; None if it says nothing."""
    found: bool | None = None
    for path in turns.on_at:
        *steps, last = path.split(".")
        holder = get_path(raw, steps)
        if isinstance(holder, dict) and last in holder:
            found = found or holder[last] not in (None, False)
    return found


def set_request_id(raw: Json, turns: SocketTurns, id: str) -> tuple[str, Json]:
    """Return a client's message with another id, and the id that it had."""
    had = raw.get(turns.request_id)
    return json.dumps({**raw, turns.request_id: id}), had


def restore_failed_id(message: str | bytes, turns: SocketTurns, id: Json) -> str:
    """Return the service's error with the id that the client's message had."""
    raw = inner = parse_message(message)
    *steps, last = turns.failed_id.split(".")
    for step in steps:
        inner = inner[step]
    inner[last] = id
    return json.dumps(raw)


def write_cancel(turns: SocketTurns, answer: str) -> str | None:
    """Return the message that ends an answer; None if the API has none."""
    if not turns.cancel:
        return None
    return json.dumps({"type": turns.cancel, **({turns.cancel_id: answer} if answer else {})})


def _find_mark(place: str) -> bytes:
    path, _, value = place.partition("=")
    return (value or path.rpartition(".")[2]).encode()


def _matches(raw: Json, places: tuple[str, ...]) -> bool:
    for place in places:
        path, _, value = place.partition("=")
        found = get_path(raw, path.split("."))
        if found == value if value else found not in (None, False):
            return True
    return False


def parse_message(message: str | bytes) -> Json:
    """Return the JSON of a message as the most lenient reader finds it; None if it has none."""
    try:
        return msgspec.json.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None
