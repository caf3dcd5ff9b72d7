"""A change of level inside a conversation, as each API takes it."""

import msgspec
import pytest
from tests.plans import plan
from tests.targets import target

from pondero.canon import (
    CacheBreakpoint,
    LevelUpdate,
    Message,
    Request,
    Text,
    ToolCall,
    ToolResult,
)
from pondero.dialects import Rejected, get_dialect
from pondero.store import load_catalog

ASK = Message("user", (Text("hi"),))
MARKED = Message("user", (Text("hi", cache=CacheBreakpoint()),))
ANSWER = Message("assistant", (Text("hello"),))
LOW = Message("system", (LevelUpdate("low"),))
HIGH = Message("system", (LevelUpdate("high"),))


def encode(model: str, *messages: Message):
    entry = load_catalog().entry(model)
    request = Request(entry.model, messages, max_tokens=100)
    caller = get_dialect(entry.provider.dialect).caller()
    return caller.encode(request, plan(entry.provider.dialect), target(entry))


def wire(model: str, *messages: Message):
    body = msgspec.json.decode(encode(model, *messages).body)
    return body["input"] if "input" in body else body["messages"]


FORMS = {
    "anthropic:claude-opus-5": {
        "role": "system",
        "content": [],
        "output_config": {"effort": "low"},
    },
    "openai:gpt-6-sol": {"type": "configuration_update", "reasoning": {"effort": "low"}},
    "openrouter:anthropic/claude-opus-5": {
        "role": "system",
        "content": "",
        "configuration_update": {"reasoning": {"effort": "low"}},
    },
}


@pytest.mark.parametrize("model", FORMS)
def test_a_change_of_level_is_written_in_its_place(model):
    sent = wire(model, ASK, ANSWER, LOW, ASK)
    assert [number for number, each in enumerate(sent) if each == FORMS[model]] == [2]
    assert sent[:2] + sent[3:] == wire(model, ASK, ANSWER, ASK)


def test_the_beta_of_messages_goes_with_the_field_and_only_with_it():
    model = "anthropic:claude-opus-5"
    beta = "mid-conversation-output-config-2026-07-01"
    assert encode(model, ASK, ANSWER, LOW, ASK).headers["anthropic-beta"] == beta
    assert "anthropic-beta" not in encode(model, ASK, ANSWER, ASK).headers


def test_of_two_neighbouring_changes_responses_gets_the_later():
    sent = wire("openai:gpt-6-sol", ASK, ANSWER, LOW, HIGH, ASK)
    assert [each.get("reasoning") for each in sent] == [None, None, {"effort": "high"}, None]


@pytest.mark.parametrize("model", FORMS)
def test_a_breakpoint_stays_on_the_message_before_a_change_of_level(model):
    sent = wire(model, MARKED, ANSWER, LOW)
    assert sent[:2] == wire(model, MARKED, ANSWER)
    assert sent[2] == FORMS[model]


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("anthropic:claude-opus-5", True),
        ("anthropic:claude-opus-5-5", True),
        ("anthropic:claude-sonnet-5-5", True),
        ("anthropic:claude-haiku-5-5", True),
        ("anthropic:claude-fable-5-1", True),
        ("anthropic:claude-mythos-5-1", True),
        ("anthropic:claude-fable-5", False),
        ("anthropic:claude-sonnet-5", False),
        ("anthropic:claude-opus-4-8", False),
        ("vertex-anthropic:claude-opus-5", True),
        ("azure-anthropic:claude-opus-5", False),
        ("bedrock:anthropic.claude-opus-5-5", False),
        ("openai:gpt-6-astra", True),
        ("openai:gpt-6.1-sol", True),
        ("openai:gpt-6-sol-pro", False),
        ("openai:gpt-5.6-sol", False),
        ("openai-chat:gpt-6-sol", False),
        ("azure:gpt-6-sol", False),
        ("openrouter:anthropic/claude-fable-5.1", True),
        ("openrouter:openai/gpt-6.1-sol", True),
        ("openrouter:openai/gpt-6.1-terra", False),
        ("openrouter:openai/gpt-6-sol-pro", False),
        ("openrouter:anthropic/claude-sonnet-5", False),
    ],
)
def test_the_catalog_knows_who_takes_a_level_inside_a_conversation(model, takes):
    assert load_catalog().entry(model).takes_level_turns is takes


def read_level(model: str, *messages: Message) -> str | None:
    """Return the level in effect, as the service reads it."""
    entry = load_catalog().entry(model)
    service = get_dialect(entry.provider.dialect).service()
    http = encode(model, *messages)
    return service.accept(http, entry.provider.name).intent.level


@pytest.mark.parametrize("model", FORMS)
def test_the_service_reads_the_last_change_as_the_level_in_effect(model):
    assert read_level(model, ASK, ANSWER, HIGH, ASK, ANSWER, LOW, ASK) == "low"


def test_a_change_after_results_alone_waits_for_new_input():
    model = "anthropic:claude-opus-5"
    called = Message("assistant", (ToolCall("c1", "look", {}),))
    results = Message("user", (ToolResult("c1", (Text("sunny"),)),))
    assert read_level(model, ASK, ANSWER, HIGH, ASK, called, results, LOW) == "high"
    assert read_level(model, ASK, ANSWER, HIGH, ASK, called, results, LOW, ANSWER, ASK) == "low"


def test_a_word_that_the_model_lacks_is_rejected_inside_a_conversation_too():
    wrong = Message("system", (LevelUpdate("deepest"),))
    with pytest.raises(Rejected):
        read_level("openrouter:anthropic/claude-opus-5", ASK, ANSWER, wrong, ASK)
