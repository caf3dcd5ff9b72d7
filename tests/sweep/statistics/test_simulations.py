"""The error of a decision: the theorem step by step, small pools exactly, and a few drawn sweeps.

``make simulate`` does the same for every case, in minutes.
"""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pondero.sweep.statistics.comparison import Comparison, Correction, PlanChange, Pool
from pondero.sweep.statistics.contest import Contest, ContestRule
from pondero.sweep.statistics.e_process import EProcess, mirror
from pondero.sweep.statistics.units import corrected_margin

UNITS = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), max_size=40)
MARGINS = st.sampled_from([0.01, 0.05, 0.1, 0.3])


@given(UNITS, MARGINS, st.integers(1, 400), st.floats(0.01, 1), st.booleans())
def test_no_bet_gains_on_average_if_the_truth_is_the_margin(units, margin, left, share, bad):
    process = mirror(margin) if bad else EProcess(margin=margin, share=share)
    for number, unit in enumerate(units):
        process.see(unit, max(1, left - number))
    if process.is_won:
        return
    before, own = process.capital, process.margin
    # A unit of 1 with this probability, else of -1, has the mean -margin.
    up = (1 - own) / 2
    after = []
    for unit in (1.0, -1.0):
        then = replace(process)
        then.see(unit, left)
        assert then.main >= 0
        assert then.spare >= 0
        after.append(then.capital)
    assert up * after[0] + (1 - up) * after[1] <= before * (1 + 1e-9) + 1e-90


@pytest.mark.parametrize("discordance", [0.3, 0.4, 0.6, 1.0])
def test_the_exact_error_of_a_small_pool_is_below_5_percent(discordance):
    margin, pool = 0.3, 10
    gain, loss = (discordance - margin) / 2, (discordance + margin) / 2
    chances = {1.0: gain, -1.0: loss, 0.0: 1 - discordance}

    def error(process, at):
        if process.is_won:
            return 1.0
        if at == pool:
            return 0.0
        whole = 0.0
        for unit, chance in chances.items():
            if chance > 0:
                then = replace(process)
                then.see(unit, pool - at)
                whole += chance * error(then, at + 1)
        return whole

    found = error(EProcess(margin=margin), 0)
    assert 0 <= found <= 0.05
    assert discordance > 0.3 or found > 0.01  # it is no rule that never decides


def contest_of(units, *, pilot=0, pool=None, changes=(), **options):
    last = len(units)
    rule = ContestRule(
        order=tuple(range(last)), rivals=dict.fromkeys(range(last + 3), (last,)), pilot=pilot,
        **options,
    )  # fmt: skip
    known = {(arm, at): each for arm, own in enumerate(units) for at, each in enumerate(own)}
    most = max(map(len, units))
    size = Pool(
        units=tuple((at,) for at in range(pool or most)), first=pool or most, changes=changes
    )

    def scores(arm, at):
        if arm == last:
            return [0.5]
        return [0.5 + known[arm, at] / 2] if (arm, at) in known else None

    return Comparison(rule, size, scores)


def test_drawn_sweeps_of_five_bad_arms_recommend_one_at_most_once_in_twenty():
    wrong, runs = 0, 150
    for seed in range(runs):
        draw = Random(seed)
        choices = draw.choices
        units = [choices((1.0, -1.0, 0.0), (0.035, 0.085, 0.88), k=100) for _ in range(5)]
        last = len(units)
        rule = ContestRule(
            order=tuple(range(last)), rivals=dict.fromkeys(range(last), (last,)), pilot=20
        )
        found = Contest(rule, lambda arm, _, at, own=units: own[arm][at], lambda *_: (100, 100))
        wrong += bool(found.advance().winners)
    assert wrong <= 0.05 * runs + 2 * (0.05 * 0.95 * runs) ** 0.5


