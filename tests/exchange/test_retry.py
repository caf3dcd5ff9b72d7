"""Laws of waiting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.errors import Overloaded, RateLimited
from pondero.exchange import Retry


@given(tries=st.integers(1, 50), jitter=st.floats(0, 1))
def test_a_wait_is_never_longer_than_the_cap_nor_less_than_nothing(tries, jitter):
    assert 0 <= Retry().wait(Overloaded("no"), tries, lambda: jitter) <= 30


@given(tries=st.integers(1, 10))
def test_without_luck_each_wait_is_at_least_as_long_as_the_one_before(tries):
    waits = [Retry().wait(Overloaded("no"), n, lambda: 1.0) for n in (tries, tries + 1)]
    assert waits == sorted(waits)


@given(told=st.floats(0, 120), tries=st.integers(1, 3))
def test_what_the_service_says_is_waited_for_to_the_letter(told, tries):
    error = RateLimited("no", retry_after=told)
    assert Retry().again(error, tries)
    assert Retry().wait(error, tries, lambda: 0.3) == told


@pytest.mark.parametrize(("told", "again"), [(29.9, True), (30.0, True), (30.1, False)])
def test_a_delay_as_long_as_patience_is_waited_for_and_a_longer_one_is_not(told, again):
    assert Retry(patience=30.0).again(RateLimited("no", retry_after=told), 1) == again


def test_one_attempt_means_no_second():
    assert not Retry(attempts=1).again(Overloaded("no"), 1)
