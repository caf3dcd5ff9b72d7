"""Which levels a probe compares: those that are really sent differently, the weakest first."""

from collections.abc import Sequence

from ..errors import BadParameter, UsageError
from ..thinking import Plan
from .median_test import ALPHA, wins_needed
from .probe import OFF, OFF_MOST

USUAL = ("low", "high")
"""The levels of a model of words, if it has both."""
MAX_TOKENS = 8_000
"""The output limit of an ask, unless it would make the levels the same."""


def list_distinct(plans: Sequence[tuple[str, Plan]]) -> tuple[list[str], list[str]]:
    """Return the levels that send different fields, by the names they are sent by, and notes.

    ``plans`` has each level as it was written, with its plan. Two that send the same are one.
    """
    kept: dict[str, Plan] = {}
    notes = []
    for text, plan in plans:
        name = _find_name(text, plan)
        twin = next((own for own, other in kept.items() if other.fields == plan.fields), None)
        if (twin or name) != text and plan.asked != OFF:
            notes.append(f"{text} is sent as {twin or name} here")
        if twin is None:
            kept[name] = plan
    return list(kept), notes


def _find_name(text: str, plan: Plan) -> str:
    is_number = isinstance(plan.asked, int) and plan.budget is not None
    return text if is_number else plan.level or text


def choose_levels(ladder: Sequence[Plan], *, has_budgets: bool) -> list[str]:
    """Return the two levels to compare of a model's ladder; one if it has no other.

    A number of tokens is a limit that short questions may not reach, so the least is compared with
    the most; words are compared in their usual range.
    """
    named = [
        (plan.level or str(plan.asked), plan) for plan in ladder if plan.will_think is not False
    ]
    names, _ = list_distinct(named)
    if not has_budgets and set(USUAL) <= set(names):
        return list(USUAL)
    strongest = named[-1][0]  # a limit may make several the same: the last is the one that counts
    return [names[0], strongest] if len(names) > 1 else names


def check_comparable(model: str, levels: Sequence[str]) -> None:
    """Raise UsageError if there is nothing to compare."""
    if len(levels) > 1:
        return
    only = f"all are sent as {levels[0]}" if levels else "none is sent"
    message = f"there is nothing to compare: of these levels of {model}, {only}"
    raise UsageError(message)


def check_question_count(levels: Sequence[str], questions: int) -> None:
    """Raise BadParameter if so few questions can decide nothing."""
    steps = max(1, sum(level != OFF for level in levels) - 1)
    pairs = steps + (steps > 1)
    if wins_needed(questions, ALPHA / pairs) is None:
        least = next(n for n in range(1, 100) if wins_needed(n, ALPHA / pairs) is not None)
        message = f"{questions} questions can decide nothing; give at least {least}"
        raise BadParameter(message)


def count_asks(levels: Sequence[str], questions: int) -> int:
    """Return the most asks that a probe of these levels can make."""
    thinking = sum(level != OFF for level in levels)
    if thinking < 2:
        return questions * len(levels)
    return questions * thinking + (min(questions, OFF_MOST) if OFF in levels else 0)
