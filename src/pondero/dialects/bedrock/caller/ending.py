"""How an answer ended."""

from collections.abc import Iterable, Mapping

from pondero.canon import Finish, Part, Usage, only_thought

_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
    "model_context_window_exceeded": "context_full",
}


def finish(word: str | None, parts: Iterable[Part], usage: Usage) -> Finish:
    """Return our word for the service's; ``exhausted`` where the cap left no room to answer."""
    ended = _FINISH.get(word or "", "other")
    return "exhausted" if ended == "length" and only_thought(parts, usage) else ended
