"""The thinking dial: from what a caller wishes to what a model is sent."""

from .capability import NOTHING, Budget, Capability, refusal
from .decision import BENIGN, CODES, SAMPLING, Adjustment, Asked, Decision, Surface
from .intent import ALIASES, LEVELS, OFF, ON, UNSET, Intent, Kind, is_wish, parse, vocabulary
from .placement import NOWHERE, Placement, Reading, headers, place, read
from .plan import Facts, Plan, describe, outcome, said
from .policy import CHOICES, DEFAULT, TOKENS, Policy
from .resolve import resolve
from .target_level import FIGURES, closest, figure, instead, listed, nearest, share

__all__ = [
    "ALIASES",
    "BENIGN",
    "CHOICES",
    "CODES",
    "DEFAULT",
    "FIGURES",
    "LEVELS",
    "NOTHING",
    "NOWHERE",
    "OFF",
    "ON",
    "SAMPLING",
    "TOKENS",
    "UNSET",
    "Adjustment",
    "Asked",
    "Budget",
    "Capability",
    "Decision",
    "Facts",
    "Intent",
    "Kind",
    "Placement",
    "Plan",
    "Policy",
    "Reading",
    "Surface",
    "closest",
    "describe",
    "figure",
    "headers",
    "instead",
    "is_wish",
    "listed",
    "nearest",
    "outcome",
    "parse",
    "place",
    "read",
    "refusal",
    "resolve",
    "said",
    "share",
    "vocabulary",
]
