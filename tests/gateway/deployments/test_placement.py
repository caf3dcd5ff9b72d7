"""In which order deployments are asked."""

from collections import Counter
from random import Random

import pytest
from msgspec.structs import replace

from pondero.gateway.deployments.placement import PlacementOption, find_keeper, order_deployments
from pondero.store import load_catalog

ENTRY = load_catalog().entry("claude-opus-5")


@pytest.mark.parametrize(("wait", "first"), [(0.0, "home"), (3.0, "home"), (3.1, "other")])
def test_a_conversation_waits_three_seconds_for_its_home_and_then_moves(wait, first):
    options = [
        PlacementOption(replace(ENTRY, deployment="other")),
        PlacementOption(replace(ENTRY, deployment="home"), wait=wait),
    ]
    order = order_deployments(options, "sticky", "home", chance=Random(1).random)
    assert order.candidates[0].entry.deployment == first


def test_clients_are_shared_by_weight_and_few_move_to_a_new_account():
    weights = {"a": 1.0, "b": 3.0}
    clients = [f"client {number}" for number in range(4000)]
    before = {each: find_keeper(weights, each) for each in clients}
    assert Counter(before.values())["b"] == pytest.approx(3000, rel=0.05)
    after = {each: find_keeper({**weights, "c": 1.0}, each) for each in clients}
    moved = [each for each in clients if after[each] != before[each]]
    assert {after[each] for each in moved} == {"c"}
    assert len(moved) == pytest.approx(800, rel=0.15)
