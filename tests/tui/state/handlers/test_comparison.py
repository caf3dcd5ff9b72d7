"""How /compare and /retry read their line, and what a column says."""

from decimal import Decimal

import pytest
from msgspec.structs import replace
from tests.tui.state.steps import ANSWER, KEPT, USAGE, do, ended, had, say, told

from pondero.canon import Message, Origin, PartStart, Text, TextDelta, ThinkingDelta
from pondero.errors import Timeout
from pondero.tui.state import ThreadMessage, actions, column_figures, completions, effects, reduce

ORIGIN = Origin("anthropic", "claude-opus-5", "high")
LAST = (
    ThreadMessage(0, Message("user", (Text("17 * 23?"),))),
    ThreadMessage(1, Message("assistant", (Text("391"),), origin=ORIGIN)),
)


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
        ("gpt-5 claude-opus-5 Why?", ("gpt-5", "claude-opus-5"), "Why?"),
        ("gpt-5,claude-opus-5", ("gpt-5", "claude-opus-5"), ""),
        ("low How high is it?", ("low",), "How high is it?"),
        ("low how high is it?", ("low",), "how high is it?"),
        ("low log in/on", ("low",), "log in/on"),
        ("high on/off switches", ("high",), "on/off switches"),
        ("low opus is latin", ("low",), "opus is latin"),
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
    assert asked == ((effects.SetAside(line),) if " " in line else ())
    assert told(state)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("low hgih What is 2 + 2?", "did you mean 'high'?"),
        ("hihg low What is 2 + 2?", "did you mean 'high'?"),
        ("low,medum What is 2 + 2?", "did you mean 'medium'?"),
        ("low gpt-5/hgih What is 2 + 2?", "did you mean 'high'?"),
        ("low claud-opus-5/high What is 2 + 2?", "did you mean 'claude-opus-5'"),
    ],
)
def test_a_misspelt_column_is_not_asked(chat, dial, line, said):
    state, asked = say(chat, dial, f"/compare {line}")
    assert asked == (effects.SetAside(f"/compare {line}"),)
    assert said in told(state)
    assert "unknown" in told(state)


def test_models_without_a_level_have_the_present_one(chat, dial):
    before = had(chat, dial)
    line = "/compare gpt-5 claude-opus-5/low"
    state, (compare,) = recalled(before, dial, say(before, dial, line)[1])
    assert [(ask.model, ask.level_text) for ask in compare.asks] == [
        ("openai:gpt-5", before.level_text),
        ("anthropic:claude-opus-5", "low"),
    ]
    assert [ask.label for ask in compare.asks] == [
        f"gpt-5/{before.level_text}",
        "claude-opus-5/low",
    ]
    assert [column.name for column in state.comparing.columns][1:] == [
        ask.label for ask in compare.asks
    ]


def test_after_a_switch_the_columns_name_their_models(chat, dial):
    state, _ = say(had(chat, dial), dial, "/model gpt-5/low")
    levels = actions.LastTurnLoaded("compare", ("low", "high"), "", LAST, 100.0)
    columns = reduce(state, levels, dial)[0].comparing.columns
    assert [column.name for column in columns] == ["claude-opus-5/high", "gpt-5/low", "gpt-5/high"]
    new = actions.LastTurnLoaded("compare", ("low", "high"), "Why?", LAST, 100.0)
    assert [each.name for each in reduce(state, new, dial)[0].comparing.columns] == ["low", "high"]


def test_seven_at_once_are_too_many(chat, dial):
    line = "/compare off minimal low medium high xhigh max x"
    state, asked = say(chat, dial, line)
    assert asked == (effects.SetAside(line),)
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


@pytest.mark.parametrize(
    ("level_texts", "asked_for"),
    [
        (("low", "high"), ["low"]),
        (("gpt-5/high", "high"), ["gpt-5/high"]),
        (("high", "8k"), ["8k"]),
        (("high",), ["high"]),  # /retry
    ],
)
def test_the_level_that_the_thread_has_an_answer_at_is_not_asked_again(
    chat, dial, level_texts, asked_for
):
    there = say(had(chat, dial), dial, "/model claude-opus-5/high")[0]
    action = actions.LastTurnLoaded("compare", level_texts, "", LAST, 100.0)
    state, (compare,) = reduce(there, action, dial)
    asks = [ask.label.removeprefix("claude-opus-5/") for ask in compare.asks]
    assert asks == asked_for
    assert [column.given for column in state.comparing.columns] == [True] + [False] * len(asks)


