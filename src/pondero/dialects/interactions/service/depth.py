"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces
from pondero.dialects.tables import DEPTH_NAMES

DEPTH = DepthPlaces(
    # google-genai 3.1.0, GenerationConfig; the budget is in no type, and the SDK passes it on
    fields=(
        ("generation_config", "thinking_level"),
        ("generation_config", "thinking_budget"),
        # generateContent's names, which no type has here
        ("generation_config", "thinking_config"),
        ("thinking_config",),
        *DEPTH_NAMES,
    ),
)
