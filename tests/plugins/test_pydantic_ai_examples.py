"""What pydantic-ai's own documentation shows, with our settings, at the emulator."""

import asyncio
import json
from dataclasses import dataclass

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelMessagesTypeAdapter, ModelRetry, RunContext
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai_pondero import settings

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
    "gemini-3-flash-preview": lambda url: GoogleModel(
        "gemini-3-flash-preview", provider=GoogleProvider(api_key="k", base_url=url)
    ),
}
SEALS = ('"signature"', '"thoughtSignature"', '"encrypted_content"', '"thought_signature"')


@pytest.fixture(scope="module")
def emulator():
    return Emulator()


@pytest.fixture(scope="module")
def url(emulator):
    with run_emulator_in_thread(emulator) as where:
        yield where


@pytest.fixture(params=MODELS)
def given(request, emulator, url):
    """Return the model and the settings of an agent, at the level high."""
    emulator.reset()
    made = settings(f"{request.param}/high", max_tokens=16000, tools=True)
    return {"model": MODELS[request.param](url), "model_settings": made}


def body(emulator, number):
    return json.dumps(emulator.log.entries[number].body)


def call(name, /, **arguments):
    return ScriptedTurn(thinking="Hm.", tool_calls=(ScriptedCall(name, arguments),))


def answer(**fields):
    """Answer in the shape that was asked for: with the tool of the answer, else in JSON."""

    def respond(accepted):
        tools = [tool.name for tool in accepted.request.tools if tool.name == "final_result"]
        turn = call(*tools, **fields) if tools else ScriptedTurn(text=json.dumps(fields))
        return turn(accepted)

    return respond


def test_hello_world(given, emulator):
    emulator.expect('The first known use of "hello, world" was in 1974.')
    agent = Agent(**given, instructions="Be concise, reply with one sentence.")
    assert "1974" in agent.run_sync('Where does "hello world" come from?').output
    assert "Be concise" in body(emulator, 0)


class Database:
    async def find_name(self, number):
        return "John" if number == 123 else None

    async def find_balance(self, number):
        return 123.45 if number == 123 else 0.0


@dataclass
class Support:
    customer: int
    database: Database


class Advice(BaseModel):
    support_advice: str = Field(description="Advice returned to the customer")
    block_card: bool = Field(description="Whether to block the customer's card")
    risk: int = Field(description="Risk level of query", ge=0, le=10)


def test_bank_support_has_dependencies_a_tool_and_a_structured_answer(given, emulator):
    agent = Agent(
        **given,
        deps_type=Support,
        output_type=Advice,
        instructions="You are a support agent in our bank; judge the risk of each query.",
    )

    @agent.instructions
    async def add_name(ctx: RunContext[Support]) -> str:
        return f"The customer's name is {await ctx.deps.database.find_name(ctx.deps.customer)!r}"

    @agent.tool
    async def customer_balance(ctx: RunContext[Support]) -> str:
        """Return the customer's current account balance."""
        return f"${await ctx.deps.database.find_balance(ctx.deps.customer):.2f}"

    said = {"support_advice": "Hello John, it is $123.45.", "block_card": False, "risk": 1}
    emulator.expect(call("customer_balance"), answer(**said))
    result = agent.run_sync("What is my balance?", deps=Support(123, Database()))
    assert result.output == Advice(**said)
    assert "The customer's name is 'John'" in body(emulator, 0)
    assert "$123.45" in body(emulator, 1)
    assert any(seal in body(emulator, 1) for seal in SEALS), "the proof of thought went back"
    lost = {"support_advice": "We block your card.", "block_card": True, "risk": 8}
    emulator.expect(answer(**lost))
    deps = Support(123, Database())
    assert agent.run_sync("I just lost my card!", deps=deps).output.block_card


def test_a_structured_answer_that_is_wrong_is_asked_for_again(given, emulator):
    agent = Agent(**given, output_type=Advice)
    wrong = {"support_advice": "Calm down.", "block_card": False, "risk": 99}
    emulator.expect(answer(**wrong), answer(**{**wrong, "risk": 9}))
    assert agent.run_sync("Help!").output.risk == 9
    assert len(emulator.log.entries) == 2


def test_a_tool_that_asks_the_model_to_try_again(given, emulator):
    agent = Agent(**given)

    @agent.tool_plain(retries=2)
    def get_user(name: str) -> int:
        """Return a user's number by the full name."""
        if name != "John Doe":
            raise ModelRetry(f"No user {name!r}; give the full name")
        return 123

    emulator.expect(call("get_user", name="John"), call("get_user", name="John Doe"), "He is 123.")
    assert agent.run_sync("Who is John?").output == "He is 123."
    assert "give the full name" in body(emulator, 1)


def test_a_stream_of_text_and_a_stream_of_a_structured_answer(given, emulator):
    async def read():
        emulator.expect("The answer is 391.")
        async with Agent(**given).run_stream("What is 17 * 23?") as result:
            pieces = [text async for text in result.stream_text(delta=True)]
        emulator.expect(answer(support_advice="Wait.", block_card=False, risk=2))
        async with Agent(**given, output_type=Advice).run_stream("Help!") as result:
            last = [each async for each in result.stream_output(debounce_by=None)][-1]
        return "".join(pieces), last

    text, last = asyncio.run(read())
    assert text == "The answer is 391."
    assert last == Advice(support_advice="Wait.", block_card=False, risk=2)


def test_events_of_a_run_show_the_thinking(given, emulator):
    async def read():
        emulator.expect(ScriptedTurn(thinking="First, seventeen.", text="391"))
        agent = Agent(**given)
        async with agent.iter("What is 17 * 23?") as run:
            async for _ in run:
                pass
        return run.result

    result = asyncio.run(read())
    assert result.output == "391"
    kinds = [part.part_kind for message in result.all_messages() for part in message.parts]
    assert "thinking" in kinds


def test_a_history_goes_on_also_from_json(given, emulator):
    agent = Agent(**given)
    first = agent.run_sync("What is 17 * 23?")
    kept = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())
    second = agent.run_sync("And what is 391 - 1?", message_history=kept)
    assert second.output == "391 - 1 = 390"
    assert any(seal in body(emulator, 1) for seal in SEALS)
    assert [len(first.new_messages()), len(second.all_messages())] == [2, 4]
    assert second.usage.output_tokens > 0
