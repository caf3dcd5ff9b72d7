"""Batches from outside: asks go in, answers come back by their ids, at every provider's service."""

import asyncio
import json
from decimal import Decimal
from urllib.parse import urlsplit

import pytest
from tests.batch.services import MODELS, SERVICES, Operations

from pondero import AsyncClient, Client
from pondero.batch import list_batches
from pondero.errors import BadParameter, BadRequest, ServiceTimeout, Unsupported
from pondero.store import list_cost, price_usage

ASKS = [{"id": f"q{n}", "prompt": f"What is {n} * 23?"} for n in range(5)]


def sent(name, asks=ASKS, **options):
    service = SERVICES[name](**options)
    return service, Client(transport=service).batch(asks, MODELS[name], "low", max_tokens=4000)


@pytest.mark.parametrize("name", SERVICES)
def test_answers_come_back_by_id_with_plan_usage_verdict_and_the_discounted_cost(name):
    service, batch = sent(name)
    assert batch.state == "running"
    answers = batch.wait()
    assert list(answers) == [ask["id"] for ask in ASKS]
    live = Client(transport=service.emulator)
    for number, answer in enumerate(answers.values()):
        reply = live.ask(MODELS[name], ASKS[number]["prompt"], "low", max_tokens=4000, stream=False)
        assert answer.reply.text == reply.text
        assert answer.text.rstrip(".").endswith(str(number * 23))
        assert answer.reply.usage == reply.usage
        assert answer.reply.plan == reply.plan
        assert answer.reply.verdict == reply.verdict
        assert answer.ending == "answered"
    assert len(service.creates) == 1


@pytest.mark.parametrize("name", SERVICES)
def test_an_item_is_what_would_be_sent_live_without_stream(name):
    service, _ = sent(name)
    live = Client(transport=service).prepare(
        MODELS[name], ASKS[1]["prompt"], "low", max_tokens=4000, stream=False
    )
    (made,) = service.made.values()
    assert made.asks[1][1] == json.loads(live.request.body)
    assert "stream" not in made.asks[1][1]


@pytest.mark.parametrize("name", SERVICES)
def test_ids_fit_into_64_characters_and_another_process_collects(name):
    service, batch = sent(name)
    (made,) = service.made.values()
    assert all(len(id) <= 64 for id, _ in made.asks)
    later = Client(transport=service).open_batch(batch.id)
    assert [answer.ending for answer in later.wait().values()] == ["answered"] * 5
    assert len(service.creates) == 1


@pytest.mark.parametrize("name", SERVICES)
def test_some_expired_some_failed_some_without_a_word(name):
    ends = ["answered", "errored", "expired", "absent", "answered"].__getitem__
    if name == "google":  # has no results of its own for what expired
        ends = ["answered", "errored", "absent", "absent", "answered"].__getitem__
    _, batch = sent(name, ends=ends)
    answers = batch.wait()
    kinds = [answers[f"q{n}"].ending for n in range(5)]
    assert kinds[0] == kinds[4] == "answered"
    assert kinds[1] == "failed"
    assert isinstance(answers["q1"].error, BadRequest)
    assert kinds[3] == "lost"  # the service counted it as answered, and has no result of it
    assert answers["q2"].cost is None
    if name not in ("google", "xai"):
        assert kinds[2] == "expired"
        assert isinstance(answers["q2"].error, ServiceTimeout)


def test_a_result_in_the_wrong_lot_takes_no_place():
    service = SERVICES["openai"]()
    batch = Client(transport=service).batch(
        [{"prompt": "say a", "model": "gpt-5.5"}, {"prompt": "say b", "model": "gpt-5.4"}]
    )
    first, second = ((made.asks, made.asks[0]) for made in service.made.values())
    for (asks, (_, body)), (_, (other, _)) in ((first, second), (second, first)):
        asks.append((other, body))  # with the id of the other lot's question
    assert [answer.text for answer in batch.wait().values()] == ["a", "b"]


