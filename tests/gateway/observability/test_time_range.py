"""The time of a chart: a span, its first hour, or what the user names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.errors import BadParameter
from pondero.gateway.observability.time_range import (
    MOST_STEPS,
    SPANS,
    cut_range,
    find_span,
)

NOW = 1_800_000_040.0
moment = st.floats(0, 4e9)


@pytest.mark.parametrize(
    ("span", "step"), [("hour", 1), ("day", 30), ("week", 180), ("month", 720)]
)
def test_a_span_has_its_steps(span, step):
    found = find_span(span, now=NOW, oldest=0.0)

    assert found.step == step
    assert found.until - found.since == SPANS[span]


@given(st.sampled_from(list(SPANS)), moment, st.none() | moment)
def test_a_span_contains_now_and_all_records_in_it(span, now, oldest):
    found = find_span(span, now=now, oldest=oldest)

    assert found.since * 60 <= now < found.until * 60
    assert 0 < found.steps <= MOST_STEPS
    assert (found.until - found.since) % found.step == 0
    if oldest is not None and now - (SPANS[span] - found.step) * 60 <= oldest <= now:
        assert found.since * 60 <= oldest


@pytest.mark.parametrize("minutes", [0, 1, 20, 59])
def test_a_day_in_its_first_hour_has_steps_of_a_minute(minutes):
    found = find_span("day", now=NOW, oldest=NOW - 60 * minutes)

    assert found.step == 1
    assert found.steps == max(15, minutes + 1)


def test_a_day_after_a_quiet_night_is_a_whole_day():
    assert find_span("day", now=NOW, oldest=NOW - 30 * 3600).steps == 48


@given(moment, st.floats(1, 4e9))
def test_any_range_is_cut_into_few_steps(since, length):
    found = cut_range(since, since + length)

    assert found.since * 60 <= since
    assert found.until * 60 >= since + length
    assert found.steps <= MOST_STEPS


def test_a_range_that_ends_before_it_begins_is_rejected():
    with pytest.raises(BadParameter, match="until"):
        cut_range(NOW, NOW)


def test_an_unknown_span_is_rejected():
    with pytest.raises(BadParameter, match="hour day week month"):
        find_span("eon", now=NOW)
