"""Turns and tools as spans."""

import gc
import sys
from pathlib import Path

import pytest
from tests.client.tracing.programs import (
    WEATHER,
    chat,
    get_weather,
    get_weather_badly,
    run,
)

import pondero
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn

pytest.importorskip("opentelemetry.sdk")
from opentelemetry import trace
from tests.client.tracing.judge import find_faults

pytestmark = pytest.mark.judge


@pytest.mark.parametrize("is_async", [False, True])
def test_a_turn_is_an_agent_with_its_exchanges_and_tools(is_async, observed):
    tracer = observed.traces.get_tracer("program")

    def get_weather_here(city: str) -> str:
        """Return the weather in a city."""
        with tracer.start_as_current_span("inside"):
            return f"{city}: sunny"

    async def get_weather_there(city: str) -> str:
        """Return the weather in a city."""
        with tracer.start_as_current_span("inside"):
            return f"{city}: sunny"

    async def act():
        client = pondero.AsyncClient(transport=Emulator())
        tools = [get_weather_there]
        return await pondero.AsyncChat("gpt-5.1/low", tools=tools, client=client).send(WEATHER)

    with tracer.start_as_current_span("program"):
        if is_async:
            run(act())
        else:
            client = pondero.Client(transport=Emulator())
            pondero.Chat("gpt-5.1/low", tools=[get_weather_here], client=client).send(WEATHER)
    names = {span.context.span_id: span.name.split(" ")[0] for span in observed.spans}
    parents = [
        (span.name.split(" ")[0], names[span.parent.span_id] if span.parent else None)
        for span in observed.spans
    ]
    assert parents == [
        ("chat", "invoke_agent"),
        *[("inside", "execute_tool"), ("execute_tool", "invoke_agent")],
        ("chat", "invoke_agent"),
        ("invoke_agent", "program"),
        ("program", None),
    ]
    (agent,) = observed.named("invoke_agent")
    chats = observed.named("chat gpt-5.1")
    for name in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
        assert agent.attributes[name] == sum(span.attributes[name] for span in chats)
    assert agent.attributes["gen_ai.response.finish_reasons"] == ("stop",)


def test_a_chat_without_tools_has_no_agent(observed):
    chat()()
    assert [span.name for span in observed.spans] == ["chat claude-opus-5"]


@pytest.mark.parametrize("close", [True, False])
def test_a_turn_left_early_ends_its_spans(close, observed):
    client = pondero.Client(transport=Emulator())
    turn = pondero.Chat("gpt-5.1/low", tools=[get_weather], client=client).stream(WEATHER)
    next(iter(turn))
    if close:
        turn.close()
    del turn
    gc.collect()
    assert [span.name for span in observed.spans] == ["chat gpt-5.1", "invoke_agent"]
    assert {span.status.status_code for span in observed.spans} == {trace.StatusCode.UNSET}


def test_a_tool_that_fails_says_how(observed):
    chat(get_weather_badly)()
    (span,) = observed.named("execute_tool get_weather_badly")
    assert span.attributes["error.type"] == "OSError"
    assert span.attributes["gen_ai.tool.description"] == "Return the weather in a city, or fail."
    assert span.attributes["gen_ai.tool.call.id"].startswith("toolu_")
    assert not span.events
    (agent,) = observed.named("invoke_agent")
    assert "error.type" not in agent.attributes  # the model was told, and answered


def test_a_tool_of_a_server_is_an_extension(observed):
    pytest.importorskip("mcp")
    script = [ScriptedCall("add", {"a": 1, "b": 2}), ScriptedCall("fail", {"why": "no"})]
    turns = [*(ScriptedTurn(tool_calls=(call,)) for call in script), ScriptedTurn(text="Done.")]
    client = pondero.Client(transport=Emulator(script=turns))
    program = str(Path(__file__).parents[1].joinpath("mcp_server.py"))
    server = {"name": "numbers", "command": sys.executable, "args": [program]}
    with pondero.Chat("gpt-5.1/low", mcp=[server], client=client) as chat:
        chat.send("Add.")
    add, failed = (span for span in observed.spans if span.name.startswith("execute_tool"))
    assert add.attributes["gen_ai.tool.type"] == "extension"
    assert find_faults(add, content=False) == []
    assert failed.attributes["error.type"] == "tool_error"


def test_a_call_that_was_not_allowed_did_not_run(observed):
    client = pondero.Client(transport=Emulator())
    tools = {"tools": [get_weather], "approve": lambda *_: False}
    pondero.Chat("claude-opus-5/low", client=client, **tools).send(WEATHER)
    assert [span.name.split(" ")[0] for span in observed.spans] == ["chat", "chat", "invoke_agent"]
