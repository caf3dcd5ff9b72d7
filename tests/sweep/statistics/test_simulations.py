"""The method's figures, by simulation and by counting: error at the margin, power, early stopping.

The figures of the issue's facts (section 2) hold where two arms differ on 11 of 100 questions: the
exact count finds that in the table for small numbers, and answers that share 60 % of their variance
in the four-arm simulation have it too.
"""

import math
from statistics import NormalDist

import pytest

from pondero.sweep.statistics.decision import (
    BestArmField,
    Chain,
    DecisionRule,
    decide_best_look,
    decide_look,
)
from pondero.sweep.statistics.intervals import Estimate, paired_difference, student
from pondero.sweep.statistics.looks import boundaries, positions
from pondero.sweep.statistics.sample_size import questions_needed

numpy = pytest.importorskip("numpy")
NORMAL = NormalDist()
Z = NORMAL.inv_cdf(0.95)
SHARED = 0.6  # of the variance of an answer is the question's
COSTS = (1, 2, 4, 8)


# -- boundaries ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("looks", "last"), [(1, 1.645), (2, 1.678), (3, 1.710), (4, 1.733), (5, 1.751)]
)
def test_the_boundaries_are_jennison_and_turnbulls(looks, last):
    """Group Sequential Methods (1999), table 2.3, two-sided 0.1."""
    found = boundaries(looks, 0.05)
    assert found[-1] == pytest.approx(last, abs=6e-4)
    assert all(z == pytest.approx(last * math.sqrt(looks / k), abs=2e-3)
               for k, z in enumerate(found, 1))  # fmt: skip


def test_the_boundaries_are_near_the_ones_of_the_facts():
    """The facts have 3.451 ... 1.725, whose true error is 5.1 %; ours is 5.0 %."""
    assert boundaries(4, 0.05) == pytest.approx((3.451, 2.440, 1.992, 1.725), rel=0.006)


def test_the_boundaries_have_their_error_by_scipys_multivariate_normal():
    stats = pytest.importorskip("scipy.stats")
    z = boundaries(3, 0.025)
    covariance = [[math.sqrt(min(i, j) / max(i, j)) for j in (1, 2, 3)] for i in (1, 2, 3)]
    stays = stats.multivariate_normal(cov=covariance, seed=1).cdf(z)
    assert 1 - stays == pytest.approx(0.025, abs=2e-4)


def test_looks_are_at_quarters_and_the_last_has_everything():
    assert positions(600) == (150, 300, 450, 600)
    assert positions(30) == (8, 15, 23, 30)
    assert positions(2) == (1, 2)


# -- error at the margin, counted exactly ----------------------------------------------------------


def accepted(count, discordance, margin=0.05):
    """The probability to accept an arm that is worse by the margin: every table, by its weight."""
    gain, loss = (discordance - margin) / 2, (discordance + margin) / 2
    rule = DecisionRule(margin=margin, looks=1)
    logs = [math.lgamma(n + 1) for n in range(count + 1)]
    total = 0.0
    for gained in range(count + 1):
        for lost in range(count + 1 - gained):
            same = count - gained - lost
            weight = math.exp(
                logs[count] - logs[gained] - logs[lost] - logs[same]
                + gained * math.log(gain) + lost * math.log(loss)
                + same * math.log(1 - gain - loss)
            )  # fmt: skip
            if weight > 1e-9:
                found = paired_difference([1.0] * gained + [-1.0] * lost + [0.0] * same)
                total += weight * rule.passes(found, Z)
    return total


@pytest.mark.parametrize(("count", "figure"), [(30, 0.055), (60, 0.072), (100, 0.056)])
def test_an_arm_on_the_margin_is_accepted_as_often_as_the_facts_say(count, figure):
    assert accepted(count, 0.11) == pytest.approx(figure, abs=0.009)  # theirs were simulated


# -- four arms, four looks -------------------------------------------------------------------------


def answers(accuracies, count, draw):
    """Right and wrong answers of arms that find the same questions hard."""
    shared = math.sqrt(SHARED) * draw.standard_normal((count, 1))
    own = math.sqrt(1 - SHARED) * draw.standard_normal((count, len(accuracies)))
    return (shared + own < [NORMAL.inv_cdf(each) for each in accuracies]).astype(float)


def estimate(differences):
    """``paired_difference`` for an array: the same sums, so that a simulation is quick."""
    count, total = len(differences), float(differences.sum())
    inside = float(numpy.square(differences).sum()) + 1 - total * total / (count + 2)
    centre = total / (count + 2)
    return Estimate(total / count, centre, math.sqrt(inside) / (count + 2), count)


