"""Judges that make mistakes: what they leave of the margin, and when they may not decide."""

import pytest
from scipy.stats import fisher_exact

from pondero.sweep.statistics.judge_error import JudgeErrors, errors_differ, upper_bound
from pondero.sweep.statistics.thinking_effect import thinking_effect
from pondero.sweep.statistics.units import corrected_margin, corrected_unit, pass_all, pass_at


@pytest.mark.parametrize(
    ("arm", "rival"),
    [((50, 2), (50, 12)), ((50, 5), (50, 6)), ((20, 0), (80, 30)), ((9, 9), (9, 0))],
)
def test_whether_error_rates_differ_is_fishers(arm, rival):
    table = [[arm[1], arm[0] - arm[1]], [rival[1], rival[0] - rival[1]]]
    assert errors_differ(arm, rival) == (fisher_exact(table).pvalue < 0.05)


def test_a_judge_without_a_mistake_leaves_most_of_the_margin_and_a_bad_one_nothing():
    good = JudgeErrors(300, 0, 300, 0)
    assert good.is_enough
    assert 0.048 < good.margin(0.05) < 0.05
    assert JudgeErrors(60, 30, 60, 30).margin(0.05) is None
    assert not JudgeErrors(300, 0, 49, 0).is_enough
    assert upper_bound(5, 5) == 1


def test_labels_correct_a_judge_that_favours_one_arm():
    share = 0.5
    units = [corrected_unit(1.0, 0.0, share), corrected_unit(1.0, None, share)]
    assert sum(units) / 2 == pytest.approx(0)  # people saw no difference
    assert corrected_margin(0.05, share) == pytest.approx(0.01)
    assert all(-1 <= each <= 1 for each in (*units, corrected_unit(-1, 1, 0.1)))


def test_repeats_are_right_once_or_always():
    assert pass_at(1, 1, 3) == pytest.approx(1 / 3)
    assert pass_all(2, 2, 3) == pytest.approx(1 / 3)


def test_uncounted_thinking_is_unknown():
    assert thinking_effect([(None, 1), (2, None)] * 40).effect == "unknown"
    assert thinking_effect([(100, 100)] * 40).effect == "same"
