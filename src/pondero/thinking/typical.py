"""How much a model usually thinks at a level, to tell a cap that leaves no room for the answer."""

from msgspec import Struct

from .capability import Capability
from .target_level import nearest_level, word_figure

DEPTHS = {
    "minimal": 256,
    "low": 512,
    "medium": 1_024,
    "high": 2_048,
    "xhigh": 4_096,
    "max": 8_192,
}
"""Level -> the thinking tokens of a usual answer, where a family has no figure of its own.

Inferred: each level twice the one below. In recorded exchanges whose answer has at least 200 tokens
the medians are 476 at low (16 answers), 594 at medium (12) and 1,792 at high (3).
"""
INFERRED = "inferred"
_SWITCH = "on"


class TypicalDepth(Struct, frozen=True):
    """The thinking tokens of a usual answer, and where the number is from."""

    tokens: int
    source: str


def typical_depth(word: str, capability: Capability) -> TypicalDepth:
    """Return what a level, or "on", usually costs: a known figure, else in proportion to one."""
    known = capability.typical
    if word in known:
        return TypicalDepth(known[word], capability.typical_source)
    level = _common_level(word, capability)
    if not known:
        return TypicalDepth(DEPTHS[level], INFERRED)
    order = list(DEPTHS)
    levels = {_common_level(each, capability): tokens for each, tokens in known.items()}
    nearest = min(levels, key=lambda each: abs(order.index(each) - order.index(level)))
    tokens = DEPTHS[level] * levels[nearest] // DEPTHS[nearest]
    return TypicalDepth(max(1, tokens), f"{INFERRED} from {nearest}")


def _common_level(word: str, capability: Capability) -> str:
    if word == _SWITCH:
        return "medium"
    return nearest_level(round(word_figure(word, capability.efforts)))
