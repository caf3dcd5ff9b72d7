"""Connections of the fast transport's own client that this program closes, and who notices."""

import asyncio
import threading

import pytest
from tests.transport.direct import HEAD, LONG, LOOPS, fetched, request, saying
from tests.transport.loopback import Peer, answering, chunked, serving
from tests.transport.transports import run

from pondero.errors import Unreachable
from pondero.transport import FastTransport
from pondero.transport.direct_connection import DirectConnection
from pondero.transport.direct_http import DirectPool


def _only_connection(transport: FastTransport) -> DirectConnection:
    (connection,) = (c for pool in transport._pools.values() for c in pool._open)
    return connection


@pytest.mark.parametrize("kind", LOOPS)
def test_a_request_that_waits_for_its_answer_is_told_that_the_transport_was_closed(kind):
    async def main(url: str) -> None:
        transport = FastTransport()
        task = asyncio.ensure_future(fetched(transport, request(url)))
        while not server.requests:  # noqa: ASYNC110 - by a thread
            await asyncio.sleep(0)
        await transport.aclose()
        with pytest.raises(Unreachable, match="closed by this program"):
            await asyncio.wait_for(task, 20)

    with serving(saying(b"")) as server:
        run(kind, main(server.url))


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("is_whole", [False, True])
def test_what_a_closed_transport_cut_off_is_never_taken_for_a_whole_body(kind, is_whole):
    data = chunked(b"first", b"last")
    at = data.index(b"4\r\nlast")
    may_end = threading.Event()

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(data[:at])
        may_end.wait(20)
        peer.say(data[at:] if is_whole else b"")
        peer.gone()

    async def main(url: str) -> None:
        transport = FastTransport()
        answer = await transport.send(request(url), LONG)
        assert await anext(aiter(answer)) == b"first"
        may_end.set()
        connection = _only_connection(transport)
        while is_whole and not connection.has_ended:  # noqa: ASYNC110 - by a thread
            await asyncio.sleep(0)
        await transport.aclose()
        with pytest.raises(Unreachable, match="closed by this program"):
            await anext(aiter(answer))

    with serving(script) as server:
        run(kind, main(server.url))


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("cause", ["idle for too long", "bytes that nobody asked for"])
def test_an_idle_connection_that_is_being_closed_takes_no_request(kind, cause):
    """The event loop says only later that it is closed; until then it swallows what is written."""

    async def main(url: str) -> tuple[int, bytes]:
        transport = FastTransport()
        await fetched(transport, request(url))
        connection = _only_connection(transport)
        if cause == "idle for too long":
            connection._deadline = 0
            connection._on_timer()
        else:
            connection.data_received(HEAD + b"content-length: 4\r\n\r\nevil")
        found = await fetched(transport, request(url))
        await transport.aclose()
        return found

    with serving(answering(chunked(b"hello"))) as server:
        assert run(kind, main(server.url)) == (200, b"hello")
    assert server.connections == 2


@pytest.mark.parametrize("kind", LOOPS)
def test_an_answer_dropped_in_another_thread_is_closed_in_that_of_its_event_loop(kind, monkeypatch):
    """Garbage is collected in any thread, and transports may be touched in one only."""
    threads: list[int] = []
    abort = DirectConnection.abort

    def noted(connection: DirectConnection) -> None:
        threads.append(threading.get_ident())
        abort(connection)

    monkeypatch.setattr(DirectConnection, "abort", noted)

    async def main(url: str) -> None:
        transport = FastTransport()
        held = [await transport.send(request(url), LONG)]
        connection = _only_connection(transport)
        await asyncio.to_thread(held.clear)
        async with asyncio.timeout(20):
            while not connection.is_closed:  # noqa: ASYNC110 - by the event loop
                await asyncio.sleep(0)
        assert threads == [threading.get_ident()]
        await transport.aclose()

    with serving(saying(chunked(b"first")[:-5])) as server:
        run(kind, main(server.url))


@pytest.mark.parametrize("kind", LOOPS)
def test_an_answer_dropped_after_its_event_loop_is_no_error(kind):
    async def main(url: str) -> object:
        return await FastTransport().send(request(url), LONG)

    with serving(saying(chunked(b"first")[:-5])) as server:
        answer = run(kind, main(server.url))
        answer._connection.is_closed = False  # as if the loop had ended without telling anyone
        del answer


def test_closing_does_not_cancel_a_request_that_looks_for_its_host(monkeypatch):
    """Its task was not cancelled by anyone: that error would end a program without a word."""
    may_answer = threading.Event()
    look_up = DirectPool._look_up

    async def slow(pool: DirectPool, host: str, port: int) -> object:
        await asyncio.to_thread(may_answer.wait, 20)
        return await look_up(pool, host, port)

    monkeypatch.setattr(DirectPool, "_look_up", slow)

    async def main(url: str) -> tuple[int, bytes]:
        transport = FastTransport()
        task = asyncio.ensure_future(fetched(transport, request(url)))
        while not any(pool._addresses for pool in transport._pools.values()):  # noqa: ASYNC110 - it begins
            await asyncio.sleep(0)
        await transport.aclose()
        may_answer.set()
        return await task

    with serving(answering(chunked(b"hello"))) as server:
        assert asyncio.run(main(server.url)) == (200, b"hello")
