"""Whether the minimum level of rules is above their maximum, in gateway.toml and at run time."""

from collections.abc import Collection

from ...thinking import FIGURES, parse_intent
from .model import LevelRules


def find_order_problem(rules: LevelRules, words: Collection[str] = ()) -> str | None:
    """Return why floor and cap exclude each other; None if they do not.

    ``words`` are the levels that only some models have. Raises BadThinking.
    """
    if rules.floor is None or rules.cap is None:
        return None
    if _count_tokens(rules.floor, words) <= _count_tokens(rules.cap, words):
        return None
    return f"floor {rules.floor!r} is above cap {rules.cap!r}"


def _count_tokens(word: str, words: Collection[str]) -> int:
    """Return the tokens that a level commonly means."""
    intent = parse_intent(word, words=words)
    return (intent.tokens or 0) if intent.kind == "budget" else FIGURES.get(intent.level or "", 0)
