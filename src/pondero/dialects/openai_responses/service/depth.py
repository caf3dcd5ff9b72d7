"""Where a request says how much to think, for a gateway that limits it."""

from pondero.dialects.dialect import DepthPlaces
from pondero.dialects.tables import DEPTH_NAMES

DEPTH = DepthPlaces(
    # OpenAI, reasoning.effort; the others: OpenRouter's and LM Studio's Responses (2026-11-15)
    fields=(*DEPTH_NAMES,),
    # OpenAI, reasoning.mode: pro is on top of every effort (openai 3.49.0 types, 2026-11-10)
    more=(("reasoning", "mode"),),
    # OpenAI, configuration_update items (openai 3.49.0 types, 2026-11-10)
    turns="input",
    in_turns=(("reasoning", "effort"),),
    marks=("configuration_update",),
)
