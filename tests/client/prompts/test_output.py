"""``output=`` of every kind of type on every wire, asking again, and values that still arrive."""

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from typing import TypedDict

import pytest
from pydantic import BaseModel

import pondero
from pondero.canon import Usage
from pondero.emulator import Emulator, Fault, ScriptedTurn
from pondero.errors import BadParameter, Malformed

MODELS = [
    "gpt-5.1/low",
    "openai-chat:gpt-5.1/low",
    "claude-opus-5/low",
    "bedrock:anthropic.claude-opus-5/low",
    "gemini-3-flash-preview/low",
    "deepseek:deepseek-v4-flash",
    "groq:llama-3.3-70b-versatile",
    "mistral:mistral-large-latest",
    "cohere:command-a-03-2025",
    "ollama:qwen3",
    "google-interactions:gemini-3-flash-preview/low",
]


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class City:
    name: str
    people: int = 7


@dataclass
class Lake:
    name: str
    depth: int


class Town(BaseModel):
    name: str
    near: list["Town"] = []


class Point(TypedDict):
    x: int
    y: int


ULM = {"name": "Ulm"}
KINDS = [
    (City, ULM, City("Ulm")),
    (list[City], [ULM, {"name": "Bern", "people": 3}], [City("Ulm"), City("Bern", 3)]),
    (City | Lake, {"name": "Como", "depth": 9}, Lake("Como", 9)),
    (list[City | Lake], [{"name": "Como", "depth": 9}, ULM], [Lake("Como", 9), City("Ulm")]),
    (dict[str, float], {"a": 1.5}, {"a": 1.5}),
    (dict[str, City], {"a": ULM}, {"a": City("Ulm")}),
    (Town, {"name": "Ulm", "near": [ULM]}, Town(name="Ulm", near=[Town(name="Ulm")])),
    (Point, {"x": 1, "y": 2}, {"x": 1, "y": 2}),
    (Color, "red", Color.RED),
    (int | None, None, None),
    (list[int], [1, 2], [1, 2]),
    (bool, True, True),
    ({"type": "array", "items": {"type": "integer"}}, [1], [1]),
]


def script(*texts):
    return Emulator(script=[ScriptedTurn(text=each) for each in texts])


def as_answered(emulator, value):
    """Return a value in the wrapper that the last request asked for, if it did."""
    body = json.dumps(emulator.log.entries[-1].body).replace("\\", "")
    return {"result": value} if '"required": ["result"]' in body.replace(":[", ": [") else value


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("kind", "value", "read"), KINDS)
@pytest.mark.parametrize("stream", [True, False])
def test_every_type_comes_back_from_every_service(model, kind, value, read, stream):
    first = Emulator()
    asked = pondero.Client(transport=first).ask(model, "Say.", output=kind, stream=stream)
    assert first.log.entries[-1].status == 200
    said = json.dumps(as_answered(first, value))
    reply = pondero.Client(transport=script(said)).ask(model, "Say.", output=kind, stream=stream)
    assert reply.value == read
    assert json.loads(reply.text) == value
    assert asked.plan.adjustments == reply.plan.adjustments


@pytest.mark.parametrize("model", ["claude-opus-5/low", "bedrock:anthropic.claude-opus-5/low"])
def test_a_dict_is_never_sent_as_an_object_that_must_be_empty(model):
    emulator = Emulator()
    reply = pondero.Client(transport=emulator).ask(model, "Say.", output=dict[str, float])
    body = json.dumps(emulator.log.entries[-1].body)
    assert "json_schema" not in body
    assert "additionalProperties" in body  # in the prompt
    (note,) = [each for each in reply.adjustments if each.what == "output"]
    assert note.code == "output_prompted"
    assert "any keys" in note.why


