"""Google's own SDK at the emulator and through the gateway: whole, streamed, stored, deleted."""

import asyncio

import pytest
from google import genai
from google.genai import types
from google.genai._gaos.lib.compat_errors import BadRequestError, NotFoundError

from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.run import run_gateway_in_thread

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

MODEL = "gemini-3-flash-preview"
SHOWN = {"thinking_level": "low", "thinking_summaries": "auto"}
SUM, ANSWER = "What is 17 * 23?", "17 * 23 = 391"
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Tells the weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
QUESTION = "What is the weather in Bern?"


@pytest.fixture(params=["emulator", "gateway"])
def url(request):
    if request.param == "emulator":
        with run_emulator_in_thread(Emulator()) as where:
            yield where
        return
    route = GatewayRoute(match="*", to=(f"google-interactions:{MODEL}",), retries=0)
    config = GatewayConfig(ServerConfig(port=0), (route,))
    with run_gateway_in_thread(config, transport=Emulator()) as where:
        yield where


@pytest.fixture(params=["v1", "v1beta"])
def client(url, request):
    options = types.HttpOptions(base_url=url, api_version=request.param)
    return genai.Client(api_key="k", http_options=options)


def summary_of(step):
    return "".join(content.text for content in step.summary or ())


def test_an_answer_has_its_thought_its_text_and_its_counts(client):
    got = client.interactions.create(model=MODEL, input=SUM, generation_config=SHOWN)
    assert (got.status, got.output_text) == ("completed", ANSWER)
    assert got.id.startswith("v1_")
    thought, said = got.steps
    assert (thought.type, said.type) == ("thought", "model_output")
    assert thought.signature
    assert summary_of(thought)
    used = got.usage
    parts = (used.total_input_tokens, used.total_output_tokens, used.total_thought_tokens)
    assert sum(parts) == used.total_tokens


def test_without_summaries_the_thought_has_only_its_signature(client):
    got = client.interactions.create(model=MODEL, input=SUM)
    assert got.steps[0].signature
    assert not got.steps[0].summary


def test_what_is_not_stored_has_no_id(client):
    assert not client.interactions.create(model=MODEL, input=SUM, store=False).id


def test_a_stream_says_the_same_event_by_event(client):
    events = list(
        client.interactions.create(model=MODEL, input=SUM, generation_config=SHOWN, stream=True)
    )
    kinds = [event.event_type for event in events]
    assert kinds[:3] == ["interaction.created", "interaction.status_update", "step.start"]
    assert kinds[-1] == "interaction.completed"
    deltas = [event.delta for event in events if event.event_type == "step.delta"]
    assert "".join(each.text for each in deltas if each.type == "text") == ANSWER
    assert [each.type for each in deltas if each.type == "thought_signature"]
    assert events[-1].interaction.usage.total_tokens


def test_asyncio_reads_the_same_stream(client):
    async def read():
        stream = await client.aio.interactions.create(model=MODEL, input=SUM, stream=True)
        return [event.event_type async for event in stream]

    assert asyncio.run(read())[-1] == "interaction.completed"


@pytest.mark.parametrize("stored", [True, False])
def test_a_tool_loop_goes_on_stateful_and_stateless(client, stored):
    asked = client.interactions.create(
        model=MODEL, input=QUESTION, tools=[WEATHER], store=stored, generation_config=SHOWN
    )
    assert asked.status == "requires_action"
    call = asked.steps[-1]
    assert (call.type, call.name, call.arguments) == (
        "function_call",
        "get_weather",
        {"city": "Bern"},
    )
    result = {"type": "function_result", "call_id": call.id, "name": call.name, "result": "sunny"}
    if stored:
        more = {"input": [result], "previous_interaction_id": asked.id}
    else:
        first = {"type": "user_input", "content": [{"type": "text", "text": QUESTION}]}
        steps = [step.model_dump(exclude_none=True) for step in asked.steps]
        more = {"input": [first, *steps, result], "store": False}
    got = client.interactions.create(model=MODEL, tools=[WEATHER], **more)
    assert got.status == "completed"
    assert "sunny" in got.output_text


