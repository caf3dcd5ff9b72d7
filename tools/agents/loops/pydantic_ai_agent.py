"""One tool loop and one more turn with pydantic-ai; gateway and model are in variables."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic_ai import Agent

ENV = os.environ
URL, KEY, MODEL = ENV["URL_OF_GATEWAY"], ENV["KEY"], ENV["MODEL"]
BUDGET = {"type": "enabled", "budget_tokens": 4000}
THINKING = {"type": "adaptive"} if MODEL == "claude-opus-5" else BUDGET


def read_note(name: str) -> str:
    """Read a note."""
    return Path(ENV["NOTE"]).read_text("utf-8")


def _make_responses() -> tuple[Any, Mapping[str, Any]]:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)
    return OpenAIResponsesModel(MODEL, provider=provider), {"openai_reasoning_effort": "high"}


def _make_chat() -> tuple[Any, Mapping[str, Any]]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)
    return OpenAIChatModel(MODEL, provider=provider), {"openai_reasoning_effort": "high"}


def _make_anthropic() -> tuple[Any, Mapping[str, Any]]:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    model = AnthropicModel(MODEL, provider=AnthropicProvider(base_url=URL, api_key=KEY))
    return model, {"anthropic_thinking": THINKING, "max_tokens": 9000}


def _make_google() -> tuple[Any, Mapping[str, Any]]:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    depth = {"thinking_budget": 4000, "include_thoughts": True}
    model = GoogleModel(MODEL, provider=GoogleProvider(base_url=URL, api_key=KEY))
    return model, {"google_thinking_config": depth}


def _make_bedrock() -> tuple[Any, Mapping[str, Any]]:
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    provider = BedrockProvider(
        base_url=URL,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key="any",
    )
    more = {"thinking": THINKING}
    settings = {"bedrock_additional_model_requests_fields": more, "max_tokens": 9000}
    return BedrockConverseModel(MODEL, provider=provider), settings


MODELS: Mapping[str, Callable[[], tuple[Any, Mapping[str, Any]]]] = {
    "responses": _make_responses,
    "chat": _make_chat,
    "messages": _make_anthropic,
    "gemini": _make_google,
    "converse": _make_bedrock,
}


def main() -> None:
    """Ask twice, the second time after the first answer."""
    model, settings = MODELS[ENV["FRONT"]]()
    agent: Any = Agent(
        model,
        instructions="You are a careful reader.",
        tools=[read_note],
        model_settings=settings,
        retries=0,
    )
    first = agent.run_sync(ENV["ASK"])
    print(first.output)
    print(agent.run_sync(ENV["SUM"], message_history=first.all_messages()).output)


main()
