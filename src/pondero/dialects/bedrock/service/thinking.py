"""How much thinking a request asks for, and what each model makes of it.

``intent_of`` only reads the intent. ``wish`` is called by the rules: it refuses what the model does
not take of thinking, effort, sampling and forced calls.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pondero.thinking import UNSET, Intent

from . import makers, types
from .errors import refuse, refuse_by_model
from .models import Family


class Wish(NamedTuple):
    """What the request says about thinking, and what the model makes of it."""

    intent: Intent
    thinks: bool = False
    shown: bool = False


# -- the wish ----------------------------------------------------------------------------------


def first_intent(owns: Iterable[makers.Own], effort: str | None) -> Intent:
    """Return the wish of whichever maker's fields state one; ``effort`` is the common field's."""
    stated = (intent_of(own, effort) for own in owns)
    said = Intent("level", effort) if effort else UNSET
    return next((intent for intent in stated if intent != UNSET), said)


def intent_of(own: makers.Own | None, effort: str | None = None) -> Intent:
    """Return the wish that a maker's own fields state; Claude's may have the common effort too."""
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
        case makers.Nested():
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
    """Return whether readable thinking is asked for; only Claude's fields can say so."""
    thinking = own.thinking or own.reasoning_config if own is not None else None
    if thinking is None or thinking.display is None:
        return None
    return thinking.display == "summarized"


# -- what the model makes of it --------------------------------------------------------------


def wish(body: types.Body, own: makers.Own | None, row: Family, *, forced: bool) -> Wish:
    """Return the wish and what this model makes of it, or refuse what it does not take."""
    limits = body.inference_config or types.Limits()
    if row.max_output is not None and (limits.max_tokens or 0) > row.max_output:
        raise refuse(
            f"The maximum tokens you requested exceeds the model limit of {row.max_output}. Try "
            f"again with a maximum tokens value that is lower than {row.max_output}."
        )
    effort = body.output_config.effort if body.output_config else None
    if effort is not None and not isinstance(own, makers.Claude):
        raise _unsupported("outputConfig.effort")
    if row.sampling == "none":
        _check_no_sampling(limits)
    match own:
        case makers.Claude():
            return _claude(own, effort, limits, row, forced=forced)
        case makers.Nova():
            return _nova(own, limits, row)
        case makers.Flat():
            return _worded(own, "reasoning_effort", own.reasoning_effort, row)
        case makers.Nested():
            word = own.reasoning.effort if own.reasoning else None
            return _worded(own, "reasoning.effort", word, row)
        case makers.Qwen():
            return _worded(own, "reasoning_config", own.reasoning_config, row)
    return _unasked(row)


def _unasked(row: Family) -> Wish:
    return Wish(UNSET, thinks=row.unasked == "on", shown=row.display == "shown")


def _unsupported(field: str) -> Exception:
    return refuse(f"This model doesn't support the {field} field. Remove {field} and try again.")


def _check_no_sampling(limits: types.Limits) -> None:
    for field, value in (("temperature", limits.temperature), ("topP", limits.top_p)):
        if value is not None:
            raise _unsupported(field)


def _worded(own: makers.Own, field: str, word: str | None, row: Family) -> Wish:
    if word is None:
        return _unasked(row)
    if word not in row.efforts:
        raise refuse_by_model(
            f"{field}: '{word}' is not one of the supported values: {', '.join(row.efforts)}"
        )
    if word == "none":
        return Wish(intent_of(own))
    thinks = row.thinks_at is None or word in row.thinks_at
    return Wish(intent_of(own), thinks=thinks, shown=row.display == "shown")


def _nova(own: makers.Nova, limits: types.Limits, row: Family) -> Wish:
    said = own.reasoning_config
    if said is None:
        return _unasked(row)
    if not row.efforts:
        raise refuse_by_model(
            "Malformed input request: #: extraneous key [reasoningConfig] is not permitted, "
            "please reformat your input and try again."
        )
    if said.type == "disabled":
        return Wish(intent_of(own))
    if said.max_reasoning_effort not in row.efforts:
        raise refuse_by_model(
            f"reasoningConfig.maxReasoningEffort must be one of {', '.join(row.efforts)} when "
            "reasoning is enabled"
        )
    if said.max_reasoning_effort == "high":
        _check_unlimited(limits)
    return Wish(intent_of(own), thinks=True, shown=row.display == "shown")


