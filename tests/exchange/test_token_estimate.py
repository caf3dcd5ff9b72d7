"""The estimate of a prompt that no service has counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import Message, Request, Text
from pondero.exchange import estimate_tokens, measure_frame, sum_most, sum_most_with


@pytest.mark.parametrize("tokens", [100, 10_000, 500_000])
def test_the_most_of_a_prompt_covers_text_that_is_denser_than_usual(tokens):
    dense = "a(b)" * tokens  # code and short words have fewer characters to a token than prose
    request = Request("any", (Message("user", (Text(dense[: 3 * tokens]),)),))
    assert (
        estimate_tokens(request) < tokens <= sum_most(measure_frame(request).add(request.messages))
    )


@given(st.text(), st.text())
def test_a_text_that_is_added_later_is_as_long_as_one_in_the_request(system, text):
    request = Request("any", (Message("user", (Text(text),)),), system=(Text(system),))
    without = measure_frame(request).add((Message("user", (Text(""),)),))
    assert sum_most_with(without, text) == sum_most(measure_frame(request).add(request.messages))
