"""How /compare and /retry read their line, and what a column says."""

from decimal import Decimal

import pytest
from tests.tui.state.steps import KEPT, USAGE, do, ended, had, say, told

from pondero.tui.state import ThreadMessage, actions, column_figures, effects, reduce


def recalled(state, dial, asked):
    (recall,) = asked
    past = tuple(ThreadMessage(n, message, USAGE) for n, message in enumerate(KEPT))
    action = actions.LastTurnLoaded(recall.purpose, recall.level_texts, recall.words, past, 100.0)
    return reduce(state, action, dial)


@pytest.mark.parametrize(
    ("line", "level_texts", "words"),
    [
        ("low high", ("low", "high"), ""),
        ("low low", ("low",), ""),
        ("low Why is it so high?", ("low",), "Why is it so high?"),
        ("8k off 2 apples", ("8k", "off"), "2 apples"),
        ("gpt-5/low max and/or", ("gpt-5/low", "max"), "and/or"),
    ],
)
def test_levels_come_first_and_then_the_question(chat, dial, line, level_texts, words):
    assert say(chat, dial, f"/compare {line}")[1] == (
        effects.Recall("compare", level_texts, words),
    )


@pytest.mark.parametrize(
    "line", ["/compare", "/compare Why?", "/retry hihg", "/compare " + "x" * 9]
)
def test_without_a_level_nothing_is_asked(chat, dial, line):
    state, asked = say(chat, dial, line)
    assert asked == ()
    assert told(state)


def test_seven_at_once_are_too_many(chat, dial):
    state, asked = say(chat, dial, "/compare off minimal low medium high xhigh max x")
    assert asked == ()
    assert "at most 6" in told(state)


def test_nothing_is_compared_before_something_was_asked(chat, dial):
    state, asked = reduce(chat, actions.LastTurnLoaded("compare", ("low",)), dial)
    assert (told(state), asked) == ("there is no question yet", ())


def test_every_level_is_asked_the_same_after_the_same_messages(chat, dial):
    before = had(chat, dial)
    state, asked = recalled(before, dial, say(before, dial, "/compare low high")[1])
    (compare,) = asked
    assert [(ask.words, ask.level_text) for ask in compare.asks] == [
        ("17 * 23?", "low"),
        ("17 * 23?", "high"),
    ]
    assert (compare.number, compare.first) == (0, 1)
    assert [column.given for column in state.comparing.columns] == [True, False, False]
    assert state.page == before.page


def test_a_column_says_what_its_answer_took(chat, dial):
    before = had(chat, dial)
    state, _ = recalled(before, dial, say(before, dial, "/retry high")[1])
    assert column_figures(state.comparing.columns[1]) == ("answering…", "")
    price = actions.ExchangeEnded(USAGE, "stop", "as_planned", Decimal("0.25"))
    state = do(state, dial, actions.ColumnEnded(1, ended(exchanges=(price,))))
    assert column_figures(state.comparing.columns[1]) == ("thinking 40 · out 5", "$0.2500 · 7 s")
    assert column_figures(state.comparing.columns[0], paid=False)[1].startswith("offline")
    assert not state.comparing.live


def test_the_main_turn_knows_nothing_of_columns(chat, dial):
    """What belongs to a comparison that was closed changes nothing."""
    for action in (
        actions.ColumnEnded(0, ended()),
        actions.ColumnsArrived(((0, ()),), 1.0),
        actions.ColumnMoved(1),
        actions.ComparisonClosing(keep=True),
    ):
        assert reduce(chat, action, dial) == (chat, ())
