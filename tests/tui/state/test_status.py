"""The status line."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tui.state.steps import USAGE, do, ended, had, say

from pondero.canon import Usage
from pondero.client import load_catalog
from pondero.thinking import Policy
from pondero.tui.state import BETWEEN, DialView, actions, initial_state, status
from pondero.tui.state.state import as_cost

DIAL = DialView(load_catalog(), Policy())


def line(state, width=200):
    return BETWEEN.join(piece.text for piece in status(state, width))


def test_it_says_model_level_context_tokens_cost_and_verdict(chat, dial):
    assert line(had(chat, dial)) == (
        "claude-sonnet-4-5 · medium · context 0% · in 10 · thinking 40 · answer 5"
        " · cost unknown · as planned"
    )


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gemini-3-pro/off", "gemini-3-pro · off → low"),
        ("gpt-5/max", "gpt-5 · max → high"),
        ("claude-sonnet-4-5/50k", "claude-sonnet-4-5 · 50,000"),
        ("claude-opus-5", "claude-opus-5 · thinking unset"),
        ("anthropic:claude-opus-77/low", "claude-opus-77 · not in the catalog · low"),
    ],
)
def test_it_says_the_level_asked_for_and_what_comes_of_it(dial, model, said):
    assert line(initial_state(dial, model)) == said


def test_a_narrow_line_drops_the_least_first(chat, dial):
    state = had(chat, dial)
    assert line(state, 78).endswith(" · in 10 · thinking 40 · answer 5 · cost unknown")
    assert line(state, 60) == "claude-sonnet-4-5 · medium · thinking 40 · cost unknown"
    assert line(state, 40) == "claude-sonnet-4… · medium · cost unknown"
    assert line(state, 36) == "claude-sonnet-4-5 · medium"
    assert line(state, 10) == "claude-sonnet-4-5"


COLUMNS = 80 - 2  # the screen's, without the space at both ends


@pytest.mark.parametrize("unsaved", [None, "the disk is full"])
@pytest.mark.parametrize("cost", [None, Decimal("0.0003"), Decimal("1234.5")])
@pytest.mark.parametrize(
    "model", ["claude-opus-4-5-20251101/medium", "gpt-5/max", f"ollama:{'long-' * 20}/128k"]
)
@pytest.mark.parametrize("at_least", [False, True])
def test_cost_and_thinking_are_never_left_out_on_80_columns(dial, model, cost, unsaved, at_least):
    usage = Usage(input=987_654, output=1_234_567, thinking=1_234_567)
    exchange = actions.ExchangeEnded(usage, "stop", "as_planned", cost, at_least=at_least)
    begun = say(initial_state(dial, model), dial, "a")[0]
    state = do(begun, dial, ended(exchanges=(exchange,), unsaved=unsaved))
    said = line(state, COLUMNS)
    assert len(said) <= COLUMNS
    assert " · thinking 1.2M · " in said
    assert (as_cost(cost) if cost else "cost unknown") in said
    assert ("at least $" in said or "≥ $" in said) == bool(at_least and cost)
    assert said.startswith(state.name[:15])
    assert ("unsaved" in said) == bool(unsaved)


def test_where_nothing_is_paid_no_cost_is_missed(chat, dial):
    assert line(had(chat.but(paid=False), dial)).endswith(" · answer 5 · offline · as planned")


def test_a_verdict_that_is_not_known_is_not_shown(chat, dial):
    unknown = actions.ExchangeEnded(USAGE, "stop", "unknown")
    state = do(say(chat, dial, "a")[0], dial, ended(exchanges=(unknown,)))
    assert line(state).endswith("cost unknown")


def test_an_odd_verdict_and_an_unsaved_chat_outlive_the_figures(chat, dial):
    odd = actions.ExchangeEnded(USAGE, "stop", "did_not_think")
    state = do(say(chat, dial, "a")[0], dial, ended(exchanges=(odd,), unsaved="the disk is full"))
    assert line(state, 60) == "claude-sonnet-4-5 · medium · unsaved · did not think"


@given(st.integers(0, 200))
def test_it_never_overflows_but_for_the_model(width):
    state = had(initial_state(DIAL, "claude-sonnet-4-5/medium"), DIAL)
    assert len(line(state, width)) <= max(width, len(state.name))


def test_it_says_what_a_change_did_to_the_cache_until_the_next_answer(chat, dial):
    told = do(had(chat, dial), dial, actions.HandedOff(("  Cache: kept",), "cache kept"))
    assert "cache kept" in line(told)
    answered = do(say(told, dial, "hello")[0], dial, ended())
    assert "cache kept" not in line(answered)


def test_a_lost_cache_is_said_on_a_narrow_line_too(chat, dial):
    cost = "cache lost, 41,200 tokens billed again (about $0.2575)"
    told = do(had(chat, dial), dial, actions.HandedOff((), cost))
    assert cost in line(told, 100)
    assert line(told, 38).endswith(" · cache lost")


def test_a_cost_that_is_not_zero_is_not_shown_as_zero():
    assert [as_cost(Decimal(each)) for each in ("0", "0.00004", "0.00006", "1.5")] == [
        "$0.00",
        "<$0.0001",
        "$0.0001",
        "$1.50",
    ]
