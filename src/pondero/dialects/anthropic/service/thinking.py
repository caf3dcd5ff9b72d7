"""What each model takes of thinking, effort, sampling and tools, and the refusals for the rest."""

from typing import NamedTuple

from pondero.thinking import Kind

from . import types as wire
from .errors import refuse
from .models import Family

_FORCED = "Thinking may not be enabled when tool_choice forces tool use."


class Wish(NamedTuple):
    """What the request says about thinking, and what the model makes of it."""

    kind: Kind
    level: str | None
    budget: int | None
    thinks: bool
    shown: bool


def wish(body: wire.Body, row: Family) -> Wish:
    """Return how this request wants to be thought about."""
    effort = body.output_config.effort if body.output_config else None
    thinking = body.thinking
    shows = row.display == "shown"
    match thinking:
        case None:
            return Wish("level" if effort else "unset", effort, None, row.unasked == "on", shows)
        case wire.Disabled() | wire.BetweenTools():
            return Wish("off", None, None, thinks=False, shown=False)
        case wire.Adaptive():
            shows = shows if thinking.display is None else thinking.display != "omitted"
            thinks = not isinstance(body.tool_choice, wire.AnyTool | wire.OneTool)  # recorded so
            return Wish("level" if effort else "on", effort, None, thinks=thinks, shown=shows)
        case wire.Enabled():
            shows = shows if thinking.display is None else thinking.display != "omitted"
            return Wish("budget", effort, thinking.budget_tokens, thinks=True, shown=shows)


def check(body: wire.Body, row: Family, *, betas: frozenset[str]) -> None:
    """Refuse what this model does not take."""
    if body.max_tokens > row.max_output:
        raise refuse(
            f"max_tokens: {body.max_tokens} > {row.max_output}, which is the maximum allowed "
            f"number of output tokens for {body.model}"
        )
    _check_thinking(body, row, betas)
    _check_effort(body, row)
    _check_sampling(body, row)
    _check_choice(body, row)


def _check_thinking(body: wire.Body, row: Family, betas: frozenset[str]) -> None:
    thinking = body.thinking
    if thinking is None:
        return
    kind = _kind(thinking)
    if kind not in row.thinking:
        raise refuse(_unsupported(kind, row))
    if isinstance(thinking, wire.Enabled):
        spans = bool(body.tools) and any(beta.startswith("interleaved-thinking-") for beta in betas)
        if thinking.budget_tokens >= body.max_tokens and not spans:
            raise refuse(
                "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
                "documentation at https://docs.claude.com/en/docs/build-with-claude/"
                "extended-thinking#max-tokens-and-context-window-size"
            )
    if isinstance(thinking, wire.Enabled | wire.Adaptive) and thinking.display == "updates":
        _check_beta(betas, "thinking-display-updates-", f"thinking.{kind}.display")


def _check_beta(betas: frozenset[str], begins: str, path: str) -> None:
    if not any(beta.startswith(begins) for beta in betas):
        raise refuse(f"{path}: Extra inputs are not permitted")


def _kind(thinking: wire.Thinking) -> str:
    kinds = {wire.Enabled: "enabled", wire.Adaptive: "adaptive", wire.Disabled: "disabled"}
    return kinds.get(type(thinking), "between_tools")


def _unsupported(kind: str, row: Family) -> str:
    said = f'"thinking.type.{kind}" is not supported for this model.'
    if kind == "enabled" and "adaptive" in row.thinking:
        return (
            f'{said} Use "thinking.type.adaptive" and "output_config.effort" to control thinking '
            "behavior."
        )
    if kind == "disabled" and "between_tools" in row.thinking:
        return f'{said} Use "thinking.type.between_tools" instead.'
    return said


def _check_effort(body: wire.Body, row: Family) -> None:
    effort = body.output_config.effort if body.output_config else None
    if effort is None:
        return
    if not row.efforts:
        raise refuse("This model does not support the effort parameter.")
    if effort not in row.efforts:
        levels = ", ".join(sorted(row.efforts))
        raise refuse(
            f"This model does not support effort level '{effort}'. Supported levels: {levels}."
        )
    off = isinstance(body.thinking, wire.Disabled | wire.BetweenTools)
    if off and row.off_below is not None and effort not in row.off_below:
        raise refuse(
            f"output_config.effort: '{effort}' is not supported while thinking is off; use one of "
            f"{', '.join(row.off_below)}"
        )


def _check_sampling(body: wire.Body, row: Family) -> None:
    for name in ("temperature", "top_p"):
        value = getattr(body, name)
        if value not in (None, -1) and not 0 <= value <= 1:  # -1 leaves it unset
            raise refuse(f"{name}: range: 0..1")
    if row.sampling == "none":
        for name, default in (("temperature", 1), ("top_p", 1), ("top_k", None)):
            if getattr(body, name) not in (None, default):
                raise refuse(f"`{name}` is deprecated for this model.")
    if row.sampling == "one" and body.temperature is not None and body.top_p is not None:
        raise refuse(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only "
            "one."
        )
    if isinstance(body.thinking, wire.Enabled | wire.Adaptive):
        if body.temperature not in (None, 1):
            raise refuse(
                "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
            )
        if body.top_k is not None:
            raise refuse("`top_k` must be unset when thinking is enabled.")
        if body.top_p is not None and body.top_p < 0.95:
            raise refuse(
                "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
            )


def _check_choice(body: wire.Body, row: Family) -> None:
    if not isinstance(body.tool_choice, wire.AnyTool | wire.OneTool):
        return
    if row.forced == "never":
        raise refuse("`tool_choice` values that force tool use are not supported for this model.")
    if isinstance(body.thinking, wire.Enabled) and row.forced in ("adaptive", "thinking_off"):
        raise refuse(_FORCED)