@pytest.mark.parametrize("model", ["claude-opus-5/low", "deepseek:deepseek-v4-flash"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_code_fence_is_stripped_if_the_schema_was_in_the_prompt(model, stream):
    client = pondero.Client(transport=script('```json\n{"a": 1.5}\n```'))
    reply = client.ask(model, "Say.", output=dict[str, float], stream=stream)
    assert reply.value == {"a": 1.5}
    assert reply.text == '{"a": 1.5}'


def test_a_fence_is_an_error_where_the_service_enforces_the_schema():
    client = pondero.Client(transport=script('```json\n{"name": "Ulm"}\n```'))
    with pytest.raises(Malformed):
        _ = client.ask("claude-opus-5/low", "Say.", output=City).value


def test_null_stands_for_a_missing_key_where_every_key_is_required():
    client = pondero.Client(transport=script('{"name": "Ulm", "people": null}'))
    assert client.ask("gpt-5.1/low", "Say.", output=City).value == City("Ulm", 7)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("said", ["[2]", "[7, 8]", "{}", '"x"', "no JSON"])
def test_a_plain_schema_is_checked_by_us(model, said):
    schema = {"type": "array", "items": {"type": "integer", "minimum": 3}, "maxItems": 1}
    with pytest.raises(Malformed):
        _ = pondero.Client(transport=script(said)).ask(model, "Say.", output=schema).value


def test_an_invalid_schema_is_refused_before_anything_is_sent():
    emulator = Emulator()
    with pytest.raises(BadParameter, match="invalid JSON schema"):
        pondero.Client(transport=emulator).ask("gpt-5.1", "Say.", output={"type": "strin"})
    assert not emulator.log.entries


def test_unions_need_no_other_library_at_the_root(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "sys.modules['pydantic'] = None\n"
        "from dataclasses import dataclass\n"
        "import pondero\n"
        "from pondero.emulator import Emulator, ScriptedTurn\n"
        "@dataclass\nclass A:\n    a: int\n"
        "@dataclass\nclass B:\n    a: int\n    b: int\n"
        "@dataclass\nclass C:\n    both: A | B\n"
        'script = [ScriptedTurn(text=\'{"result": {"a": 1, "b": 2}}\')]\n'
        "client = pondero.Client(transport=Emulator(script=script))\n"
        "print(client.ask('gpt-5.1', 'Say.', output=A | B).value)\n"
        "try:\n    client.ask('gpt-5.1', 'Say.', output=C)\n"
        "except pondero.UsageError as error:\n    print(error)\n",
        "utf-8",
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, timeout=60
    )
    value, error = done.stdout.splitlines()
    assert value == "B(a=1, b=2)"
    assert "use pydantic's types, or give a JSON schema" in error


# -- asking again --------------------------------------------------------------------------------


WRONG, RIGHT = '{"name": 7}', '{"name": "Ulm", "people": 3}'


def test_a_wrong_value_is_asked_for_again_with_the_error():
    emulator = script(WRONG, WRONG, RIGHT)
    reply = pondero.Client(transport=emulator).ask("gpt-5.1", "Say.", output=City, retries=2)
    assert reply.value == City("Ulm", 3)
    last = json.dumps(emulator.log.entries[-1].body)
    assert "Expected `str`, got `int`" in last
    assert len(emulator.log.entries) == 3
    once = pondero.Client(transport=script(RIGHT)).ask("gpt-5.1", "Say.", output=City)
    assert reply.usage.output > once.usage.output
    assert reply.usage.total == reply.usage.known_total


def test_retries_end_and_the_last_answer_is_returned():
    emulator = script(WRONG, WRONG, RIGHT)
    reply = pondero.Client(transport=emulator).ask("gpt-5.1", "Say.", output=City, retries=1)
    with pytest.raises(Malformed):
        _ = reply.value
    assert len(emulator.log.entries) == 2


def test_a_right_value_is_not_asked_for_again():
    emulator = script(RIGHT, WRONG)
    assert pondero.Client(transport=emulator).ask("gpt-5.1", "Say.", output=City, retries=3).value
    assert len(emulator.log.entries) == 1


def test_an_asyncio_client_asks_again_too():
    async def ask():
        transport = Emulator(script=[ScriptedTurn(text=each) for each in (WRONG, RIGHT)])
        async with pondero.AsyncClient(transport=transport) as client:
            first = await client.ask("claude-opus-5", "Say.", output=City, retries=1)
            chat = pondero.AsyncChat("claude-opus-5", client=client, output=City, retries=1)
            second = await chat.send("Say.")
        return first.value, second.value is not None

    assert asyncio.run(ask()) == (City("Ulm", 3), True)


def test_a_chat_asks_again_in_turns_of_its_own():
    client = pondero.Client(transport=script(WRONG, RIGHT))
    chat = pondero.Chat("gpt-5.1", client=client, output=City, retries=1)
    assert chat.send("Say.").value == City("Ulm", 3)
    assert [each.role for each in chat.messages] == ["user", "assistant"] * 2
    assert "cannot be used" in chat.messages[2].text
    again = pondero.Chat.from_json(chat.to_json(), client=client)
    assert again.to_json() == chat.to_json()


def test_retries_with_tools_that_run():
    def get_weather(city: str) -> str:
        """Return the weather."""
        return f"{city}: sunny"

    client = pondero.Client(transport=script(WRONG, RIGHT))
    tools = {"tools": [get_weather], "max_steps": 3}
    reply = client.ask("gpt-5.1", "Say.", output=City, retries=1, **tools)
    assert reply.value == City("Ulm", 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"retries": 1}, "needs output"),
        ({"retries": -1, "output": City}, "use 0 or more"),
        ({"retries": True, "output": City}, "use 0 or more"),
        ({"retries": "2", "output": City}, "use 0 or more"),
    ],
)
def test_retries_that_make_no_sense_are_refused(options, words):
    with pytest.raises(BadParameter, match=words):
        pondero.Client(transport=Emulator()).ask("gpt-5.1", "Say.", **options)


