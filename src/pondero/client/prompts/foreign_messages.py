"""Messages in the form of another API, read by the service's side of its dialect.

``messages.py`` calls it if it cannot read the messages itself: a program that moves from a
vendor's SDK keeps its conversation as it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ...canon import HttpRequest, Json, Message, ToolResult, UnknownPart
from ...dialects import NAMES, Rejected, get_dialect
from ...errors import PonderoError


def read_foreign_messages(given: Sequence[Mapping[str, Json]]) -> tuple[Message, ...] | None:
    """Return the messages as a dialect reads them that knows all of it; None if none does."""
    if not any(isinstance(each.get("content"), list | tuple) for each in given):
        return None
    try:
        body = msgspec.json.encode({"model": "", "messages": given}, enc_hook=_dump)
    except (TypeError, ValueError):
        return None
    request = HttpRequest("POST", "http://localhost/", {}, body)
    for service in (get_dialect(name).service() for name in NAMES):
        if not service.own_messages:
            continue
        try:
            parsed = service.parse(request)
        except (Rejected, PonderoError):
            continue
        messages = parsed.request.messages
        if messages and not parsed.unknown and all(map(_is_known, messages)):
            return messages
    return None


def _is_known(message: Message) -> bool:
    inside = [
        part
        for whole in message.parts
        for part in (whole.content if isinstance(whole, ToolResult) else (whole,))
    ]
    return not any(isinstance(part, UnknownPart) for part in inside)


def _dump(value: Any) -> Json:
    """Return the JSON of a part that a vendor's SDK made, without the fields that it leaves out."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        raise TypeError(f"{type(value).__name__} has no JSON")
    return dump(mode="json", exclude_none=True)
