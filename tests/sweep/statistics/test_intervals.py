"""Intervals: against scipy, against the sums written out, and as laws."""

import math
from statistics import NormalDist, mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.sweep.statistics.intervals import (
    accuracy,
    bootstrap_ratio,
    student,
    student_cdf,
    wilson,
)

scipy_stats = pytest.importorskip("scipy.stats")
Z = NormalDist().inv_cdf(0.95)
DIFFERENCES = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=2, max_size=60)


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 29, 100, 5_000])
def test_students_t_is_scipys(freedom):
    for probability in (0.005, 0.05, 0.3, 0.5, 0.8, 0.975, 0.9995):
        theirs = scipy_stats.t.ppf(probability, freedom)
        assert student(probability, freedom) == pytest.approx(theirs, rel=1e-9, abs=1e-9)
        assert student_cdf(theirs, freedom) == pytest.approx(probability, rel=1e-9)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(counts):
    right, count = counts
    theirs = scipy_stats.binomtest(right, count).proportion_ci(0.95, method="wilson")
    ours = wilson(right, count)
    assert ours.value == right / count
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_one_answer_a_question_has_wilsons_interval():
    scores = [1.0] * 17 + [0.0] * 3
    assert accuracy(scores) == wilson(17, 20)


def test_repeats_have_a_t_interval_over_questions():
    scores = [1.0, 0.5, 0.0, 1.0, 0.75, 0.25, 1.0, 1.0]
    found = accuracy(scores, repeats=4)
    half = student(0.975, 7) * stdev(scores) / math.sqrt(8)
    assert found.value == pytest.approx(mean(scores))
    assert found.low == pytest.approx(mean(scores) - half)
    assert found.high == 1.0


def test_clusters_have_a_t_interval_over_clusters():
    """Clusters of one size: their means are independent values, and the textbook's t applies."""
    means = [0.2, 0.9, 0.4, 0.6, 0.5, 0.7]
    scores = [value for each in means for value in (each - 0.1, each, each + 0.1)]
    clusters = [name for name in "abcdef" for _ in range(3)]
    found = accuracy(scores, clusters)
    half = student(0.975, 5) * stdev(means) / math.sqrt(6)
    assert (found.low, found.high) == pytest.approx((mean(means) - half, mean(means) + half))


def test_an_interval_of_no_variance_is_wilsons():
    assert accuracy([1.0] * 12, repeats=3) == wilson(12, 12)
    assert accuracy([1.0, 0.0], ["same", "same"]) == wilson(1, 2)


def test_the_bootstrap_of_a_ratio_is_scipys():
    above = [float(3 + n * 7 % 11) for n in range(60)]
    below = [float(2 + n * 5 % 13) for n in range(60)]
    ours = bootstrap_ratio(above, below, resamples=4_000)
    theirs = scipy_stats.bootstrap(
        (above, below),
        lambda a, b, axis=-1: a.sum(axis) / b.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=4_000,
        method="percentile",
        rng=7,
    ).confidence_interval
    assert ours.value == sum(above) / sum(below)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=0.02)
    assert bootstrap_ratio(above, below, resamples=200) == bootstrap_ratio(
        above, below, resamples=200
    )


def test_a_ratio_to_nothing_is_no_number():
    assert math.isnan(bootstrap_ratio([1.0], [0.0]).value)
