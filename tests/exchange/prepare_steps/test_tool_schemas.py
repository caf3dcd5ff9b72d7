"""Schemas of tools are fitted to each service: enforced where they can be, and never emptied."""

import pytest
from jsonschema import Draft202012Validator
from tests.exchange.sent_tools import sent_tools

import pondero
from pondero.canon import Message, Text, Tool, ToolCall, ToolResult
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn

CLAUDES = ("claude-opus-5", "bedrock:anthropic.claude-opus-5")
OPENAI = ("gpt-5.5", "openai-chat:gpt-5.1")
OTHERS = ("cohere:command-a-03-2025", "ollama:qwen3", "groq:openai/gpt-oss-120b")
A = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
B = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}
UNION = {"anyOf": [A, B]}
OPTIONAL = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["x"],
    "additionalProperties": False,
}
FREE = {
    "type": "object",
    "properties": {"scores": {"type": "object", "additionalProperties": {"type": "number"}}},
    "required": ["scores"],
}
TREE = {
    "type": "object",
    "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["kids"],
    "additionalProperties": False,
}


def ask(model, *tools, prompt="Go.", calls=()):
    emulator = Emulator(script=[ScriptedTurn(tool_calls=calls)] if calls else [])
    reply = pondero.Client(transport=emulator).ask(model, prompt, tools=list(tools))
    return reply, emulator.log.entries[-1].body


def codes(reply):
    return [note.code for note in reply.adjustments]


@pytest.mark.parametrize("model", OPENAI)
def test_an_optional_key_of_a_strict_tool_may_be_null_and_is_left_out_again(model):
    tool = Tool("f", "", OPTIONAL, strict=True)
    _, body = ask(model, tool)
    [(_, schema, strict)] = sent_tools(body)
    assert strict is True
    assert sorted(schema["required"]) == ["note", "x"]
    reply, _ = ask(model, tool, calls=(ScriptedCall("f", {"x": 1, "note": None}),))
    assert reply.tool_calls[0].arguments == {"x": 1}


@pytest.mark.parametrize("model", [*CLAUDES, *OPENAI])
def test_a_free_object_is_sent_as_it_is_and_not_enforced(model):
    reply, body = ask(model, Tool("f", "", FREE, strict=True))
    [(_, schema, strict)] = sent_tools(body)
    assert schema == FREE
    assert not strict
    assert codes(reply) == ["dropped_parameter"]


@pytest.mark.parametrize("model", CLAUDES)
@pytest.mark.parametrize(
    ("tools", "most"),
    [
        ([Tool("f", "", TREE, strict=True)], 0),
        ([Tool(f"f{n}", "", {**A, "additionalProperties": False}, True) for n in range(25)], 20),
        (
            [
                Tool(
                    f"f{n}",
                    "",
                    {
                        "type": "object",
                        "properties": {f"k{k}": {"type": ["string", "null"]} for k in range(10)},
                        "required": [f"k{k}" for k in range(10)],
                        "additionalProperties": False,
                    },
                    True,
                )
                for n in range(2)
            ],
            1,
        ),
    ],
)
def test_claude_enforces_only_what_it_can(model, tools, most):
    reply, body = ask(model, *tools)
    sent = sent_tools(body)
    assert len(sent) == len(tools)
    assert sum(bool(strict) for *_, strict in sent) == most
    assert codes(reply) == ["dropped_parameter"] * (len(tools) - most)


@pytest.mark.parametrize("model", [*CLAUDES, *OPENAI, *OTHERS])
@pytest.mark.parametrize("strict", [None, True])
def test_a_union_at_the_root_is_wrapped_and_its_calls_are_not(model, strict):
    tool = Tool("f", "", UNION, strict)
    reply, body = ask(model, tool)
    [(_, schema, _)] = sent_tools(body)
    assert schema["type"] == "object"
    assert Draft202012Validator(schema).is_valid({"result": {"a": "x"}})
    assert "tool_adjusted" in codes(reply)
    reply, _ = ask(model, tool, calls=(ScriptedCall("f", {"result": {"b": 1}}),))
    assert reply.tool_calls[0].arguments == {"b": 1}