def test_a_streamed_call_has_whole_arguments(client):
    events = list(
        client.interactions.create(model=MODEL, input=QUESTION, tools=[WEATHER], stream=True)
    )
    pieces = [event.delta for event in events if event.event_type == "step.delta"]
    written = "".join(each.arguments for each in pieces if each.type == "arguments_delta")
    assert written == '{"city":"Bern"}'
    assert events[-1].interaction.status == "requires_action"


EMULATED = pytest.mark.parametrize("url", ["emulator"], indirect=True)
GATEWAY = pytest.mark.parametrize("url", ["gateway"], indirect=True)


@GATEWAY
def test_the_gateway_puts_a_dropped_thought_back(client):
    asked = client.interactions.create(model=MODEL, input=QUESTION, tools=[WEATHER], store=False)
    first = {"type": "user_input", "content": [{"type": "text", "text": QUESTION}]}
    call = asked.steps[-1].model_dump(exclude_none=True)
    result = {"type": "function_result", "call_id": call["id"], "result": "sunny"}
    got = client.interactions.create(model=MODEL, input=[first, call, result], store=False)
    assert "sunny" in got.output_text


@EMULATED
def test_a_dropped_thought_is_rejected(client):
    asked = client.interactions.create(model=MODEL, input=QUESTION, tools=[WEATHER], store=False)
    first = {"type": "user_input", "content": [{"type": "text", "text": QUESTION}]}
    call = asked.steps[-1].model_dump(exclude_none=True)
    result = {"type": "function_result", "call_id": call["id"], "result": "sunny"}
    with pytest.raises(BadRequestError, match="thought_signature"):
        client.interactions.create(model=MODEL, input=[first, call, result], store=False)


def test_a_conversation_goes_on_by_id_and_is_deleted(client):
    first = client.interactions.create(model=MODEL, input="My name is Ada.")
    second = client.interactions.create(
        model=MODEL, input="What is my name?", previous_interaction_id=first.id
    )
    assert second.id != first.id
    fetched = client.interactions.get(second.id)
    assert fetched.steps[0].type == "user_input"
    assert fetched.output_text == second.output_text
    client.interactions.delete(second.id)
    with pytest.raises(NotFoundError):
        client.interactions.get(second.id)
    with pytest.raises(NotFoundError):
        client.interactions.create(model=MODEL, input="hi", previous_interaction_id=second.id)


def test_an_answer_in_the_background_is_fetched_later(client):
    made = client.interactions.create(model=MODEL, input=SUM, background=True)
    assert made.status == "in_progress"
    looks = [client.interactions.get(made.id) for _ in range(2)]
    assert [look.status for look in looks] == ["in_progress", "completed"]
    assert looks[-1].output_text == ANSWER


def test_an_answer_in_the_background_is_cancelled(client):
    made = client.interactions.create(model=MODEL, input=SUM, background=True)
    assert client.interactions.cancel(made.id).status == "cancelled"
    assert client.interactions.get(made.id).status == "cancelled"


def test_a_stored_stream_goes_on_after_the_last_event_that_was_seen(client):
    made = client.interactions.create(model=MODEL, input=SUM, generation_config=SHOWN)
    events = list(client.interactions.get(made.id, stream=True))
    seen = len(events) // 2
    rest = list(
        client.interactions.get(made.id, stream=True, last_event_id=events[seen - 1].event_id)
    )
    assert [event.event_id for event in rest] == [event.event_id for event in events[seen:]]
    assert rest[-1].event_type == "interaction.completed"


@EMULATED  # the gateway reads a budget and any case of a level as they are meant
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"generation_config": {"thinking_budget": 1024}}, "Unknown parameter 'thinking_budget'"),
        ({"generation_config": {"thinking_level": "HIGH"}}, "Invalid enum value 'HIGH'"),
        ({"response_mime_type": "application/json"}, "Unknown parameter 'response_mime_type'"),
        ({"cached_content": "c"}, "Unknown parameter 'cached_content'"),
        ({"background": True, "store": False}, "'background' requires 'store'"),
    ],
)
def test_what_the_service_rejects_reaches_the_program_as_its_error(client, fields, words):
    with pytest.raises(BadRequestError, match=words):
        client.interactions.create(model=MODEL, input="hi", **fields)
