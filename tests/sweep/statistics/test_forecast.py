"""Forecasts: how likely a sweep decides, by the procedure that it will use."""

from random import Random

import pytest

from pondero.sweep.statistics.e_process import ALPHA, EProcess
from pondero.sweep.statistics.exact_test import exact_probability, once_chance
from pondero.sweep.statistics.forecast import count_runs, foresee, foresee_once

MARGINS = (0.12, 0.13, 0.14, 0.15, 0.16, 0.18, 0.2)
LEVEL = 0.9 / 19.9  # what the main part of a whole capital is staked at


def test_a_wider_margin_is_never_harder_to_show():
    chances = [
        foresee((0.0, 0.0), 0.1, margin, 20, share=1.0, runs=count_runs(20)).chance
        for margin in MARGINS
    ]
    assert chances == sorted(chances)


def test_the_one_test_of_a_small_pool_is_foreseen_by_its_own_power():
    for margin in MARGINS:
        bets = foresee((0.0, 0.0), 0.1, margin, 20, share=1.0, runs=count_runs(20)).chance
        once = once_chance(20, margin, discordance=0.1, difference=0.0, share=1.0, alpha=ALPHA)
        assert once > bets


@pytest.mark.parametrize(("n", "margin", "difference"), [(20, 0.15, 0.0), (30, 0.1, -0.05)])
def test_the_chance_of_the_one_test_is_how_often_it_shows_an_arm(n, margin, difference):
    draw = Random(1)
    won, plays = 0, 4_000
    gain, differ = (0.1 + difference) / 2, 0.1
    for _ in range(plays):
        units = [draw.random() for _ in range(n)]
        gains = sum(each < gain for each in units)
        losses = sum(gain <= each < differ for each in units)
        won += exact_probability(gains, losses, n, margin) <= LEVEL
    chance = once_chance(n, margin, discordance=0.1, difference=difference, share=1.0, alpha=ALPHA)
    assert won / plays == pytest.approx(chance, abs=0.03)


def test_what_is_seen_of_a_pool_counts_in_the_chance_of_its_one_test():
    def foreseen(units):
        process = EProcess(margin=0.15)
        for unit in units:
            process.learn(unit)
        return foresee_once((1.0, 2.0), 0.1, 15, process=process)

    lost, tied, gained = (
        foreseen([-1.0, 0, 0, 0, 0]),
        foreseen([0] * 5),
        foreseen([1.0, 1.0, 0, 0, 0]),
    )
    assert lost.chance < tied.chance < gained.chance
    assert (tied.units, tied.cost) == (15, 45.0)
    process = EProcess(margin=0.15)
    assert foresee_once((1.0, 2.0), 0.1, 15, process=process, budget=44.0).chance == 0
