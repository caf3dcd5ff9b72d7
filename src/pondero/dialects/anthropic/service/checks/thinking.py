"""Rules for thinking, effort, sampling and forced tools, by model; the rows are in models.toml."""

from pondero.dialects import claude

from .. import types
from ..errors import reject
from ..models import Family
from .facts import RequestFacts


def thinks(body: types.Body, row: Family) -> bool:
    """Return whether this model thinks about this request."""
    match body.thinking:
        case None:
            return row.unasked == "on"
        case types.Disabled() | types.BetweenTools():
            return False
        case types.Adaptive():
            # A forced tool is called without thinking (recording pydantic-ai
            # test_anthropic_opus_46_adaptive_thinking_accepts_tool_output, 2026-08-22)
            return not isinstance(body.tool_choice, types.AnyTool | types.OneTool)
        case types.Enabled():
            return True


def shows(body: types.Body, row: Family) -> bool:
    """Return whether the answer has readable thinking."""
    match body.thinking:
        case types.Disabled() | types.BetweenTools():
            return False
        case types.Enabled(display=str(display)) | types.Adaptive(display=str(display)):
            return display != "omitted"
        case _:
            return row.display == "shown"


def check(asked: RequestFacts) -> None:
    """Reject the parameters that a model does not accept."""
    body, row = asked.body, asked.row
    if body.max_tokens > row.max_output:
        reject("max_output", asked=body.max_tokens, most=row.max_output, model=body.model)
    _check_thinking(asked)
    _check_effort(asked)
    _check_sampling(body, row)
    _check_choice(body, row)


def _check_thinking(asked: RequestFacts) -> None:
    body, thinking = asked.body, asked.body.thinking
    if thinking is None:
        return
    kind = _kind(thinking)
    claude.check_type(kind, asked.row.thinking, reject)
    if isinstance(thinking, types.Enabled):
        # Anthropic, extended thinking: interleaved, a budget spans turns (vendor page, 2026-11-15)
        spans = bool(body.tools) and asked.has_beta("interleaved-thinking-")
        if not spans and "budget_tokens" not in asked.row.ignores:
            claude.check_budget(thinking.budget_tokens, body.max_tokens, reject)
    shown = thinking.display if isinstance(thinking, types.Enabled | types.Adaptive) else None
    if shown == "updates" and not asked.has_beta("thinking-display-updates-"):
        reject("beta_field", path=f"thinking.{kind}.display")


def _kind(thinking: types.Thinking) -> str:
    match thinking:
        case types.Enabled():
            return "enabled"
        case types.Adaptive():
            return "adaptive"
        case types.Disabled():
            return "disabled"
        case types.BetweenTools():
            return "between_tools"


def _check_effort(asked: RequestFacts) -> None:
    config = asked.body.output_config
    if config is None or config.effort is None:
        return
    limit = asked.row.off_below if asked.off else None
    claude.check_effort(config.effort, asked.row.efforts, reject, off_accepted=limit)


def _check_sampling(body: types.Body, row: Family) -> None:
    for name in ("temperature", "top_p"):
        value = getattr(body, name)
        if value not in (None, -1) and not 0 <= value <= 1:  # -1 leaves it unset
            reject("sampling_range", name=name)
    if row.sampling == "none":
        for name, default in (("temperature", 1), ("top_p", 1), ("top_k", None)):
            if getattr(body, name) not in (None, default):
                reject("no_sampling", name=name)
    if row.sampling == "one" and body.temperature is not None and body.top_p is not None:
        reject("one_sampling")
    if row.limits and isinstance(body.thinking, types.Enabled | types.Adaptive):
        claude.check_sampling(body.temperature, body.top_k, body.top_p, reject)


def _check_choice(body: types.Body, row: Family) -> None:
    if isinstance(body.tool_choice, types.AnyTool | types.OneTool):
        kind = None if body.thinking is None else _kind(body.thinking)
        claude.check_forced(kind, row.forced, reject)