@pytest.mark.parametrize("name", ["openai", "groq", "mistral", "openrouter", "google"])
def test_a_batch_that_expires_whole_was_not_billed(name):
    _, batch = sent(name, state="expired", ends=lambda _: "absent")
    answers = batch.wait()
    assert {answer.ending for answer in answers.values()} == {"expired"}
    assert not any(answer.cost for answer in answers.values())


@pytest.mark.parametrize("name", ["openai", "mistral"])
def test_a_batch_that_fails_whole_says_why(name):
    _, batch = sent(name, state="failed", ends=lambda _: "absent")
    assert "the file is not good" in str(batch.wait()["q0"].error)


@pytest.mark.parametrize("name", SERVICES)
def test_a_cancelled_batch_ends_as_cancelled(name):
    service, batch = sent(name, after=9, ends=lambda _: "absent")
    if name in ("anthropic", "xai"):
        service.ends = lambda _: "cancelled"
    assert batch.cancel() == "ended"
    assert {answer.ending for answer in batch.answers.values()} <= {"cancelled", "failed"}
    assert next(iter(service.made.values())).cancelled


@pytest.mark.parametrize("prefix", ["JOB_STATE_", "BATCH_STATE_"])
@pytest.mark.parametrize("inlines", [True, False])
def test_operations_end_with_either_prefix_inline_or_in_a_file(prefix, inlines):
    service = Operations()
    service.prefix, service.inlines = prefix, inlines
    batch = Client(transport=service).batch(ASKS, MODELS["google"], "low")
    assert {answer.ending for answer in batch.wait().values()} == {"answered"}


def test_a_job_may_have_its_results_in_a_file():
    service = SERVICES["mistral"]()
    service.inlines = False
    batch = Client(transport=service).batch(ASKS, MODELS["mistral"], "high")
    assert {answer.ending for answer in batch.wait().values()} == {"answered"}


def test_the_async_twin_does_the_same():
    service = SERVICES["anthropic"]()

    async def main():
        client = AsyncClient(transport=service)
        batch = await client.batch(ASKS, MODELS["anthropic"], "low")
        assert await batch.look() == "running"
        return await client.open_batch(batch.id).wait()

    answers = asyncio.run(main())
    assert [answer.ending for answer in answers.values()] == ["answered"] * 5


def test_prompts_alone_are_asks_and_each_may_have_a_model_and_level_of_its_own():
    service = SERVICES["anthropic"]()
    asks = ["What is 2 * 3?", {"prompt": "What is 3 * 3?", "model": "claude-opus-5/high"},
            {"input": "What is 4 * 3?", "thinking": "off", "max_tokens": 900}]  # fmt: skip
    answers = Client(transport=service).batch(asks, "claude-opus-5", "low").wait()
    plans = [answers[id].reply.plan for id in ("0", "1", "2")]
    assert [plan.level for plan in plans] == ["low", "high", "off"]


def test_headers_that_differ_are_different_lots():
    service = SERVICES["anthropic"]()
    tool = {"name": "f", "description": "f", "parameters": {"type": "object", "properties": {}}}
    batch = Client(transport=service).batch(
        [{"prompt": "a"}, {"prompt": "b", "tools": [tool]}], "claude-sonnet-4-5", 2000
    )
    assert len(batch.lots) == len(service.creates) == 2
    betas = [request.headers.get("anthropic-beta") for request in service.creates]
    assert betas == [None, "interleaved-thinking-2025-05-14"]
    assert all("anthropic-version" in request.headers for request in service.requests)


def test_one_batch_may_go_to_two_models_of_a_service_that_takes_one():
    service = SERVICES["openai"]()
    batch = Client(transport=service).batch(
        [{"prompt": "a", "model": "gpt-5.5"}, {"prompt": "b", "model": "gpt-5.4"}]
    )
    assert [lot.model for lot in batch.lots] == ["gpt-5.5", "gpt-5.4"]
    assert len(batch.wait()) == 2


