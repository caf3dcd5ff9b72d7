"""The values of this wire's seals: what is kept of an output item to send it back.

A thinking seal is the whole item. The seal of a follower (text, call) is ``{"item": its other
keys, "after": the thinking item it was made after}``, so that neither goes back without the other.
"""

from typing import Any

import msgspec

from pondero.canon import Json, Seal, dumped
from pondero.framing import UNREADABLE

NAME = "openai_responses"


def thinking_value(item: dict[str, Json]) -> dict[str, Json]:
    """Return the value for an item of thinking: all of it but null fields."""
    return {key: value for key, value in item.items() if key != "type" and value is not None}


def follower_value(
    item: dict[str, Json], without: frozenset[str], after: str | None
) -> dict[str, Json]:
    """Return the value for a follower; empty where there is nothing to keep."""
    kept = {key: value for key, value in item.items() if key not in without and value is not None}
    value: dict[str, Json] = {}
    if kept or after is not None:
        value["item"] = kept
    if after is not None:
        value["after"] = after
    return value


def opened(seal: Seal | None) -> dict[str, Any] | None:
    """Return the value of a seal of this wire; None for any other."""
    if seal is None or seal.dialect != NAME or not isinstance(seal.value, dict):
        return None
    return seal.value


def read_arguments(text: str) -> tuple[Json, str | None]:
    """Return the arguments, and their text where encoding them would change it."""
    try:
        value = msgspec.json.decode(text) if text else {}
    except UNREADABLE:
        return text, None
    if isinstance(value, str):
        return text, None  # arguments that are a string are text that is not JSON
    return value, None if dumped(value) == text else text


def write_arguments(arguments: Json, noted: str | None) -> str:
    """Return the arguments as text: the one they came as, unless they were changed."""
    if isinstance(arguments, str):
        return arguments
    if noted is not None and read_arguments(noted)[0] == arguments:
        return noted
    return dumped(arguments)
