"""Writes the emulator's thinking: longer with every level, never above the budget."""

from ...canon import Json
from ...dialects import AcceptedRequest
from ...thinking import nearest_level
from ..tokens import clip, count_tokens
from .arithmetic import Calculation

_TOKENS = {
    "minimal": 32, "low": 64, "medium": 128, "high": 256, "xhigh": 384, "max": 512,
}  # fmt: skip
_BEYOND = 640  # a service's own level above all of ours
_USUAL = "medium"
_DOUBTS = (
    "Is anything assumed here that was not said? No.",
    "Another way would be to begin at the end and go back; it leads to the same place.",
    "The question is taken as it is written, with no more in it than there is.",
    "Nothing in the earlier messages speaks against this.",
    "The order of the steps does not change the outcome.",
    "A careless reader might stop here; once more, then, and slowly.",
    "If this were wrong, where would it show? Nowhere that I can see.",
    "What would someone ask next? That can wait until it is asked.",
    "A short answer serves better than a long one.",
)


def depth(accepted: AcceptedRequest[Json]) -> int:
    """Return the number of thinking tokens for a request, 0 without thinking."""
    if not accepted.thinks:
        return 0
    budget = accepted.intent.tokens
    if budget is not None and budget > 0:
        return min(budget, _TOKENS[nearest_level(budget)])
    level = accepted.intent.level
    if level in (None, "default"):
        level = accepted.default if accepted.default in _TOKENS else _USUAL
    return _TOKENS.get(level, _BEYOND)


def thoughts(
    question: str, *, worked: Calculation | None, tools: tuple[str, ...], tokens: int
) -> str:
    """Return thinking of nearly ``tokens`` tokens, never more."""
    text = _make_opening(question, worked, tools)
    turn = 0
    while count_tokens(longer := text + (" " if turn % 3 else "\n\n") + _doubt(turn)) <= tokens:
        text, turn = longer, turn + 1
    return clip(text, tokens)


def _doubt(turn: int) -> str:
    rounds, which = divmod(turn, len(_DOUBTS))
    return f"Round {rounds + 1}: {_DOUBTS[which]}" if rounds and not which else _DOUBTS[which]


def _make_opening(question: str, worked: Calculation | None, tools: tuple[str, ...]) -> str:
    said = [f'The question is "{_short(question)}".']
    if tools:
        said.append(f"For this there is {' and '.join(tools)}.")
    if worked is not None:
        said += [f"{'Then' if n else 'First,'} {step}." for n, step in enumerate(worked.steps)]
        if worked.value is not None:
            said.append(f"So the result is {worked.value}.")
    return " ".join(said)


def _short(question: str) -> str:
    words = " ".join(question.split())
    return words if len(words) <= 60 else f"{words[:57]}..."
