"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces

DEPTH = DepthPlaces(
    # Cohere, thinking (cohere types, 2026-11-15)
    fields=(("thinking", "type"), ("thinking", "token_budget"), ("reasoning_effort",)),
)
