"""How an answer ended: the wire's word to ours."""

from pondero.canon import Finish

_ENDINGS: dict[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER"),
            "JAILBREAK",
        ),
        "content_filter",
    ),
    **dict.fromkeys(
        (
            *("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"),
            *("TOO_MANY_TOOL_CALLS", "LANGUAGE", "NO_IMAGE"),
        ),
        "error",
    ),
}
# Some clients had the enum written as numbers; from 6 on the two surfaces number differently.
_NUMBERED = ("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")


def finish(reason: str | int | None, *, called: bool, answered: bool, thought: bool) -> Finish:
    """Return our word. A call ends like any answer here, so the parts decide."""
    if isinstance(reason, int):
        reason = _NUMBERED[reason] if 0 <= reason < len(_NUMBERED) else "OTHER"
    ending = _ENDINGS.get(reason or "", "other")
    if called and (ending == "stop" or reason is None):
        return "tool_calls"
    if ending == "length" and thought and not answered and not called:
        return "exhausted"
    return ending


def blocked(reason: str | int) -> Finish:
    """Return our word for a question that was refused before any answer."""
    return "content_filter" if reason else "other"