def test_the_quick_sums_are_those_of_paired():
    found = answers((0.9, 0.8), 77, numpy.random.default_rng(5))
    differences = found[:, 0] - found[:, 1]
    ours, quick = paired_difference(list(differences)), estimate(differences)
    assert (ours.centre, ours.error) == pytest.approx((quick.centre, quick.error))


def swept(accuracies, *, looks=4, count=600, runs=1_000, seed=0):
    """The number of arms below the reference that passed, and the share of money spent, per run."""
    draw = numpy.random.default_rng(seed)
    rule, reference = DecisionRule(looks=looks), len(accuracies) - 1
    outcomes = []
    for _ in range(runs):
        found = answers(accuracies, count, draw)
        chain, spent, before = Chain((2, 1, 0)), 0.0, 0
        for look in range(1, looks + 1):
            here = count * look // looks
            spent += (here - before) * sum(COSTS[arm] for arm in (*chain.asked, reference))
            before = here
            (chain,) = decide_look(
                [chain],
                lambda arm, n=here, x=found: estimate(x[:n, arm] - x[:n, reference]),
                look=look,
                rule=rule,
            )
            if chain.is_closed:
                break
        outcomes.append((chain.passed, spent / (count * sum(COSTS))))
    passed, money = zip(*outcomes, strict=True)
    return passed, sum(money) / runs


def share(passed, wanted):
    return sum(each == wanted for each in passed) / len(passed)


def test_equal_arms_are_found_equal_for_three_quarters_of_the_money():
    fixed, whole = swept((0.9,) * 4, looks=1)
    four, money = swept((0.9,) * 4)
    assert whole == 1
    assert share(fixed, 3) == pytest.approx(0.91, abs=0.02)
    assert share(four, 3) == pytest.approx(0.90, abs=0.02)
    assert money == pytest.approx(0.77, abs=0.02)


def test_a_real_ladder_keeps_its_top_for_two_thirds_of_the_money():
    four, money = swept((0.6, 0.7, 0.8, 0.9), runs=400)
    assert share(four, 0) == 1
    assert money == pytest.approx(0.64, abs=0.02)


def test_four_looks_accept_an_arm_on_the_margin_one_time_in_twenty():
    """The fixed sequence: arms below it cannot be accepted without it, whatever they are."""
    alone, _ = swept((0.85, 0.85, 0.85, 0.90), runs=3_000, seed=3)
    better_below, _ = swept((0.95, 0.95, 0.85, 0.90), runs=1_000, seed=4)
    assert 1 - share(alone, 0) == pytest.approx(0.056, abs=0.012)
    assert 1 - share(better_below, 0) == pytest.approx(0.056, abs=0.02)


def test_what_the_planner_plans_has_its_power():
    count, rule = questions_needed(0.13, 0.05), DecisionRule(looks=1)
    assert count == 322
    draw = numpy.random.default_rng(11)
    steps = draw.choice([-1.0, 0.0, 1.0], p=[0.065, 0.87, 0.065], size=(4_000, count))
    power = sum(rule.passes(estimate(row), Z) for row in steps) / len(steps)
    assert power == pytest.approx(0.81, abs=0.02)


# -- clusters --------------------------------------------------------------------------------------


def accepted_in_clusters(clusters, size, alike, runs=4_000):
    """False acceptance at the margin by the clustered interval, and by one that ignores them."""
    draw = numpy.random.default_rng(clusters * size)
    cuts = NORMAL.inv_cdf(0.08), NORMAL.inv_cdf(0.97)  # 8 lost, 3 gained of 100: the margin
    shared = math.sqrt(alike) * draw.standard_normal((runs, clusters, 1))
    latent = shared + math.sqrt(1 - alike) * draw.standard_normal((runs, clusters, size))
    found = numpy.where(latent < cuts[0], -1.0, numpy.where(latent > cuts[1], 1.0, 0.0))
    names = [number for number in range(clusters) for _ in range(size)]
    rule = DecisionRule()
    rows = found.reshape(runs, -1)
    ignored = sum(rule.passes(estimate(row), Z) for row in rows)
    heeded = sum(rule.passes(paired_difference(row.tolist(), names), Z) for row in rows)
    return heeded / runs, ignored / runs


@pytest.mark.parametrize(("clusters", "size"), [(30, 10), (50, 4)])
def test_the_clustered_interval_holds_its_error_where_a_plain_one_does_not(clusters, size):
    heeded, ignored = accepted_in_clusters(clusters, size, alike=0.3, runs=1_500)
    assert 0.04 < heeded < 0.08
    assert ignored > heeded + 0.02


