"""Other people's clients at the same works: clients.py LIBRARY ADDRESS ROUNDS.

Each is called as its documentation says, in an environment where it is installed.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from typing import Any

from works import QUESTION, Caller, measured

Json = Any
ASKED: Json = [{"role": "user", "content": QUESTION}]
EVENTS = 6_000  # what loopback sends; these environments need not have what it needs


async def _count(events: AsyncIterator[object]) -> int:
    return sum([1 async for _ in events])


def anthropic(base: str) -> Caller:
    """Return the anthropic SDK."""
    made = import_module("anthropic").AsyncAnthropic
    streams = made(api_key="k", base_url=f"{base}/stream")
    shorts = made(api_key="k", base_url=f"{base}/short")
    asked = {"model": "claude-opus-5", "max_tokens": 4096, "messages": ASKED}

    async def stream() -> int:
        return await _count(await streams.messages.create(**asked, stream=True))

    return Caller(stream, lambda: shorts.messages.create(**asked))


def openai(base: str) -> Caller:
    """Return the openai SDK, by the Responses API."""
    made = import_module("openai").AsyncOpenAI
    streams = made(api_key="k", base_url=f"{base}/stream")
    shorts = made(api_key="k", base_url=f"{base}/short")
    asked = {"model": "gpt-5.4", "input": QUESTION}

    async def stream() -> int:
        return await _count(await streams.responses.create(**asked, stream=True))

    return Caller(stream, lambda: shorts.responses.create(**asked))


def google(base: str) -> Caller:
    """Return the google-genai SDK."""
    genai = import_module("google.genai")

    def to(kind: str) -> Any:
        options = genai.types.HttpOptions(base_url=f"{base}/{kind}")
        return genai.Client(api_key="k", http_options=options)

    streams, shorts = to("stream"), to("short")  # kept: one that is forgotten is closed
    asked = {"model": "gemini-3-flash-preview", "contents": QUESTION}

    async def stream() -> int:
        return await _count(await streams.aio.models.generate_content_stream(**asked))

    return Caller(stream, lambda: shorts.aio.models.generate_content(**asked))


def pydantic_ai(base: str) -> Caller:
    """Return pydantic-ai over the Messages API, called without an agent, which costs it less."""
    direct = import_module("pydantic_ai.direct")
    words = import_module("pydantic_ai.messages")
    model = import_module("pydantic_ai.models.anthropic").AnthropicModel
    provider = import_module("pydantic_ai.providers.anthropic").AnthropicProvider
    asked = [words.ModelRequest.user_text_prompt(QUESTION)]

    def to(kind: str) -> Any:
        made = provider(api_key="k", base_url=f"{base}/{kind}")
        return model("claude-opus-4-5", provider=made)

    streams, shorts = to("stream"), to("short")
    few: Json = {"max_tokens": 4096}  # where more may come, it streams what was to come whole

    async def stream() -> int:
        async with direct.model_request_stream(streams, asked, model_settings=few) as events:
            return await _count(events)

    return Caller(stream, lambda: direct.model_request(shorts, asked, model_settings=few))


def litellm(base: str) -> Caller:
    """Return litellm over the Messages API."""
    complete = import_module("litellm").acompletion
    asked = {"model": "anthropic/claude-opus-4-5", "messages": ASKED, "api_key": "k"}

    async def stream() -> int:
        return await _count(await complete(**asked, api_base=f"{base}/stream", stream=True))

    return Caller(stream, lambda: complete(**asked, api_base=f"{base}/short"))


LIBRARIES: dict[str, Callable[[str], Caller]] = {
    "anthropic": anthropic,
    "openai": openai,
    "google-genai": google,
    "pydantic-ai": pydantic_ai,
    "litellm": litellm,
}


async def _figures(library: str, base: str, rounds: int) -> Json:
    callers = {library: LIBRARIES[library](base)}
    return (await measured(callers, rounds=rounds, events=EVENTS))[library]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_figures(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
