"""Keeps room for the answer: thinking counts against the same cap. ``resolve`` calls it."""

from ..errors import BadParameter
from .capability import Capability
from .decision import ParameterRanges, RequestParameters, ResolveContext, TargetLevel
from .intent import LEVELS, Intent
from .typical import typical_depth

LONG_CONTEXT = 150_000
"""The policy's context_cap applies above this number of tokens."""
_LITTLE = 1024  # an answer of a page or two


def cap(capability: Capability, asked: RequestParameters, surface: ParameterRanges) -> int | None:
    """Return max_tokens within the limits of the service and the model; raises BadParameter."""
    if asked.max_tokens is None:
        return None
    if asked.max_tokens < 0:
        message = f"max_tokens: {asked.max_tokens} is not a number of tokens; use a positive one"
        raise BadParameter(message)
    most = max(int(surface.clamp("max_tokens", asked.max_tokens)), capability.min_output or 0)
    return most if capability.max_output is None else min(most, capability.max_output)


def fit(
    target: TargetLevel, intent: Intent, case: ResolveContext
) -> tuple[TargetLevel, int | None]:
    """Return the target with a budget that fits, and the cap to send with it, if any."""
    if case.cap != case.asked.max_tokens:
        why = f"this model writes at most {case.cap or 0:,} tokens"
        if (case.cap or 0) > (case.asked.max_tokens or 0):
            why = f"this model takes no max_tokens below {case.cap}"
            if case.capability.min_output != case.cap:
                why = f"this service takes max_tokens {case.surface.range_of('max_tokens')}"
        case.note("max_tokens_clamped", "max_tokens", case.asked.max_tokens, case.cap, why)
    budget, most = case.capability.budget, case.cap
    if target.budget is None or budget is None:
        return target, _required_cap(target, case)
    if most is None and not case.surface.max_tokens_required:
        fitted = max(budget.min, min(target.budget, budget.max))
        return _lower_budget(target, fitted, budget.max, intent, case), None
    if most is None:
        most = target.budget + max(1, case.policy.answer_room)
        most = min(most, case.capability.max_output or most)
    if intent.kind == "budget" and budget.min <= target.budget <= min(budget.max, most - 1):
        return _keep_number(target, most - target.budget, case), most
    room = max(1, min(case.policy.answer_room, most // 2))
    fitted = max(budget.min, min(target.budget, budget.max, most - room))
    if fitted >= most:
        return _no_room(target, budget.min, most, case), most
    return _lower_budget(target, fitted, most, intent, case), most


def note_answer_room(target: TargetLevel, case: ResolveContext) -> int | None:
    """Report a cap below what the model usually thinks, if no budget can be lowered for it.

    Return the tokens of its usual thinking then, else None.
    """
    word = target.effort or target.level
    if word is None or word == "on":  # no level is sent, so the default applies
        word = case.capability.default
    if word not in (*LEVELS[1:], *case.capability.efforts):
        word = "on"
    usual = typical_depth(word, case.capability)
    if target.budget is not None or case.cap is None or case.cap >= usual.tokens:
        return None
    at = "" if word == "on" else f" at {word}"
    why = f"it usually thinks about {usual.tokens:,} tokens{at} ({usual.source})"
    why += f", so max_tokens {case.cap:,} may leave no answer"
    case.note("answer_room", "max_tokens", case.cap, case.cap, why)
    return usual.tokens


def limit_for_context(target: TargetLevel, case: ResolveContext) -> TargetLevel:
    """Return a smaller budget if the policy limits it after a long conversation."""
    budget, most = case.capability.budget, case.policy.context_cap
    context = case.asked.context or 0
    if not most or target.budget is None or budget is None or context <= LONG_CONTEXT:
        return target
    lean = max(budget.min, min(target.budget, most))
    if lean == target.budget:
        return target
    why = f"the context has {context:,} tokens, and the policy limits thinking then to {most:,}"
    case.note("context_cap", "budget", target.budget, lean, why)
    return TargetLevel(target.mode, target.level, target.effort, lean)


def lower_for_cap(target: TargetLevel, case: ResolveContext) -> TargetLevel:
    """Return a lower level if this one cannot be combined with a cap on the output."""
    capability = case.capability
    if case.cap is None or target.effort not in capability.uncapped:
        return target
    lower = [word for word in capability.efforts if word not in capability.uncapped]
    if not lower:
        return target
    why = f"{target.effort} cannot be combined with max_tokens, which is {case.cap:,}"
    case.note("max_tokens_level", "level", target.level, lower[-1], why)
    return TargetLevel("level", lower[-1], lower[-1])


def _keep_number(target: TargetLevel, left: int, case: ResolveContext) -> TargetLevel:
    """Return the target unchanged: a number that the service accepts is the user's choice."""
    if left < _LITTLE and case.asked.max_tokens is not None:
        why = f"max_tokens is {case.cap:,}: if all are used, {left:,} remain for the answer"
        case.note("little_room", "budget", target.budget, target.budget, why)
    return target


def _required_cap(target: TargetLevel, case: ResolveContext) -> int | None:
    required = case.surface.max_tokens_required and target.mode not in ("unset", "native")
    required = required and target.effort not in case.capability.uncapped
    return case.capability.max_output if required and case.cap is None else case.cap


def _lower_budget(
    target: TargetLevel, fitted: int, most: int, intent: Intent, case: ResolveContext
) -> TargetLevel:
    if target.budget is None or fitted == target.budget:
        return target
    code = "budget_clamped" if intent.kind == "budget" else "answer_room"
    meant = f"{target.budget:,} tokens were asked for"
    if intent.kind != "budget":
        meant = f"{target.level} is {target.budget:,} tokens here"
    why = f"{meant}; of max_tokens {most:,}, {most - fitted:,} are kept for the answer"
    if fitted > target.budget:
        why = f"{fitted:,} is the least this model takes"
    elif fitted == most:
        why = f"{fitted:,} is the most this model takes"
    case.note(code, "budget", target.budget, fitted, why)
    return TargetLevel(target.mode, target.level, target.effort, fitted)


def _no_room(target: TargetLevel, least: int, most: int, case: ResolveContext) -> TargetLevel:
    why = f"the least budget is {least:,}, and max_tokens is {most:,}"
    if case.capability.off:
        case.note("no_room", "level", target.level or target.budget, "off", why)
        return TargetLevel("off", "off")
    why += "; this model cannot stop thinking, so the answer may be empty"
    case.note("no_room", "budget", target.budget, least, why)
    return TargetLevel(target.mode, target.level, target.effort, least)
