"""One client for many threads, closed once, and carried into a forked process."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable

import pytest
from tests.transport.loopback import Peer, serving

import pondero
from pondero import transport as transports
from pondero.client.default_client import default_client
from pondero.emulator import Emulator
from pondero.errors import UsageError

MODEL = "openai-chat:gpt-5.1"
KEYS = {"openai-chat": "sk-test-0123456789"}


def echo(peer: Peer) -> None:
    """Answer every request of a connection with the words it asked."""
    while request := peer.read():
        asked = json.loads(request.partition(b"\r\n\r\n")[2])
        message = {"role": "assistant", "content": asked["messages"][-1]["content"]}
        body = json.dumps(
            {"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        ).encode()
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:"
        peer.say(f"{head} {len(body)}\r\n\r\n".encode() + body)


def forked(job: Callable[[], str]) -> int:
    """Return a reader of what this job returns in a child."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the loopback server has threads
        child = os.fork()
    if not child:
        try:
            os.write(writer, job().encode())
        except BaseException as error:  # noqa: BLE001 - whatever it is, the parent reads it
            os.write(writer, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    return reader


def heard(reader: int) -> str:
    with open(reader, "rb") as pipe:
        return pipe.read().decode()


def test_threads_that_come_together_get_one_transport(monkeypatch):
    used: set[int] = set()
    barrier = threading.Barrier(8)
    client = pondero.Client()

    def way() -> None:
        barrier.wait()
        used.add(id(client._open_transport()))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=way) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert used == {id(client._open_transport())}


def test_threads_that_come_together_share_one_client(monkeypatch):
    monkeypatch.setattr("pondero.client.default_client._SHARED", {})
    found: list[pondero.Client] = []
    barrier = threading.Barrier(8)

    def take() -> None:
        barrier.wait()
        found.append(default_client())

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {id(client) for client in found} == {id(default_client())}


def test_a_closed_client_says_so():
    client = pondero.Client(transport=Emulator())
    client.ask("gpt-5.1", "Hello")
    client.close()
    client.close()
    with pytest.raises(UsageError, match="closed"):
        client.ask("gpt-5.1", "Hello")
    with pytest.raises(UsageError, match="closed"):
        pondero.Chat("gpt-5.1", client=client).send("Hello")


def test_a_closed_async_client_says_so():
    async def run() -> None:
        async with pondero.AsyncClient(transport=Emulator()) as client:
            await client.ask("gpt-5.1", "Hello")
        with pytest.raises(UsageError, match="closed"):
            await client.ask("gpt-5.1", "Hello")

    asyncio.run(run())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("kind", ["own", "shared"])
def test_a_forked_child_has_connections_of_its_own(kind, monkeypatch):
    monkeypatch.setattr("pondero.client.default_client._SHARED", {})
    with serving(echo) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEYS["openai-chat"])
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        client = pondero.Client() if kind == "own" else default_client()

        def ask(word: str) -> str:
            return client.ask(MODEL, word, stream=False).text

        def many(word: str) -> str:
            return " ".join(ask(f"{word}{number}") for number in range(20))

        assert ask("before") == "before"
        child = forked(lambda: many("child"))
        assert many("parent") == " ".join(f"parent{number}" for number in range(20))
        assert heard(child) == " ".join(f"child{number}" for number in range(20))
        client.close()
    assert server.connections == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_from_a_running_loop_has_connections_of_its_own():
    with serving(echo) as server:

        async def run() -> None:
            way = transports.AsyncHttpTransport()
            client = pondero.AsyncClient(transport=way, keys=KEYS, urls={"openai-chat": server.url})
            assert (await client.ask(MODEL, "before", stream=False)).text == "before"
            child = forked(lambda: asyncio.run(client.ask(MODEL, "child", stream=False)).text)
            assert (await client.ask(MODEL, "parent", stream=False)).text == "parent"
            assert await asyncio.to_thread(heard, child) == "child"
            await client.aclose()

        asyncio.run(run())
    assert server.connections == 2


FORKING = """
import os, pondero
pondero.ask('openai-chat:gpt-5', 'hi', stream=False)
if not (child := os.fork()):
    print(pondero.ask('openai-chat:gpt-5', 'child', stream=False).text, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_is_not_warned_of_the_connections_of_its_parent():
    assert run_strictly(FORKING) == (0, "child\n", "")


CLOSING = """
import asyncio, gc, pondero, socket
open_ones = lambda: [each for each in gc.get_objects() if isinstance(each, socket.socket) and each.fileno() >= 0]
before = len(open_ones())
{call}
import atexit
atexit._run_exitfuncs()
gc.collect()
print(len(open_ones()) - before)
"""


@pytest.mark.parametrize(
    "call",
    [
        "pondero.ask('openai-chat:gpt-5', 'hi', stream=False)",
        "asyncio.run(pondero.aask('openai-chat:gpt-5', 'hi', stream=False))",
        "pondero.Chat('openai-chat:gpt-5').send('hi')",
    ],
)
def test_the_shared_clients_close_at_exit_without_a_warning(call):
    """Python's own warnings of open sockets and loops are errors here."""
    assert run_strictly(CLOSING.format(call=call)) == (0, "0\n", "")


def run_strictly(program: str) -> tuple[int, str, str]:
    """Run a program for which every warning is an error; return its end and what it wrote."""
    with serving(echo) as server:
        more = {"OPENAI_API_KEY": KEYS["openai-chat"], "OPENAI_BASE_URL": server.url}
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            env={**os.environ, **more},
            capture_output=True,
            text=True,
            check=False,
        )
    return ran.returncode, ran.stdout, ran.stderr
