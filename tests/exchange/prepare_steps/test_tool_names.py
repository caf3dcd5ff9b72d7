"""Tools have names that the service takes, and calls come back under the tool's own."""

import pytest
from tests.exchange.sent_tools import sent_tools

import pondero
from pondero.canon import Message, Text, Tool, ToolCall, ToolChoice, ToolResult
from pondero.dialects import ToolRules
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.exchange.prepare_steps.tool_names import make_name

MODELS = (
    *("gpt-5.5", "openai-chat:gpt-5.1", "claude-opus-5", "bedrock:anthropic.claude-opus-5"),
    *("gemini-3-flash-preview", "cohere:command-a-03-2025", "groq:openai/gpt-oss-120b"),
    "google-interactions:gemini-3-flash-preview",
)
ODD = "my tool/" + "a" * 130
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}


def ask(model, *tools, prompt="Go.", calls=(), **options):
    script = [ScriptedTurn(tool_calls=calls)] if calls else []
    emulator = Emulator(script=script)
    reply = pondero.Client(transport=emulator).ask(model, prompt, tools=list(tools), **options)
    return reply, emulator.log.entries[-1].body


@pytest.mark.parametrize("model", MODELS)
def test_a_name_that_no_service_takes_goes_there_and_back(model):
    tool = Tool(ODD, "Looks.", SCHEMA)
    reply, body = ask(model, tool)
    [(name, _, _)] = sent_tools(body)
    assert name != ODD
    assert [
        (note.asked, note.got) for note in reply.adjustments if note.code == "tool_renamed"
    ] == [(ODD, name)]
    reply, _ = ask(model, tool, calls=(ScriptedCall(name, {"x": "1"}),))
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [(ODD, {"x": "1"})]


@pytest.mark.parametrize("model", MODELS)
def test_the_history_and_the_choice_follow_the_new_name(model):
    history = [
        Message("user", (Text("Look."),)),
        Message("assistant", (ToolCall("call_1", ODD, {"x": "1"}),)),
        Message("user", (ToolResult("call_1", (Text("seen"),), name=ODD),)),
    ]
    options = {"tool_choice": ToolChoice("tool", ODD)} if model not in _UNFORCED else {}
    reply, body = ask(model, Tool(ODD, "Looks.", SCHEMA), prompt=history, **options)
    assert reply.finish in ("stop", "tool_calls")
    assert ODD not in str(body)


_UNFORCED = ("claude-opus-5", "bedrock:anthropic.claude-opus-5")  # they think: none is forced


@pytest.mark.parametrize("model", ["claude-opus-5", "bedrock:anthropic.claude-opus-5"])
def test_a_past_call_is_renamed_though_its_tool_is_not_on_offer(model):
    history = [
        Message("user", (Text("Look."),)),
        Message("assistant", (ToolCall("call_1", "multi_tool_use.parallel", {"x": "1"}),)),
        Message("user", (ToolResult("call_1", (Text("seen"),)),)),
    ]
    _, body = ask(model, Tool("look", "Looks.", SCHEMA), prompt=history)
    assert "multi_tool_use_parallel" in str(body)
    assert "multi_tool_use.parallel" not in str(body)


def test_names_that_would_become_equal_stay_apart():
    tools = [Tool(name, "", SCHEMA) for name in ("a b", "a.b", "a_b", "a/b")]
    reply, body = ask("claude-opus-5", *tools)
    names = [name for name, _, _ in sent_tools(body)]
    assert len(set(names)) == 4
    assert names[2] == "a_b"
    calls = tuple(ScriptedCall(name, {"x": "1"}) for name in names)
    reply, _ = ask("claude-opus-5", *tools, calls=calls)
    assert [call.name for call in reply.tool_calls] == ["a b", "a.b", "a_b", "a/b"]


def test_a_name_that_is_taken_is_kept():
    reply, body = ask("gemini-3-flash-preview", Tool("maps.search:v1", "", SCHEMA))
    assert [name for name, _, _ in sent_tools(body)] == ["maps.search:v1"]
    assert reply.adjustments == ()


@pytest.mark.parametrize("name", ["", "ü", "1", "_" * 200, "-a"])
def test_every_name_becomes_one_that_the_rules_take(name):
    rules = ToolRules(name_begins="a-z_", name_letters="a-z0-9_", name_length=20)
    made = make_name(name, rules)
    assert 0 < len(made) <= 20
    assert made[0] in "abcdefghijklmnopqrstuvwxyz_"
    assert made == make_name(name, rules)
