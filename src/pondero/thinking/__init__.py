"""The dial: what this model will do with that wish."""

from .accepts import refusal
from .adjustments import BENIGN, CODES, Adjustment
from .capability import NOTHING, Budget, Capability
from .decision import SAMPLING, Asked, Decision, Surface
from .intent import ALIASES, LEVELS, OFF, ON, UNSET, Intent, Kind, is_wish, parse, vocabulary
from .ladder import closest, figure, listed, nearest, share
from .place import NOWHERE, Placement, headers, place
from .plan import Facts, Plan, describe, outcome, said
from .policy import CHOICES, DEFAULT, TOKENS, Policy
from .read import Reading, read
from .resolve import resolve

__all__ = [
    "ALIASES",
    "BENIGN",
    "CHOICES",
    "CODES",
    "DEFAULT",
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