def test_a_part_or_an_emulated_answer_is_no_reason_not_to_ask(chat, dial):
    there = say(had(chat, dial), dial, "/model claude-opus-5/high")[0]
    for how in ({"partial": True}, {"offline": True}):
        answer = replace(LAST[1], **how)
        recall = actions.LastTurnLoaded("compare", ("low", "high"), "", (LAST[0], answer), 100.0)
        _, (compare,) = reduce(there, recall, dial)
        assert [ask.label for ask in compare.asks] == ["low", "high"]


def test_where_models_are_compared_every_column_names_its_model(chat, dial):
    before = had(chat, dial)
    action = actions.LastTurnLoaded("compare", ("low", "gpt-5/high"), "", LAST, 100.0)
    state, (compare,) = reduce(before, action, dial)
    names = ["claude-opus-5/high", f"{chat.name}/low", "gpt-5/high"]
    assert [column.name for column in state.comparing.columns] == names
    assert [ask.label for ask in compare.asks] == names[1:]
    levels = actions.LastTurnLoaded("compare", ("low", "max"), "", LAST, 100.0)
    there = say(before, dial, "/model claude-opus-5")[0]
    columns = reduce(there, levels, dial)[0].comparing.columns
    assert [column.name for column in columns] == ["high", "low", "max"]


def test_how_models_are_compared_is_said_and_completed(chat, dial):
    for line in ("/compare", "/help compare"):
        assert "NAME[/LEVEL]" in told(say(chat, dial, line)[0])
    assert "/compare low gpt-5/high" in completions(chat, "/compare low gpt-5/h", dial)
    assert "/compare low high" in completions(chat, "/compare low h", dial)


def test_a_column_says_what_its_answer_took(chat, dial):
    before = had(chat, dial)
    state, _ = recalled(before, dial, say(before, dial, "/retry high")[1])
    assert column_figures(state.comparing.columns[1]) == ("answering…", "")
    price = actions.ExchangeEnded(USAGE, "stop", "as_planned", Decimal("0.25"))
    state = do(state, dial, actions.ColumnEnded(1, ended(exchanges=(price,))))
    assert column_figures(state.comparing.columns[1]) == ("thinking 40 · answer 5", "$0.2500 · 7 s")
    assert column_figures(state.comparing.columns[0], paid=False)[1].startswith("offline")
    assert not state.comparing.live


@pytest.mark.parametrize(
    ("how", "word"), [({"stopped": True}, "stopped"), ({"error": Timeout("x")}, "broken off")]
)
def test_a_column_that_was_cut_says_so_and_about_how_much_came(chat, dial, how, word):
    before = had(chat, dial)
    state, _ = recalled(before, dial, say(before, dial, "/retry high")[1])
    came = (*ANSWER[:3], ThinkingDelta(0, "x" * 400), PartStart(1, "text"), TextDelta(1, "y" * 40))
    state = do(state, dial, actions.ColumnsArrived(((1, came),), 103.0))
    state = do(state, dial, actions.ColumnEnded(1, ended(exchanges=(), **how)))
    figures = column_figures(state.comparing.columns[1])
    assert figures == ("thinking ~101 · answer ~10", f"{word} · cost unknown · 7 s")


def test_a_column_of_which_nothing_came_says_that(chat, dial):
    before = had(chat, dial)
    state, _ = recalled(before, dial, say(before, dial, "/retry high")[1])
    state = do(state, dial, actions.ColumnEnded(1, ended(exchanges=(), stored=(), stopped=True)))
    assert column_figures(state.comparing.columns[1]) == ("nothing came", "")


def test_the_part_of_an_answer_that_the_thread_has_says_that_it_is_one(chat, dial):
    part = ThreadMessage(1, Message("assistant", (Text("3" * 40),), origin=ORIGIN), partial=True)
    recall = actions.LastTurnLoaded("compare", ("low",), "", (LAST[0], part), 100.0)
    (column, _) = reduce(had(chat, dial), recall, dial)[0].comparing.columns
    assert column_figures(column) == ("thinking ~0 · answer ~10", "stopped · cost unknown")


def test_the_main_turn_knows_nothing_of_columns(chat, dial):
    """What belongs to a comparison that was closed changes nothing."""
    for action in (
        actions.ColumnEnded(0, ended()),
        actions.ColumnsArrived(((0, ()),), 1.0),
        actions.ColumnMoved(1),
        actions.ComparisonClosing(keep=True),
    ):
        assert reduce(chat, action, dial) == (chat, ())
