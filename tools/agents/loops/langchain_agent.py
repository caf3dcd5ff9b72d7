"""One tool loop and one more turn with LangChain; gateway and model are in variables."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from langchain.agents import create_agent

ENV = os.environ
URL, KEY, MODEL = ENV["URL_OF_GATEWAY"], ENV["KEY"], ENV["MODEL"]
BUDGET = {"type": "enabled", "budget_tokens": 4000}
THINKING = {"type": "adaptive"} if MODEL == "claude-opus-5" else BUDGET


def read_note(name: str) -> str:
    """Read a note."""
    return Path(ENV["NOTE"]).read_text("utf-8")


def _make_openai(*, responses: bool) -> Any:
    from langchain_openai import ChatOpenAI

    depth = {"reasoning": {"effort": "high"}} if responses else {"reasoning_effort": "high"}
    return ChatOpenAI(
        model=MODEL,
        base_url=f"{URL}/v1",
        api_key=KEY,
        max_retries=0,
        use_responses_api=responses,
        **depth,
    )


def _make_anthropic() -> Any:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(
        model=MODEL, base_url=URL, api_key=KEY, max_retries=0, max_tokens=9000, thinking=THINKING
    )


def _make_google() -> Any:
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(
        model=MODEL,
        base_url=URL,
        api_key=KEY,
        max_retries=1,
        thinking_budget=4000,
        include_thoughts=True,
    )


def _make_bedrock() -> Any:
    from langchain_aws import ChatBedrockConverse

    return ChatBedrockConverse(
        model=MODEL,
        provider="anthropic",
        base_url=URL,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key="any",
        max_tokens=9000,
        additional_model_request_fields={"thinking": THINKING},
    )


MODELS: Mapping[str, Callable[[], Any]] = {
    "responses": lambda: _make_openai(responses=True),
    "chat": lambda: _make_openai(responses=False),
    "messages": _make_anthropic,
    "gemini": _make_google,
    "converse": _make_bedrock,
}


def main() -> None:
    """Ask twice, the second time after the first answer."""
    agent = create_agent(
        MODELS[ENV["FRONT"]](), [read_note], system_prompt="You are a careful reader."
    )
    messages: list[Any] = []
    for said in (ENV["ASK"], ENV["SUM"]):
        messages = agent.invoke({"messages": [*messages, {"role": "user", "content": said}]})[
            "messages"
        ]
        print(messages[-1].text)


main()
