"""Compares what was planned with what came: the verdict of a reply."""

from ..canon import Finish, Message, Text, Thinking, Usage, Verdict
from ..thinking import Plan

_ROOM = 4096


def verdict(plan: Plan, message: Message, finish: Finish, usage: Usage) -> Verdict:
    """Return how the answer compares with its plan; unknown where nothing shows it."""
    thought = _thought(message, usage)
    if is_exhausted(message, finish):
        return "exhausted"
    if plan.will_think is False:
        return "thought_though_off" if thought or _leaks(message.text) else "as_planned"
    if plan.budget is not None and (usage.thinking or 0) > plan.budget:
        return "overran_budget"
    if plan.will_think is None or thought is None:
        return "unknown"
    return "as_planned" if thought else "did_not_think"


def is_exhausted(message: Message, finish: Finish) -> bool:
    """Return whether the output was spent before there was an answer, however it ended."""
    if finish == "exhausted":
        return True
    answered = any(
        part.text.strip() if isinstance(part, Text) else not isinstance(part, Thinking)
        for part in message.parts
    )
    thinking = any(isinstance(part, Thinking) for part in message.parts)
    return finish in ("length", "stop") and thinking and not answered


def cap_to_retry(plan: Plan, usage: Usage) -> int:
    """Return a max_tokens that leaves room: twice what was spent, and an answer."""
    spent = (usage.thinking or 0) + (usage.output or 0)
    return max(2 * spent, plan.budget or 0) + _ROOM


def _leaks(text: str) -> bool:
    """Return whether the answer's text has thinking in it, between tags.

    A template that opens the tag in the prompt leaves only its end in the answer.
    """
    before, closed, _ = text.partition("</think>")
    opened = before.partition("<think>")
    return bool(closed) and (not opened[1] or not opened[0].strip())


def _thought(message: Message, usage: Usage) -> bool | None:
    """Return whether it thought; None where it shows nothing and counts nothing."""
    if usage.thinking or any(isinstance(part, Thinking) for part in message.parts):
        return True
    return None if usage.thinking is None else False
