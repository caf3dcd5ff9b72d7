"""Reads what a hook returns: a mistake in it is a failure of the hook, not of the gateway."""

from collections.abc import Mapping
from typing import Any, get_args

from msgspec import json, to_builtins

from ...canon import Event, Finish, Message, Reply, Usage, convert_json
from .interface import Reject

LONGEST_MESSAGE = 2_000
"""Characters of a rejection: every record of it has its message."""
LARGEST_RESULT = 64 << 20
"""Bytes of one result, written as JSON: as many as a request has by default."""
MOST_EVENTS = 1_000
"""Events in place of one."""
_EVENTS = get_args(Event)
_FIELDS: Mapping[str, Any] = {
    "message": Message,
    "finish": Finish,
    "usage": Usage,
    "raw_finish": str | None,
    "model": str | None,
    "grounding": Any,
    "safety": Any,
    "extras": Any,
}
"""What an answer of a hook may say; the rest of a reply is the gateway's word."""
# ValidationError, DecodeError and UnicodeError are ValueErrors.
_UNREADABLE = (TypeError, ValueError, OverflowError, RecursionError)


class WrongResult(Exception):
    """A hook returned something that it may not; the text quotes nothing of it."""


def read_given_events(result: Any, event: Event) -> list[Event] | Reject | None:
    """Return the result of ``on_event`` for an event; raises WrongResult."""
    if result is None:
        return None
    if isinstance(result, Reject):
        return read_rejection(result)
    if type(result) not in (list, tuple):  # anything else would run here, without a time limit
        raise WrongResult(name_result(result))
    if len(result) > MOST_EVENTS:
        raise WrongResult(f"returned {len(result):,} events in place of one")
    size = 0
    for each in result:
        if not isinstance(each, _EVENTS):
            raise WrongResult(name_result(each, "in place of an event"))
        if each is not event:
            size += check_given(each, type(each))
            _check_size(size)
    return list(result)


def read_given_reply(result: Any) -> Reply | Reject | None:
    """Return an answer, or the result of ``on_reply``; raises WrongResult."""
    if result is None:
        return None
    if isinstance(result, Reject):
        return read_rejection(result)
    if not isinstance(result, Reply):
        raise WrongResult(name_result(result))
    fields = {name: convert_value(getattr(result, name), kind) for name, kind in _FIELDS.items()}
    measure_result(fields)
    return Reply(**fields)


def read_rejection(result: Reject) -> Reject:
    """Return a rejection whose message any API can write; raises WrongResult."""
    if not isinstance(result.message, str):
        raise WrongResult(name_result(result.message, "as the message of a Reject"))
    text = result.message[:LONGEST_MESSAGE].encode("utf-8", "replace").decode()
    return Reject(text, result.status)


def check_given(value: Any, kind: Any) -> int:
    """Return the bytes of a part of an answer.

    Raises WrongResult if it cannot be written, has another type, or is too large.
    """
    convert_value(value, kind)
    return measure_result(value)


def measure_result(value: Any) -> int:
    """Return the bytes of a part of a result; raises WrongResult as ``check_given`` does."""
    try:
        size = len(json.encode(value))
    except _UNREADABLE:
        raise WrongResult(_name_fields(value)) from None
    _check_size(size)
    return size


def _check_size(size: int) -> None:
    if size > LARGEST_RESULT:
        raise WrongResult(f"returned more than {LARGEST_RESULT >> 20} MiB")


def convert_value(value: Any, kind: Any) -> Any:
    """Return a part of a request with all its fields checked; raises WrongResult."""
    try:
        plain = to_builtins(value, builtin_types=(bytes,))
        return convert_json(plain, kind, builtins=(bytes,))
    except _UNREADABLE:
        raise WrongResult(_name_fields(value)) from None


def name_result(value: Any, where: str = "") -> str:
    """Return what is wrong with a result of another type."""
    return f"returned a {type(value).__name__} {where}".rstrip()


def _name_fields(value: Any) -> str:
    return f"returned a {type(value).__name__} with fields of another type"
