"""The arithmetic of levels: which word a model has for one, and how many tokens it means."""

import re

from .capability import Budget, Capability
from .intent import ALIASES, LEVELS
from .policy import Policy

_OFFER = re.compile(
    r"(\b(?:supported|valid|allowed) (?:values|levels|efforts|options)"
    r"|\b(?:must be|expected) one of)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+")
_THIRDS = {"low": 1, "medium": 2}
_PERCENT = {"low": 20, "medium": 50, "high": 80}


def figure(level: str, budget: Budget, *, policy: Policy, cap: int) -> int:
    """Return the number of tokens this level means under the policy, within the range."""
    if level == "minimal":
        low = figure("low", budget, policy=policy, cap=cap)
        return max(budget.min, min(budget.minimal, low))
    if policy.budgets == "percent":
        return max(budget.min, min(cap * share(level) // 100, budget.max))
    base = budget.min if budget.base is None else budget.base
    top = budget.max if budget.nominal is None else budget.nominal
    if policy.budgets == "fixed" and level in budget.fixed:
        return max(budget.min, min(budget.fixed[level], top))
    return max(budget.min, base + _THIRDS.get(level, 3) * (top - base) // 3)


def share(level: str) -> int:
    """Return how many percent of the output a level may spend on thinking."""
    return _PERCENT.get(level, 95)


def twin(level: str, budget: Budget, *, policy: Policy, cap: int) -> str:
    """Return the plainest level that means the same number of tokens as this one."""
    mine = figure(level, budget, policy=policy, cap=cap)
    plainer = LEVELS[2 : LEVELS.index(level)] if level in LEVELS[2:] else ("low",)
    same = (w for w in plainer if figure(w, budget, policy=policy, cap=cap) == mine)
    return next(same, level)


def step(level: str, capability: Capability) -> str:
    """Return the model's own word: the level itself, else the weakest above it, else the top."""
    efforts = capability.efforts
    if level in capability.steps:
        return capability.steps[level]
    if level in efforts:
        return level
    wanted = _rank(level, efforts)
    return next((word for word in efforts if _rank(word, efforts) >= wanted), efforts[-1])


def nearest(tokens: int, capability: Capability) -> str:
    """Return the level whose proportional figure is nearest to a number of tokens."""
    low, high = capability.scale
    marks = {"minimal": low}
    marks |= {lv: low + k * (high - low) // 3 for k, lv in enumerate(("low", "medium", "high"), 1)}
    return min(marks, key=lambda level: abs(marks[level] - tokens))


def listed(refusal: str) -> tuple[str, ...]:
    """Return the levels that a refusal offers instead, in the order of the ladder."""
    _, offer, words = _OFFER.split(refusal, maxsplit=1) if _OFFER.search(refusal) else ("", "", "")
    if not offer:
        return ()
    found = {ALIASES.get(word, word): word for word in _WORD.findall(words.lower())}
    return tuple(found[level] for level in LEVELS if level in found)


def closest(level: str, words: tuple[str, ...]) -> str:
    """Return the weakest of these words at or above a level, else the strongest."""
    ranks = {word: LEVELS.index(ALIASES.get(word, word)) for word in words}
    wanted = ALIASES.get(level, level)
    least = LEVELS.index(wanted) if wanted in LEVELS else 0
    return next((word for word in words if ranks[word] >= least), words[-1])


def _rank(word: str, efforts: tuple[str, ...]) -> float:
    """Return where a word stands; a family's own word stands right above the one before it."""
    if word in LEVELS:
        return LEVELS.index(word)
    if word not in efforts:
        return len(LEVELS)
    before = [LEVELS.index(w) for w in efforts[: efforts.index(word)] if w in LEVELS]
    return (before[-1] if before else 0) + 0.5
