"""The watch: suspects a deaf dial, and never from fewer requests than it states."""

from collections import Counter
from math import exp, log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import Usage
from pondero.gateway.observability.dial_watch import (
    SHARE,
    WINDOW,
    Alarm,
    DialWatch,
)
from pondero.gateway.observability.level_test import ALPHA, ENOUGH, SAME, LevelTest, LevelWatch
from pondero.gateway.observability.metrics import Metrics
from pondero.gateway.observability.receipt import Receipt


def answer(
    level: str,
    thinking: int,
    *,
    model: str = "m1",
    route: str = "opus",
    verdict: str = "as_planned",
    finish: str = "stop",
) -> Receipt:
    return Receipt(
        id="0",
        at=1.0,
        key="ci",
        front="chat",
        provider="north",
        model=model,
        route=route,
        sent=level,
        verdict=verdict,
        finish=finish,
        usage=Usage(10, output=5, thinking=thinking),
    )


def watch() -> tuple[DialWatch, list[Alarm]]:
    dial, alarms = DialWatch(), list[Alarm]()
    dial.told.append(alarms.append)
    return dial, alarms


# -- never from too few ----------------------------------------------------------------------------

levels = st.sampled_from(["off", "low", "medium", "high", "max"])
verdicts = st.sampled_from(["as_planned", "thought_though_off", "exhausted", "unknown"])
answers = st.builds(
    answer,
    levels,
    st.integers(0, 3) | st.just(500) | st.integers(0, 50_000),
    model=st.sampled_from(["m1", "m2"]),
    route=st.sampled_from(["opus", "*"]),
    verdict=verdicts,
    finish=st.sampled_from(["stop", "length", "tool_calls"]),
)
streams = st.lists(st.tuples(answers, st.integers(1, 120)), max_size=12)
"""Answers, each several times in a row."""


@given(streams)
def test_no_alarm_comes_from_fewer_requests_than_stated(stream):
    dial, alarms = watch()
    at: Counter[tuple[str, str, str]] = Counter()
    heard = 0
    for receipt, times in stream:
        for _ in range(times):
            at[str(receipt.route), str(receipt.answered_by), str(receipt.sent)] += 1
            dial.note(receipt)
            for alarm in alarms[heard:]:
                counts = {
                    level: count
                    for (route, model, level), count in at.items()
                    if (route, model) == (alarm.route, alarm.model)
                }
                if alarm.kind == "dial_deaf":
                    depths = [n for level, n in counts.items() if level != "off" and n >= ENOUGH]
                    assert len(depths) >= 2
                    assert alarm.requests >= 2 * ENOUGH
                elif alarm.kind == "thinks_though_off":
                    assert counts["off"] >= alarm.requests >= ENOUGH
                else:
                    assert sum(counts.values()) >= alarm.requests >= ENOUGH
            heard = len(alarms)


@given(streams)
def test_an_alarm_is_raised_once_until_it_is_over(stream):
    dial, alarms = watch()
    for receipt, times in stream:
        for _ in range(times):
            dial.note(receipt)
    raised: set[tuple[str, str, str]] = set()
    for alarm in alarms:
        place = (alarm.kind, alarm.route, alarm.model)
        assert (place in raised) is alarm.is_over
        (raised.discard if alarm.is_over else raised.add)(place)
    assert {(each.kind, each.route, each.model) for each in dial.alarms} == raised


def test_requests_that_are_no_answers_count_nothing():
    dial, alarms = watch()
    for _ in range(10 * ENOUGH):
        dial.note(Receipt(id="0", at=1.0, key="ci", front="chat", end="refused"))
    assert not alarms
    assert not dial.alarms


# -- live and deaf routes, simulated ---------------------------------------------------------------


def simulate(ratio: float, noise: float, seed: int, *, requests: int = 2_000) -> list[Alarm]:
    """Return the alarms of a route where high thinks ``ratio`` times as much as low."""
    random, (dial, alarms) = Random(seed), watch()
    factor = {"low": 1.0, "medium": ratio**0.5, "high": ratio}
    for _ in range(requests):
        level = random.choice(list(factor))
        dial.note(answer(level, round(800 * factor[level] * exp(random.gauss(0, noise)))))
    return [alarm for alarm in alarms if alarm.kind == "dial_deaf" and not alarm.is_over]


