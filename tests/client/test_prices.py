"""What tokens cost, where that is known."""

import sys
from decimal import Decimal

import pytest

from pondero.canon import Usage
from pondero.client import cost

TOKENS = Usage(1000, 300, 200, 100, 400, 2000)


@pytest.fixture
def prices():
    """The dollars a million tokens of claude-opus-5 cost, as genai-prices has them."""
    known = pytest.importorskip("genai_prices")
    found = known.calc_price(
        known.Usage(input_tokens=1), "claude-opus-5", provider_id="anthropic"
    ).model_price
    return {
        name: getattr(found, f"{name}_mtok")
        for name in ("input", "output", "cache_read", "cache_write")
    }


def test_thinking_is_output_and_the_cache_has_prices_of_its_own(prices):
    expected = (
        1000 * prices["input"]
        + 300 * prices["cache_read"]
        + 200 * prices["cache_write"]
        + 500 * prices["output"]
    )
    assert cost("anthropic", "claude-opus-5", TOKENS) == expected / 1_000_000
    assert isinstance(cost("anthropic", "claude-opus-5", TOKENS), Decimal)


@pytest.mark.usefixtures("prices")
@pytest.mark.parametrize(
    ("provider", "model", "usage"),
    [
        ("anthropic", "no-such-model", TOKENS),
        ("no-such-provider", "claude-opus-5", TOKENS),
        ("ollama", "qwen3", TOKENS),
        ("anthropic", "claude-opus-5", Usage()),
        ("anthropic", "claude-opus-5", Usage(input=1)),
        ("anthropic", "claude-opus-5", Usage(output=1)),
        ("anthropic", "claude-opus-5", Usage(0, output=0)),
    ],
)
def test_what_is_not_known_is_none_and_never_nothing(provider, model, usage):
    assert cost(provider, model, usage) is None


def test_without_the_package_no_price_is_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert cost("anthropic", "claude-opus-5", TOKENS) is None
