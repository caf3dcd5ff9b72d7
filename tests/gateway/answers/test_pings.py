"""Signs of life in a stream: no vendor's SDK stumbles over them, wherever they come."""

import json
from collections.abc import Iterator
from urllib.request import Request, urlopen

import anyio
import pytest
from tests.gateway.sdks import FRONTS, Front

from pondero.dialects import get_dialect
from pondero.emulator import Emulator, Fault, ScriptedTurn
from pondero.gateway.answers import response_writer as outlet
from pondero.gateway.answers.response_writer import ResponseWriter
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.run import run_gateway_in_thread

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

BACKS = {
    "opus": "anthropic:claude-opus-5",
    "gpt": "openai:gpt-5.5",
    "gemini": "google:gemini-3-flash-preview",
}
SLOW = ScriptedTurn(
    thinking="Hm, an owl.", text="It sleeps.", fault=Fault(kind="slow", seconds=0.01)
)


@pytest.fixture(scope="module")
def emulator() -> Emulator:
    return Emulator()


@pytest.fixture(scope="module")
def url(emulator: Emulator) -> Iterator[str]:
    routes = tuple(
        GatewayRoute(match=name, to=(model,), retries=0) for name, model in BACKS.items()
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outlet, "SILENCE", -1.0)  # any silence is too long
        patch.setattr(outlet, "_LOOK", 0.001)
        with run_gateway_in_thread(
            GatewayConfig(ServerConfig(port=0), routes), transport=emulator
        ) as where:
            yield where


@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize("made", FRONTS, ids=[front.name for front in FRONTS])
def test_every_sdk_reads_a_stream_with_signs_of_life_in_it(made, back, url, emulator):
    emulator.expect(SLOW)
    front: Front = made(url)
    said = front.ask(back, front.user("What does the owl do?"), "high")
    front.close()
    assert (said.thinking.strip(), said.text) == ("Hm, an owl.", "It sleeps.")


@pytest.mark.parametrize("back", ["opus", "gemini"])
def test_signs_of_life_come_before_the_first_event_and_behind_it(url, emulator, back):
    emulator.expect(SLOW)
    body = {"contents": [{"role": "user", "parts": [{"text": "What does the owl do?"}]}]}
    address = f"{url}/v1beta/models/{back}:streamGenerateContent?alt=sse"
    with urlopen(Request(address, json.dumps(body).encode(), {"x-goog-api-key": "k"})) as answer:
        said = answer.read()
        assert answer.headers["x-pondero-id"]  # the record has what is not known yet
    ping = get_dialect("gemini").service().ping
    first = said.index(b"data:")
    assert said[:first] == ping * (first // len(ping))
    assert first > 0
    assert b"}\r\n\r\n" + ping in said


@pytest.mark.parametrize(("data", "pinged"), [(b"x\n\n", 2), (b"x\r\n\r\n", 2), (b"x\n", 0)])
def test_a_sign_of_life_never_comes_inside_an_event(data, pinged):
    sent = []

    async def send(message):
        sent.append(message.get("body"))

    async def stream():
        one = ResponseWriter(send)
        one.streams({}, b"\r\n")
        await one.write(data)
        await one.ping()
        await one.ping()
        await one.end()
        await one.ping()

    anyio.run(stream)
    assert sent == [None, data, *[b"\r\n"] * pinged, b""]
