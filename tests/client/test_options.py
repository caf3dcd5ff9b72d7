"""The shape an answer is asked for in, where it is more than one type."""

from dataclasses import dataclass

import msgspec
import pytest
from pydantic import BaseModel

import pondero
from pondero.emulator import Emulator, Turn
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
    emulator = Emulator(script=[Turn(text=said)])
    reply = pondero.Client(transport=emulator).ask("gpt-5.1", "Name some.", output=kind)
    assert reply.value == value
    shape = emulator.log.entries[-1].body["text"]["format"]["schema"]
    assert shape["$defs"]["City" if kind == list[City] else "Town"]["additionalProperties"] is False


@pytest.mark.parametrize("kind", [list[Town], Road])
def test_a_wrong_value_inside_is_one_error_of_ours(kind):
    client = pondero.Client(transport=Emulator(script=[Turn(text='[{"nam": "Ulm"}]')]))
    reply = client.ask("gpt-5.1", "Name some.", output=kind)
    with pytest.raises(pondero.WireError, match="not the"):
        _ = reply.value


def test_a_type_that_nobody_can_describe_is_refused():
    client = pondero.Client(transport=Emulator())
    with pytest.raises(BadParameter, match="no JSON schema"):
        client.ask("gpt-5.1", "Name one.", output=Sealed)