def test_a_stream_is_shown_once_and_takes_no_retries():
    with pytest.raises(BadParameter, match="shown once"):
        pondero.Client(transport=Emulator()).stream("gpt-5.1", "Say.", output=City, retries=1)


def test_usages_add_up():
    assert Usage(input=1, output=2) + Usage(input=3, thinking=4) == Usage(
        input=4, output=2, thinking=4
    )


# -- values that still arrive --------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_a_stream_shows_the_value_so_far_without_its_wrapper(model):
    value = [{"name": "Ulm", "people": 3}, {"name": "Bern", "people": 4}]
    first = Emulator()
    pondero.Client(transport=first).ask(model, "Say.", output=list[City])
    client = pondero.Client(transport=script(json.dumps(as_answered(first, value))))
    stream = client.stream(model, "Say.", output=list[City])
    seen = [stream.partial for _ in stream]
    assert seen[-1] == value == stream.partial
    shown = [each for each in seen if each]
    assert all(each[0]["name"] == "Ulm"[: len(each[0]["name"])] for each in shown if each[0])
    assert stream.reply.value == [City("Ulm", 3), City("Bern", 4)]


def test_a_turn_of_a_chat_shows_the_value_so_far():
    value = list(range(1_000))
    client = pondero.Client(transport=script(json.dumps({"result": value})))
    turn = pondero.Chat("gpt-5.1", client=client).stream("Say.", output=list[int])
    assert turn.partial is None
    seen = [turn.partial for _ in turn]
    assert all(each == value[: len(each)] for each in seen if each is not None)
    assert seen[-1] == value == turn.partial


# -- limits that no count predicts ---------------------------------------------------------------


@pytest.mark.parametrize("words", ["Schema is too complex.", "The compiled grammar is too large"])
def test_a_schema_that_claude_finds_too_complex_is_said_in_the_prompt(words):
    fault = Fault(kind="status", status=400, message=words)
    turn = ScriptedTurn(text='```json\n{"result": [{"name": "Ulm"}]}\n```')
    emulator = Emulator(faults=[fault], script=[turn, turn])
    reply = pondero.Client(transport=emulator).ask("claude-opus-5/low", "Say.", output=list[City])
    assert reply.value == [City("Ulm")]
    assert [each.code for each in reply.adjustments] == ["output_adjusted", "output_prompted"]
    body = emulator.log.entries[-1].body
    assert body["output_config"] == {"effort": "low"}
    assert "JSON of this schema" in body["system"][-1]["text"]


@pytest.mark.parametrize("given", ["City", lambda text: City(text, 1)], ids=["name", "function"])
def test_an_output_that_is_no_type_is_said_before_anything_is_sent(given):
    emulator = Emulator()
    with (
        pondero.Client(transport=emulator) as client,
        pytest.raises(BadParameter, match="output is a type or a JSON schema, not"),
    ):
        client.ask("gpt-5.1/low", "Name a city.", output=given)
    assert not emulator.log.entries