@pytest.mark.parametrize("noise", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("ratio", [1.3, 1.5, 2.0, 4.0])
def test_a_live_dial_is_hardly_ever_suspected(ratio, noise):
    wrong = sum(bool(simulate(ratio, noise, seed)) for seed in range(40))
    assert wrong <= 1


@pytest.mark.parametrize(("noise", "most"), [(0.1, 400), (0.3, 1_000), (0.5, 2_000)])
def test_a_deaf_route_is_suspected_after_a_number_of_requests_that_grows_with_the_noise(
    noise, most
):
    found = sum(bool(simulate(1.0, noise, seed, requests=most)) for seed in range(40))
    assert found >= 36


def test_the_alarm_names_the_levels_and_who_decides():
    (alarm,) = simulate(1.0, 0.1, 1)
    assert alarm.text.startswith("low and high of north:m1 differ by ")
    assert "x, less than 1.15x; " in alarm.text
    assert alarm.text.endswith("suspect: `pondero probe north:m1` decides")


def test_a_route_where_nothing_thinks_is_not_compared():
    dial, alarms = watch()
    for _ in range(10 * ENOUGH):
        dial.note(answer("low", 0))
        dial.note(answer("high", 0))
    assert not alarms


def suspects(ratio: float, noise: float, seed: int, *, requests: int) -> bool:
    """Return whether two neighbours are ever suspected, looking after every request."""
    random, levels = Random(seed), LevelWatch()
    for _ in range(requests):
        level = random.choice(("low", "medium"))
        deep = ratio if level == "medium" else 1.0
        found = levels.add(level, log(1 + round(800 * deep * exp(random.gauss(0, noise)))))
        if found is not None and found[1].is_deaf:
            return True
    return False


@pytest.mark.parametrize(
    ("ratio", "noise"), [(SAME, 0.1), (SAME, 0.6), (SAME, 1.0), (1.3, 0.6), (1.3, 1.0), (4.0, 1.0)]
)
def test_a_weak_dial_that_is_live_is_suspected_in_five_per_cent_of_the_runs_at_most(ratio, noise):
    wrong = sum(suspects(ratio, noise, seed, requests=3_000) for seed in range(60))
    assert wrong <= 60 * ALPHA


def test_two_deaf_neighbours_are_found_although_their_answers_vary():
    found = sum(suspects(1.0, 0.6, seed, requests=3_000) for seed in range(30))
    assert found >= 27


def test_the_errors_of_all_tests_of_a_route_add_up_to_no_more_than_the_one_allowed():
    """One pair after the other that lies below the edge: the later the test, the more it needs."""

    def count_needed(number: int) -> int:
        test = LevelTest(number)
        random = Random(1)
        while not test.is_deaf:
            test.add(random.gauss(0, 0.6), is_higher=False)
            test.add(random.gauss(0, 0.6), is_higher=True)
        return test.count

    assert count_needed(1) < count_needed(100) < count_needed(10_000)
    allowed = sum(LevelTest(number).alpha for number in range(1, 10_000))
    assert 0.99 * ALPHA < allowed <= ALPHA


def test_a_dial_that_breaks_after_it_worked_is_found():
    dial, alarms = watch()
    for _ in range(5_000):
        dial.note(answer("low", 500))
        dial.note(answer("high", 2_000))
    assert not alarms
    for _ in range(2 * WINDOW):
        dial.note(answer("low", 500))
        dial.note(answer("high", 500))
    assert [alarm.kind for alarm in dial.alarms] == ["dial_deaf"]


def test_a_level_that_went_out_of_use_no_longer_hides_a_deaf_dial():
    dial, _ = watch()
    for _ in range(ENOUGH):
        dial.note(answer("max", 9_000))
    for _ in range(6_000):
        dial.note(answer("low", 500))
        dial.note(answer("high", 500))
    assert [alarm.kind for alarm in dial.alarms] == ["dial_deaf"]


def test_a_dial_that_works_again_ends_the_alarm():
    dial, alarms = watch()
    for _ in range(2 * ENOUGH):
        dial.note(answer("low", 500))
        dial.note(answer("high", 500))
    assert [alarm.kind for alarm in dial.alarms] == ["dial_deaf"]
    for _ in range(2 * WINDOW):
        dial.note(answer("low", 500))
        dial.note(answer("high", 4_000))
    assert not dial.alarms
    assert [alarm.is_over for alarm in alarms] == [False, True]


# -- off and exhausted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "level", "verdict"),
    [("thinks_though_off", "off", "thought_though_off"), ("exhausted", "high", "exhausted")],
)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_a_share_of_odd_answers_raises_an_alarm(kind, level, verdict, share):
    dial, alarms = watch()
    random = Random(7)
    for _ in range(4 * ENOUGH):
        is_odd = random.random() < share
        dial.note(answer(level, 300, verdict=verdict if is_odd else "as_planned"))
    assert (kind in {alarm.kind for alarm in alarms}) is (share >= SHARE)


def test_the_alarm_about_exhausted_answers_says_how_much_thinking_was_wasted():
    dial, alarms = watch()
    for _ in range(ENOUGH):
        dial.note(answer("high", 300, verdict="exhausted", finish="length"))
    (alarm,) = alarms
    assert (alarm.kind, alarm.wasted) == ("exhausted", 300 * ENOUGH)


def test_the_metrics_have_shares_by_route_model_level_and_key_and_the_alarms():
    metrics, (dial, _) = Metrics(), watch()
    dial.told.append(metrics.note_alarm)
    for number in range(ENOUGH):
        verdict = "exhausted" if number % 2 else "as_planned"
        receipt = answer("high", 300, verdict=verdict)
        metrics.note(receipt)
        dial.note(receipt)
    place = '{key="ci",level="high",model="north:m1",route="opus"}'
    page = metrics.page().body.decode()
    assert f"pondero_answers_total{place} {ENOUGH}.0" in page
    assert f"pondero_exhausted_total{place} {ENOUGH // 2}.0" in page
    assert f"pondero_wasted_thinking_tokens_total{place} {300 * (ENOUGH // 2)}.0" in page
    assert 'pondero_alarm{alarm="exhausted",model="north:m1",route="opus"} 1.0' in page
