"""The vendor's SDK with answers that the gateway keeps, on upstreams of several APIs."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.gateway.stored_world import BACKS, CALL, TOOL

from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.run import run_gateway_in_thread

PAGE = Path(__file__).parents[2] / "docs" / "gateway.md"
SOME = ["claude", "gemini", "deepseek", "openai"]


@pytest.fixture(scope="module")
def emulator() -> Emulator:
    return Emulator()


@pytest.fixture(scope="module")
def client(emulator: Emulator) -> Iterator[openai.OpenAI]:
    routes = tuple(GatewayRoute(match=name, to=(to,), retries=0) for name, to in BACKS.items())
    config = GatewayConfig(server=ServerConfig(port=0), routes=routes)
    with run_gateway_in_thread(config, transport=emulator) as url:
        found = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)
        with found:
            yield found


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("back", SOME)
def test_a_tool_loop_continues_by_the_id_of_the_answer(client, emulator, back, stream):
    tools: Any = [TOOL]

    def ask(**more: Any) -> Any:
        fields: Any = {"model": back, "tools": tools, "reasoning": {"effort": "high"}, **more}
        if not stream:
            return client.responses.create(**fields)
        with client.responses.stream(**fields) as events:
            return events.get_final_response()

    first = ask(input=CALL)
    call = next(item for item in first.output if item.type == "function_call")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "A grey owl."}
    second = ask(input=[result], previous_response_id=first.id)
    assert "A grey owl." in second.output_text
    assert second.previous_response_id == first.id
    third = ask(input="Thanks.", previous_response_id=second.id)
    assert third.output_text
    assert emulator.log.entries[-1].status == 200


@pytest.mark.parametrize("back", SOME)
def test_answers_are_fetched_listed_and_deleted(client, back):
    first = client.responses.create(model=back, input="My name is Ann.")
    second = client.responses.create(
        model=back,
        input=[{"role": "user", "content": f"line {number}"} for number in range(5)],
        previous_response_id=first.id,
    )
    assert client.responses.retrieve(second.id).output_text == second.output_text
    listed = list(client.responses.input_items.list(second.id, limit=2, order="asc"))
    texts = [item.content[0].text for item in listed if item.type == "message"]
    assert texts[0] == "My name is Ann."
    assert texts[-5:] == [f"line {number}" for number in range(5)]
    ids = [item.id for item in listed]
    assert len(set(ids)) == len(ids)
    client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(first.id)
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model=back, input="Who?", previous_response_id=second.id)
    assert caught.value.code == "previous_response_not_found"


@pytest.mark.parametrize("back", SOME)
def test_a_conversation_has_its_items_and_its_answers(client, back):
    message: Any = {"type": "message", "role": "user", "content": "My name is Ann."}
    made = client.conversations.create(items=[message], metadata={"topic": "names"})
    answer = client.responses.create(model=back, input="Who am I?", conversation=made.id)
    if back != "openai":  # which passes its own answer on
        assert answer.conversation is not None
        assert answer.conversation.id == made.id
    added = client.conversations.items.create(made.id, items=[message])
    assert added.data[0].type == "message"
    items = list(client.conversations.items.list(made.id, limit=2, order="asc"))
    assert len(items) >= 4
    item = items[0].id
    assert item is not None
    assert client.conversations.items.retrieve(item, conversation_id=made.id).id == item
    client.conversations.items.delete(item, conversation_id=made.id)
    left = list(client.conversations.items.list(made.id, order="asc"))
    assert [each.id for each in left] == [each.id for each in items[1:]]
    changed = client.conversations.update(made.id, metadata={"topic": "more"})
    assert changed.metadata == {"topic": "more"}
    assert client.conversations.retrieve(made.id) == changed
    assert client.conversations.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.conversations.retrieve(made.id)


@pytest.mark.parametrize("back", SOME)
def test_an_answer_in_the_background_is_polled_and_cancelled(client, back):
    begun = client.responses.create(model=back, input="What is 2+2?", background=True)
    assert begun.status == "queued"
    until = time.monotonic() + 60
    answer = begun
    while answer.status in ("queued", "in_progress") and time.monotonic() < until:
        answer = client.responses.retrieve(begun.id)
    assert answer.status == "completed"
    assert answer.output_text
    assert client.responses.cancel(begun.id).status == "completed"
    with pytest.raises(openai.BadRequestError):
        client.responses.cancel(client.responses.create(model=back, input="Hello?").id)


@pytest.mark.parametrize("back", SOME)
def test_a_stream_in_the_background_is_resumed(client, back):
    events = client.responses.create(model=back, input="Why?", background=True, stream=True)
    id, number = "", -1
    for event in events:
        if event.type == "response.created":
            id = event.response.id
        number = event.sequence_number
        if number == 3:
            events.close()
            break
    rest = list(client.responses.retrieve(id, stream=True, starting_after=number))
    assert [event.sequence_number for event in rest] == list(range(4, 4 + len(rest)))
    assert rest[-1].type == "response.completed"


@pytest.mark.parametrize("back", SOME)
def test_tokens_are_counted(client, back):
    first = client.responses.create(model=back, input="word " * 500)
    count = client.responses.input_tokens.count(
        model=back, input="Go on.", previous_response_id=first.id
    )
    assert count.object == "response.input_tokens"
    assert count.input_tokens > 500


def test_the_page_continues_an_answer_as_it_says(client):
    (block,) = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    for name in ("claude-opus-5", "gemini-3-flash-preview"):
        assert name in block
    shown = block.replace("claude-opus-5", "claude").replace("gemini-3-flash-preview", "gemini")
    shown = shown.replace("http://127.0.0.1:8787/v1", str(client.base_url))
    names: dict[str, Any] = {}
    exec(compile(shown, "gateway.md", "exec"), names)
    names["client"].close()
    listed = client.responses.input_items.list(names["second"].id)
    assert "My name is Ann." in str(list(listed))
