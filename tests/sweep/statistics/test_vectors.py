"""The vectors of the decision: every function gives the figures that were derived for it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pondero.sweep.statistics.allocation import fewest, shares
from pondero.sweep.statistics.contest import Contest, ContestRule, kind_levels
from pondero.sweep.statistics.e_process import EProcess, lower_bound
from pondero.sweep.statistics.exact_test import exact_probability
from pondero.sweep.statistics.judge_error import judged_margin, upper_bound
from pondero.sweep.statistics.thinking_effect import thinking_effect
from pondero.sweep.statistics.units import cluster_unit, corrected_unit, unit

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())
UNITS = {"+": 1.0, "-": -1.0, "0": 0.0}

Given = dict[str, Any]


def read(units: str | Sequence[float]) -> list[float]:
    return [UNITS[each] for each in units] if isinstance(units, str) else list(units)


def e_process(given: Given) -> Given:
    pools = given["pool"] if isinstance(given["pool"], list) else [given["pool"]]
    process = EProcess(margin=given["margin"], share=given["share"])
    found: Given = {}
    for at, each in enumerate(read(given["units"])):
        if at < given.get("pilot", 0):
            process.learn(each)
            continue
        if at == given.get("pilot", 0) and given.get("graded"):
            process.settle()
        if at == given.get("extended_after"):
            process.extend()
        left = pools[at >= given.get("extended_after", len(given["units"]))] - at
        found.setdefault("first_bets", list(process.bets(left)))
        process.see(each, left)
        if process.is_won:
            break
    parts = {"capital": process.capital, "main": process.main, "spare": process.spare}
    return {"won_at": process.won_at, **parts, **found}


def bound(given: Given) -> float:
    units = read(given["units"])
    lefts = [given["pool"] - at for at in range(len(units))]
    return lower_bound(units, lefts, given["margin"], share=given["share"], step=given["step"])


def chance(given: Given) -> float:
    process = EProcess(margin=given["margin"], n=given["n"], squares=given["s2"])
    process.main, process.spare = given["capital"] * 0.9, given["capital"] * 0.1
    return process.chance(given["left"], given["difference"])


def contest(given: Given) -> Given:
    units, prices = [read(each) for each in given["units"]], given["prices"]
    last = len(units)
    rule = ContestRule(
        order=tuple(range(last)),
        rivals=dict.fromkeys(range(last), (last,)),
        margin=given["margin"],
        pilot=given["pilot"],
        futile=given["futile"],
    )
    pool = len(units[0])
    found = Contest(
        rule, lambda arm, _, at: units[arm][at], lambda _arm, _at: (pool, pool)
    ).advance()
    standings = [found.standings[arm] for arm in range(last)]
    asked = [each.units for each in standings]
    asked.append(max(asked))
    return {
        "arm": found.winners[0] if found.winners else last,
        "verdicts": [each.verdict for each in standings],
        "asked": asked,
        "capital": [each.capital for each in standings],
        "cost": sum(price * count for price, count in zip(prices, asked, strict=True)),
    }


CALLS: dict[str, Callable[[Given], Any]] = {
    "e_process": e_process,
    "lower_bound": bound,
    "chance": chance,
    "contest": contest,
    "unit": lambda given: unit(**given),
    "exact_probability": lambda given: exact_probability(**given),
    "cluster_unit": lambda given: [cluster_unit(each) for each in given["groups"]],
    "corrected_unit": lambda given: corrected_unit(**given),
    "fewest": lambda given: fewest(**given),
    "shares": lambda given: shares([read(each) for each in given["pilot"]], given["margin"]),
    "judged_margin": lambda given: judged_margin(
        given["margin"], tuple(given["right"]), tuple(given["wrong"]), sure=given["sure"]
    ),
    "upper_bound": lambda given: upper_bound(given["k"], given["n"], given["sure"]),
    "thinking_effect": lambda given: (
        thinking_effect(
            zip(given["above"], given["below"], strict=True),
            ratio=given["ratio"],
            least=given["least"],
        ).effect
    ),
    "kind_levels": lambda given: kind_levels(
        {
            kind: [int(arm) for arm, won in arms.items() if won]
            for kind, arms in given["won"].items()
        },
        given["reference"],
    ),
}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda each: f"{each['id']}-{each['of']}")
def test_vector(vector: Given) -> None:
    found = CALLS[vector["of"]](vector["given"])
    assert_close(found, vector["expected"])


def assert_close(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert_close(found[name], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)
    else:
        assert found == expected
