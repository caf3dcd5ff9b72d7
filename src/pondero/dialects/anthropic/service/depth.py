"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces

DEPTH = DepthPlaces(
    fields=(
        ("thinking", "type"),
        ("thinking", "budget_tokens"),
        ("output_config", "effort"),
        # Models that the service asks if this one declines (SDK 2.8.0 types, 2026-11-10)
        ("fallbacks", "thinking"),
        ("fallbacks", "output_config", "effort"),
    ),
    # Anthropic, effort per turn: only effort is allowed there (SDK 2.8.0 types, 2026-11-10)
    turns="messages",
    in_turns=(("output_config", "effort"),),
    marks=("output_config",),
    # Anthropic, context editing: rejected without thinking (router-for-me/CLIProxyAPI#4957,
    # anthropics/claude-code#11971, 2026-11-16)
    edits_at=("context_management", "edits"),
    thinking_edits=("clear_thinking_20251015",),
    thinking_on=("enabled", "adaptive"),
)
