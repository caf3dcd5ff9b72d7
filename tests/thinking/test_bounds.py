"""A cap holds for what a model decides by itself, and for a model that nothing is known of."""

import pytest

from pondero.catalog import Lookup, load_shipped
from pondero.thinking import DEFAULT, RequestParameters, parse_intent
from pondero.thinking.bounds import LevelBounds

LOOKUP = Lookup(load_shipped())
LOW = parse_intent("low")
MODELS = ("anthropic:nobody-knows-it", "compatible:nobody-knows-it", "gemini-2.5-flash", "gpt-5")


def clamped(model, wish):
    entry = LOOKUP.entry(model)
    bounds = LevelBounds(
        entry.capability,
        caps=[LOW],
        policy=DEFAULT,
        asked=RequestParameters(),
        surface=entry.provider.surface,
    )
    return bounds.clamp(parse_intent(wish))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("wish", [None, "on", "high", 20_000])
def test_a_cap_holds_whoever_decides_the_depth(model, wish):
    assert clamped(model, wish) == (LOW, "cap")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("wish", ["off", "low"])
def test_what_is_within_a_cap_stays(model, wish):
    assert clamped(model, wish) == (parse_intent(wish), None)
