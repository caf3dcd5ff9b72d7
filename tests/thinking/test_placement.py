"""A decision becomes fields by a template, and the same template reads them back."""

import pytest

from pondero.thinking import OFF, ON, UNSET, Decision, Intent, Placement, read_thinking
from pondero.thinking.placement import place_fields, place_headers

CAP = {"max_tokens": ("limits", "output")}
BOTH = Placement(
    off={"think": {"type": "disabled"}},
    on={"think": {"type": "enabled"}},
    level={"think": {"type": "enabled", "effort": "$effort"}},
    budget={"think": {"type": "enabled", "tokens": "$budget"}},
    show={"think": {"display": "all"}},
    hide={"think": {"display": "none"}},
    words={"medium": "MID"},
    also=({"level": {"old_effort": "$effort"}, "off": {"old_effort": "zero"}},),
    tool_headers={"x-beta": "interleaved"},
    tool_fields={"interleave": True},
)


@pytest.mark.parametrize(
    ("decision", "fields"),
    [
        (Decision("unset"), {}),
        (Decision("native"), {}),
        (Decision("off"), {"think": {"type": "disabled"}}),
        (Decision("off", show=True), {"think": {"type": "disabled"}}),
        (Decision("on", show=False), {"think": {"type": "enabled", "display": "none"}}),
        (Decision("level", effort="medium"), {"think": {"type": "enabled", "effort": "MID"}}),
        (Decision("level", effort="low"), {"think": {"type": "enabled", "effort": "low"}}),
        (Decision("budget", budget=99), {"think": {"type": "enabled", "tokens": 99}}),
        (
            Decision("on", tools=True, parameters={"max_tokens": 7}),
            {"think": {"type": "enabled"}, "interleave": True, "limits": {"output": 7}},
        ),
    ],
)
def test_a_decision_stands_where_the_template_says(decision, fields):
    assert place_fields(decision, BOTH, CAP) == fields


def test_headers_go_along_with_tools_while_it_thinks():
    assert place_headers(Decision("on", tools=True), BOTH) == {"x-beta": "interleaved"}
    assert place_headers(Decision("off", tools=True), BOTH) == {}
    assert place_headers(Decision("on"), BOTH) == {}


@pytest.mark.parametrize(
    ("body", "intent"),
    [
        ({}, UNSET),
        ({"think": 7}, UNSET),
        ({"think": {"type": "disabled"}}, OFF),
        ({"think": {"type": "ENABLED"}}, ON),
        ({"think": {"type": "enabled", "effort": "mid"}}, Intent("level", "medium")),
        ({"think": {"type": "enabled", "effort": "ultra"}}, Intent("level", "ultra")),
        ({"think": {"type": "enabled", "effort": "none"}}, OFF),
        ({"think": {"type": "enabled", "effort": 7}}, ON),
        ({"think": {"type": "enabled", "tokens": 99}}, Intent("budget", tokens=99)),
        ({"think": {"type": "enabled", "tokens": True}}, ON),
        ({"think": {"display": "all"}}, ON),
        ({"old_effort": "zero"}, OFF),
        ({"old_effort": "high"}, Intent("level", "high")),
    ],
)
def test_a_body_is_read_by_the_most_specific_template_that_fits(body, intent):
    assert read_thinking(body, BOTH, CAP).intent == intent


@pytest.mark.parametrize(
    ("body", "cap", "show"),
    [
        ({"limits": {"output": 7}}, 7, None),
        ({"limits": {"output": "7"}}, None, None),
        ({"limits": 7}, None, None),
        ({"think": {"type": "enabled", "display": "all"}}, None, True),
        ({"think": {"type": "enabled", "display": "none"}}, None, False),
    ],
)
def test_the_cap_and_what_is_shown_are_read_beside_the_wish(body, cap, show):
    found = read_thinking(body, BOTH, CAP)
    assert (found.max_tokens, found.show) == (cap, show)


def test_a_service_without_a_cap_has_none_read():
    assert read_thinking({"limits": {"output": 7}}, BOTH, {}).max_tokens is None


def test_a_folded_service_takes_either_spelling_of_a_key():
    folded = Placement(level={"thinking_level": "$effort"}, folded=True)
    plain = Placement(level={"thinking_level": "$effort"})
    assert read_thinking({"thinkingLevel": "low"}, folded, {}).intent == Intent("level", "low")
    assert read_thinking({"thinkingLevel": "low"}, plain, {}).intent == UNSET
