"""Thinking counts against the same cap as the answer: keep room for the answer."""

from .capability import Capability
from .decision import Aim, Asked, Case
from .intent import Intent

LONG_CONTEXT = 150_000
"""Above so many tokens of conversation the policy's context_cap applies; the documents' figure."""


def cap(capability: Capability, asked: Asked) -> int | None:
    """Return max_tokens, lowered to what the model can write."""
    if asked.max_tokens is None or capability.max_output is None:
        return asked.max_tokens
    return min(asked.max_tokens, capability.max_output)


def fit(aim: Aim, intent: Intent, case: Case) -> tuple[Aim, int | None]:
    """Return the aim with a budget that fits, and the cap to send beside it, if any."""
    if case.cap != case.asked.max_tokens:
        why = f"this model writes at most {case.cap or 0:,} tokens"
        case.note("max_tokens_clamped", "max_tokens", case.asked.max_tokens, case.cap, why)
    budget, most = case.capability.budget, case.cap
    if aim.budget is None or budget is None:
        return aim, _needed(aim, case)
    if most is None and not case.surface.max_tokens_required:
        fitted = max(budget.min, min(aim.budget, budget.max))
        return _lowered(aim, fitted, budget.max, intent, case), None
    if most is None:
        most = aim.budget + case.policy.answer_room
        most = min(most, case.capability.max_output or most)
    room = max(1, min(case.policy.answer_room, most // 2))
    fitted = max(budget.min, min(aim.budget, budget.max, most - room))
    if fitted >= most:
        return _no_room(aim, budget.min, most, case), most
    return _lowered(aim, fitted, most, intent, case), most


def beside_a_long_context(aim: Aim, case: Case) -> Aim:
    """Return a smaller budget where the policy wants one beside a long conversation."""
    budget, most = case.capability.budget, case.policy.context_cap
    context = case.asked.context or 0
    if not most or aim.budget is None or budget is None or context <= LONG_CONTEXT:
        return aim
    lean = max(budget.min, min(aim.budget, most))
    if lean == aim.budget:
        return aim
    why = f"the context has {context:,} tokens, and the policy caps thinking there at {most:,}"
    case.note("context_cap", "budget", aim.budget, lean, why)
    return Aim(aim.mode, aim.level, aim.effort, lean)


def uncapped(aim: Aim, case: Case) -> Aim:
    """Return a lower level where this one does not go with a cap on the output."""
    capability = case.capability
    if case.cap is None or aim.effort not in capability.uncapped:
        return aim
    lower = [word for word in capability.efforts if word not in capability.uncapped]
    if not lower:
        return aim
    why = f"{aim.effort} does not go with a cap on the output, and max_tokens is {case.cap:,}"
    case.note("max_tokens_level", "level", aim.level, lower[-1], why)
    return Aim("level", lower[-1], lower[-1])


def _needed(aim: Aim, case: Case) -> int | None:
    required = case.surface.max_tokens_required and aim.mode not in ("unset", "native")
    return case.capability.max_output if required and case.cap is None else case.cap


def _lowered(aim: Aim, fitted: int, most: int, intent: Intent, case: Case) -> Aim:
    if aim.budget is None or fitted == aim.budget:
        return aim
    code = "budget_clamped" if intent.kind == "budget" else "answer_room"
    why = f"{aim.budget:,} would leave no room for an answer below max_tokens {most:,}"
    if fitted > aim.budget:
        why = f"{fitted:,} is the least this model takes"
    case.note(code, "budget", aim.budget, fitted, why)
    return Aim(aim.mode, aim.level, aim.effort, fitted)


def _no_room(aim: Aim, least: int, most: int, case: Case) -> Aim:
    why = f"the least budget is {least:,}, and max_tokens is {most:,}"
    if case.capability.off:
        case.note("no_room", "level", aim.level or aim.budget, "off", why)
        return Aim("off", "off")
    why += "; this model cannot stop thinking, so the answer may be empty"
    case.note("no_room", "budget", aim.budget, least, why)
    return Aim(aim.mode, aim.level, aim.effort, least)