def test_an_earlier_call_of_a_wrapped_tool_is_wrapped():
    history = [
        Message("user", (Text("Go."),)),
        Message("assistant", (ToolCall("call_1", "f", {"b": 1}),)),
        Message("user", (ToolResult("call_1", (Text("done"),)),)),
    ]
    _, body = ask("claude-opus-5", Tool("f", "", UNION), prompt=history)
    assert body["messages"][1]["content"][0]["input"] == {"result": {"b": 1}}


def test_a_stream_shows_the_arguments_without_the_wrapper():
    script = [ScriptedTurn(tool_calls=(ScriptedCall("f", {"result": {"b": 1}}),))]
    client = pondero.Client(transport=Emulator(script=script))
    stream = client.stream("claude-opus-5", "Go.", tools=[Tool("f", "", UNION)])
    pieces = [event.json for event in stream if isinstance(event, pondero.canon.ToolDelta)]
    assert "".join(pieces).replace(" ", "") == '{"b":1}'


@pytest.mark.parametrize("model", [*CLAUDES, *OPENAI])
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/A", "$defs": {"A": A}},
        {"allOf": [A, B]},
        {"type": ["object", "null"], **{key: A[key] for key in ("properties", "required")}},
        {"properties": A["properties"]},
        {},
    ],
)
def test_a_root_that_means_an_object_is_written_as_one(model, schema):
    reply, body = ask(model, Tool("f", "", schema))
    [(_, sent, _)] = sent_tools(body)
    assert sent["type"] == "object"
    assert sent.get("properties", {}).keys() == (
        {"a", "b"} if "allOf" in schema else {"a"} if schema else set()
    )
    completed = model in OPENAI and not schema
    assert codes(reply) == (["tool_adjusted"] if completed else [])


ARRAYS = {
    "type": "object",
    "properties": {
        "a": {"type": "array"},
        "b": {"type": ["array", "null"]},
        "c": {"anyOf": [{"type": "array"}, {"type": "null"}]},
        "d": {"type": "array", "items": {"type": "array"}},
        "e": {"type": "object", "additionalProperties": {"type": "array"}},
        "type": {"type": "string", "default": {"type": "array"}},
    },
}


@pytest.mark.parametrize("model", OPENAI)
def test_an_array_without_items_gets_any_items_at_openai(model):
    reply, body = ask(model, Tool("f", "", ARRAYS))
    [(_, sent, _)] = sent_tools(body)
    array = {"type": "array", "items": {}}
    assert sent["properties"] == {
        "a": array,
        "b": {"type": ["array", "null"], "items": {}},
        "c": {"anyOf": [array, {"type": "null"}]},
        "d": {"type": "array", "items": array},
        "e": {"type": "object", "additionalProperties": array},
        "type": {"type": "string", "default": {"type": "array"}},
    }
    assert codes(reply) == ["tool_adjusted"]


@pytest.mark.parametrize("model", OPENAI)
def test_a_tool_without_arguments_lists_none_at_openai(model):
    reply, body = ask(model, Tool("f", "", {"type": "object"}))
    [(_, sent, _)] = sent_tools(body)
    assert sent == {"type": "object", "properties": {}}
    assert codes(reply) == ["tool_adjusted"]


def test_a_tool_without_arguments_stays_enforced():
    empty = {"type": "object", "properties": {}}
    reply, body = ask("claude-opus-5", Tool("f", "", empty, strict=True))
    [(_, schema, strict)] = sent_tools(body)
    assert (strict, schema["additionalProperties"]) == (True, False)
    assert codes(reply) == []


@pytest.mark.parametrize("model", ["gemini-3-flash-preview", "ollama:qwen3"])
def test_a_service_that_enforces_no_schema_says_so(model):
    reply, body = ask(model, Tool("f", "", OPTIONAL, strict=True))
    assert [schema["required"] for _, schema, _ in sent_tools(body)] == [["x"]]
    assert codes(reply) == ["dropped_parameter"]
