"""In which order deployments are asked."""

from random import Random

import pytest
from msgspec.structs import replace

from pondero.gateway.deployments.placement import PlacementOption, order_deployments
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
