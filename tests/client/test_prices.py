"""What tokens cost, where that is known."""

import sys
from decimal import Decimal

import pytest

from pondero.canon import Message, Origin, Reply, Text, Usage
from pondero.client import cost, cost_of, kept_of, kept_turn, plan

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


def reply(text="a"):
    origin = Origin("anthropic", "claude-opus-5", "high", 1.0)
    made = plan("claude-opus-5", "high")
    return Reply(Message("assistant", (Text(text),), origin), "stop", TOKENS, made, "as_planned")


@pytest.mark.usefixtures("prices")
def test_a_reply_is_kept_with_its_plan_and_price():
    kept = kept_of(reply(), seconds=2.0, first=1.0)
    assert (kept.plan["level"], kept.usage, kept.verdict, kept.finish) == (
        "high",
        TOKENS,
        "as_planned",
        "stop",
    )
    assert (kept.seconds, kept.first, kept.partial) == (2.0, 1.0, False)
    assert Decimal(kept.cost) == cost("anthropic", "claude-opus-5", TOKENS)
    assert kept.cost == cost_of(reply())
    assert "E" not in kept.cost
    assert kept_of(reply(), paid=False).cost is None


def test_a_turn_is_kept_with_its_time_at_the_last_answer_and_what_was_cut_off_marked():
    question, answer = Message("user", (Text("q"),)), reply()
    cut = Message("assistant", (Text("b"),))
    kept = kept_turn([question, answer.message, question, cut], [answer], seconds=2.0, paid=False)
    assert [each.partial for each in kept] == [False, False, False, True]
    assert [each.seconds for each in kept] == [None, None, None, 2.0]
    assert [each.verdict for each in kept] == [None, "as_planned", None, None]
    assert kept_turn([question], []) == (kept[0],)
