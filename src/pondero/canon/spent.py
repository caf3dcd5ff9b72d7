"""Whether an answer was cut before it said anything: all of it went into thinking."""

from collections.abc import Iterable

from .parts import Part, Text, Thinking, ToolCall
from .usage import Usage


def only_thought(parts: Iterable[Part], usage: Usage) -> bool:
    """Return whether it thought, and neither said a word nor called a tool."""
    thought = bool(usage.thinking)
    for part in parts:
        match part:
            case Thinking():
                thought = True
            case Text() if not part.text.strip():
                pass
            case Text() | ToolCall():
                return False
    return thought
