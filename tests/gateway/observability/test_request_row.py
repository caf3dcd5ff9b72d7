"""Where the time of a request went adds up to the time that it took."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.observability.request_row import load_requests, split_time

moment = st.none() | st.floats(0, 100)


def phases(**facts) -> dict[str, float]:
    (row,) = load_requests([Receipt(id="1", at=0.0, key="x", front="y", **facts)])
    return {phase.name: round(phase.seconds, 6) for phase in split_time(row)}


@given(moment, moment, moment, moment, st.floats(0, 100), st.booleans())
def test_the_phases_of_a_request_add_up(first_try, last_try, first, first_answer, seconds, stream):
    (row,) = load_requests(
        [
            Receipt(
                id="1",
                at=0.0,
                key="x",
                front="y",
                first_try=first_try,
                last_try=last_try,
                first=first,
                first_answer=first_answer,
                seconds=seconds,
                stream=stream,
            )
        ]
    )

    found = split_time(row)

    assert sum(each.seconds for each in found) == pytest.approx(seconds)
    assert all(each.seconds > 0 for each in found)
    assert len({each.name for each in found}) == len(found)


def test_a_stream_that_was_tried_again_has_all_phases():
    times = {"first_try": 0.1, "last_try": 1.1, "first": 1.4, "first_answer": 3.4, "seconds": 4.0}

    assert phases(stream=True, **times) == {
        "gateway": 0.1,
        "retries": 1.0,
        "wait": 0.3,
        "thinking": 2.0,
        "answer": 0.6,
    }


def test_an_answer_in_one_piece_is_not_divided():
    found = phases(first_try=0.1, last_try=0.1, first=2.0, seconds=2.0)

    assert found == {"gateway": 0.1, "model": 1.9}


def test_a_request_that_was_rejected_spent_its_time_in_the_gateway():
    assert phases(seconds=0.2, end="refused", status=429) == {"gateway": 0.2}


@pytest.mark.parametrize("sent", ["nothing", "None"])
def test_a_row_without_a_level_says_nothing_as_the_header_does(sent):
    """Rows that an earlier version wrote have the name of a Python value."""
    (row,) = load_requests([Receipt(id="1", at=0.0, key="x", front="y", sent=sent)])
    assert (row.sent, row.level) == ("nothing", None)
