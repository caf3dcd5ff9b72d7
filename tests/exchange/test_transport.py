"""Who answers in a service's place: nobody, an emulator of this program, a recording, an address."""

import pytest

from pondero.canon import OFFLINE, RECORDING
from pondero.cassettes import Cassette, Tap
from pondero.client import load_catalog
from pondero.emulator import Emulator, FaultyTransport
from pondero.exchange import find_emulator
from pondero.transport import HttpTransport

ANTHROPIC = load_catalog().provider("anthropic")
AZURE = load_catalog().provider("azure")
OWN = "https://api.anthropic.com/v1"


@pytest.mark.parametrize(
    ("provider", "url", "found"),
    [
        (ANTHROPIC, OWN, None),
        (AZURE, "https://ours.openai.azure.com/openai/v1", None),
        (ANTHROPIC, "http://127.0.0.1:9100/v1", "http://127.0.0.1:9100"),
        (ANTHROPIC, "https://me:secret@proxy.example/a/b", "https://proxy.example"),
    ],
)
def test_an_address_that_is_not_the_providers_may_be_an_emulators(provider, url, found):
    for transport in (None, HttpTransport()):
        assert find_emulator(transport, provider, url) == found


def test_a_transport_says_what_it_is_through_others(tmp_path):
    emulator = Emulator()
    wrapped = (emulator, Tap(emulator), FaultyTransport(emulator, ()), Tap(Tap(emulator)))
    assert [find_emulator(each, ANTHROPIC, OWN) for each in wrapped] == [OFFLINE] * 4
    file = tmp_path / "tape.jsonl"
    recording, playing = (
        Cassette(file, record=record, transport=emulator) for record in (True, False)
    )
    assert find_emulator(recording, ANTHROPIC, OWN) == OFFLINE
    assert find_emulator(playing, ANTHROPIC, OWN) == RECORDING
