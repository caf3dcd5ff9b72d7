"""What programs do with models and tools, well and badly."""

import asyncio

import pytest

import pondero
from pondero.emulator import Emulator
from pondero.errors import PonderoError, ServerFailed
from pondero.exchange import Retry

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EMIT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"
QUESTION = "What is 17 * 23?"
WEATHER = "What is the weather in Bern?"
ONCE = Retry(attempts=1)
KEY = "sk-test-0123456789-secret"


def get_weather(city: str) -> str:
    """Return the weather in a city."""
    return f"{city}: sunny"


def get_weather_badly(city: str) -> str:
    """Return the weather in a city, or fail."""
    raise OSError(city)


def run(coroutine):
    return asyncio.run(coroutine)


def ask_with(model, **options):
    def act():
        pondero.Client(transport=Emulator()).ask(model, QUESTION, **options)

    return act


def ask_and_fail():
    client = pondero.Client(transport=Emulator(faults=[500]), retry=ONCE)
    with pytest.raises(ServerFailed):
        client.ask("claude-opus-5/low", QUESTION)


def ask_and_be_cut():
    client = pondero.Client(transport=Emulator(faults=["cut 9"]), retry=ONCE)
    with pytest.raises(PonderoError):
        client.ask("claude-opus-5/low", QUESTION)


def leave():
    with pondero.Client(transport=Emulator()).stream("claude-opus-5/low", QUESTION) as stream:
        next(iter(stream))


def read_stream(model="claude-opus-5/low"):
    def act():
        with pondero.Client(transport=Emulator()).stream(model, QUESTION) as stream:
            for _ in stream:
                pass

    return act


def leave_async():
    async def act():
        client = pondero.AsyncClient(transport=Emulator())
        async with client.stream("claude-opus-5/low", QUESTION) as stream:
            await anext(aiter(stream))

    run(act())


def fall_back():
    client = pondero.Client(transport=Emulator(faults=[500]), retry=ONCE)
    client.ask(["claude-opus-5/low", "gpt-5.1/low"], QUESTION)


def chat(*tools, model="claude-opus-5/low", **options):
    def act():
        client = pondero.Client(transport=Emulator())
        pondero.Chat(model, tools=tools, client=client).send(WEATHER, **options)

    return act


def chat_async():
    async def act():
        client = pondero.AsyncClient(transport=Emulator())
        await pondero.AsyncChat("gpt-5.1/low", tools=[get_weather], client=client).send(WEATHER)

    run(act())


def chat_and_fail():
    client = pondero.Client(transport=Emulator(faults=[None, 500]), retry=ONCE)
    with pytest.raises(ServerFailed):
        pondero.Chat("claude-opus-5/low", tools=[get_weather], client=client).send(WEATHER)


_CHAT_FIELDS = {
    "seed": 3,
    "n": 2,
    "frequency_penalty": 0,
    "presence_penalty": 0.5,
}
DEEDS = {
    "anthropic": ask_with("claude-opus-5/low", max_tokens=3000, stop=["end"], system="Be brief"),
    "anthropic without thinking": ask_with("claude-sonnet-4-5/off", temperature=1, top_k=5),
    "responses": ask_with("gpt-5.1/low", extras={"service_tier": "flex"}, output=dict[str, int]),
    "chat completions": ask_with(
        "openai-chat:gpt-4.1", temperature=0, top_p=1, extras=_CHAT_FIELDS
    ),
    "gemini": ask_with("gemini-2.5-flash/low", temperature=1, top_k=5, stop=["end"]),
    "bedrock": ask_with("bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0", max_tokens=3000),
    "cohere": ask_with("cohere:command-a-reasoning-08-2025", top_p=0.5, top_k=4),
    "ollama": ask_with("ollama:qwen3:8b", temperature=0, top_k=4, output=dict[str, int]),
    "whole": ask_with("claude-opus-5/low", stream=False),
    "failure": ask_and_fail,
    "cut": ask_and_be_cut,
    "stream": read_stream(),
    "left": leave,
    "left async": leave_async,
    "fallback": fall_back,
    "tools": chat(get_weather),
    "tools with parameters": chat(
        get_weather,
        model="openai-chat:gpt-4.1",
        max_tokens=3000,
        stop=["end"],
        temperature=0,
        top_p=1,
        system="Be brief",
        output=dict[str, int],
        extras=_CHAT_FIELDS,
    ),
    "failing tool": chat(get_weather_badly),
    "tools async": chat_async,
    "failing turn": chat_and_fail,
}
