"""The tests beside the decision: against scipy, and what they say of ladders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.sweep.statistics.intervals import paired_difference
from pondero.sweep.statistics.sample_size import (
    pass_all,
    pass_at,
    questions_missing,
    questions_needed,
)
from pondero.sweep.statistics.significance import mcnemar, sign_test, thinks_more

scipy_stats = pytest.importorskip("scipy.stats")
COUNTS = st.integers(0, 60)


@given(COUNTS, COUNTS)
def test_both_tests_are_scipys(more, less):
    if more + less:
        two = scipy_stats.binomtest(more, more + less).pvalue
        one = scipy_stats.binomtest(more, more + less, alternative="greater").pvalue
        assert mcnemar(more, less) == pytest.approx(two)
        assert sign_test(more, less) == pytest.approx(one)
    else:
        assert mcnemar(0, 0) == sign_test(0, 0) == 1.0


@pytest.mark.parametrize(
    ("pairs", "effect"),
    [
        ([(200, 100)] * 30, "more"),
        ([(100, 100)] * 30, "no_effect"),
        ([(100, 200), (200, 100)] * 15, "no_effect"),
        ([(100, 200)] * 30, "inverted"),
        ([(200, 100)] * 9 + [(100, 200)] * 2, "more"),  # one chance in 31
        ([(200, 100)] * 8 + [(100, 200)] * 2, "no_effect"),  # one in 18
        ([(100, 200)] * 9 + [(200, 100)] * 2, "inverted"),
        ([(100, 200)] * 8 + [(200, 100)] * 2, "no_effect"),
        ([(None, 100)] * 30, "unknown"),
        ([], "unknown"),
        ([(None, 100)] * 30 + [(200, 100)] * 10, "more"),
    ],
)
def test_a_level_thinks_more_than_its_neighbour_or_it_is_said(pairs, effect):
    assert thinks_more(pairs).effect == effect


@pytest.mark.parametrize(
    ("discordance", "margin", "needed"),
    [(0.05, 0.05, 124), (0.10, 0.05, 248), (0.20, 0.05, 495), (0.10, 0.02, 1_546)],
)
def test_the_planner_has_millers_figures(discordance, margin, needed):
    assert questions_needed(discordance, margin) == needed


def test_what_is_missing_shrinks_with_what_is_known():
    def undecided(count):
        return paired_difference([-1.0] * (count // 20) + [0.0] * (count - count // 20))

    assert questions_missing(undecided(100), 0.07) > questions_missing(undecided(400), 0.07)
    assert (
        questions_missing(paired_difference([-1.0] * 6 + [0.0] * 112), 0.05) is None
    )  # on the margin


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_pass_at_k_and_pass_all_k_count_the_draws(counts):
    from itertools import combinations

    right, repeats = counts
    answers = [True] * right + [False] * (repeats - right)
    for k in range(1, repeats + 1):
        draws = list(combinations(answers, k))
        assert pass_at(k, right, repeats) == pytest.approx(sum(map(any, draws)) / len(draws))
        assert pass_all(k, right, repeats) == pytest.approx(sum(map(all, draws)) / len(draws))
