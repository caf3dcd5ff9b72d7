"""What an answer's shape and the other options can be, and what is said of what they cannot."""

import asyncio
import json
import re
from collections import deque
from dataclasses import dataclass

import msgspec
import pytest
from pydantic import BaseModel

import pondero
from pondero.canon import Text
from pondero.client.prompts.options import Options, build_request, request_parameters
from pondero.emulator import Emulator, ScriptedTurn
from pondero.errors import BadParameter


class City(msgspec.Struct):
    name: str


class Town(BaseModel):
    name: str


@dataclass
class Road:
    ends: tuple[Town, Town]


class Sealed(msgspec.Struct):
    town: Town


ULM = '{"name": "Ulm"}'


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        (list[Town], f"[{ULM}, {ULM}]", [Town(name="Ulm")] * 2),
        (dict[str, Town], f'{{"a": {ULM}}}', {"a": Town(name="Ulm")}),
        (tuple[Town, int], f"[{ULM}, 7]", (Town(name="Ulm"), 7)),
        (Town | None, "null", None),
        (Road, f'{{"ends": [{ULM}, {ULM}]}}', Road((Town(name="Ulm"), Town(name="Ulm")))),
        (list[City], f"[{ULM}]", [City("Ulm")]),
    ],
)
def test_a_type_may_have_pydantic_models_inside(kind, said, value):
    emulator = Emulator(script=[ScriptedTurn(text=said)])
    reply = pondero.Client(transport=emulator).ask("gpt-5.1", "Name some.", output=kind)
    assert reply.value == value
    shape = emulator.log.entries[-1].body["text"]["format"]["schema"]
    assert shape["$defs"]["City" if kind == list[City] else "Town"]["additionalProperties"] is False


@pytest.mark.parametrize("kind", [list[Town], Road])
def test_a_wrong_value_inside_is_one_error_of_ours(kind):
    client = pondero.Client(transport=Emulator(script=[ScriptedTurn(text='[{"nam": "Ulm"}]')]))
    reply = client.ask("gpt-5.1", "Name some.", output=kind)
    with pytest.raises(pondero.WireError, match="not the"):
        _ = reply.value


def test_a_type_that_nobody_can_describe_is_refused():
    client = pondero.Client(transport=Emulator())
    with pytest.raises(BadParameter, match="no JSON schema"):
        client.ask("gpt-5.1", "Name one.", output=Sealed)


# -- types -----------------------------------------------------------------------------------------

# An option, a value that it cannot have, and what must be said of it.
WRONG: list[tuple[str, object, str]] = [
    ("system", 3, "system must be text or a list of texts, and is int"),
    ("system", False, "system must be text or a list of texts, and is bool"),
    ("system", b"x", "system must be text or a list of texts, and is bytes"),
    ("system", ["x", 3], "system[1] must be text, and is int"),
    ("system", (each for each in ["x"]), "system must be text or a list of texts, and is generator"),
    ("stop", 3, "stop must be text or a list of texts, and is int"),
    ("stop", Text("x"), "stop must be text or a list of texts, and is Text"),
    ("stop", {"x": 1}, "stop must be text or a list of texts, and is dict"),
    ("stop", [None], "stop[0] must be text, and is NoneType"),
    ("tool_choice", ["x"], "tool_choice must be auto, none, required or a tool's name, and is list"),
    ("extras", "x", "extras must be a mapping of the service's own fields, and is str"),
    ("headers", ["x-key"], "headers must be a mapping of names and texts, and is list"),
    ("stream", "no", "stream must be True or False, and is str"),
    ("attachments", 3, "attachments is a list, not int"),
]  # fmt: skip
RUNNING: list[tuple[str, object, str]] = [
    ("max_steps", "x", "max_steps must be a whole number, and is str"),
    ("max_steps", 2.5, "max_steps must be a whole number, and is float"),
    ("approve", "yes", "approve must be a function, and is str"),
    ("mcp", [3], "mcp[0] must be a name, a command line, a URL or a mapping, and is int"),
    ("tools", 3, "tools is a list; use tools=[int]"),
]
REFUSALS: list[tuple[str, object, str]] = [
    ("refusals", None, "refusals must be a list of refusals, and is NoneType"),
    ("refusals", "x", "refusals[0] must be a refusal, and is str"),
    ("refusals", ["x"], "refusals[0] must be a refusal, and is str"),
]


@pytest.mark.parametrize(("name", "value", "said"), WRONG + RUNNING + REFUSALS)
@pytest.mark.parametrize("model", ["gpt-5.1", ["gpt-5.1", "claude-opus-5"]], ids=["one", "list"])
def test_a_client_says_which_option_is_of_a_wrong_type(model, name, value, said):
    emulator = Emulator()
    with pytest.raises(BadParameter, match=re.escape(said)):
        pondero.Client(transport=emulator).ask(model, "Go.", **{name: value})

    async def ask() -> None:
        await pondero.AsyncClient(transport=Emulator()).ask(model, "Go.", **{name: value})

    with pytest.raises(BadParameter, match=re.escape(said)):
        asyncio.run(ask())
    assert not emulator.log.entries


@pytest.mark.parametrize(("name", "value", "said"), WRONG)
def test_a_turn_says_which_option_is_of_a_wrong_type(name, value, said):
    client = pondero.Client(transport=Emulator())
    chat = pondero.Chat("gpt-5.1", client=client)
    with pytest.raises(BadParameter, match=re.escape(said)):
        chat.send("Go.", **{name: value})
    assert not chat.messages


@pytest.mark.parametrize(("name", "value", "said"), WRONG[:-1] + RUNNING)
def test_a_chat_says_which_option_is_of_a_wrong_type(name, value, said):
    client = pondero.Client(transport=Emulator())
    with pytest.raises(BadParameter, match=re.escape(said)):
        pondero.Chat("gpt-5.1", client=client, **{name: value})


@pytest.mark.parametrize(
    ("given", "sent"),
    [(None, None), ("x", ["x"]), (["x", "y"], ["x", "y"]), (deque(["x"]), ["x"]), ({"x"}, ["x"])],
)
def test_every_kind_of_list_of_texts_is_taken(given, sent):
    client = pondero.Client(transport=Emulator())
    body = client.prepare("claude-opus-5", "Go.", stop=given, system=given).exchange.http.body
    raw = json.loads(body)
    assert raw.get("stop_sequences") == sent
    assert [each["text"] for each in raw.get("system", ())] == (sent or [])


OPTIONS = {
    "system": "Be brief.",
    "tools": [pondero.Tool("look", "Looks.", {"type": "object", "properties": {}})],
    "tool_choice": "none",
    "output": bool,
    "max_tokens": 5000,
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 5,
    "seed": 7,
    "stop": "end",
    "extras": {"user": "me"},
    "context": 100,
}
BESIDE = {
    *("thinking_effort", "policy", "stream", "timeout", "headers", "attachments", "retries"),
    *("cache", "mcp", "approve", "max_steps", "refusals", "last_prompt"),
}


def test_every_option_is_one_of_the_request_or_known_not_to_be():
    assert OPTIONS.keys() | BESIDE == Options.__annotations__.keys()


@pytest.mark.parametrize("name", OPTIONS)
def test_no_option_of_a_request_is_passed_over(name):
    plain = build_request("Hello", {})
    request = build_request("Hello", {name: OPTIONS[name]})
    changed = (
        request != plain,
        request_parameters(request, {name: OPTIONS[name]}) != (request_parameters(plain, {})),
    )
    assert any(changed)
