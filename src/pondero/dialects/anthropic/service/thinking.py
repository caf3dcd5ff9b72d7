"""Rules for thinking, effort, sampling and forced tools, by model; ``rules.accept`` calls them.

The rows of the models are in models.toml. ``types.Enabled`` rejects a budget below 1,024.
"""

from . import types
from .errors import reject
from .models import Family
from .parse import effort_of

_PER_TURN = ("mid-conversation-output-config-", "per-turn-control-")
_FORCED = "Thinking may not be enabled when tool_choice forces tool use."


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
    if kind not in row.thinking:
        # Anthropic, thinking troubleshooting: types by model (vendor page, 2026-11-15; text of
        # "enabled": AAClause/nvda-OpenAI#126)
        raise reject(_describe_unsupported(kind, row))
    if isinstance(thinking, types.Enabled):
        spans = bool(body.tools) and any(beta.startswith("interleaved-thinking-") for beta in betas)
        # Anthropic, extended thinking: budget_tokens < max_tokens, but for interleaved thinking
        # (vendor page and router-for-me/CLIProxyAPI#413, 2026-11-15)
        if thinking.budget_tokens >= body.max_tokens and not spans:
            raise reject(
                "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
                "documentation at https://docs.claude.com/en/docs/build-with-claude/"
                "extended-thinking#max-tokens-and-context-window-size"
            )
    if isinstance(thinking, types.Enabled | types.Adaptive) and thinking.display == "updates":
        _check_beta(betas, "thinking-display-updates-", f"thinking.{kind}.display")


def _check_beta(betas: frozenset[str], begins: str, path: str) -> None:
    if not any(beta.startswith(begins) for beta in betas):
        # Anthropic, beta headers: a beta's field needs its header (SDK 2.8.0, 2026-11-10)
        raise reject(f"{path}: Extra inputs are not permitted")


def _kind(thinking: types.Thinking) -> str:
    kinds = {types.Enabled: "enabled", types.Adaptive: "adaptive", types.Disabled: "disabled"}
    return kinds.get(type(thinking), "between_tools")


def _describe_unsupported(kind: str, row: Family) -> str:
    said = f'"thinking.type.{kind}" is not supported for this model.'
    if kind == "enabled" and "adaptive" in row.thinking:
        return (
            f'{said} Use "thinking.type.adaptive" and "output_config.effort" to control thinking '
            "behavior."
        )
    if kind == "disabled" and "between_tools" in row.thinking:
        return f'{said} Use "thinking.type.between_tools" instead.'
    return said


def _check_turns(body: types.Body, row: Family, betas: frozenset[str]) -> None:
    """Reject an effort inside the conversation if the model, role or thinking forbids it."""
    # Anthropic, effort: per turn only in system messages, with the beta, on 5.x models, with
    # adaptive (pydantic-ai 2.66.0, verified live, and router-for-me/CLIProxyAPI#5563, 2026-11-16)
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
    if not row.efforts:
        # Anthropic, effort: not on Haiku 4.5 and older (text of public clients, 2026-11-16)
        raise reject("This model does not support the effort parameter.")
    if effort not in row.efforts:
        # Anthropic, effort: levels by model (recording pydantic-ai
        # test_anthropic_explicit_effort_xhigh_unsupported_model_errors, 2026-08-22)
        levels = ", ".join(sorted(row.efforts))
        raise reject(
            f"This model does not support effort level '{effort}'. Supported levels: {levels}."
        )
    off = isinstance(body.thinking, types.Disabled | types.BetweenTools)
    if off and row.off_below is not None and effort not in row.off_below:
        # Anthropic, thinking: off only up to effort high (vendor page, 2026-11-15; text is ours)
        raise reject(
            f"output_config.effort: '{effort}' is not supported while thinking is off; use one of "
            f"{', '.join(row.off_below)}"
        )


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
    # Anthropic, extended thinking: temperature 1, no top_k, top_p from 0.95 on; all three
    # (texts of public clients; top_k: quarkiverse/quarkus-langchain4j#1812, 2025-09-25)
    if isinstance(body.thinking, types.Enabled | types.Adaptive):
        if body.temperature not in (None, 1):
            raise reject(
                "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
            )
        if body.top_k is not None:
            raise reject("`top_k` must be unset when thinking is enabled.")
        if body.top_p is not None and body.top_p < 0.95:
            raise reject(
                "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
            )


def _check_choice(body: types.Body, row: Family) -> None:
    if not isinstance(body.tool_choice, types.AnyTool | types.OneTool):
        return
    # Anthropic, tool_choice: not forced on Fable 5.1, Opus 5.5, Sonnet 5.5 (pydantic-ai 2.66.0,
    # verified live; text not recorded), nor with "enabled" (text of public clients, 2026-11-15)
    if row.forced == "never":
        raise reject("`tool_choice` values that force tool use are not supported for this model.")
    if isinstance(body.thinking, types.Enabled) and row.forced in ("adaptive", "thinking_off"):
        raise reject(_FORCED)
