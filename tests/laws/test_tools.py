"""Any tools on any wire: the service accepts them, and calls come back as the tools have them.

The emulator judges what is sent; jsonschema judges what comes back.
"""

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.exchange.sent_tools import sent_tools

import pondero
from pondero.canon import Message, Text, Tool, ToolCall, ToolResult
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn

MODELS = (
    *("gpt-5.5", "openai-chat:gpt-5.1", "claude-opus-5", "bedrock:anthropic.claude-opus-5"),
    *("gemini-3-flash-preview", "cohere:command-a-03-2025", "ollama:qwen3"),
    *("groq:openai/gpt-oss-120b", "mistral:mistral-large-latest", "deepseek:deepseek-v4-flash"),
)
INTEGER = {"type": "integer"}
names = st.one_of(
    st.sampled_from(["look", "a b", "a.b", "a_b", "1-f", "multi_tool_use.parallel", "x" * 150]),
    st.text("aZ0_-.:/ ü", min_size=1, max_size=70),
)
leaves = st.sampled_from(
    [
        ({"type": "string"}, "a"),
        ({"type": "integer", "minimum": 0}, 3),
        ({"type": ["number", "null"]}, None),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 7),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"k": 1.5}),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["a", "b"]),
        ({"enum": ["x", "y"]}, "x"),
    ]
)


@st.composite
def objects(draw, inner):
    """Return a schema of an object, some of whose keys are optional, and a value of it."""
    keys = draw(st.lists(inner, max_size=3))
    key = draw(st.sampled_from(["k", "k", "ü ", "$", "k" * 65]))
    required = [f"{key}{n}" for n in range(len(keys)) if draw(st.booleans())]
    schema = {
        "type": "object",
        "properties": {f"{key}{n}": each for n, (each, _) in enumerate(keys)},
        "required": required,
    }
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    value = {
        f"{key}{n}": each
        for n, (_, each) in enumerate(keys)
        if f"{key}{n}" in required or draw(st.booleans())
    }
    return schema, value


@st.composite
def roots(draw):
    """Return a schema of arguments, as frameworks write them, and a value of it."""
    schema, value = draw(objects(leaves | objects(leaves)))
    match draw(st.sampled_from(["plain", "plain", "union", "reference", "all", "bare"])):
        case "union":
            return {"anyOf": [schema, {"type": "object", "properties": {"other": INTEGER}}]}, value
        case "reference":
            return {"$ref": "#/$defs/Root", "$defs": {"Root": schema}}, value
        case "all":
            return {"allOf": [schema]}, value
        case "bare":
            return {key: schema[key] for key in schema if key != "type"}, value
    return schema, value


tools = st.lists(
    st.tuples(names, roots(), st.sampled_from([None, False, True])),
    min_size=1,
    max_size=4,
    unique_by=lambda each: each[0],
)


@given(st.sampled_from(MODELS), tools)
def test_any_tools_are_accepted_and_their_calls_come_back(model, offered):
    given_tools = [Tool(name, "Does it.", root, strict) for name, (root, _), strict in offered]
    asker = Emulator()
    pondero.Client(transport=asker).ask(model, "Hello.", tools=given_tools)
    sent = sent_tools(asker.log.entries[-1].body)
    assert len(sent) == len(offered)
    calls = []
    for (name, schema, _), (_, (root, value), _) in zip(sent, offered, strict=True):
        wrapped = list(schema.get("properties", {})) == ["result"]
        written = _fill(schema, {"result": value} if wrapped else value)
        assert list(Draft202012Validator(schema).iter_errors(written)) == [], (schema, written)
        assert list(Draft202012Validator(root).iter_errors(value)) == []
        calls.append(ScriptedCall(name, written))
    emulator = Emulator(script=[ScriptedTurn(tool_calls=tuple(calls))])
    client = pondero.Client(transport=emulator)
    reply = client.ask(model, "Call all of them.", tools=given_tools)
    for call, (name, (root, value), _) in zip(reply.tool_calls, offered, strict=True):
        assert (call.name, _without_nulls(call.arguments)) == (name, _without_nulls(value))
        assert list(Draft202012Validator(root).iter_errors(call.arguments)) == []
    results = tuple(ToolResult(call.id, (Text("ok"),), name=call.name) for call in reply.tool_calls)
    said = tuple(part for part in reply.message.parts if isinstance(part, ToolCall))
    assert said
    history = [Message("user", (Text("Hi."),)), reply.message, Message("user", results)]
    assert client.ask(model, history, tools=given_tools).finish in ("stop", "tool_calls")


def _without_nulls(value):
    """Return a value without null keys: null for a key that may be null or missing is either."""
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(each) for key, each in value.items() if each is not None}


def _fill(schema, value):
    """Return a value as a service writes it that requires every key: null for a missing one."""
    if isinstance(value, dict) and isinstance(schema.get("properties"), dict):
        inner = schema["properties"]
        keys = {**dict.fromkeys(schema.get("required", [])), **value}
        return {
            key: _fill(inner[key], value[key]) if key in value and key in inner else value.get(key)
            for key in keys
        }
    for option in schema.get("anyOf", []):
        made = _fill(option, value)
        if Draft202012Validator(option).is_valid(made):
            return made
    return value
