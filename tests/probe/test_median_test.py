"""The bounds of a median: the theorem step by step, the exact error, and what a bound may do."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.probe import ALPHA, Bounds, bound_median, wins_needed
from pondero.probe.median_test import can_still_win, capital

VALUES = st.lists(st.floats(-9, 9), min_size=1, max_size=40)
SHARES = st.sampled_from([ALPHA, ALPHA / 2, ALPHA / 3, ALPHA / 6])


@given(st.integers(0, 200), st.integers(0, 200))
def test_no_bet_gains_on_average_if_a_pair_is_as_often_below_as_above(wins, losses):
    count = wins + losses
    after = (capital(count + 1, wins + 1) + capital(count + 1, wins)) / 2
    assert after <= capital(count, wins) * (1 + 1e-12)


@pytest.mark.parametrize("alpha", [ALPHA, ALPHA / 2, ALPHA / 3])
@pytest.mark.parametrize("looks", [24, 200])
def test_the_exact_error_of_all_looks_together_is_what_is_allowed(alpha, looks):
    chances, error = {0: 1.0}, 0.0
    for count in range(1, looks + 1):
        after: dict[int, float] = {}
        for wins, chance in chances.items():
            for more in (0, 1):
                after[wins + more] = after.get(wins + more, 0.0) + chance / 2
        needed = wins_needed(count, alpha)
        won = [wins for wins in after if needed is not None and wins >= needed]
        error += sum(after.pop(wins) for wins in won)
        chances = after
    assert error <= alpha
    assert error > alpha / 3  # it is no rule that never decides


def test_five_clear_pairs_decide_and_four_do_not():
    assert wins_needed(4) is None
    assert wins_needed(5) == 5
    assert wins_needed(12) == 11


@given(VALUES, SHARES, st.randoms())
def test_the_order_of_the_values_does_not_matter(values, alpha, source):
    mixed = list(values)
    source.shuffle(mixed)
    assert bound_median(mixed, mixed, alpha) == bound_median(values, values, alpha)


@given(VALUES, SHARES)
def test_a_smaller_error_never_narrows_the_bounds(values, alpha):
    wide, narrow = bound_median(values, values, alpha / 2), bound_median(values, values, alpha)
    assert wide.low <= narrow.low
    assert wide.high >= narrow.high


@given(VALUES, st.data())
def test_what_is_not_known_exactly_never_narrows_the_bounds(values, data):
    lows = [data.draw(st.sampled_from([value, -math.inf])) for value in values]
    highs = [data.draw(st.sampled_from([value, math.inf])) for value in values]
    exact, vague = bound_median(values, values), bound_median(lows, highs)
    assert vague.low <= exact.low
    assert vague.high >= exact.high


@given(VALUES)
def test_bounds_turn_around_with_their_values(values):
    found = bound_median(values, values)
    mirrored = [-value for value in values]
    assert bound_median(mirrored, mirrored) == Bounds(-found.high, -found.low)


@given(VALUES, st.floats(-9, 9), st.integers(0, 20), SHARES)
def test_what_cannot_be_won_any_more_is_never_won(values, edge, left, alpha):
    if can_still_win(values, edge, left, alpha):
        return
    best = [*values, *[10.0] * left]
    for count in range(len(values), len(best) + 1):
        assert bound_median(best[:count], best[:count], alpha).low <= edge


def test_a_bound_once_shown_stays():
    assert Bounds(0.1, 2.0).narrow(Bounds()) == Bounds(0.1, 2.0)
    assert Bounds(0.1, 2.0).narrow(Bounds(0.3, 3.0)) == Bounds(0.3, 2.0)


def test_the_median_is_nearly_always_between_its_bounds():
    source, missed = Random(7), 0
    for _ in range(400):
        values, bounds = list[float](), Bounds()
        for _ in range(24):
            values.append(source.gauss(0.5, 1))
            bounds = bounds.narrow(bound_median(values, values))
        missed += not bounds.low <= 0.5 <= bounds.high
    assert missed <= 0.1 * 400  # each bound misses it at most once in twenty
