"""The cost of a reply: its source and date, or the reason why there is none."""

import asyncio
import pickle
import sys
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from tests.client.answering import Answers

import pondero
from pondero.canon import MediaTokens, Message, Reply, Usage
from pondero.emulator import Emulator, Fault, ScriptedTurn
from pondero.emulator.responders.script import When
from pondero.store import Charge, TokenBill, price_usage
from pondero.vcr import Cassette

SUM = "What is 17 * 23?"
TWO = ["claude-opus-5/high", "gpt-5.1/high"]


class Paid(Emulator):
    """An emulator that answers as a service does that is paid."""

    needs_key = True


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    pytest.importorskip("genai_prices")
    for name in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-planted-{name}")


def client(**more):
    return pondero.Client(transport=Paid(**more), retry=pondero.Retry(waits=False))


def prices(reply):
    """The dollars of each charge of a reply."""
    return [price_usage(c.provider, c.model, c.usage, at=c.at) for c in reply.bill.charges]


def test_a_cost_has_its_source_and_the_day_of_its_prices():
    reply = client().ask("claude-opus-5/low", SUM)
    cost = reply.cost
    assert cost.usd == price_usage("anthropic", "claude-opus-5", reply.usage) > 0
    assert cost.source.startswith("genai-prices ")
    assert cost.as_of == datetime.now(UTC).date().isoformat()
    assert Decimal(str(cost)) == cost.usd
    assert "E" not in str(cost)
    assert reply.cost_unknown is None


def test_awaiting_costs_the_same():
    async def ask():
        async with pondero.AsyncClient(transport=Paid()) as asking:
            return await asking.ask("claude-opus-5/low", SUM)

    assert asyncio.run(ask()).cost == client().ask("claude-opus-5/low", SUM).cost


def test_an_emulator_and_a_cassette_cost_nothing_and_say_so(tmp_path):
    path = tmp_path / "sum.jsonl"
    with pondero.Client(transport=Cassette(path, Emulator(), record=True)) as recording:
        recording.ask("claude-opus-5/low", SUM)
    for transport in (Emulator(), Cassette(path)):
        with pondero.Client(transport=transport) as asking:
            reply = asking.ask("claude-opus-5/low", SUM)
        assert reply.cost is None
        assert reply.cost_unknown == "the emulator or a recording answered, and nothing is paid"


def test_an_answer_of_an_emulator_has_the_list_price_of_its_tokens():
    with pondero.Client(transport=Emulator()) as asking:
        reply = asking.ask("claude-opus-5/low", SUM)
    assert reply.list_price.usd == price_usage("anthropic", "claude-opus-5", reply.usage) > 0
    paid = client().ask("claude-opus-5/low", SUM)
    assert paid.list_price == paid.cost


def test_there_is_no_list_price_without_a_price_or_a_client():
    assert client().ask("llamacpp:nobody-knows-it", SUM).list_price is None
    assert Reply(Message("assistant", ()), "stop").list_price is None


def test_a_model_without_a_price_is_named(monkeypatch):
    reply = client().ask("llamacpp:nobody-knows-it", SUM)
    assert reply.cost is None
    assert reply.cost_unknown.startswith("genai-prices ")
    assert reply.cost_unknown.endswith("has no price of llamacpp:nobody-knows-it")


def test_an_answer_without_counts_is_named():
    bill = TokenBill((Charge("anthropic", "claude-opus-5", Usage(), 1.0),))
    reply = Reply(Message("assistant", ()), "stop", bill=bill)
    assert reply.cost_unknown == ("anthropic did not report the tokens of anthropic:claude-opus-5")


def test_without_the_prices_the_install_is_named(monkeypatch):
    monkeypatch.setattr("pondero.store.bills.has_prices", lambda: False)
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    reply = client().ask("claude-opus-5/low", SUM)
    assert (reply.cost, reply.cost_unknown) == (
        None,
        "prices come with the extra prices; 'pondero doctor' has the command that installs it",
    )


def test_a_reply_that_no_client_asked_for_has_no_cost():
    reply = Reply(Message("assistant", ()), "stop")
    assert (reply.cost, reply.cost_unknown) == (None, "no client asked for this reply")


