"""What was planned against what was seen."""

import pytest

import pondero
from pondero.canon import Message, Text, Thinking, ToolCall, Usage
from pondero.exchange import verdict
from pondero.exchange.exchange_flow import cap_to_retry

THOUGHT = Thinking("hm")
SAID = Text("391")


def judged(level, *parts, finish="stop", model="claude-opus-5", **usage):
    plan = pondero.plan(model, level, max_tokens=8000)
    return verdict(plan, Message("assistant", parts), finish, Usage(**usage))


@pytest.mark.parametrize(
    ("level", "parts", "usage", "found"),
    [
        ("high", (THOUGHT, SAID), {"thinking": 90}, "as_planned"),
        ("high", (THOUGHT, SAID), {}, "as_planned"),
        ("high", (SAID,), {"thinking": 90}, "as_planned"),
        ("high", (SAID,), {"thinking": 0}, "did_not_think"),
        ("high", (SAID,), {}, "unknown"),
        ("off", (SAID,), {"thinking": 0}, "as_planned"),
        ("off", (SAID,), {}, "as_planned"),
        ("off", (THOUGHT, SAID), {}, "thought_though_off"),
        ("off", (SAID,), {"thinking": 9}, "thought_though_off"),
        ({"thinking": {"type": "adaptive"}}, (THOUGHT, SAID), {"thinking": 9}, "unknown"),
    ],
)
def test_the_verdict_follows_from_plan_and_answer(level, parts, usage, found):
    assert judged(level, *parts, **usage) == found


def test_more_thinking_than_the_budget_is_an_overrun():
    found = judged(2000, THOUGHT, SAID, model="claude-sonnet-4-5", thinking=2001)
    assert found == "overran_budget"
    assert judged(2000, THOUGHT, SAID, model="claude-sonnet-4-5", thinking=2000) == "as_planned"


@pytest.mark.parametrize("finish", ["length", "exhausted", "stop"])
def test_all_thinking_and_no_answer_is_exhausted_and_names_a_cap(finish):
    assert judged("high", THOUGHT, finish=finish, thinking=8000, output=0) == "exhausted"
    plan = pondero.plan("claude-opus-5", "high", max_tokens=8000)
    assert cap_to_retry(plan, Usage(thinking=8000, output=0)) > 8000


def test_the_cap_to_retry_has_room_for_what_the_model_usually_thinks():
    plan = pondero.plan("claude-opus-5", "max", max_tokens=20)
    assert [note.code for note in plan.adjustments] == ["answer_room"]
    again = pondero.plan("claude-opus-5", "max", max_tokens=cap_to_retry(plan, Usage(thinking=20)))
    assert again.adjustments == ()


@pytest.mark.parametrize("part", [SAID, ToolCall("1", "look", {})])
def test_an_answer_cut_short_is_not_exhausted(part):
    assert judged("high", THOUGHT, part, finish="length", thinking=900) == "as_planned"
