"""What is kept of a turn: its messages, each answer with its plan, price and time."""

from decimal import Decimal
from time import time

import pytest

from pondero.canon import Finished, Message, Origin, Reply, Started, Text, TextDelta, Usage
from pondero.client import TurnRecorder, plan, stored_reply
from pondero.store import Charge, TokenBill, price_usage

TOKENS = Usage(1000, 300, 200, 100, 400, 2000)
QUESTION = Message("user", (Text("q"),))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def reply(text="a", *, paid=True):
    origin = Origin("anthropic", "claude-opus-5", "high", 1.0)
    made = plan("claude-opus-5", "high")
    bill = TokenBill((Charge("anthropic", "claude-opus-5", TOKENS, time()),), paid=paid)
    message = Message("assistant", (Text(text),), origin)
    return Reply(message, "stop", TOKENS, made, "as_planned", bill=bill)


def feed(recorder: TurnRecorder, clock: Clock) -> None:
    """One exchange: three seconds to its first word, four to its end."""
    for event, later in (
        (Started("m"), 1.0),
        (TextDelta(0, "a"), 2.0),
        (TextDelta(0, "b"), 1.0),
        (Finished("stop"), 0.0),
    ):
        clock.now += later
        recorder.feed(event)


def test_a_reply_is_kept_with_its_plan_and_price():
    pytest.importorskip("genai_prices")
    kept = stored_reply(reply(), seconds=2.0, first=1.0)
    assert (kept.plan["level"], kept.usage, kept.verdict, kept.finish) == (
        "high",
        TOKENS,
        "as_planned",
        "stop",
    )
    assert (kept.seconds, kept.first, kept.partial) == (2.0, 1.0, False)
    assert Decimal(kept.cost) == price_usage("anthropic", "claude-opus-5", TOKENS)
    assert kept.cost == str(reply().cost)
    assert "E" not in kept.cost
    assert stored_reply(reply(paid=False), paid=False).cost is None


def test_each_exchange_is_timed_from_asking_to_its_first_word_and_its_end():
    clock = Clock()
    recorder = TurnRecorder(clock)
    feed(recorder, clock)
    assert [(lap.first, lap.seconds) for lap in recorder.laps] == [(3.0, 4.0)]
    clock.now += 5
    assert (recorder.now().first, recorder.now().seconds) == (None, 5.0)


def test_each_answer_is_kept_with_its_own_time_and_what_was_cut_off_is_marked():
    clock = Clock()
    recorder = TurnRecorder(clock, paid=False)
    answer, cut = reply(paid=False), Message("assistant", (Text("b"),))
    feed(recorder, clock)
    clock.now += 5
    kept = recorder.stored_messages([QUESTION, answer.message, QUESTION, cut], [answer])
    assert [each.partial for each in kept] == [False, False, False, True]
    assert [each.seconds for each in kept] == [None, 4.0, None, 5.0]
    assert [each.first for each in kept] == [None, 3.0, None, None]
    assert [each.verdict for each in kept] == [None, "as_planned", None, None]
    assert [each.cost for each in kept] == [None] * 4
    assert recorder.stored_messages([QUESTION], []) == (kept[0],)


def test_the_time_in_which_somebody_decides_is_part_of_no_exchange():
    clock = Clock()
    recorder = TurnRecorder(clock)
    clock.now += 1.0
    with recorder.approval():
        clock.now += 60.0
        with recorder.approval():  # two calls of one message
            clock.now += 30.0
    feed(recorder, clock)
    (lap,) = recorder.laps
    assert (lap.first, lap.seconds) == (4.0, 5.0)
    assert recorder.waited == 90.0
