"""Finds the nearest thing a model has to an intent; ``resolve`` calls ``target_level``."""

import re
from collections.abc import Callable

from .capability import BudgetRange, Capability
from .decision import ResolveContext, TargetLevel
from .intent import ABOVE_MAX, ALIASES, LEVELS, Intent
from .policy import Policy

_OFFER = re.compile(
    r"(\b(?:supported|valid|allowed) (?:values|levels|efforts|options)"
    r"|\b(?:must be|expected) one of)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+")
_THIRDS = {"low": 1, "medium": 2}
_PERCENT = {"off": 0, "minimal": 10, "low": 20, "medium": 50, "high": 80}

FIGURES = {
    "minimal": 1_024,
    "low": 4_096,
    "medium": 8_192,
    "high": 20_000,
    "xhigh": 32_000,
    "max": 64_000,
}
"""Level -> the usual number of tokens, for models that take only words.

Agents send 16,000 to 24,000 tokens for "think hard" and 32,000 for the most (Claude Code, Aider and
the vendors' examples), whatever the model's output limit.
"""


def level_tokens(level: str, budget: BudgetRange, *, policy: Policy, cap: int) -> int:
    """Return the number of tokens this level means under the policy, within the range."""
    if policy.budgets == "percent":
        return max(budget.min, min(cap * percent_of_output(level) // 100, budget.max))
    if level == "minimal":
        low = level_tokens("low", budget, policy=policy, cap=cap)
        return max(budget.min, min(budget.minimal, low))
    base = budget.min if budget.base is None else budget.base
    top = budget.max if budget.nominal is None else budget.nominal
    if policy.budgets == "fixed" and level in budget.fixed:
        return max(budget.min, min(budget.fixed[level], top))
    return max(budget.min, base + _THIRDS.get(level, 3) * (top - base) // 3)


def percent_of_output(level: str) -> int:
    """Return how many percent of the output a level may spend on thinking."""
    return _PERCENT.get(level, 95)


def plainest_equal(level: str, budget: BudgetRange, *, policy: Policy, cap: int) -> str:
    """Return the plainest level that means the same number of tokens as this one."""
    mine = level_tokens(level, budget, policy=policy, cap=cap)
    plainer = LEVELS[2 : LEVELS.index(level)] if level in LEVELS[2:] else ("low",)
    same = (w for w in plainer if level_tokens(w, budget, policy=policy, cap=cap) == mine)
    return next(same, level)


def models_word(level: str, capability: Capability) -> str:
    """Return the model's word for a level: the same, else the weakest above it, else its top."""
    efforts = capability.efforts
    if level in capability.steps:
        return capability.steps[level]
    if level in efforts:
        return level
    wanted = _rank(level, efforts)
    return next((word for word in efforts if _rank(word, efforts) >= wanted), efforts[-1])


def nearest_level(tokens: int) -> str:
    """Return the level whose figure in common use is nearest to a number of tokens."""
    return min(FIGURES, key=lambda level: abs(FIGURES[level] - tokens))


def word_figure(word: str, efforts: tuple[str, ...]) -> float:
    """Return a level's figure; a family's own word lies between its neighbours, or above max."""
    word = ALIASES.get(word, word)
    if word == "off":
        return 0
    if word in FIGURES:
        return FIGURES[word]
    at = efforts.index(word) if word in efforts else len(efforts)
    below = max((FIGURES[each] for each in efforts[:at] if each in FIGURES), default=0)
    above = [FIGURES[each] for each in efforts[at + 1 :] if each in FIGURES]
    return (below + min(above)) / 2 if above else 2 * max(below, FIGURES["max"])


def parse_offered_levels(message: str) -> tuple[str, ...]:
    """Return the levels that a rejection's message offers, the weakest first."""
    _, offer, words = _OFFER.split(message, maxsplit=1) if _OFFER.search(message) else ("", "", "")
    if not offer:
        return ()
    found = {ALIASES.get(word, word): word for word in _WORD.findall(words.lower())}
    return tuple(found[level] for level in LEVELS if level in found)


def closest_word(level: str, words: tuple[str, ...]) -> str:
    """Return the weakest of these words at or above a level, else the strongest."""
    ranks = {word: LEVELS.index(ALIASES.get(word, word)) for word in words}
    wanted = ALIASES.get(level, level)
    least = LEVELS.index(wanted) if wanted in LEVELS else 0
    return next((word for word in words if ranks[word] >= least), words[-1])


def explain_substitute(got: str, wanted: str, words: tuple[str, ...]) -> str:
    """Return why one level replaces another, for an adjustment."""
    if _rank(got, words) > _rank(wanted, words):
        return f"{got} is the next above {wanted}"
    return f"{got} is the highest" if got == words[-1] else f"{got} replaces {wanted}"


def _stand_in(got: str, wanted: str, capability: Capability) -> str:
    if wanted in capability.steps:
        return f"{got} is what it has for {wanted}"
    return explain_substitute(got, wanted, capability.efforts)


def _rank(word: str, efforts: tuple[str, ...]) -> float:
    """Return a word's place among all levels; a family's own word ranks half a place higher."""
    word = ALIASES.get(word, word)
    if word in LEVELS:
        return LEVELS.index(word)
    if word not in efforts:
        return len(LEVELS)
    before = [LEVELS.index(w) for w in efforts[: efforts.index(word)] if w in LEVELS]
    return (before[-1] if before else 0) + 0.5


def target_level(intent: Intent, case: ResolveContext) -> TargetLevel:
    """Return the nearest thing this model has to the intent."""
    return _BY_KIND[intent.kind](intent, case)


def _send_nothing(intent: Intent, _case: ResolveContext) -> TargetLevel:
    return TargetLevel("native" if intent.kind == "native" else "unset")


# -- off --------------------------------------------------------------------------------------


def _disable(_intent: Intent, case: ResolveContext) -> TargetLevel:
    capability, policy = case.capability, case.policy
    if not capability.thinks:
        return TargetLevel("unset", "off")
    if policy.off == "omit":
        if capability.thinks_unasked is not False:
            why = "the policy off=omit sends nothing, and by default this model may think"
            case.note("off_omitted", "level", "off", capability.default, why)
        return TargetLevel("unset", "off")
    if policy.off == "least" and capability.off:
        return TargetLevel("off", "off")
    least = _least(case)
    if capability.off:
        why = "the policy off=floor asks for the lowest level instead of off"
        case.note("off_floor", "level", "off", least.got, why)
        return least
    if least.mode == "unset":
        why = "nothing can be said to this model about thinking"
        if capability.sibling:
            why += f"; {capability.sibling} does not think"
    else:
        why = "this model does not support disabling thinking; this is its minimum"
    case.note("cannot_disable", "level", "off", least.got, why)
    return least


def _least(case: ResolveContext) -> TargetLevel:
    capability = case.capability
    if capability.style is None:
        return TargetLevel("unset", _default_level(case))
    if capability.by_budget and capability.budget is not None:
        return TargetLevel("budget", "minimal", _effort("minimal", case), capability.budget.min)
    if capability.efforts:
        return TargetLevel("level", capability.efforts[0], capability.efforts[0])
    return TargetLevel("on" if capability.toggle else "unset", "on")


# -- on and levels ----------------------------------------------------------------------------


def _enable(_intent: Intent, case: ResolveContext) -> TargetLevel:
    capability = case.capability
    if not capability.thinks:
        return _note_no_thinking("on", case)
    if capability.can_be_on:
        return TargetLevel("on", "on")
    if not capability.levels:
        return _note_no_control("on", case)
    fixed = capability.budget.fixed if capability.budget else {}
    if case.policy.budgets == "fixed" and "on" in fixed:
        found = TargetLevel("budget", "on", _effort("medium", case), fixed["on"])
    else:
        found = _find_level("medium", case)
    why = "this model does not think by default and has no on without a depth"
    case.note("on_as_level", "level", "on", found.got, why)
    return found


def _use_level(intent: Intent, case: ResolveContext) -> TargetLevel:
    return _find_level(intent.level or "medium", case)


def _find_level(level: str, case: ResolveContext) -> TargetLevel:
    capability = case.capability
    if not capability.thinks:
        return _note_no_thinking(level, case)
    if capability.style is None:
        return _note_no_control(level, case)
    if capability.by_budget:
        return _find_tokens(level, case)
    if not capability.efforts and not capability.can_be_on:
        return _note_no_control(level, case)
    if not capability.efforts:
        why = "this model's thinking is on or off, without levels"
        case.note("unsupported_level", "level", level, "on", why)
        return TargetLevel("on", "on")
    got = models_word(level, capability)
    if got != level:
        off = ("off",) if capability.off and not {"off", "none"} & {*capability.efforts} else ()
        has = " ".join((*off, *capability.efforts))
        why = f"this model has {has}; {_stand_in(got, level, capability)}"
        case.note("unsupported_level", "level", level, got, why)
    return TargetLevel("level", got, got)


def _find_tokens(level: str, case: ResolveContext) -> TargetLevel:
    budget = case.capability.budget
    if budget is None:
        return TargetLevel("unset")
    cap = case.cap or case.capability.max_output or budget.max
    known = LEVELS[-1] if level in ABOVE_MAX else level
    got = plainest_equal(known, budget, policy=case.policy, cap=cap)
    tokens = level_tokens(got, budget, policy=case.policy, cap=cap)
    if got != level:
        code = "level_as_budget" if level == "minimal" else "unsupported_level"
        why = f"{level} and {got} are both {tokens:,} tokens on this model"
        case.note(code, "level", level, got, why)
    return TargetLevel("budget", got, _effort(got, case), tokens)


# -- a number of tokens -----------------------------------------------------------------------


def _use_budget(intent: Intent, case: ResolveContext) -> TargetLevel:
    capability, tokens = case.capability, intent.tokens or 0
    if not capability.thinks:
        return _note_no_thinking(tokens, case)
    if capability.style is None:
        return _note_no_control(tokens, case)
    if capability.by_number:
        return _clamp_budget(tokens, intent, case)
    if not capability.efforts and not capability.can_be_on:
        return _note_no_control(tokens, case)
    if not capability.efforts:
        why = "this model's thinking is on or off, without a number of tokens"
        case.note("budget_as_level", "budget", tokens, "on", why)
        return TargetLevel("on", "on")
    meant = nearest_level(tokens)
    level = models_word(meant, capability)
    why = (
        "this model takes levels, not token budgets. "
        f"{tokens:,} is nearest to {meant} ({FIGURES[meant]:,} tokens)"
    )
    if level != meant:
        why += f", which this model does not have; {_stand_in(level, meant, capability)}"
    why += ". Only max_tokens limits its thinking"
    case.note("budget_as_level", "budget", tokens, level, why)
    return TargetLevel("level", level, level)


def _clamp_budget(tokens: int, intent: Intent, case: ResolveContext) -> TargetLevel:
    capability, budget = case.capability, case.capability.budget
    if budget is None:
        return TargetLevel("unset")
    effort = None
    if capability.by_budget:
        effort = _effort(intent.level or nearest_level(tokens), case)
    fitting = max(budget.min, min(tokens, budget.max))
    if fitting != tokens:
        why = f"this model takes {budget.min:,} to {budget.max:,} tokens"
        case.note("budget_clamped", "budget", tokens, fitting, why)
    return TargetLevel("budget", None, effort, fitting)


# -- no control -------------------------------------------------------------------------------


def _note_no_thinking(asked: str | int, case: ResolveContext) -> TargetLevel:
    why = "this model does not think, and rejects a request to"
    if case.capability.sibling:
        why += f"; {case.capability.sibling} thinks"
    case.note("no_thinking", "level", asked, "off", why)
    return TargetLevel("unset", "off")


def _note_no_control(asked: str | int, case: ResolveContext) -> TargetLevel:
    got = _default_level(case)
    why = "this model has no control for thinking"
    if not case.capability.checked:
        why = "nothing is known of this model's thinking; pass its own fields to control it"
    case.note("no_control", "level", asked, got, why)
    return TargetLevel("unset", got)


def _default_level(case: ResolveContext) -> str | None:
    default = case.capability.default
    return None if default in ("dynamic", "unaudited") else default


def _effort(level: str, case: ResolveContext) -> str | None:
    return models_word(level, case.capability) if case.capability.efforts else None


_BY_KIND: dict[str, Callable[[Intent, ResolveContext], TargetLevel]] = {
    "unset": _send_nothing,
    "auto": _send_nothing,  # not yet looked up
    "native": _send_nothing,
    "off": _disable,
    "on": _enable,
    "level": _use_level,
    "budget": _use_budget,
}