def judged_contest(seed, *, share, pool, margin):
    """An arm that is worse by the margin, a judge that accepts half of its mistakes, and labels."""
    draw = Random(seed).random
    truth, judged = [], []
    for _ in range(pool):
        high = float(draw() < 0.8)
        low = high if draw() > margin / 0.8 or not high else 0.0
        truth.append((low, high))
        judged.append((1.0 if not low and draw() < 0.5 else low, high))
    drawn = frozenset(at for at in range(20, pool) if share and draw() < share)
    rule = ContestRule(
        order=(0,),
        rivals={0: (1,)},
        margin=corrected_margin(margin, share) if share else margin,
        pilot=20,
        graded=bool(share),
    )
    labels = Correction(share, drawn, lambda arm, at: [truth[at][arm]]) if share else None
    units = Pool(units=tuple((at,) for at in range(pool)), first=pool)
    return Comparison(rule, units, lambda arm, at: [judged[at][arm]], labels).advance()


def test_labels_keep_the_error_of_a_judge_that_favours_the_cheaper_arm_below_5_percent():
    runs = 60
    by_judge, by_labels = (
        sum(
            bool(judged_contest(seed, share=share, pool=300, margin=0.2).winners)
            for seed in range(runs)
        )
        for share in (None, 0.5)
    )
    assert by_judge > 0.9 * runs  # without labels nearly every sweep is wrong
    assert by_labels <= 0.05 * runs + 2 * (0.05 * 0.95 * runs) ** 0.5


def test_capital_that_grew_is_not_handed_on():
    grown = EProcess(margin=0.05, share=0.4)
    for at in range(20):
        grown.see(0.0, 300 - at)
    assert grown.capital > 0.4
    assert grown.hand_on() == 0.4
    poor = EProcess(margin=0.05, share=0.4)
    poor.see(-1.0, 100)
    left = poor.capital
    assert poor.hand_on() == left < 0.4


def test_a_hopeless_arm_gets_nothing_and_the_rest_share_one_capital():
    found = contest_of([[-1.0] * 100, [0.0] * 100, [0.0] * 100], pilot=20).advance()
    assert found.standings[0].why == "hopeless"
    assert sum(found.parts.values()) == pytest.approx(1)
    assert found.winners == [1]
    assert not found.standings[2].is_tried


def test_an_arm_with_a_gap_waits_there():
    found = contest_of([[0.0] * 30], pool=100).advance()
    assert found.waits == (0, 30)
    assert not found.is_over


def test_a_budget_aims_the_bets_and_ends_nothing():
    change = PlanChange(0, 0, 60, 300)
    aimed = contest_of([[0.0] * 60], pool=300, changes=(change,)).advance()
    plain = contest_of([[0.0] * 60], pool=300).advance()
    assert aimed.standings[0].capital > plain.standings[0].capital
    assert aimed.waits == plain.waits == (0, 60)


def test_an_arm_that_was_added_gets_only_what_is_left():
    rule = ContestRule(order=(0,), added=(1,), rivals={0: (2,), 1: (2,)})
    ties = Contest(rule, lambda *_: 0.0, lambda *_: (200, 200)).advance()
    assert ties.winners == [0, 1]
    assert ties.standings[1].share == 1.0  # a winner's start, never its gain
    units = {0: -1.0, 1: 0.0}
    bad = Contest(rule, lambda arm, *_: units[arm], lambda *_: (200, 200)).advance()
    assert bad.standings[1].share < 0.2


def test_once_decides_at_the_end_alone_and_leaves_the_spare_for_an_extension():
    early = contest_of([[0.0] * 99], pool=100, once=True).advance()
    assert early.waits == (0, 99)
    assert not early.winners
    whole = contest_of([[0.0] * 100], pool=100, once=True).advance()
    assert whole.standings[0].won_at == 100
    lost = contest_of([[-1.0, -1.0] * 5 + [0.0] * 90], pool=100, once=True).advance()
    assert lost.standings[0].capital == pytest.approx(0.1)


def test_every_rival_must_be_beaten_where_all_are_compared_with_all():
    rule = ContestRule(order=(0, 1, 2), rivals={0: (1, 2), 1: (0, 2), 2: (0, 1)})
    means = {(0, 1): -1.0, (0, 2): -1.0, (1, 0): 1.0, (1, 2): 0.0, (2, 0): 1.0, (2, 1): 0.0}

    def unit(arm, rival, _at):
        return means[arm, rival]

    found = Contest(rule, unit, lambda *_: (300, 300)).advance()
    assert found.standings[0].verdict in ("worse", "given_up")
    assert found.winners == [1]
