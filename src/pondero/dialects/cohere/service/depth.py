"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces
from pondero.dialects.tables import DEPTH_NAMES

DEPTH = DepthPlaces(
    # Cohere, thinking (cohere types, 2026-11-15)
    fields=(("thinking", "token_budget"), *DEPTH_NAMES),
)
