"""How many tokens a question has: the service's own count, or an estimate that says so."""

import asyncio
import json

import pytest
from tests.client.answering import Answers

import pondero
from pondero.emulator import Emulator
from pondero.errors import AuthFailed, BadParameter, Malformed, MissingKey, UnknownModel
from pondero.exchange import estimate_tokens

SUM = "What is 17 * 23?"
COUNTING = ("claude-opus-5", "gemini-2.5-pro", "bedrock:anthropic.claude-opus-4-5")
ESTIMATED = ("cohere:command-a-03-2025", "ollama:qwen3:8b", "deepseek:deepseek-chat")


def get_weather(city: str) -> str:
    """Return the weather in a city."""
    return city


def count(model, prompt=SUM, **options):
    with pondero.Client(transport=Emulator()) as client:
        return client.count_tokens(model, prompt, **options)


@pytest.mark.parametrize("model", COUNTING)
def test_a_service_that_counts_is_asked(model):
    found = count(model)
    asked = pondero.Client(transport=Emulator()).ask(model, SUM, "off")
    assert (found.exact, found.by, found.why) == (True, asked.message.origin.provider, "")
    assert found.tokens == asked.usage.input


@pytest.mark.parametrize("model", ESTIMATED)
def test_any_other_is_an_estimate_that_says_so(model):
    emulator = Emulator()
    with pondero.Client(transport=emulator) as client:
        found = client.count_tokens(model, SUM)
    assert (found.exact, found.by) == (False, "pondero")
    assert found.why.startswith("pondero knows of no count of tokens at ")
    assert found.tokens > 0
    assert emulator.log.entries == ()  # nothing was sent


@pytest.mark.parametrize("model", [*COUNTING, *ESTIMATED])
def test_the_system_prompt_tools_and_attachments_are_counted(model):
    alone = count(model).tokens
    assert count(model, system="Be brief, and say nothing twice.").tokens > alone
    assert count(model, tools=[get_weather]).tokens > alone
    if "deepseek" not in model:
        picture = pondero.Image("image/png", data=b"\x89PNG\r\n\x1a\n")
        assert count(model, attachments=[picture]).tokens > alone
        assert count(model, attachments=iter([picture])).tokens > alone


@pytest.mark.parametrize("model", [COUNTING[0], ESTIMATED[0]])
def test_awaiting_counts_the_same(model):
    async def ask():
        async with pondero.AsyncClient(transport=Emulator()) as client:
            return await client.count_tokens(model, SUM, system="Be brief.")

    assert asyncio.run(ask()) == count(model, system="Be brief.")


def test_the_question_is_what_is_counted():
    service = Answers((200, {"input_tokens": 12}))
    client = pondero.Client(transport=service, keys={"anthropic": "sk-planted"})
    assert client.count_tokens("claude-opus-5/high", SUM, max_tokens=900).tokens == 12
    (request,) = service.requests
    assert request.url == "https://api.anthropic.com/v1/messages/count_tokens"
    body = json.loads(request.body)
    assert SUM in json.dumps(body["messages"])
    assert "stream" not in body
    assert request.headers["x-api-key"] == "sk-planted"


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_without_the_address_gets_an_estimate_with_the_reason(status):
    client = pondero.Client(
        transport=Answers((status, {"error": "no such path"})), retry=pondero.Retry(attempts=1)
    )
    found = client.count_tokens("llamacpp:any", SUM)
    assert (found.exact, found.by) == (False, "pondero")
    assert found.why.startswith("llama.cpp did not count it: ")


def test_an_answer_without_a_number_is_an_error():
    client = pondero.Client(transport=Answers((200, {"tokens": "many"})), keys={"google": "k" * 20})
    with pytest.raises(Malformed, match="without a number"):
        client.count_tokens("gemini-2.5-pro", SUM)


def test_errors_are_those_of_a_question(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(MissingKey):
        pondero.Client().count_tokens("claude-opus-5", SUM)
    refusing = pondero.Client(transport=Answers((401, {})), keys={"anthropic": "sk-planted"})
    with pytest.raises(AuthFailed):
        refusing.count_tokens("claude-opus-5", SUM)
    with pytest.raises(UnknownModel):
        count("")
    with pytest.raises(BadParameter, match="the prompt is empty"):
        count("claude-opus-5", "")
    with pytest.raises(BadParameter, match="unknown option"):
        count("claude-opus-5", thinkin="high")


def test_a_temporary_failure_is_tried_again():
    service = Answers((529, {}), (200, {"input_tokens": 12}))
    client = pondero.Client(
        transport=service, retry=pondero.Retry(waits=False), keys={"anthropic": "sk-planted"}
    )
    assert client.count_tokens("claude-opus-5", SUM).tokens == 12
    assert len(service.requests) == 2


def test_without_a_key_an_estimate_is_still_made(monkeypatch):
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    assert pondero.Client().count_tokens("deepseek:deepseek-chat", SUM).tokens > 0


def test_the_estimate_is_the_gateways():
    from pondero.canon import Message, Request, Text

    request = Request("m", (Message("user", (Text(SUM),)),))
    assert count("deepseek:deepseek-chat").tokens == estimate_tokens(request)
