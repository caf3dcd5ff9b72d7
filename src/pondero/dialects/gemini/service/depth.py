"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces
from pondero.dialects.tables import DEPTH_NAMES

DEPTH = DepthPlaces(
    # Gemini, ThinkingConfig (google-genai types, 2026-11-15)
    fields=(
        ("generationConfig", "thinkingConfig", "thinkingBudget"),
        ("generationConfig", "thinkingConfig", "thinkingLevel"),
        *DEPTH_NAMES,
    ),
)
