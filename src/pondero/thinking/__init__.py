"""Turns a level, a budget, on or off into what a model can do; every room above uses it."""

from .capability import NOTHING, Budget, Capability, refusal
from .decision import BENIGN, CODES, SAMPLING, Adjustment, Asked, Decision, Surface
from .intent import (
    ALIASES,
    LEVELS,
    OFF,
    ON,
    UNSET,
    Intent,
    Kind,
    ThinkingLike,
    Word,
    is_wish,
    parse,
    vocabulary,
)
from .placement import NOWHERE, Placement, Reading, headers, place, read
from .plan import Facts, Plan, describe, outcome, said
from .policy import CHOICES, DEFAULT, TOKENS, Choices, Policy
from .resolve import resolve
from .target_level import (
    FIGURES,
    closest,
    nearest,
    offered_levels,
    percent_of_output,
    why_substituted,
)

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
    "Choices",
    "Decision",
    "Facts",
    "Intent",
    "Kind",
    "Placement",
    "Plan",
    "Policy",
    "Reading",
    "Surface",
    "ThinkingLike",
    "Word",
    "closest",
    "describe",
    "headers",
    "is_wish",
    "nearest",
    "offered_levels",
    "outcome",
    "parse",
    "percent_of_output",
    "place",
    "read",
    "refusal",
    "resolve",
    "said",
    "vocabulary",
    "why_substituted",
]
