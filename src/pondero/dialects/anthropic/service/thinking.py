"""Rules for thinking, effort, sampling and forced tools, by model; the rows are in models.toml."""

from pondero.dialects import claude

from . import types
from .errors import reject
from .models import Family
from .parse import effort_of

_PER_TURN = ("mid-conversation-output-config-", "per-turn-control-")


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


def check(body: types.Body, row: Family, *, betas: frozenset[str]) -> None:
    """Reject the parameters that a model does not accept."""
    if body.max_tokens > row.max_output:
        # Anthropic, models: maximum output (anthropics/claude-code#24451, 2026-02-09)
        raise reject(
            f"max_tokens: {body.max_tokens} > {row.max_output}, which is the maximum allowed "
            f"number of output tokens for {body.model}"
        )
    _check_thinking(body, row, betas)
    _check_turns(body, row, betas)
    _check_effort(body, row)
    _check_sampling(body, row)
    _check_choice(body, row)


def _check_thinking(body: types.Body, row: Family, betas: frozenset[str]) -> None:
    thinking = body.thinking
    if thinking is None:
        return
    kind = _kind(thinking)
    claude.check_type(kind, row.thinking, reject)
    if isinstance(thinking, types.Enabled):
        # Anthropic, extended thinking: interleaved, a budget spans turns (vendor page, 2026-11-15)
        spans = bool(body.tools) and any(beta.startswith("interleaved-thinking-") for beta in betas)
        if not spans:
            claude.check_budget(thinking.budget_tokens, body.max_tokens, reject)
    if isinstance(thinking, types.Enabled | types.Adaptive) and thinking.display == "updates":
        _check_beta(betas, "thinking-display-updates-", f"thinking.{kind}.display")


def _check_beta(betas: frozenset[str], begins: str, path: str) -> None:
    if not any(beta.startswith(begins) for beta in betas):
        # Anthropic, beta headers: a beta's field needs its header (SDK 2.8.0, 2026-11-10)
        raise reject(f"{path}: Extra inputs are not permitted")


def _kind(thinking: types.Thinking) -> str:
    kinds = {types.Enabled: "enabled", types.Adaptive: "adaptive", types.Disabled: "disabled"}
    return kinds.get(type(thinking), "between_tools")


def _check_turns(body: types.Body, row: Family, betas: frozenset[str]) -> None:
    # Anthropic, effort per turn (pydantic-ai 2.66.0; router-for-me/CLIProxyAPI#5563, 2026-11-16)
    for at, message in enumerate(body.messages):
        if message.output_config is None:
            continue
        path = f"messages.{at}.output_config"
        known = any(beta.startswith(_PER_TURN) for beta in betas)
        if message.role != "system" or not row.turns or not known:
            raise reject(f"{path}: Extra inputs are not permitted")
        if not isinstance(body.thinking, types.Adaptive):
            raise reject(f'{path}: is only supported with "thinking.type.adaptive"')


def _check_effort(body: types.Body, row: Family) -> None:
    effort = effort_of(body)
    if effort is None:
        return
    off = isinstance(body.thinking, types.Disabled | types.BetweenTools)
    claude.check_effort(effort, row.efforts, reject, off_accepted=row.off_below if off else None)


def _check_sampling(body: types.Body, row: Family) -> None:
    # Anthropic, Messages: 0 to 1 (recording rig error_identity_edge, 2026-11-15)
    for name in ("temperature", "top_p"):
        value = getattr(body, name)
        if value not in (None, -1) and not 0 <= value <= 1:  # -1 leaves it unset
            raise reject(f"{name}: range: 0..1")
    if row.sampling == "none":
        for name, default in (("temperature", 1), ("top_p", 1), ("top_k", None)):
            if getattr(body, name) not in (None, default):
                # Anthropic, migration to 4.7: no sampling (The-PR-Agent/pr-agent#2456, 2026-11-15)
                raise reject(f"`{name}` is deprecated for this model.")
    if row.sampling == "one" and body.temperature is not None and body.top_p is not None:
        # Anthropic, Messages: one of the two from 4.5 on (fwdai/reticle#7, 2026-03-16)
        raise reject(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only "
            "one."
        )
    if isinstance(body.thinking, types.Enabled | types.Adaptive):
        claude.check_sampling(body.temperature, body.top_k, body.top_p, reject)


def _check_choice(body: types.Body, row: Family) -> None:
    if isinstance(body.tool_choice, types.AnyTool | types.OneTool):
        kind = None if body.thinking is None else _kind(body.thinking)
        claude.check_forced(kind, row.forced, reject)