def test_limits_of_count_and_bytes_split_a_batch(config_dir):
    (config_dir / "providers").mkdir(parents=True, exist_ok=True)
    (config_dir / "providers" / "small.toml").write_text(
        'like = "anthropic"\nurl = "https://api.anthropic.com"\nsource = "us"\n'
        'checked = "2026-11-15"\n[batch]\nshape = "messages"\nrequests = 2\nbytes = 5000\n'
    )
    from pondero.store import load_catalog

    load_catalog.cache_clear()
    service = SERVICES["anthropic"]()
    asks = [{"prompt": f"What is {n} * 2?"} for n in range(3)] + [{"prompt": "x" * 4000}] * 2
    try:
        batch = Client(transport=service).batch(asks, "small:claude-opus-5", "low")
        assert [lot.count for lot in batch.lots] == [2, 1, 1, 1]
        assert len(batch.wait()) == 5
        with pytest.raises(BadParameter, match="bytes; a batch takes 5,000"):
            Client(transport=service).batch(["x" * 6000], "small:claude-opus-5")
    finally:
        (config_dir / "providers" / "small.toml").unlink()
        load_catalog.cache_clear()


def test_who_has_no_batch_service_is_told_who_has():
    with pytest.raises(Unsupported, match=r"these have one: .*anthropic.*groq.*openai.*xai"):
        Client(transport=SERVICES["openai"]()).batch(["a"], "cohere:command-a-reasoning-08-2025")
    with pytest.raises(Unsupported, match=r"reportedly takes no batches of 'grok-4\.5'"):
        Client(transport=SERVICES["xai"]()).batch(["a"], "xai:grok-4.5")
    assert list_batches() == []


@pytest.mark.parametrize(
    ("asks", "words"),
    [
        ([], "the batch is empty"),
        ([{"id": "a"}], "has no prompt"),
        ([{"id": "a", "prompt": "x"}, {"id": "a", "prompt": "y"}], "two requests have the id 'a'"),
        ([{"prompt": "x", "stream": True}], "a batch has no option 'stream'"),
        ([{"prompt": "x", "sistem": "y"}], "unknown field 'sistem'; did you mean 'system'"),
    ],
)
def test_what_cannot_be_a_batch_is_refused_before_anything_is_written(asks, words):
    with pytest.raises(BadParameter, match=words):
        Client(transport=SERVICES["openai"]()).batch(asks, "gpt-5.5")
    assert list_batches() == []


def test_a_draft_says_the_price_live_and_as_a_batch():
    client = Client(transport=SERVICES["xai"]())
    price = client.draft_batch(["a"], "xai:grok-4.3", max_tokens=1000).price()
    assert price.batch == price.live * Decimal("0.8")
    half = client.draft_batch(["a"], "claude-opus-5", max_tokens=1000).price()
    assert half.batch * 2 == half.live


def test_the_cost_of_an_answer_is_the_discounted_one():
    pytest.importorskip("genai_prices")
    _, batch = sent("anthropic")
    reply = batch.wait()["q3"].reply
    (charge,) = reply.bill.charges
    live = price_usage(charge.provider, charge.model, reply.usage, at=charge.at)
    assert Decimal(list_cost(reply)) * 2 == live
    assert reply.cost_unknown == "the emulator or a recording answered, and nothing is paid"


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_can_be_reached_at_an_address_of_a_variable(name, monkeypatch):
    from pondero.store import load_catalog

    provider = load_catalog().provider(name)
    path = urlsplit(provider.url).path
    monkeypatch.setenv(provider.url_env[0], f"http://127.0.0.1:9999{path}")
    service, batch = sent(name)
    assert len(batch.wait()) == 5
    assert all(each.url.startswith("http://127.0.0.1:9999/") for each in service.requests)
