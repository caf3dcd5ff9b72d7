"""A cap on thinking in long conversations: 10,000 tokens above 150,000 of context, where asked for."""

import pytest

from pondero import Policy
from pondero.catalog import Lookup, load_shipped
from pondero.exchange import plan
from pondero.thinking import RequestParameters, parse_intent

LOOKUP = Lookup(load_shipped())


def made(model, wish, *, context, **policy):
    entry = LOOKUP.entry(model)
    return plan(
        entry, parse_intent(wish), asked=RequestParameters(context=context), policy=Policy(**policy)
    )


def test_above_the_threshold_a_budget_is_cut_and_the_plan_says_why():
    capped = made("claude-sonnet-4-5", "medium", context=150_001, context_cap=10_000)
    assert (capped.budget, capped.nominal) == (10_000, 43_008)
    assert capped.fields["thinking"]["budget_tokens"] == 10_000
    (note,) = capped.adjustments
    assert (note.code, note.asked, note.got) == ("context_cap", 43_008, 10_000)
    assert "150,001" in note.why


@pytest.mark.parametrize(
    ("context", "cap"), [(150_000, 10_000), (None, 10_000), (900_000, 0), (900_000, 50_000)]
)
def test_below_it_or_without_such_a_policy_nothing_changes(context, cap):
    assert made("claude-sonnet-4-5", "medium", context=context, context_cap=cap) == made(
        "claude-sonnet-4-5", "medium", context=None
    )


def test_a_cap_below_the_least_gives_the_least():
    assert made("gemini-2.5-pro", "high", context=200_000, context_cap=1).budget == 128


def test_words_are_not_capped():
    assert made("claude-opus-5", "high", context=200_000, context_cap=1).level == "high"


def test_a_strict_policy_lets_it_pass():
    capped = made(
        "claude-sonnet-4-5", "low", context=200_000, context_cap=10_000, unsupported="strict"
    )
    assert capped.budget == 10_000


def test_a_chat_knows_how_long_it_is():
    from pondero import Chat, Client
    from pondero.canon import Message, Reply, Text, Usage
    from pondero.emulator import Emulator

    def mind(accepted):
        usage = Usage(input=160_000, cache_read=0, output=1, thinking=0, total=160_001)
        return Reply(Message("assistant", (Text("yes"),)), "stop", usage)

    policy = {"context_cap": 10_000}
    with Client(transport=Emulator(responder=mind), policy=policy) as client:
        chat = Chat("claude-sonnet-4-5/low", client=client)
        assert chat.send("one").plan.budget == 22_016
        assert chat.send("two").plan.budget == 10_000
