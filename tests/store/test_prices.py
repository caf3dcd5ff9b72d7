"""What tokens cost, where that is known."""

import sys
from decimal import Decimal
from time import time

import pytest

from pondero.canon import Usage
from pondero.client import models
from pondero.store import find_most_prices, load_catalog, price_most, price_usage

TOKENS = Usage(1000, 300, 200, 100, 400, 2000)
COUNTS = (  # input, output, thinking, cache reads, cache writes
    *((1, 1, 0, 0, 0), (999, 7, 3, 0, 0), (199_999, 9, 9, 0, 0), (300_000, 1, 5, 0, 0)),
    *((1, 1, 0, 7, 0), (0, 1, 0, 0, 9), (999, 7, 3, 31, 17), (100_000, 9, 9, 99_999, 0)),
    *((100_000, 9, 9, 99_999, 1), (1, 1, 5, 100_000, 150_000)),
)


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
    assert price_usage("anthropic", "claude-opus-5", TOKENS) == expected / 1_000_000
    assert isinstance(price_usage("anthropic", "claude-opus-5", TOKENS), Decimal)


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
    assert price_usage(provider, model, usage) is None


@pytest.mark.usefixtures("prices")
def test_a_price_that_is_worked_out_here_is_what_genai_prices_says():
    """Every catalogued model that has a price: below its tiers, at them and above."""
    import genai_prices

    providers, priced = load_catalog().catalog.providers, 0
    for entry in models():
        url = providers[entry.provider.name].url
        for asked, said, thought, read, wrote in COUNTS:
            tokens = genai_prices.Usage(
                input_tokens=asked + read + wrote,
                cache_read_tokens=read or None,
                cache_write_tokens=wrote or None,
                output_tokens=said + thought,
            )
            try:
                theirs = genai_prices.calc_price(tokens, entry.model, provider_api_url=url)
            except (LookupError, ValueError):
                continue
            usage = Usage(asked, read, wrote, said, thought)
            if (ours := price_usage(entry.provider.name, entry.model, usage)) is not None:
                assert ours == theirs.total_price
                priced += 1
    assert priced > 200


@pytest.mark.usefixtures("prices")
def test_the_most_of_a_request_is_the_sum_of_its_tokens():
    """Every catalogued model whose prices are whole billionths of a dollar."""
    minute, summed = int(time() // 60), 0
    for entry in models():
        name, model = entry.provider.name, entry.model
        prices = find_most_prices(name, model, minute)
        for prompt, output in ((2, 1), (999, 64_000), (199_999, 0), (300_000, 7)):
            if prices is not None and prompt < prices.below:
                cost = price_most(name, model, prompt, output)
                assert cost is not None
                assert cost * 10**9 == prompt * prices.prompt + output * prices.output
                summed += 1
    assert summed > 200


@pytest.mark.usefixtures("prices")
@pytest.mark.parametrize("name", ["anthropic:no-such-model", "no-such-provider:claude-opus-5"])
def test_what_no_price_is_known_of_is_no_sum(name):
    assert find_most_prices(*name.split(":"), int(time() // 60)) is None


def test_without_the_package_no_price_is_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    minute = 60.0  # for which no test before this one has asked
    assert price_usage("anthropic", "claude-opus-5", TOKENS, at=minute) is None
