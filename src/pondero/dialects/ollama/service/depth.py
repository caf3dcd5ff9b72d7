"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces
from pondero.dialects.tables import DEPTH_NAMES

DEPTH = DepthPlaces(
    # Ollama, think: a bool or a level; Go reads its name in any case (api/types.go, 2026-11-15)
    fields=(("think",), *DEPTH_NAMES),
)