def test_clusters_that_are_not_alike_cost_nothing():
    heeded, ignored = accepted_in_clusters(50, 4, alike=0.0, runs=1_500)
    assert heeded == pytest.approx(ignored, abs=0.015)
    assert student(0.95, 49) > Z


# -- several models, and the best ------------------------------------------------------------------


def fixed(values):
    """Estimates whose distance from the margin has these one-sided probabilities."""
    return [Estimate(0.0, -0.05 + 0.01 * NORMAL.inv_cdf(1 - p), 0.01, 100) for p in values]


@pytest.mark.parametrize(
    "values",
    [(0.01, 0.02, 0.04), (0.02, 0.02, 0.02), (0.001, 0.03, 0.04), (0.2, 0.001, 0.024), (0.04,)],
)
def test_models_with_one_arm_each_are_decided_by_holm(values):
    """Holm's steps are the closed test of Bonferroni: every set with the model must fall."""
    numbers = range(len(values))
    sets = [[n for n in numbers if mask >> n & 1] for mask in range(1, 2 ** len(values))]
    falls = [min(values[n] for n in each) <= 0.05 / len(each) for each in sets]
    holm = [all(fell for each, fell in zip(sets, falls, strict=True) if n in each) for n in numbers]
    chains = [Chain((number,)) for number in range(len(values))]
    found = decide_look(chains, fixed(values).__getitem__, look=1, rule=DecisionRule(looks=1))
    assert tuple(chain.is_whole for chain in found) == tuple(holm)


def test_models_together_err_one_time_in_twenty():
    """Three models whose next arm is on the margin: one wrong acceptance in all is an error."""
    draw, wrong, runs = numpy.random.default_rng(8), 0, 2_000
    rule = DecisionRule(looks=2)
    for _ in range(runs):
        found = answers((0.85, 0.85, 0.85, 0.90), 300, draw)
        chains = [Chain((0,)), Chain((1,)), Chain((2,))]
        for look in (1, 2):
            chains = decide_look(
                chains,
                lambda arm, n=150 * look, x=found: estimate(x[:n, arm] - x[:n, 3]),
                look=look,
                rule=rule,
            )
        wrong += any(chain.passed for chain in chains)
    assert wrong / runs < 0.065


def test_an_arm_passes_against_the_best_only_if_it_passes_against_every_other():
    scores = {0: 0.80, 1: 0.89, 2: 0.90, 3: 0.90}

    def versus(one, other):
        return Estimate(0.0, scores[one] - scores[other], 0.01, 1_000)

    field = decide_best_look(BestArmField((0, 1, 2, 3)), versus, look=4, rule=DecisionRule())
    assert field.passed == {1, 2, 3}
    assert field.worse == {0}
    assert field.is_closed
    assert field.left[0] == 1


def test_against_the_best_an_arm_on_the_margin_is_accepted_at_most_one_time_in_twenty():
    draw, wrong, runs = numpy.random.default_rng(21), 0, 2_000
    for _ in range(runs):
        found = answers((0.85, 0.90, 0.90), 400, draw)
        field = BestArmField((0, 1, 2))
        for look in (1, 2, 3, 4):
            field = decide_best_look(
                field,
                lambda a, b, n=100 * look, x=found: estimate(x[:n, a] - x[:n, b]),
                look=look,
                rule=DecisionRule(),
            )
        wrong += 0 in field.passed
    assert wrong / runs < 0.06


# -- what is still asked ---------------------------------------------------------------------------


def test_a_run_of_arms_that_passed_is_asked_only_at_its_lowest():
    rule = DecisionRule(looks=1)
    chain = Chain((3, 2, 1, 0))
    (after,) = decide_look([chain], fixed((0.9, 0.4, 1e-4, 1e-4)).__getitem__, look=1, rule=rule)
    assert after.passed == 2
    assert after.asked == (2, 1, 0)


def test_an_arm_below_one_that_is_worse_is_out_of_reach():
    rule = DecisionRule(looks=1)
    (after,) = decide_look(
        [Chain((3, 2, 1, 0))], fixed((1e-9, 1 - 1e-9, 0.5, 0.5)).__getitem__, look=1, rule=rule
    )
    assert after.worse == {1}
    assert after.asked == (3, 2)
    assert not after.is_closed
    (later,) = decide_look([after], fixed((1e-9, 1e-9, 1e-9, 1e-9)).__getitem__, look=1, rule=rule)
    assert later.passed == 2
    assert later.is_closed
