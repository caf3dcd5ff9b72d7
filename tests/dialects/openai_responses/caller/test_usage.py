"""Finish words and counts."""

import pytest
from tests.dialects.openai_responses.making import MODEL, answer, assembled, decoded

from pondero.canon import Usage

SAID = {"type": "message", "content": [{"type": "output_text", "text": "42"}]}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


def finished(*output, **changes):
    return assembled(decoded(answer(*output, **changes))).finished


@pytest.mark.parametrize(
    ("output", "changes", "finish", "raw"),
    [
        ([SAID], {}, "stop", "completed"),
        ([SAID], {"status": "complete"}, "stop", "complete"),
        ([THOUGHT, CALL], {}, "tool_calls", "completed"),
        ([SAID, CALL], {}, "tool_calls", "completed"),
        ([THOUGHT, SAID], CUT, "length", "max_output_tokens"),
        ([THOUGHT], CUT, "exhausted", "max_output_tokens"),
        ([CALL], CUT, "length", "max_output_tokens"),
        ([], CUT, "length", "max_output_tokens"),
        (
            [SAID],
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "content_filter",
            "content_filter",
        ),
        (
            [SAID],
            {"status": "incomplete", "incomplete_details": {"reason": "max_messages"}},
            "other",
            "max_messages",
        ),
        (
            [SAID],
            {"status": "incomplete", "incomplete_details": {"reason": "steered"}},
            "other",
            "steered",
        ),
        ([SAID], {"status": "incomplete"}, "other", "incomplete"),
        ([], {"status": "cancelled"}, "other", "cancelled"),
        ([], {"status": "in_progress"}, "other", "in_progress"),
        ([], {"status": "tomorrow"}, "other", "tomorrow"),
        ([SAID], {"status": None}, "other", None),
    ],
)
def test_every_end_has_its_word_and_keeps_the_services(output, changes, finish, raw):
    end = finished(*output, **changes)

    assert (end.finish, end.raw_finish) == (finish, raw)


def test_thinking_that_only_the_count_tells_exhausts_too():
    used = {"output_tokens": 16, "output_tokens_details": {"reasoning_tokens": 16}}

    assert finished(usage=used, **CUT).finish == "exhausted"


def usage(**raw):
    return finished(SAID, usage=raw).usage


def test_the_details_are_inside_the_totals():
    used = usage(
        input_tokens=613,
        input_tokens_details={"cached_tokens": 100, "cache_write_tokens": 13},
        output_tokens=61,
        output_tokens_details={"reasoning_tokens": 35},
        total_tokens=674,
    )

    assert used == Usage(500, 100, 13, 26, 35, 674)
    assert used.known_total == used.total


def test_what_is_not_said_is_unknown_and_not_nothing():
    assert usage(input_tokens=3, output_tokens=4, total_tokens=7) == Usage(
        3, None, None, 4, None, 7
    )
    assert finished(SAID).usage == Usage()


def test_a_total_that_is_missing_is_the_sum():
    assert usage(input_tokens=3, output_tokens=4).total == 7


def test_a_count_below_nothing_is_not_known():
    """One recorded answer says -9 tokens of output, 448 of them thinking."""
    used = usage(
        input_tokens=10,
        output_tokens=-9,
        output_tokens_details={"reasoning_tokens": 448},
        total_tokens=1,
    )

    assert (used.output, used.thinking, used.total) == (None, 448, 1)


def test_more_cached_than_given_leaves_nothing_uncached():
    assert usage(input_tokens=5, input_tokens_details={"cached_tokens": 9}).input == 0


@pytest.mark.parametrize("odd", ["x", [], {"input_tokens": "x"}, {"input_tokens": True}, 1e400])
def test_an_odd_usage_is_no_usage(odd):
    raw = answer(SAID)
    raw["usage"] = "inf" if odd == 1e400 else odd

    assert assembled(decoded(raw)).finished.usage.total is None


def test_the_answer_says_what_really_ran():
    echo = {"effort": "low", "summary": "detailed", "context": "all_turns", "mode": "standard"}
    end = finished(SAID, reasoning=echo, service_tier="flex", content_filters=[{"blocked": False}])

    assert end.model == MODEL
    assert end.extras == {"reasoning": echo, "service_tier": "flex"}
    assert end.safety == [{"blocked": False}]


def test_the_names_of_chat_completions_are_read():
    other = {
        "prompt_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
        "completion_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 29,
    }
    assert finished(SAID, usage=other).usage == Usage(15, 4, 1, 4, 5, 29)
