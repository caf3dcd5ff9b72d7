"""The status line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tui.state.steps import do, ended, had, say

from pondero.client import lookup
from pondero.thinking import Policy
from pondero.tui.state import BETWEEN, Dial, begin, status

DIAL = Dial(lookup(), Policy())


def line(state, width=200):
    return BETWEEN.join(piece.text for piece in status(state, width))


def test_it_says_model_level_context_tokens_cost_and_verdict(chat, dial):
    assert line(had(chat, dial)) == (
        "claude-sonnet-4-5 · medium · 0% of 200k · in 10 · thinking 40 · out 5"
        " · cost unknown · as planned"
    )


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gemini-3-pro/off", "gemini-3-pro · off → low"),
        ("gpt-5/max", "gpt-5 · max → high"),
        ("claude-sonnet-4-5/50k", "claude-sonnet-4-5 · 50,000"),
        ("claude-opus-5", "claude-opus-5 · thinking unset"),
    ],
)
def test_it_says_the_level_asked_for_and_what_comes_of_it(dial, model, said):
    assert line(begin(dial, model)) == said


def test_a_narrow_line_drops_the_least_first(chat, dial):
    state = had(chat, dial)
    assert line(state, 80).endswith("out 5")
    assert line(state, 40) == "claude-sonnet-4-5 · medium · thinking 40"
    assert line(state, 10) == "claude-sonnet-4-5"


def test_an_odd_verdict_and_an_unsaved_chat_outlive_the_figures(chat, dial):
    from tests.tui.state.steps import USAGE

    from pondero.tui.state import actions

    odd = actions.Exchanged(USAGE, "stop", "did_not_think")
    state = do(say(chat, dial, "a")[0], dial, ended(exchanges=(odd,), unsaved="the disk is full"))
    assert line(state, 60) == "claude-sonnet-4-5 · medium · unsaved · did not think"


@given(st.integers(0, 200))
def test_it_never_overflows_but_for_the_model(width):
    state = had(begin(DIAL, "claude-sonnet-4-5/medium"), DIAL)
    assert len(line(state, width)) <= max(width, len(state.name))