def test_each_model_of_a_list_is_paid_at_its_own_price():
    cut = ScriptedTurn(
        thinking="Hm.",
        text="Never said.",
        fault=Fault(kind="no_end"),
        when=When(model="claude-opus-5"),
    )
    asking = pondero.Client(transport=Paid(script=[cut]), retry=pondero.Retry(attempts=1))
    reply = asking.ask(TWO, SUM)
    models = [charge.model for charge in reply.bill.charges]
    assert models == ["claude-opus-5", "gpt-5.1"]
    assert reply.cost.usd == sum(prices(reply))
    assert reply.cost.usd != price_usage("openai", "gpt-5.1", reply.usage)


def test_each_try_is_paid_by_itself_as_a_long_prompt_has_another_price():
    half = Usage(150_000, output=10)
    charge = Charge("google", "gemini-2.5-pro", half, 1_790_000_000.0)
    once, twice = TokenBill((charge,)).total(), TokenBill((charge, charge)).total()
    assert twice.usd == 2 * once.usd
    assert twice.usd < price_usage("google", "gemini-2.5-pro", half + half, at=charge.at)


def test_an_answer_that_was_asked_for_again_is_paid_too():
    script = [ScriptedTurn(text="no JSON"), ScriptedTurn(text='{"a": "b"}')]
    reply = client(script=script).ask("gpt-5.1/low", SUM, output=dict[str, str], retries=1)
    assert reply.value == {"a": "b"}
    assert len(reply.bill.charges) == 2
    assert reply.cost.usd == sum(prices(reply))
    counts = [charge.usage for charge in reply.bill.charges]
    assert counts[0] + counts[1] == reply.usage


def test_the_prices_of_the_day_of_the_answer_are_taken():
    import genai_prices

    known = genai_prices.calc_price(
        genai_prices.Usage(input_tokens=1000, output_tokens=1000), "deepseek-chat",
        provider_id="deepseek", genai_request_timestamp=datetime(2025, 3, 1, 12, tzinfo=UTC),
    )  # fmt: skip
    at = datetime(2025, 3, 1, 12, tzinfo=UTC).timestamp()
    bill = TokenBill((Charge("deepseek", "deepseek-chat", Usage(1000, output=1000), at),))
    assert (bill.total().usd, bill.total().as_of) == (known.total_price, "2025-03-01")


def test_a_reply_can_be_pickled_with_its_cost():
    reply = client().ask("claude-opus-5/low", SUM)
    assert pickle.loads(pickle.dumps(reply)).cost == reply.cost


PICTURE = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}],
            },
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 10,
        "candidatesTokenCount": 1_290,
        "totalTokenCount": 1_300,
        "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 1_290}],
    },
}
SPEECH = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-audio",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "audio": {"id": "a", "data": "aGk=", "transcript": "Hi.", "expires_at": 9},
            },
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 50,
        "total_tokens": 60,
        "prompt_tokens_details": {"audio_tokens": 0, "cached_tokens": 0},
        "completion_tokens_details": {"audio_tokens": 40, "reasoning_tokens": 0},
    },
}


@pytest.mark.parametrize(
    ("model", "answer", "dollars", "media"),
    [
        ("google:gemini-2.5-flash-image", PICTURE, "0.038703", MediaTokens(output_image=1_290)),
        ("openai-chat:gpt-audio", SPEECH, "0.002685", MediaTokens(output_audio=40)),
    ],
)
def test_a_picture_and_speech_have_their_own_prices(monkeypatch, model, answer, dollars, media):
    monkeypatch.setenv("GEMINI_API_KEY", "sk-planted-gemini")
    reply = pondero.Client(transport=Answers((200, answer))).ask(model, "Hi")
    assert reply.cost.usd == Decimal(dollars)
    assert reply.usage.media == media
    assert reply.usage.total == reply.usage.known_total


def test_a_picture_of_which_the_service_says_nothing_is_one_all_the_same(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "sk-planted-gemini")
    usage = {**PICTURE["usageMetadata"]}
    del usage["candidatesTokensDetails"]
    answer = {**PICTURE, "usageMetadata": usage}
    transport = Answers((200, answer))
    reply = pondero.Client(transport=transport).ask("google:gemini-2.5-flash-image", "Hi")
    assert reply.cost.usd == Decimal("0.038703")


def test_speech_of_which_the_service_says_nothing_is_speech_all_the_same():
    usage = {"prompt_tokens": 10, "completion_tokens": 50, "total_tokens": 60}
    transport = Answers((200, {**SPEECH, "usage": usage}))
    reply = pondero.Client(transport=transport).ask("openai-chat:gpt-audio", "Hi")
    assert reply.cost.usd == (10 * Decimal("2.5") + 50 * 64) / 1_000_000
