"""A wait before a request is sent again, in the live cells."""

from tests.tui.state.steps import ANSWER, do, say

from pondero.tui.state import WaitingCell, actions

WAIT = actions.RetryWait("429", 12.0, 101.0)


def arrive(state, dial, *came, at):
    return do(state, dial, actions.EventsArrived(came, at))


def test_the_line_says_why_and_counts_down_until_the_model_is_asked_again(chat, dial):
    busy = say(chat, dial, "17 * 23?")[0]
    busy = arrive(busy, dial, WAIT, at=101.0)
    assert busy.live[0].line == "429: asks again in 12 s, Esc stops"
    assert arrive(busy, dial, at=108.5).live[0].line == "429: asks again in 5 s, Esc stops"
    assert arrive(busy, dial, at=112.9).live[0].line == "429: asks again in 1 s, Esc stops"
    assert arrive(busy, dial, at=113.0).live[0].line == "waiting for claude-sonnet-4-5… 13 s"
    again = arrive(busy, dial, actions.RetryWait("503", 90.0, 114.0), at=114.0)
    assert again.live[0].line == "503: asks again in 1 min 30 s, Esc stops"
    assert not any(isinstance(c, WaitingCell) for c in arrive(again, dial, *ANSWER, at=205).live)


def test_a_wait_below_a_second_is_not_worth_a_line(chat, dial):
    busy = say(chat, dial, "17 * 23?")[0]
    busy = arrive(busy, dial, actions.RetryWait("529", 0.9, 101.0), at=101.0)
    assert busy.live[0].line == "waiting for claude-sonnet-4-5… 1 s"


def test_a_wait_after_a_tool_is_said_below_it_and_leaves_nothing(chat, dial):
    busy = say(chat, dial, "17 * 23?")[0]
    called = arrive(busy, dial, *ANSWER, at=101.0)
    waits = arrive(called, dial, WAIT, at=101.0)
    assert [type(cell) for cell in waits.live[:-1]] == [type(cell) for cell in called.live]
    assert waits.live[-1].line == "429: asks again in 12 s, Esc stops"
    after = arrive(waits, dial, *ANSWER, at=114.0)
    assert len(after.live) == 2 * len(called.live)
    assert not any(isinstance(cell, WaitingCell) for cell in after.live)
    assert len({cell.key for cell in after.live}) == len(after.live)
