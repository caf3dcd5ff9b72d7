"""The estimate of a prompt that no service has counted."""

import pytest

from pondero.canon import Message, Request, Text
from pondero.exchange import estimate_tokens, measure_frame, sum_most


@pytest.mark.parametrize("tokens", [100, 10_000, 500_000])
def test_the_most_of_a_prompt_covers_text_that_is_denser_than_usual(tokens):
    dense = "a(b)" * tokens  # code and short words have fewer characters to a token than prose
    request = Request("any", (Message("user", (Text(dense[: 3 * tokens]),)),))
    assert (
        estimate_tokens(request) < tokens <= sum_most(measure_frame(request).add(request.messages))
    )
