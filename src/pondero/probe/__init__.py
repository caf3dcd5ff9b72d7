"""Whether a dial is live: what to ask next, when the answer is known, and which fields work."""

from .discovery import MOST_TRIALS, Discovery, DiscoveryAnswer, FieldTrial, make_model_row
from .levels import (
    MAX_TOKENS,
    check_comparable,
    check_question_count,
    choose_levels,
    count_asks,
    list_distinct,
)
from .measure import DEAF, LIVE, LevelPair, ProbeAnswer, ProbeUnit
from .median_test import ALPHA, Bounds, bound_median, wins_needed
from .probe import OFF, Probe, ProbeAsk
from .questions import DISCOVERY_QUESTION, QUESTIONS, parse_questions
from .result import LevelRatio, OffVerdict, ProbeResult, ProbeVerdict, describe_probe

__all__ = [
    "ALPHA",
    "DEAF",
    "DISCOVERY_QUESTION",
    "LIVE",
    "MAX_TOKENS",
    "MOST_TRIALS",
    "OFF",
    "QUESTIONS",
    "Bounds",
    "Discovery",
    "DiscoveryAnswer",
    "FieldTrial",
    "LevelPair",
    "LevelRatio",
    "OffVerdict",
    "Probe",
    "ProbeAnswer",
    "ProbeAsk",
    "ProbeResult",
    "ProbeUnit",
    "ProbeVerdict",
    "bound_median",
    "check_comparable",
    "check_question_count",
    "choose_levels",
    "count_asks",
    "describe_probe",
    "list_distinct",
    "make_model_row",
    "parse_questions",
    "wins_needed",
]
