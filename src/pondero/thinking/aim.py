"""What does this wish mean on this model? One function for each kind of wish."""

from collections.abc import Callable

from .decision import Aim, Case
from .intent import Intent
from .ladder import figure, nearest, step, twin


def aim(intent: Intent, case: Case) -> Aim:
    """Return the nearest this model has to the wish."""
    return _AIMS[intent.kind](intent, case)


def _nothing(intent: Intent, case: Case) -> Aim:
    del case
    return Aim("native" if intent.kind == "native" else "unset")


# -- off --------------------------------------------------------------------------------------


def _off(intent: Intent, case: Case) -> Aim:
    del intent
    capability, policy = case.capability, case.policy
    if not capability.thinks:
        return Aim("unset", "off")
    if policy.off == "omit":
        if capability.thinks_unasked is not False:
            why = "the policy off=omit sends nothing, and unasked this model may think"
            case.note("off_omitted", "level", "off", capability.default, why)
        return Aim("unset", "off")
    if policy.off == "least" and capability.off:
        return Aim("off", "off")
    least = _least(case)
    if capability.off:
        why = "the policy off=floor asks for the smallest thinking instead of none"
    elif least.mode == "unset":
        why = "nothing can be said to this model about thinking"
    else:
        why = "this model does not support disabling thinking; this is its minimum"
    case.note("cannot_disable", "level", "off", least.got, why)
    return least


def _least(case: Case) -> Aim:
    capability = case.capability
    if capability.style is None:
        return Aim("unset", _unasked(case))
    if capability.by_budget and capability.budget is not None:
        return Aim("budget", "minimal", _effort("minimal", case), capability.budget.min)
    if capability.efforts:
        return Aim("level", capability.efforts[0], capability.efforts[0])
    return Aim("on" if capability.toggle else "unset", "on")


# -- on and levels ----------------------------------------------------------------------------


def _on(intent: Intent, case: Case) -> Aim:
    del intent
    capability = case.capability
    if not capability.thinks:
        return _not_thinking("on", case)
    if capability.can_be_on:
        return Aim("on", "on")
    if not capability.levels:
        return _uncontrolled("on", case)
    fixed = capability.budget.fixed if capability.budget else {}
    if case.policy.budgets == "fixed" and "on" in fixed:
        found = Aim("budget", "on", _effort("medium", case), fixed["on"])
    else:
        found = _at_level("medium", case)
    why = "this model does not think unasked and has no on without a depth"
    case.note("on_as_level", "level", "on", found.got, why)
    return found


def _level(intent: Intent, case: Case) -> Aim:
    return _at_level(intent.level or "medium", case)


def _at_level(level: str, case: Case) -> Aim:
    capability = case.capability
    if not capability.thinks:
        return _not_thinking(level, case)
    if capability.style is None:
        return _uncontrolled(level, case)
    if capability.by_budget:
        return _in_tokens(level, case)
    if not capability.efforts and not capability.can_be_on:
        return _uncontrolled(level, case)
    if not capability.efforts:
        why = "this model's thinking is on or off, without levels"
        case.note("unsupported_level", "level", level, "on", why)
        return Aim("on", "on")
    got = step(level, capability)
    if got != level:
        why = f"this model has {' '.join(capability.efforts)}; {got} is the nearest to {level}"
        case.note("unsupported_level", "level", level, got, why)
    return Aim("level", got, got)


def _in_tokens(level: str, case: Case) -> Aim:
    budget = case.capability.budget
    if budget is None:
        return Aim("unset")
    cap = case.cap or case.capability.max_output or budget.max
    got = twin(level, budget, policy=case.policy, cap=cap)
    tokens = figure(got, budget, policy=case.policy, cap=cap)
    if got != level:
        code = "level_as_budget" if level == "minimal" else "unsupported_level"
        why = f"{level} and {got} are both {tokens:,} tokens on this model"
        case.note(code, "level", level, got, why)
    return Aim("budget", got, _effort(got, case), tokens)


# -- a number of tokens -----------------------------------------------------------------------


def _budget(intent: Intent, case: Case) -> Aim:
    capability, tokens = case.capability, intent.tokens or 0
    if not capability.thinks:
        return _not_thinking(tokens, case)
    if capability.style is None:
        return _uncontrolled(tokens, case)
    if capability.by_number:
        return _clamped(tokens, intent, case)
    if not capability.efforts and not capability.can_be_on:
        return _uncontrolled(tokens, case)
    if not capability.efforts:
        why = "this model's thinking is on or off, without a number of tokens"
        case.note("budget_as_level", "budget", tokens, "on", why)
        return Aim("on", "on")
    level = step(nearest(tokens, capability), capability)
    why = f"this model takes words, not numbers; {tokens:,} tokens are nearest to {level}"
    case.note("budget_as_level", "budget", tokens, level, why)
    return Aim("level", level, level)


def _clamped(tokens: int, intent: Intent, case: Case) -> Aim:
    capability, budget = case.capability, case.capability.budget
    if budget is None:
        return Aim("unset")
    effort = None
    if capability.by_budget:
        effort = _effort(intent.level or nearest(tokens, capability), case)
    fitting = max(budget.min, min(tokens, budget.max))
    if fitting != tokens:
        why = f"this model takes {budget.min:,} to {budget.max:,} tokens"
        case.note("budget_clamped", "budget", tokens, fitting, why)
    return Aim("budget", None, effort, fitting)


# -- what cannot be ---------------------------------------------------------------------------


def _not_thinking(asked: str | int, case: Case) -> Aim:
    why = "this model does not think, and refuses to be told to"
    case.note("no_thinking", "level", asked, "off", why)
    return Aim("unset", "off")


def _uncontrolled(asked: str | int, case: Case) -> Aim:
    got = _unasked(case)
    why = "this model takes no word about thinking"
    if not case.capability.checked:
        why = "nothing is known of this model's thinking; pass its own fields to control it"
    case.note("no_control", "level", asked, got, why)
    return Aim("unset", got)


def _unasked(case: Case) -> str | None:
    default = case.capability.default
    return None if default in ("dynamic", "unaudited") else default


def _effort(level: str, case: Case) -> str | None:
    return step(level, case.capability) if case.capability.efforts else None


_AIMS: dict[str, Callable[[Intent, Case], Aim]] = {
    "unset": _nothing,
    "native": _nothing,
    "off": _off,
    "on": _on,
    "level": _level,
    "budget": _budget,
}
