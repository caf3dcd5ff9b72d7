"""What stands in an answer, taken out of its JSON the dumb way, to hold our decoders against."""

import json
from dataclasses import dataclass, field
from typing import Any

Json = Any


@dataclass
class Extract:
    """Several strings for the text or the thinking mean that any of them is right.

    ``opaque`` must come back byte for byte in some seal. ``total`` is the service's own total, or
    the sum its sheet prescribes; None where it says nothing.
    """

    text: set[str] = field(default_factory=set)
    thinking: set[str] = field(default_factory=set)
    calls: list[tuple[str, Json]] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    total: int | None = None


@dataclass(frozen=True)
class Unit:
    """One piece of an assistant's turn that must go back: thinking with its seal, or a call."""

    kind: str
    value: Json


def json_or_text(text: str) -> Json:
    """Return what the text says as JSON, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
