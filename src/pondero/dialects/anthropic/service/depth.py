"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces
from pondero.dialects.tables import DEPTH_NAMES

DEPTH = DepthPlaces(
    fields=(
        *DEPTH_NAMES,
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
    # Anthropic, preserved thinking: only with adaptive (SDK, 2026-11-10)
    tied=((("thinking", "block_binding"), ("thinking", "type"), "adaptive"),),
    # Anthropic, Sonnet 5.5: notes between calls come back as thinking (SDK 1.9.0, 2026-09-28)
    between_tools=(("thinking", "type"), "between_tools"),
)
