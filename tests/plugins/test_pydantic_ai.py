"""The settings for pydantic-ai, sent by the real one to the emulator over HTTP."""

import json

import pytest

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.bedrock import BedrockConverseModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.groq import GroqModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.bedrock import BedrockProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.groq import GroqProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai_pondero import settings
from tests.plugins.fields import within

import pondero
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn, run_emulator_in_thread

pytestmark = [pytest.mark.judge, pytest.mark.filterwarnings("ignore")]
MODELS = {
    "claude-opus-5": lambda url: AnthropicModel(
        "claude-opus-5", provider=AnthropicProvider(api_key="k", base_url=url)
    ),
    "claude-sonnet-4-5": lambda url: AnthropicModel(
        "claude-sonnet-4-5", provider=AnthropicProvider(api_key="k", base_url=url)
    ),
    "gpt-5.5": lambda url: OpenAIResponsesModel(
        "gpt-5.5", provider=OpenAIProvider(api_key="k", base_url=f"{url}/v1")
    ),
    "openai-chat:gpt-5.5": lambda url: OpenAIChatModel(
        "gpt-5.5", provider=OpenAIProvider(api_key="k", base_url=f"{url}/v1")
    ),
    "groq:openai/gpt-oss-120b": lambda url: GroqModel(
        "openai/gpt-oss-120b", provider=GroqProvider(api_key="k", base_url=f"{url}/groq")
    ),
    "gemini-2.5-pro": lambda url: GoogleModel(
        "gemini-2.5-pro", provider=GoogleProvider(api_key="k", base_url=url)
    ),
    "gemini-3-flash-preview": lambda url: GoogleModel(
        "gemini-3-flash-preview", provider=GoogleProvider(api_key="k", base_url=url)
    ),
    "bedrock:us.anthropic.claude-opus-5": lambda url: BedrockConverseModel(
        "us.anthropic.claude-opus-5",
        provider=BedrockProvider(api_key="k", base_url=url, region_name="us-east-1"),
    ),
    "bedrock:us.anthropic.claude-opus-4-20250514-v1:0": lambda url: BedrockConverseModel(
        "us.anthropic.claude-opus-4-20250514-v1:0",
        provider=BedrockProvider(api_key="k", base_url=url, region_name="us-east-1"),
    ),
}

SHAPED = ["claude-opus-5", "claude-sonnet-4-5", "gpt-5.5", "openai-chat:gpt-5.5"]
SHAPED += ["gemini-2.5-pro", "gemini-3-flash-preview", "groq:openai/gpt-oss-120b"]
SHAPED += ["bedrock:us.anthropic.claude-opus-4-20250514-v1:0", "bedrock:us.anthropic.claude-opus-5"]
OLDER = SHAPED[-2]  # pydantic-ai sends it no schema, and says so


@pytest.fixture(scope="module")
def emulator():
    return Emulator()


@pytest.fixture(scope="module")
def url(emulator):
    with run_emulator_in_thread(emulator) as where:
        yield where


@pytest.fixture(autouse=True)
def _fresh(emulator, monkeypatch):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    emulator.reset()


@pytest.mark.parametrize("level", ["off", "high", 6000])
@pytest.mark.parametrize("name", MODELS)
def test_a_plan_arrives_as_it_was_planned(emulator, url, name, level):
    asked = {"max_tokens": 16000, "temperature": 0.5}
    made = settings(name, level, **asked)
    answer = Agent(MODELS[name](url)).run_sync("What is 17 * 23?", model_settings=made)
    assert "391" in answer.output
    (entry,) = emulator.log.entries
    plan = pondero.plan(name, level, **asked)
    assert within(plan.fields, entry.body), json.dumps(entry.body)
    if "temperature" in plan.dropped:
        assert "temperature" not in json.dumps(entry.body)


def test_headers_that_a_plan_needs_go_along(emulator, url):
    made = settings("claude-sonnet-4-5", "high", tools=True, max_tokens=16000)
    agent = Agent(MODELS["claude-sonnet-4-5"](url), model_settings=made)

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """Return the weather in a city."""
        return f"{city}: sunny"

    assert "sunny" in agent.run_sync("What is the weather in Paris?").output
    first, second = emulator.log.entries
    assert "interleaved-thinking" in first.headers["anthropic-beta"]
    assert '"signature"' in json.dumps(second.body)


class City(BaseModel):
    """A city."""

    city_name: str


SHAPES = {
    "native": NativeOutput,
    "tool": ToolOutput,
    "prompted": PromptedOutput,
    "default": lambda each: each,
}


def name_a_city(accepted):
    """Answer as a model does: with the tool for the answer if there is one, else in JSON."""
    if tools := accepted.request.tools:
        call = ScriptedCall(tools[0].name, {"city_name": "Paris"})
        return ScriptedTurn(tool_calls=(call,))(accepted)
    return ScriptedTurn(text='{"city_name": "Paris"}')(accepted)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("level", ["off", "high", 6000])
@pytest.mark.parametrize("name", SHAPED)
def test_a_level_and_the_schema_of_the_answer_arrive_together(emulator, url, name, level, shape):
    """The emulator refuses a forced tool beside thinking, as the services do: nothing may clash."""
    if (name, shape) == (OLDER, "native"):
        pytest.skip("pydantic-ai has no native output for this model")
    asked = {"max_tokens": 16000, "tools": shape in ("tool", "default")}
    made = settings(name, level, **asked)
    agent = Agent(MODELS[name](url), output_type=SHAPES[shape](City), model_settings=made)
    emulator.expect(name_a_city)
    assert agent.run_sync("Which city is the largest?").output == City(city_name="Paris")
    (entry,) = emulator.log.entries
    assert within(pondero.plan(name, level, **asked).fields, entry.body), entry.body
    assert "city_name" in json.dumps(entry.body)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_without_a_level_keeps_its_own(emulator, url, name):
    assert (
        "391" in Agent(MODELS[name](url)).run_sync("17 * 23?", model_settings=settings(name)).output
    )


@pytest.mark.parametrize("name", [entry.id for entry in pondero.models("anthropic")])
def test_pydantic_ai_sends_every_level_of_every_claude_unchanged(emulator, url, name):
    """Its own checks of a setting agree with the plans."""
    bare = name.partition(":")[2]
    provider = AnthropicProvider(api_key="k", base_url=url)
    for plan in pondero.levels(name):
        made = settings(name, plan.level, max_tokens=16000)
        Agent(AnthropicModel(bare, provider=provider)).run_sync("Hello", model_settings=made)
        fields = pondero.plan(name, plan.level, max_tokens=16000).fields
        assert within(fields, emulator.log.entries[-1].body)


def test_claude_gets_its_schema_and_its_effort_in_one_field(emulator, url):
    made = settings("claude-opus-5", "high")
    agent = Agent(MODELS["claude-opus-5"](url), output_type=NativeOutput(City))
    agent.run_sync("Which city is the largest?", model_settings=made)
    (entry,) = emulator.log.entries
    assert entry.body["output_config"]["format"]["type"] == "json_schema"
    assert entry.body["output_config"]["effort"] == "high"


@pytest.mark.parametrize("name", ["cohere:command-a-reasoning-08-2025", "ollama:qwen3"])
def test_a_wire_that_pydantic_ai_cannot_send_is_refused_in_words(name):
    with pytest.raises(pondero.UsageError, match="extra_body"):
        settings(name, "high")
