"""Why the answer ended, in one vocabulary; the clones have words of their own."""

from pondero.canon import Finish

_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
    "model_length": "context_full",
    "model_context_window_exceeded": "context_full",
    "error": "error",
    "network_error": "error",
    "insufficient_system_resource": "error",
}


def finish_of(
    raw: str | None, *, calls: bool, text: bool, refused: bool, thought: bool, failed: bool
) -> Finish:
    """Return how the answer ended, from the service's word and what had come by then."""
    if not raw and failed:
        return "error"
    finish = _FINISH.get(raw.lower(), "other") if raw else "other"
    if calls and (finish == "stop" or not raw):  # a forced call ends with the word for an answer
        return "tool_calls"
    if refused and finish == "stop":
        return "refusal"
    if finish == "length" and thought and not text and not calls:
        return "exhausted"
    return finish
