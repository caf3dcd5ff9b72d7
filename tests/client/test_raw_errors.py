"""A mistake in a call is one error of pondero's that names the fix, and never a traceback of ours."""

import pytest

import pondero
from pondero.emulator import Emulator
from pondero.errors import BadParameter, UnknownModel, UnknownProvider
from pondero.store import load_catalog

MODELS = ("claude-opus-5", "gpt-5.5", "gemini-2.5-pro", "deepseek:deepseek-chat")


@pytest.fixture
def client():
    with pondero.Client(transport=Emulator()) as asking:
        yield asking


@pytest.mark.parametrize("model", [None, 3, [], [None], object])
def test_a_model_is_a_name_or_names(client, model):
    with pytest.raises(BadParameter, match="a model is a name, or a list of names"):
        client.ask(model, "hi")
    with pytest.raises(BadParameter, match="a model is a name, or a list of names"):
        pondero.Chat(model, client=client)


def test_the_dial_names_the_form_of_a_model_and_of_a_provider():
    for dial in (pondero.plan, pondero.levels):
        with pytest.raises(UnknownModel, match="named like 'claude-opus-5'"):
            dial(None)
    with pytest.raises(UnknownProvider, match="a name such as 'anthropic', not 3"):
        pondero.models(3)
    assert load_catalog().provider("anthropic").name == "anthropic"


@pytest.mark.parametrize(
    ("parts", "fix"),
    [
        ("hello", r"use pondero.Message\('user', \(pondero.Text\('hello'\),\)\)"),
        (("hello",), r"use pondero.Message\('user', \(pondero.Text\('hello'\),\)\)"),
        (("x" * 99,), r"pondero.Text\('x{40}\.\.\.'\)"),
        (None, "a message is made of parts; NoneType is not a part"),
        ([pondero.Text("a"), 3], "a message is made of parts; int is not a part"),
        (pondero.Text("a"), r"are a tuple; use \(part,\)"),
    ],
)
def test_a_message_is_made_of_parts(parts, fix):
    with pytest.raises(BadParameter, match=fix):
        pondero.Message("user", parts)


def test_a_message_takes_a_tuple_or_a_list_of_parts():
    text = pondero.Text("a")
    assert pondero.Message("user", [text]).text == pondero.Message("user", (text,)).text == "a"


@pytest.mark.parametrize("model", MODELS)
def test_a_value_that_is_no_json_is_named_by_its_place(client, model):
    with pytest.raises(BadParameter, match=r"extras\['a'\]\[1\]\['b'\] is not JSON: object"):
        client.ask(model, "hi", extras={"a": [1, {"b": object()}]})
    tool = pondero.Tool("f", "", {"type": "object", "properties": {"x": {"default": object()}}})
    with pytest.raises(BadParameter, match=r"tools\['f'\].parameters.* is not JSON: object"):
        client.ask(model, "hi", tools=[tool])


def test_a_call_whose_arguments_are_no_json_is_named_by_its_id(client):
    past = [
        pondero.Message("user", (pondero.Text("hi"),)),
        pondero.Message("assistant", (pondero.canon.ToolCall("c1", "f", {"x": object()}),)),
        pondero.Message("user", (pondero.canon.ToolResult("c1", (pondero.Text("3"),)),)),
    ]
    with pytest.raises(
        BadParameter, match=r"arguments of the call 'c1'\['x'\] is not JSON: object"
    ):
        client.ask("gpt-5.5", past)
