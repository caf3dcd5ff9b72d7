"""Would this model take that control? What its facts say, wish by wish."""

import pytest
from tests.capabilities import explain_rejection

from pondero.thinking import (
    OFF,
    ON,
    UNSET,
    BudgetRange,
    Capability,
    Intent,
    ParameterRanges,
    Policy,
    RequestParameters,
    parse_intent,
    resolve,
)


def facts(**given) -> Capability:
    return Capability(source="a test", checked="2026-11-15", **given)


NUMBERS = BudgetRange(min=1024, max=8192, off=0, dynamic=-1)
LEVEL, TOKENS = (lambda word: Intent("level", word)), (lambda n: Intent("budget", tokens=n))


@pytest.mark.parametrize(
    ("intent", "capability", "why"),
    [
        (UNSET, facts(thinks=False), None),
        (Intent("native"), facts(thinks=False), None),
        (OFF, facts(off=True), None),
        (OFF, facts(), "thinking cannot be switched off"),
        (LEVEL("none"), facts(thinks=False, tolerates=("none",)), None),
        (LEVEL("low"), facts(thinks=False), "the model does not think"),
        (ON, facts(thinks=False), "the model does not think"),
        (ON, facts(toggle=True), None),
        (ON, facts(default="dynamic"), None),
        (ON, facts(default="off"), "on needs a depth"),
        (LEVEL("low"), facts(efforts=("low", "high")), None),
        (LEVEL("max"), facts(efforts=("low", "high")), "it has low high"),
        (LEVEL("max"), facts(), "it has no levels"),
        (TOKENS(2000), facts(), "it takes no number of tokens"),
        (TOKENS(1024), facts(budget=NUMBERS), None),
        (TOKENS(8192), facts(budget=NUMBERS), None),
        (TOKENS(0), facts(budget=NUMBERS), None),
        (TOKENS(-1), facts(budget=NUMBERS), None),
        (TOKENS(1023), facts(budget=NUMBERS), "it takes 1,024 to 8,192 tokens"),
        (TOKENS(8193), facts(budget=NUMBERS), "it takes 1,024 to 8,192 tokens"),
    ],
)
def test_a_wish_is_refused_for_what_the_model_lacks(intent, capability, why):
    assert explain_rejection(intent, capability) == why


@pytest.mark.parametrize(
    ("capability", "levels"),
    [
        (facts(style="x", efforts=("low", "high")), ("low", "high")),
        (facts(style="x", budget=NUMBERS), ("minimal", "low", "medium", "high")),
        (facts(style="x", toggle=True), ("on",)),
        (facts(style="x"), ()),
        (facts(efforts=("low",)), ()),
        (facts(style="x", thinks=False, efforts=("low",)), ()),
    ],
)
def test_the_levels_of_a_model_are_its_words_its_numbers_or_a_switch(capability, levels):
    assert capability.levels == levels


def test_words_of_a_family_beyond_the_common_ones_are_extra():
    assert facts(efforts=("low", "ultra")).extra_words == ("ultra",)


@pytest.mark.parametrize(
    ("capability", "thinks"),
    [
        (facts(thinks=False, default="on"), False),
        (facts(default="off"), False),
        (facts(default="dynamic"), None),
        (facts(default="unaudited"), None),
        (facts(default="on"), True),
        (facts(default="high"), True),
    ],
)
def test_what_a_model_does_unasked_is_known_or_is_not(capability, thinks):
    assert capability.thinks_unasked is thinks


# -- the same facts, asked for something --------------------------------------------------------

SWITCH = facts(style="x", toggle=True, off=True)
STUBBORN = facts(style="x", toggle=True)
WORDS = facts(style="x", efforts=("low", "high"), off=True, default="off")
MUTE = facts(default="on")
FORCED = {"tools": True, "tool_choice": "required"}


@pytest.mark.parametrize(
    ("wish", "capability", "asked", "mode", "level", "codes"),
    [
        ("high", SWITCH, {}, "on", "on", ["unsupported_level"]),
        (4096, SWITCH, {}, "on", "on", ["budget_as_level"]),
        ("off", STUBBORN, {}, "on", "on", ["cannot_disable"]),
        ("off", MUTE, {}, "unset", "on", ["cannot_disable"]),
        ("on", WORDS, {}, "level", "high", ["unsupported_level", "on_as_level"]),
        ("on", facts(style="x"), {}, "unset", None, ["no_control"]),
        ("low", facts(style="x"), {}, "unset", None, ["no_control"]),
        (4096, facts(style="x"), {}, "unset", None, ["no_control"]),
        (4096, MUTE, {}, "unset", "on", ["no_control"]),
        (4096, facts(thinks=False), {}, "unset", "off", ["no_thinking"]),
        ("high", facts(style="x", efforts=("low", "high"), uncapped=("high",)), {"max_tokens": 9999},
         "level", "low", ["max_tokens_level"]),
        ("high", facts(style="x", efforts=("high",), uncapped=("high",)), {"max_tokens": 9999},
         "level", "high", []),
        ("high", facts(style="x", efforts=("low", "high"), forced_tools="unthinking"), FORCED,
         "level", "high", ["forced_tool_choice"]),
        ("high", facts(style="x", efforts=("low", "high"), off=True, forced_tools="off"), FORCED,
         "off", "off", ["forced_tool_choice"]),
        ("high", facts(style="x", efforts=("low", "high"), forced_tools="off"), FORCED,
         "level", "high", ["forced_tool_choice"]),
        ("high", facts(style="x", efforts=("low", "high"), forced_tools="refused"), FORCED,
         "level", "high", ["forced_tool_choice"]),
    ],
)  # fmt: skip
def test_a_wish_becomes_the_nearest_the_facts_allow_and_says_why(
    wish, capability, asked, mode, level, codes
):
    decision = resolve(
        parse_intent(wish),
        capability,
        policy=Policy(),
        asked=RequestParameters(**asked),
        surface=ParameterRanges(),
    )
    assert (decision.mode, decision.level) == (mode, level)
    assert [note.code for note in decision.adjustments] == codes
    assert all(note.why for note in decision.adjustments)
