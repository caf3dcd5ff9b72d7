"""Any model name works offline: a model of its family, else of its provider, answers for it."""

import pytest
from tests.emulator.talking import encoded

import pondero
from pondero.dialects import NAMES, get_dialect
from pondero.emulator import Emulator
from pondero.errors import BadRequest, NotFound, ServiceError
from pondero.exchange import Retry

UNKNOWN = (
    "claude-opus-9",
    "anthropic:claude-wombat-1",
    "vertex-anthropic:claude-opus-9",
    "gpt-9",
    "openai:o9-mini",
    "openai:chatgpt-5-nobody-knows",
    "openai-chat:gpt-9",
    "google:gemini-9-pro",
    "google:learnlm-7",
    "xai:grok-9",
    "groq:openai/gpt-oss-999b",
    "cohere:command-z-2030",
    "bedrock:anthropic.claude-opus-9-v1:0",
    "ollama:nobody/heard-of:7b",
)


def get_weather(city: str) -> str:
    """Get the weather."""
    return f"it is fine in {city}"


def client(**options):
    return pondero.Client(transport=Emulator(**options), retry=Retry(attempts=1))


@pytest.mark.parametrize("level", [None, "off", "high"])
@pytest.mark.parametrize("model", UNKNOWN)
def test_a_model_nobody_knows_answers_and_says_its_own_name(model, level):
    reply = client(any_model=True).ask(model, "What is 17 * 23?", level)
    assert "391" in reply.text
    assert reply.model in (None, model.partition(":")[2] or model)


@pytest.mark.parametrize("model", UNKNOWN)
def test_its_tools_and_its_second_turn_work(model):
    chat = pondero.Chat(model, "high", tools=[get_weather], client=client(any_model=True))
    assert "it is fine in Paris" in chat.send("What is the weather in Paris?").text
    reply = chat.send("What is 17 * 23?")
    assert "391" in reply.text
    assert "seal_refused" not in [note.code for note in reply.plan.adjustments]


@pytest.mark.parametrize(
    "model", ["claude-opus-9", "gpt-9", "openai-chat:gpt-9", "google:palm-9", "cohere:gpt-9"]
)
def test_a_strict_emulator_does_not_know_it(model):
    with pytest.raises(NotFound):
        client().ask(model, "What is 17 * 23?")


def test_a_model_that_is_known_is_told_its_own_mistakes():
    with pytest.raises(BadRequest, match="nonsense"):
        client(any_model=True).ask("claude-opus-5", "hello", extras={"nonsense": 1})


@pytest.mark.parametrize(
    ("model", "relative", "native"),
    [
        (
            "claude-opus-5",
            "claude-opus-4-5",
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        ),
        (
            "google:gemini-2.5-pro",
            "google:gemini-2.5-flash",
            {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
        ),
    ],
)
def test_what_a_known_model_refuses_is_not_answered_by_a_relative_that_accepts_it(
    model, relative, native
):
    offline = client(any_model=True)
    assert offline.ask(relative, "hello", native, max_tokens=4096).text
    with pytest.raises(BadRequest):
        offline.ask(model, "hello", native, max_tokens=4096)


def test_a_mistake_that_every_model_refuses_is_what_is_said():
    with pytest.raises(ServiceError, match="nonsense"):
        client(any_model=True).ask("claude-opus-9", "hello", extras={"nonsense": 1})


@pytest.mark.parametrize("name", NAMES)
def test_a_request_for_another_model_is_the_same_request(name):
    entry = next(e for e in pondero.models() if e.provider.dialect == name)
    http = encoded(entry.id, None, "hello", max_tokens=100)
    wire = get_dialect(name).service()
    assert wire.requested_model(http) == entry.model
    other = wire.with_model(http, "some/other model:1")
    assert wire.requested_model(other) == "some/other model:1"
    again = wire.with_model(other, entry.model)
    assert wire.requested_model(again) == entry.model
    assert again.body == http.body
