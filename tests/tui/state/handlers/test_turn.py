"""Events as live cells."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tui.state.steps import ANSWER, do, say

from pondero.canon import (
    Finished,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    Usage,
)
from pondero.client import load_catalog
from pondero.thinking import Policy
from pondero.tui.state import (
    AnswerCell,
    DialView,
    ThinkingCell,
    ToolCallCell,
    WaitingCell,
    actions,
    initial_state,
)

DIAL = DialView(load_catalog(), Policy())


@pytest.fixture
def busy(chat, dial):
    return say(chat, dial, "17 * 23?")[0]


def live(state, dial, *events, at=106.0):
    return do(state, dial, actions.EventsArrived(events, at)).live


def test_before_anything_comes_the_seconds_are_counted(busy, dial):
    assert live(busy, dial, at=103.9)[0].line == "waiting for claude-sonnet-4-5… 3 s"
    assert live(busy, dial, at=100.5)[0].line == "waiting for claude-sonnet-4-5…"


def test_thinking_counts_seconds_and_tokens_while_it_goes_on(busy, dial):
    began = do(busy, dial, actions.EventsArrived(ANSWER[:2], 101.0))
    (thought,) = live(began, dial, ThinkingDelta(0, "x" * 4_960), at=107.2)
    assert thought.line == "thinking… 6 s · ~1,240 tokens"


def test_it_folds_to_one_line_when_it_is_over(busy, dial):
    began = do(busy, dial, actions.EventsArrived(ANSWER[:2], 101.0))
    thought, *_ = live(began, dial, *ANSWER[2:], at=107.2)
    assert thought.line == "▸ thought 6 s · 40 tokens · medium · summary"
    assert not thought.open


def test_minutes_are_said_as_minutes():
    assert ThinkingCell(key=1, seconds=125.0, tokens=9).line == "· thought 2 min 5 s · 9 tokens"


def test_a_redacted_thought_says_so(busy, dial):
    parts = (Started(), PartStart(0, "thinking"), PartEnd(0, Thinking("", redacted=True)))
    (thought,) = live(busy, dial, *parts, Finished("stop", Usage(thinking=9)))
    assert thought.line == "· thought 9 tokens · medium · redacted by the service"
    assert not thought.readable


def test_thinking_that_was_counted_and_never_shown_says_so(busy, dial):
    text = (PartStart(0, "text"), TextDelta(0, "391"), PartEnd(0, Text("391")))
    thought, _ = live(busy, dial, Started(), *text, Finished("stop", Usage(thinking=640)))
    assert thought.line == "· thought 640 tokens · medium · not shown by the service"


def test_an_empty_thought_beside_a_readable_one_takes_no_line(busy, dial):
    empty = (PartStart(2, "thinking"), PartEnd(2, Thinking("")))
    cells = live(busy, dial, *ANSWER[:9], *empty, ANSWER[9])
    assert [type(cell) for cell in cells] == [ThinkingCell, AnswerCell]


def test_an_empty_thought_that_cost_nothing_takes_no_line(busy, dial):
    empty = (Started(), PartStart(0, "thinking"), PartEnd(0, Thinking("")))
    assert live(busy, dial, *empty, Finished("stop", Usage(thinking=0))) == ()


def test_several_thoughts_of_a_turn_stand_apart_and_are_guessed_at(busy, dial):
    second = (
        PartStart(2, "thinking"),
        ThinkingDelta(2, "wait, " * 20),
        PartEnd(2, Thinking("wait, " * 20)),
    )
    cells = live(busy, dial, *ANSWER[:9], *second, ANSWER[9])
    lines = [cell.line for cell in cells if isinstance(cell, ThinkingCell)]
    assert lines == [
        "▸ thought ~2 tokens · medium · summary",
        "▸ thought ~30 tokens · medium · summary",
    ]


def test_a_tool_call_is_shown_and_so_is_the_exchange_after_it(busy, dial):
    call = ToolCall("c1", "get_weather", {"city": "Paris"})
    first = (
        Started(),
        PartStart(0, "tool_call", "c1", "get_weather"),
        ToolDelta(0, '{"city":"Paris"}'),
        PartEnd(0, call),
        Finished("tool_calls", Usage(thinking=0)),
    )
    cells = live(busy, dial, *first, *ANSWER)
    assert [type(cell) for cell in cells] == [ToolCallCell, ThinkingCell, AnswerCell]
    assert cells[0].line == '⚙ get_weather(city="Paris")'


def test_events_after_the_end_of_a_turn_change_nothing(chat, dial):
    assert do(chat, dial, actions.EventsArrived(ANSWER, 106.0)) == chat


@given(st.lists(st.integers(0, len(ANSWER)), max_size=6))
def test_however_events_fall_into_frames_the_page_is_the_same(cuts):
    state, _ = say(initial_state(DIAL, "claude-sonnet-4-5/medium"), DIAL, "17 * 23?")
    whole = live(state, DIAL, *ANSWER)
    edges = [0, *sorted(cuts), len(ANSWER)]
    for first, last in pairwise(edges):
        state = do(state, DIAL, actions.EventsArrived(ANSWER[first:last], 106.0))
    assert state.live == whole


def test_a_frame_in_which_nothing_happens_changes_no_cell(busy, dial):
    state = do(busy, dial, actions.EventsArrived(ANSWER[:3], 106.0))
    again = do(state, dial, actions.EventsArrived((), 106.4))
    assert all(one is other for one, other in zip(state.live, again.live, strict=True))


def test_nothing_waits_any_more_when_something_came(busy, dial):
    assert not any(isinstance(cell, WaitingCell) for cell in live(busy, dial, *ANSWER[:2]))
