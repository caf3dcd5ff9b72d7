"""Decides what a model does with an intent; never raises: it takes the nearest and says why."""

from typing import Any

from . import output_budget
from .capability import Capability
from .decision import (
    SAMPLING,
    Decision,
    ParameterRanges,
    RequestParameters,
    ResolveContext,
    TargetLevel,
)
from .intent import Intent
from .policy import Policy
from .target_level import target_level


def resolve(
    intent: Intent,
    capability: Capability,
    *,
    policy: Policy,
    asked: RequestParameters,
    surface: ParameterRanges,
) -> Decision:
    """Return the nearest this model has to the intent, with every difference explained."""
    most = output_budget.cap(capability, asked, surface)
    case = ResolveContext(capability, policy, asked, surface, most, [])
    chosen, left_out = _fit_tools(target_level(intent, case), case)
    if not left_out:
        chosen, left_out = _fit_forced_tool(chosen, case)
    chosen = output_budget.lower_for_cap(chosen, case)
    fitted, cap = output_budget.fit(output_budget.limit_for_context(chosen, case), intent, case)
    will_think = _will_think(fitted, case)
    typical = output_budget.note_answer_room(fitted, case) if will_think else None
    show = _show(intent, fitted, case)
    # The thinking fields forbid parameters even if a forced tool keeps the model from thinking.
    kept, dropped = _parameters(case, thinking=_may_think(fitted, case))
    if cap is not None:
        kept["max_tokens"] = cap
    return Decision(
        mode=fitted.mode,
        level=fitted.level,
        effort=fitted.effort,
        budget=fitted.budget,
        nominal=chosen.budget if fitted.budget is not None else None,
        show=show,
        will_think=will_think,
        typical=typical,
        tools=asked.tools and "tools" not in left_out,
        parameters=kept,
        dropped=(*dropped, *left_out),
        adjustments=tuple(case.notes),
    )


# -- tools ------------------------------------------------------------------------------------


def _thinking(chosen: TargetLevel, case: ResolveContext) -> bool:
    if chosen.mode == "unset":
        return case.capability.thinks_unasked is True
    return chosen.mode in ("on", "level", "budget")


def _may_think(chosen: TargetLevel, case: ResolveContext) -> bool:
    unsure = chosen.mode == "unset" and case.capability.thinks_unasked is None
    return unsure or _thinking(chosen, case)


def _fit_tools(chosen: TargetLevel, case: ResolveContext) -> tuple[TargetLevel, tuple[str, ...]]:
    rule = case.capability.tools
    if rule == "ok" or not case.asked.tools or (rule == "off" and not _thinking(chosen, case)):
        return chosen, ()
    code, why = "tools_refused", "this model takes no function tools; it answers without them"
    if rule == "off":
        code = "tools_without_thinking"
        why = "this API rejects function tools while the model thinks"
        if case.capability.off:
            case.note(code, "level", chosen.got, "off", why)
            return TargetLevel("off", "off"), ()
        why += ", and it cannot stop; use the provider's other API for tools"
    case.note(code, "tools", "asked", None, why)
    if not case.asked.forced:
        return chosen, ("tools",)
    choice, why = case.asked.tool_choice, "there are no tools to choose from"
    case.note("forced_tool_choice", "tool_choice", choice, None, why)
    return chosen, ("tools", "tool_choice")


def _fit_forced_tool(
    chosen: TargetLevel, case: ResolveContext
) -> tuple[TargetLevel, tuple[str, ...]]:
    rule, choice = case.capability.forced_tools, case.asked.tool_choice
    if rule == "ok" or not case.asked.forced:
        return chosen, ()
    if rule == "refused":
        why = "this model rejects a forced tool choice; it decides whether to call"
        case.note("forced_tool_choice", "tool_choice", choice, "auto", why)
        return chosen, ("tool_choice",)
    if not _may_think(chosen, case):
        return chosen, ()
    if rule == "unthinking" and chosen.mode != "budget":  # with a budget it is rejected
        why = "a forced tool choice is accepted here, and answered without thinking"
        case.note("forced_tool_choice", "thinking", chosen.got, "off", why)
        return chosen, ()
    if case.capability.off:
        why = "this model rejects a forced tool choice while it thinks; the tool choice wins"
        case.note("forced_tool_choice", "level", chosen.got, "off", why)
        return TargetLevel("off", "off"), ()
    why = "this model cannot stop thinking, and rejects a forced tool choice while it thinks"
    case.note("forced_tool_choice", "tool_choice", choice, "auto", why)
    return chosen, ("tool_choice",)


# -- what will be seen ------------------------------------------------------------------------


def _will_think(fitted: TargetLevel, case: ResolveContext) -> bool | None:
    if not case.capability.thinks or fitted.mode == "off":
        return False
    if fitted.mode == "native":
        return None
    if case.capability.forced_tools == "unthinking" and case.asked.forced:
        return False
    return case.capability.thinks_unasked if fitted.mode == "unset" else True


def _show(intent: Intent, fitted: TargetLevel, case: ResolveContext) -> bool | None:
    if fitted.mode in ("unset", "native", "off"):
        return None
    show = case.policy.show
    if show == "none" or (show == "auto" and intent.kind == "off"):
        return False
    if show == "summary" and case.capability.shown == "never":
        why = "this model never shows its thinking here"
        case.note("summary_refused", "show", "summary", "none", why)
    return True if case.capability.shown == "ask" else None


# -- other parameters -------------------------------------------------------------------------


def _parameters(case: ResolveContext, *, thinking: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    kept: dict[str, Any] = {}
    dropped: list[str] = []
    for name in SAMPLING:
        value = getattr(case.asked, name)
        if value is None:
            continue
        if why := _find_objection(name, value, kept, case, thinking=thinking):
            case.note("dropped_parameter", name, value, None, why)
            dropped.append(name)
            continue
        kept[name] = case.surface.clamp(name, value)
        if kept[name] != value:
            why = f"this service takes {name} {case.surface.range_of(name)}"
            case.note("parameter_clamped", name, value, kept[name], why)
    return kept, tuple(dropped)


def _find_objection(
    name: str, value: float, kept: dict[str, Any], case: ResolveContext, *, thinking: bool
) -> str | None:
    capability = case.capability
    rivals = [other for other in kept if other in capability.one_of]
    reasons = {
        f"this service has no {name}": name not in case.surface.parameters,
        f"this model rejects {name}": name in capability.forbids,
        f"this model rejects {name} while it thinks": (
            thinking and name in capability.forbids_thinking
        ),
        f"this model takes only {name} 1 while it thinks": (
            thinking and name in capability.unit_thinking and value != 1
        ),
        f"this model ignores {name}": name in capability.ignores,
        f"this model ignores {name} while it thinks": (
            thinking and name in capability.ignores_thinking
        ),
        f"this model takes one of {' and '.join(capability.one_of)}": (
            name in capability.one_of and bool(rivals)
        ),
    }
    return next((why for why, applies in reasons.items() if applies), None)
