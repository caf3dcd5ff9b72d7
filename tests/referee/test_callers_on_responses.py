"""What our own caller sends on the Responses API and the service rejects: defects, until fixed."""

import pytest

import pondero
from pondero.canon import OutputFormat
from pondero.emulator import Emulator


@pytest.mark.xfail(
    strict=True, reason="caller: F27 JSON mode does not put the word JSON in the input"
)
def test_json_mode_says_json():
    client = pondero.Client(transport=Emulator())
    assert client.ask("gpt-5.5/low", "Name a colour.", output=OutputFormat())


@pytest.mark.xfail(strict=True, reason="caller: F25 a list is sent as an array root, not wrapped")
def test_a_list_is_wrapped_in_an_object():
    client = pondero.Client(transport=Emulator())
    assert client.ask("gpt-5.5/low", "Name colours.", output=list[str])