def _check_unlimited(limits: types.Limits) -> None:
    given = {
        "maxTokens": limits.max_tokens,
        "temperature": limits.temperature,
        "topP": limits.top_p,
    }
    for field, value in given.items():
        if value is not None:
            raise refuse_by_model(f"{field} must be unset when maxReasoningEffort is high")


# -- Claude ----------------------------------------------------------------------------------


def _claude(
    own: makers.Claude, effort: str | None, limits: types.Limits, row: Family, *, forced: bool
) -> Wish:
    thinking = own.thinking or own.reasoning_config
    said = own.output_config.effort if own.output_config else None
    effort = said or effort
    if thinking is not None:
        _check_thinking(thinking, limits, row)
    if effort is not None:
        _check_effort(effort, thinking, row)
    kind = thinking.type if thinking else None
    if forced:
        _check_forced(kind, row)
    if kind in ("enabled", "adaptive"):
        _check_sampling(own, limits)
    shown = show_of(own)
    shown = row.display == "shown" if shown is None else shown
    intent = intent_of(own, effort)
    match kind:
        case None:
            return Wish(intent, thinks=row.unasked == "on", shown=shown)
        case "enabled":
            return Wish(intent, thinks=True, shown=shown)
        case "adaptive":
            return Wish(intent, thinks=not forced, shown=shown)
    return Wish(intent)


def _check_thinking(thinking: makers.ClaudeThinking, limits: types.Limits, row: Family) -> None:
    kind = thinking.type
    if kind not in row.thinking:
        raise refuse_by_model(_unknown(kind, row))
    if kind != "enabled":
        return
    if thinking.budget_tokens is None:
        raise refuse_by_model("thinking.enabled.budget_tokens: Field required")
    if thinking.budget_tokens < 1024:
        raise refuse_by_model(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        )
    if limits.max_tokens is not None and thinking.budget_tokens >= limits.max_tokens:
        raise refuse_by_model(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
            "documentation at https://docs.claude.com/en/docs/build-with-claude/"
            "extended-thinking#max-tokens-and-context-window-size"
        )


def _unknown(kind: str, row: Family) -> str:
    said = f'"thinking.type.{kind}" is not supported for this model.'
    if kind == "enabled" and "adaptive" in row.thinking:
        return (
            f'{said} Use "thinking.type.adaptive" and "output_config.effort" to control thinking '
            "behavior."
        )
    if kind == "disabled" and "between_tools" in row.thinking:
        return f'{said} Use "thinking.type.between_tools" instead.'
    return said


def _check_effort(effort: str, thinking: makers.ClaudeThinking | None, row: Family) -> None:
    if not row.efforts:
        raise refuse_by_model("This model does not support the effort parameter.")
    if effort not in row.efforts:
        levels = ", ".join(sorted(row.efforts))
        raise refuse_by_model(
            f"This model does not support effort level '{effort}'. Supported levels: {levels}."
        )
    off = thinking is not None and thinking.type in ("disabled", "between_tools")
    if off and row.off_below is not None and effort not in row.off_below:
        raise refuse_by_model(
            f"output_config.effort: '{effort}' is not supported while thinking is off; use one of "
            f"{', '.join(row.off_below)}"
        )


def _check_sampling(own: makers.Claude, limits: types.Limits) -> None:
    if limits.temperature not in (None, 1):
        raise refuse_by_model(
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
        )
    if own.top_k is not None:
        raise refuse_by_model("`top_k` must be unset when thinking is enabled.")
    if limits.top_p is not None and limits.top_p < 0.95:
        raise refuse_by_model(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
        )


def _check_forced(kind: str | None, row: Family) -> None:
    if row.forced == "never":
        raise refuse_by_model(
            "`tool_choice` values that force tool use are not supported for this model."
        )
    if kind == "enabled" and row.forced in ("adaptive", "thinking_off"):
        raise refuse_by_model("Thinking may not be enabled when tool_choice forces tool use.")
