"""The dial at the gate: which wish holds, and what a route and a key make of it."""

import pytest

from pondero.errors import BadThinking
from pondero.gateway.config.model import LevelRules
from pondero.gateway.levels.level_rules import RequestedLevel, apply_rules, parse_requested_level
from pondero.store import load_catalog
from pondero.thinking import OFF, UNSET, parse_intent

OPUS = load_catalog().entry("claude-opus-5")


def test_the_header_wins_over_the_name_and_the_name_over_the_body():
    low = parse_intent("low")
    said = {"body": low, "words": ()}
    assert parse_requested_level(header="high", suffix="max", **said) == RequestedLevel(
        parse_intent("high"), "header"
    )
    assert parse_requested_level(header=None, suffix="max", **said) == RequestedLevel(
        parse_intent("max"), "name"
    )
    assert parse_requested_level(header=None, suffix=None, **said) == RequestedLevel(low, "body")
    assert parse_requested_level(header=None, suffix=None, body=UNSET, words=()).said_in == "unset"


def test_a_header_that_is_no_level_is_refused():
    with pytest.raises(BadThinking, match="did you mean 'high'"):
        parse_requested_level(header="hihg", suffix=None, body=UNSET, words=())


@pytest.mark.parametrize(
    ("wish", "dial", "level", "why"),
    [
        (parse_intent("high"), LevelRules(), "high", None),
        (parse_intent("high"), LevelRules(cap="medium"), "medium", "cap"),
        (parse_intent("low"), LevelRules(cap="medium"), "low", None),
        (OFF, LevelRules(floor="low"), "low", "floor"),
        (parse_intent("low"), LevelRules(force="max"), "max", "force"),
        (parse_intent("low"), LevelRules(force="max", cap="high"), "high", "cap"),
        (UNSET, LevelRules(default="medium"), "medium", "default"),
        (parse_intent("low"), LevelRules(default="medium"), "low", None),
        (UNSET, LevelRules(default="max", cap="high"), "high", "cap"),
        (parse_intent("high"), LevelRules(cap="off"), "off", "cap"),
        (parse_intent("high"), LevelRules(floor="max", cap="low"), "low", "cap"),
    ],
)
def test_what_a_rule_makes_of_a_wish(wish, dial, level, why):
    decided = apply_rules(RequestedLevel(wish, "body"), OPUS, [dial])
    assert (decided.intent.level, decided.why) == (level, why)


def test_a_cap_holds_for_what_a_model_does_unasked():
    decided = apply_rules(RequestedLevel(UNSET, "unset"), OPUS, [LevelRules(cap="low")])
    assert (decided.intent, decided.why) == (parse_intent("low"), "cap")
