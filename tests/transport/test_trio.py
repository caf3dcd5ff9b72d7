"""Clients inside trio, with the real trio; asyncio's answers are the judge."""

import asyncio
import subprocess
import sys
from queue import SimpleQueue

import pytest
import trio
import trio.lowlevel
from tests.transport.loopback import answering, chunked, serving
from tests.transport.scripted import SUM

import pondero
from pondero.emulator import Emulator
from pondero.errors import UsageError
from pondero.transport import AsyncHttpTransport, FastTransport

MODEL = "claude-opus-5/low"


def client(url: str, transport=None) -> pondero.AsyncClient:
    return pondero.AsyncClient(
        keys={"anthropic": "k"}, urls={"anthropic": url}, transport=transport
    )


async def talk(url: str) -> list[object]:
    """Ask, stream, leave a stream early, and ask again."""
    async with client(url) as made:
        heard: list[object] = [(await made.ask(MODEL, "hello")).text]
        async with made.stream(MODEL, "hello") as stream:
            heard += [words async for words in stream.text()]
        async with made.stream(MODEL, "hello") as stream:
            async for event in stream:
                heard.append(type(event).__name__)
                break
        heard.append((await made.ask(MODEL, "hello")).usage)
    return heard


# httpx2 does not close the generators of an answer left early; the connection is closed.
@pytest.mark.filterwarnings("ignore:Async generator 'http(x|core)2:ResourceWarning")
def test_a_client_does_the_same_inside_trio():
    with serving(answering(chunked(*SUM))) as server:
        assert trio.run(talk, server.url) == asyncio.run(talk(server.url))


def test_one_client_serves_both_kinds_of_loops_and_leaves_nothing_open():
    transport = AsyncHttpTransport()

    async def once(url: str) -> str:
        return (await client(url, transport).ask(MODEL, "hello")).text

    with serving(answering(chunked(*SUM))) as server:
        said = [trio.run(once, server.url), asyncio.run(once(server.url))]
        said.append(trio.run(once, server.url))
    assert said == ["391"] * 3
    assert server.connections == 3


def test_retries_wait_inside_trio():
    emulator = Emulator(faults=[529, "429 0.01"])

    async def main() -> str:
        async with pondero.AsyncClient(transport=emulator) as made:
            return (await made.ask(MODEL, "What is 17 * 23?")).text

    assert trio.run(main) == "17 * 23 = 391"


def test_tools_run_inside_trio():
    ran: list[str] = []

    def waiting(city: str) -> str:
        """Weather of a city."""
        ran.append(city)
        return "sunny"

    async def awaiting(city: str) -> str:
        """Time in a city."""
        await trio.lowlevel.checkpoint()
        ran.append(city)
        return "noon"

    async def main() -> str:
        async with pondero.AsyncClient(transport=Emulator()) as made:
            chat = pondero.AsyncChat(MODEL, client=made, tools=[waiting, awaiting])
            return (await chat.send("Call waiting and awaiting for Rome.")).finish

    assert trio.run(main) == "stop"
    assert ran


@pytest.mark.filterwarnings("ignore:Async generator 'http(x|core)2:ResourceWarning")
def test_a_cancelled_question_frees_its_connection_inside_trio():
    gone: SimpleQueue[bool] = SimpleQueue()

    def script(peer) -> None:
        peer.read()
        peer.say(chunked(*SUM[:3])[:-5])
        gone.put(peer.gone())

    async def main(url: str) -> None:
        async with client(url) as made, made.stream(MODEL, "hello") as stream:
            with trio.CancelScope() as scope:
                async for _ in stream:
                    scope.cancel()  # the next event never comes
            assert scope.cancelled_caught

    with serving(script) as server:
        trio.run(main, server.url)
        assert gone.get(timeout=30)


def test_the_fast_transport_says_inside_trio_which_one_to_use():
    async def main() -> None:
        async with client("http://127.0.0.1:1", FastTransport()) as made:
            await made.ask(MODEL, "hello")

    with pytest.raises(UsageError, match="does not work inside trio; use AsyncHttpTransport"):
        trio.run(main)


def test_without_a_loop_there_is_one_clear_error():
    with pytest.raises(UsageError, match="no event loop is running"):
        AsyncHttpTransport().aclose().send(None)


def test_trio_is_not_loaded_for_others():
    code = (
        "import sys, pondero.client; from pondero.transport import *; print('trio' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
