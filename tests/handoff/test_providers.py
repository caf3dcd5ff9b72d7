"""Twelve providers and the deployments of three of them, each handed over to each, and back."""

from functools import cache
from itertools import permutations

import pytest
from tests.hazards.talking import chat_with, last_body, refusals

from pondero.canon import Message
from pondero.client import load_catalog
from pondero.dialects import NAMES
from pondero.emulator import Emulator

MODELS = (
    "anthropic:claude-opus-5/high",
    "openai:gpt-5.1/high",
    "google:gemini-3-flash-preview/high",
    "bedrock:us.anthropic.claude-sonnet-4-6/high",
    "openrouter:anthropic/claude-opus-5/high",
    "groq:openai/gpt-oss-120b/high",
    "cerebras:gpt-oss-120b/high",
    "mistral:mistral-medium-latest/high",
    "cohere:command-a-reasoning-08-2025/high",
    "xai:grok-4.6/high",
    "deepseek:deepseek-v4-flash/high",
    "ollama:qwen3/high",
    "google-interactions:gemini-3-flash-preview/high",
    # the same models elsewhere
    "azure:gpt-5.1/high",
    "vertex:gemini-3-flash-preview/high",
    "vertex-anthropic:claude-opus-5/high",
    "xai-responses:grok-4.6/high",
    "openrouter:deepseek/deepseek-v4-pro/high",  # wants thinking on every turn
)
TALKED = [name for name in MODELS if load_catalog().entry(name).provider.dialect in NAMES]


@cache
def thread(maker: str) -> tuple[Message, ...]:
    """Return a thread with thinking and a tool loop, made by one provider."""
    emulator = Emulator()
    chat = chat_with(emulator, maker)
    chat.send("What is the weather in Paris?")
    assert refusals(emulator) == []
    return chat.messages


def opaque(messages: tuple[Message, ...]) -> set[str]:
    """Return the strings within the seals of a thread that are long enough to be a proof."""
    seals = [getattr(part, "signature", None) for message in messages for part in message.parts]
    return {text for seal in seals if seal for text in strings(seal.value) if len(text) > 40}


def strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in strings(each)]


@pytest.mark.parametrize(("maker", "reader"), list(permutations(TALKED, 2)))
def test_a_thread_of_one_goes_on_with_another_and_back_again(maker, reader):
    emulator = Emulator()
    chat = chat_with(emulator, maker)
    chat.messages = thread(maker)
    chat.model = reader
    assert "391" in chat.send("What is 17 * 23?").text
    sent = strings(last_body(emulator))
    assert not any(proof in text for proof in opaque(thread(maker)) for text in sent)
    chat.model = maker
    assert "fine in London" in chat.send("What is the weather in London?").text
    assert refusals(emulator) == []


@pytest.mark.parametrize("maker", TALKED)
def test_what_it_sealed_goes_back_to_it(maker):
    emulator = Emulator()
    chat = chat_with(emulator, maker)
    chat.messages = thread(maker)
    chat.send("What is 17 * 23?")
    sent = strings(last_body(emulator))
    assert all(any(proof in text for text in sent) for proof in opaque(thread(maker)))
    assert refusals(emulator) == []
