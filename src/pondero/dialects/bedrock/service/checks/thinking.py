"""Reads the level that a request asks for, and resolves it for a model, with rejections."""

from collections.abc import Iterable
from typing import NamedTuple

from pondero.dialects import claude
from pondero.thinking import UNSET, Intent

from .. import makers, types
from ..errors import reject
from ..models import Family


class ResolvedThinking(NamedTuple):
    """The requested level, and what the model does with it."""

    intent: Intent
    thinks: bool = False
    shown: bool = False


def first_intent(owns: Iterable[makers.Own], effort: str | None) -> Intent:
    """Return the first level that any maker's fields set; ``effort`` is the common field's."""
    stated = (intent_of(own, effort) for own in owns)
    said = Intent("level", effort) if effort else UNSET
    return next((intent for intent in stated if intent != UNSET), said)


def intent_of(own: makers.Own | None, effort: str | None = None) -> Intent:
    """Return the level that a maker's own fields set; Claude also reads the common effort."""
    match own:
        case makers.Claude():
            return _intent_of_claude(own, effort)
        case makers.Nova() if own.reasoning_config is not None:
            said = own.reasoning_config
            if said.type == "disabled":
                return Intent("off")
            level = said.max_reasoning_effort
            return Intent("level", level) if level else Intent("on")
        case makers.Flat():
            return _intent_of_word(own.reasoning_effort)
        case makers.NestedEffort():
            return _intent_of_word(own.reasoning.effort if own.reasoning else None)
        case makers.Qwen():
            return _intent_of_word(own.reasoning_config)
    return UNSET


def _intent_of_claude(own: makers.Claude, effort: str | None) -> Intent:
    thinking = own.thinking or own.reasoning_config
    effort = (own.output_config.effort if own.output_config else None) or effort
    match thinking.type if thinking else None:
        case None:
            return Intent("level", effort) if effort else UNSET
        case "enabled":
            return Intent("budget", effort, thinking.budget_tokens if thinking else None)
        case "adaptive":
            return Intent("level" if effort else "on", effort)
    return Intent("off")


def _intent_of_word(word: str | None) -> Intent:
    if word is None:
        return UNSET
    return Intent("off") if word == "none" else Intent("level", word)


def show_of(own: makers.Claude | None) -> bool | None:
    """Return whether readable thinking is requested; only Claude has a field for it."""
    thinking = own.thinking or own.reasoning_config if own is not None else None
    if thinking is None or thinking.display is None:
        return None
    return thinking.display == "summarized"


def resolve_thinking(
    body: types.Body, own: makers.Own | None, row: Family, *, forced: bool
) -> ResolvedThinking:
    """Resolve the requested level for a model; raises Rejected for unsupported parameters."""
    limits = body.inference_config or types.Limits()
    if row.max_output is not None and (limits.max_tokens or 0) > row.max_output:
        reject("max_output", most=row.max_output)
    effort = body.output_config.effort if body.output_config else None
    if effort is not None and not isinstance(own, makers.Claude):
        reject("unsupported_field", field="outputConfig.effort")
    if row.sampling == "none":
        _check_no_sampling(limits)
    if row.sampling == "one" and limits.temperature is not None and limits.top_p is not None:
        reject("one_sampling")
    match own:
        case makers.Claude():
            return _resolve_claude(own, effort, limits, row, forced=forced)
        case makers.Nova():
            return _resolve_nova(own, limits, row)
        case makers.Flat():
            return _resolve_level(own, "reasoning_effort", own.reasoning_effort, row)
        case makers.NestedEffort():
            word = own.reasoning.effort if own.reasoning else None
            return _resolve_level(own, "reasoning.effort", word, row)
        case makers.Qwen():
            return _resolve_level(own, "reasoning_config", own.reasoning_config, row)
    return _use_default(row)


def _use_default(row: Family) -> ResolvedThinking:
    return ResolvedThinking(UNSET, thinks=row.unasked == "on", shown=row.display == "shown")


def _check_no_sampling(limits: types.Limits) -> None:
    for field, value in (("temperature", limits.temperature), ("topP", limits.top_p)):
        if value is not None:
            reject("no_sampling", field=field)


def _resolve_level(own: makers.Own, field: str, word: str | None, row: Family) -> ResolvedThinking:
    if word is None:
        return _use_default(row)
    if word not in row.efforts:
        reject("level", field=field, word=word, levels=", ".join(row.efforts))
    if word == "none":
        return ResolvedThinking(intent_of(own))
    thinks = row.thinks_at is None or word in row.thinks_at
    return ResolvedThinking(intent_of(own), thinks=thinks, shown=row.display == "shown")


def _resolve_nova(own: makers.Nova, limits: types.Limits, row: Family) -> ResolvedThinking:
    said = own.reasoning_config
    if said is None:
        return _use_default(row)
    if not row.efforts:
        reject("nova_reasoning")
    if said.type == "disabled":
        return ResolvedThinking(intent_of(own))
    if said.max_reasoning_effort not in row.efforts:
        reject("nova_effort", levels=", ".join(row.efforts))
    if said.max_reasoning_effort == "high":
        _check_unlimited(limits)
    return ResolvedThinking(intent_of(own), thinks=True, shown=row.display == "shown")


def _check_unlimited(limits: types.Limits) -> None:
    given = {
        "maxTokens": limits.max_tokens,
        "temperature": limits.temperature,
        "topP": limits.top_p,
    }
    for field, value in given.items():
        if value is not None:
            reject("nova_limits", field=field)


def _resolve_claude(
    own: makers.Claude, effort: str | None, limits: types.Limits, row: Family, *, forced: bool
) -> ResolvedThinking:
    thinking = own.thinking or own.reasoning_config
    kind = thinking.type if thinking else None
    effort = (own.output_config.effort if own.output_config else None) or effort
    if thinking is not None:
        _check_thinking(thinking, limits, row)
    if effort is not None:
        limit = row.off_below if kind in ("disabled", "between_tools") else None
        claude.check_effort(effort, row.efforts, reject, off_accepted=limit)
    if forced:
        claude.check_forced(kind, row.forced, reject)
    if kind in ("enabled", "adaptive"):
        claude.check_sampling(limits.temperature, own.top_k, limits.top_p, reject)
    shown = show_of(own)
    shown = row.display == "shown" if shown is None else shown
    intent = intent_of(own, effort)
    match kind:
        case None:
            return ResolvedThinking(intent, thinks=row.unasked == "on", shown=shown)
        case "enabled":
            return ResolvedThinking(intent, thinks=True, shown=shown)
        case "adaptive":
            return ResolvedThinking(intent, thinks=not forced, shown=shown)
    return ResolvedThinking(intent)


def _check_thinking(thinking: makers.ClaudeThinking, limits: types.Limits, row: Family) -> None:
    claude.check_type(thinking.type, row.thinking, reject)
    if thinking.type != "enabled":
        return
    if thinking.budget_tokens is None:
        reject("no_budget")
    if thinking.budget_tokens < 1024:
        reject("small_budget")
    if limits.max_tokens is not None:
        claude.check_budget(thinking.budget_tokens, limits.max_tokens, reject)
