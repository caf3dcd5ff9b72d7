"""How an answer ended."""

from collections.abc import Iterable, Mapping

from ...canon import Finish, Part, Text, Thinking, ToolCall, Usage

_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "pause_turn": "paused",
    "compaction": "paused",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}


def finish(word: str | None, parts: Iterable[Part], usage: Usage) -> Finish:
    """Return our word for the service's; ``exhausted`` where the cap left no room to answer."""
    ended = _FINISH.get(word or "", "other")
    return "exhausted" if ended == "length" and _only_thought(parts, usage) else ended


def _only_thought(parts: Iterable[Part], usage: Usage) -> bool:
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
