"""The connections of the fast transport's own client, to services that are slow, late or gone."""

import asyncio
import math
import threading
from queue import SimpleQueue

import pytest
from tests.transport.direct import HEAD, LONG, LOOPS, fetched, outcome, request, saying
from tests.transport.loopback import Peer, answering, chunked, serving
from tests.transport.transports import run

from pondero.errors import Timeout, Unreachable
from pondero.exchange import Timeouts
from pondero.transport import ConnectionLimits, FastTransport


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize(
    "said",
    [
        HEAD + b"connection: close\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        HEAD + b"content-length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
        HEAD + b"content-length: 5\r\n\r\nhello and more",
        chunked(b"hello") + b"7\r\nand more\r\n",
    ],
    ids=["close", "old", "second answer", "more than its length", "more chunks"],
)
def test_a_connection_that_says_more_or_wants_to_close_is_not_used_again(kind, said):
    async def main(url: str) -> list[tuple[int, bytes]]:
        transport = FastTransport()
        found = [await fetched(transport, request(url)) for _ in range(3)]
        await transport.aclose()
        return found

    with serving(answering(said)) as server:
        assert run(kind, main(server.url)) == [(200, b"hello")] * 3
    assert server.connections == 3


@pytest.mark.parametrize("kind", LOOPS)
def test_bytes_that_come_while_a_connection_is_idle_never_begin_the_next_answer(kind):
    said, left = threading.Event(), SimpleQueue[bool]()

    def script(peer: Peer) -> None:
        if peer.read():
            peer.say(chunked(b"hello"))
            said.wait(20)
            peer.say(HEAD + b"content-length: 4\r\n\r\nevil")
            left.put(peer.gone())

    async def main(url: str) -> tuple[int, bytes]:
        transport = FastTransport()
        await fetched(transport, request(url))
        said.set()
        (connection,) = (c for pool in transport._pools.values() for c in pool._open)
        async with asyncio.timeout(60):
            while not connection.is_closed:  # noqa: ASYNC110 - by a thread
                await asyncio.sleep(0)
        found = await fetched(transport, request(url))
        await transport.aclose()
        return found

    with serving(script) as server:
        assert run(kind, main(server.url)) == (200, b"hello")
    assert server.connections == 2
    assert left.get(timeout=60)  # it was closed by us


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_connection_that_the_service_closed_while_idle_costs_no_request(kind, method):
    def script(peer: Peer) -> None:
        peer.read()
        peer.say(chunked(b"hello"))  # and closes

    async def main(url: str, waits: bool) -> list[tuple[int, bytes]]:
        transport = FastTransport()
        found = []
        for _ in range(4):
            found.append(await fetched(transport, request(url, method)))
            (connection,) = (c for pool in transport._pools.values() for c in pool._open)
            while waits and connection.is_alive():  # noqa: ASYNC110 - by a thread
                await asyncio.sleep(0)
            while not waits and not connection._poll.poll(20_000):  # the event loop knows nothing
                pass
        await transport.aclose()
        return found

    for waits in (True, False):
        with serving(script) as server:
            assert run(kind, main(server.url, waits)) == [(200, b"hello")] * 4
        assert len(server.requests) == 4


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize(("method", "times"), [("POST", 1), ("GET", 2)])
def test_only_a_request_that_may_be_repeated_is_when_a_kept_connection_ends(kind, method, times):
    first = True

    def script(peer: Peer) -> None:
        nonlocal first
        if first:
            first = False
            peer.read()
            peer.say(chunked(b"hello"))
        peer.read()  # the connection ends when the request is there, without a word
        if not first and len(server.requests) > 2:
            peer.say(chunked(b"again"))

    async def main(url: str) -> object:
        transport = FastTransport()
        await fetched(transport, request(url))
        try:
            return await fetched(transport, request(url, method))
        except Unreachable as error:
            return error
        finally:
            await transport.aclose()

    with serving(script) as server:
        found = run(kind, main(server.url))
    assert len(server.requests) == 1 + times
    assert found == (200, b"again") if times == 2 else isinstance(found, Unreachable)


@pytest.mark.parametrize("kind", LOOPS)
def test_part_of_an_answer_is_never_repeated(kind):
    def script(peer: Peer) -> None:
        peer.read()
        peer.say(chunked(b"hello"))
        peer.read()
        peer.say(b"HTTP/1.1 2")

    async def main(url: str) -> None:
        transport = FastTransport()
        await fetched(transport, request(url, "GET"))
        with pytest.raises(Unreachable):
            await fetched(transport, request(url, "GET"))
        await transport.aclose()

    with serving(script) as server:
        run(kind, main(server.url))
    assert len(server.requests) == 2


@pytest.mark.parametrize("kind", LOOPS)
def test_idle_connections_are_closed_when_their_time_is_over(kind):
    gone = threading.Event()

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(chunked(b"hello"))
        if peer.gone():
            gone.set()

    async def main(url: str) -> None:
        transport = FastTransport(limits=ConnectionLimits(keepalive_expiry=0.05))
        await fetched(transport, request(url))
        assert await asyncio.to_thread(gone.wait, 20)
        await transport.aclose()

    with serving(script) as server:
        run(kind, main(server.url))


@pytest.mark.parametrize("kind", LOOPS)
def test_an_idle_connection_to_one_host_makes_room_for_another(kind):
    async def main(*urls: str) -> list[tuple[int, bytes]]:
        transport = FastTransport(limits=ConnectionLimits(max_connections=1))
        found = [await fetched(transport, request(url)) for url in urls]
        await transport.aclose()
        return found

    with serving(answering(chunked(b"one"))) as one, serving(answering(chunked(b"two"))) as two:
        said = run(kind, main(one.url, two.url, one.url))
    assert said == [(200, b"one"), (200, b"two"), (200, b"one")]


@pytest.mark.parametrize("kind", LOOPS)
def test_one_that_waits_for_room_and_leaves_gives_its_turn_away(kind):
    came, freed = threading.Event(), threading.Event()

    def script(peer: Peer) -> None:
        while peer.read():
            came.set()
            freed.wait(20)
            peer.say(chunked(b"hello"))

    async def main(url: str) -> list[object]:
        transport = FastTransport(limits=ConnectionLimits(max_connections=1))
        tasks = [asyncio.ensure_future(fetched(transport, request(url))) for _ in range(4)]
        await asyncio.to_thread(came.wait, 20)
        tasks[1].cancel()
        freed.set()
        found = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
        await transport.aclose()
        return list(found)

    with serving(script) as server:
        first, second, *others = run(kind, main(server.url))
    assert isinstance(second, asyncio.CancelledError)
    assert [first, *others] == [(200, b"hello")] * 3


@pytest.mark.parametrize("kind", LOOPS)
def test_one_that_leaves_when_its_turn_has_come_gives_it_away_too(kind):
    async def main(url: str) -> list[object]:
        transport = FastTransport(limits=ConnectionLimits(max_connections=1))
        held = await transport.send(request(url), LONG)
        assert [piece async for piece in held]
        tasks = [asyncio.ensure_future(fetched(transport, request(url))) for _ in range(3)]
        (pool,) = transport._pools.values()
        taken = pool._take_idle(next(iter(pool._idle)))  # so that they have to wait
        while len(pool._waiting) < len(tasks):  # noqa: ASYNC110 - until all have begun
            await asyncio.sleep(0)
        assert taken is not None
        pool.release(taken)  # the turn of the first one comes ...
        tasks[0].cancel()  # ... and it leaves before it could run
        found = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
        await transport.aclose()
        return list(found)

    with serving(answering(chunked(b"hello"))) as server:
        first, *others = run(kind, main(server.url))
    assert isinstance(first, asyncio.CancelledError)
    assert others == [(200, b"hello")] * 2


@pytest.mark.parametrize("kind", LOOPS)
def test_waiting_for_room_runs_into_a_clock(kind):
    async def main(url: str) -> None:
        transport = FastTransport(limits=ConnectionLimits(max_connections=1))
        held = await transport.send(request(url), LONG)
        soon = Timeouts(connect=0.05, first_byte=0.05, between_bytes=60)
        with pytest.raises(Timeout, match="no connection") as caught:
            await transport.send(request(url), soon)
        assert not caught.value.connected
        await held.aclose()
        await transport.aclose()

    with serving(saying(chunked(b"first")[:-5])) as server:
        run(kind, main(server.url))


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("when", ["head", "body"])
def test_a_cancelled_request_closes_its_connection_at_once(kind, when):
    gone = threading.Event()

    def script(peer: Peer) -> None:
        peer.read()
        if when == "body":
            peer.say(chunked(b"first")[:-5])
        if peer.gone():
            gone.set()

    async def main(url: str) -> None:
        transport = FastTransport()
        task = asyncio.ensure_future(fetched(transport, request(url)))
        while not server.requests or (when == "body" and not _has_head(transport)):  # noqa: ASYNC110 - by a thread
            await asyncio.sleep(0)
        task.cancel()
        assert await asyncio.to_thread(gone.wait, 20)
        with pytest.raises(asyncio.CancelledError):
            await task
        await transport.aclose()

    with serving(script) as server:
        run(kind, main(server.url))


def _has_head(transport: FastTransport) -> bool:
    return any(c.status for pool in transport._pools.values() for c in pool._open)


@pytest.mark.parametrize("kind", LOOPS)
def test_an_answer_that_nobody_closed_closes_its_connection_when_it_is_dropped(kind):
    gone = threading.Event()

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(chunked(b"first")[:-5])
        if peer.gone():
            gone.set()

    async def main(url: str) -> None:
        transport = FastTransport()
        answer = await transport.send(request(url), LONG)
        del answer
        assert await asyncio.to_thread(gone.wait, 20)
        await transport.aclose()

    with serving(script) as server:
        run(kind, main(server.url))


# -- slow ones ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LOOPS)
def test_bytes_that_are_no_body_do_not_set_back_the_clock_between_bytes(kind):
    stop = threading.Event()

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(chunked(b"first")[:-5] + b"5;")
        while not stop.wait(0.02):
            peer.say(b"x")

    try:
        error = outcome(kind, script, Timeouts(connect=60, first_byte=60, between_bytes=0.3))
    finally:
        stop.set()
    assert isinstance(error, Timeout)


@pytest.mark.parametrize("kind", LOOPS)
def test_a_reader_that_takes_its_time_is_not_the_services_silence(kind):
    waits, read = threading.Event(), threading.Event()
    data = chunked(b"first", b"last")
    body, last = data.index(b"5\r\nfirst"), data.index(b"4\r\nlast")

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(data[:body])
        waits.wait(20)
        peer.say(data[body:last])
        read.wait(20)
        peer.say(data[last:])

    async def main(url: str) -> bytes:
        transport = FastTransport()
        answer = await transport.send(request(url), Timeouts(60, 60, 5))
        reading = asyncio.ensure_future(anext(aiter(answer)))
        await asyncio.sleep(0)  # it waits for the first bytes, and its clock runs
        waits.set()
        first = await reading
        (connection,) = (c for pool in transport._pools.values() for c in pool._open)
        connection._on_timer()  # as if all of the time were over
        assert connection._deadline == math.inf
        read.set()
        rest = b"".join([piece async for piece in answer])
        await transport.aclose()
        return first + rest

    with serving(script) as server:
        assert run(kind, main(server.url)) == b"firstlast"


@pytest.mark.parametrize("kind", LOOPS)
def test_a_reader_that_stops_makes_the_service_stop_too(kind):
    sent, stalled = 0, threading.Event()

    def script(peer: Peer) -> None:
        nonlocal sent
        peer.read()
        peer.say(HEAD + b"content-length: 268435456\r\n\r\n")
        peer._connection.settimeout(1.0)
        try:
            while sent < 268_435_456:
                sent += peer._connection.send(bytes(65_536))
        except TimeoutError:
            stalled.set()
        peer.gone()

    async def main(url: str) -> None:
        transport = FastTransport()
        answer = await transport.send(request(url), LONG)
        await anext(aiter(answer))
        assert await asyncio.to_thread(stalled.wait, 60)
        (connection,) = (c for pool in transport._pools.values() for c in pool._open)
        assert sum(map(len, connection.parts)) < 1024 * 1024
        await answer.aclose()
        await transport.aclose()

    with serving(script) as server:
        run(kind, main(server.url))
    assert sent < 64 * 1024 * 1024


@pytest.mark.parametrize("kind", LOOPS)
def test_a_slow_reader_gets_all_of_a_large_body(kind):
    body = bytes(range(256)) * 65_536

    async def main(url: str) -> bytes:
        transport = FastTransport()
        answer = await transport.send(request(url), LONG)
        pieces = []
        async for piece in answer:
            pieces.append(piece)
            await asyncio.sleep(0)
        await transport.aclose()
        return b"".join(pieces)

    said = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    with serving(answering(said)) as server:
        assert run(kind, main(server.url)) == body


@pytest.mark.parametrize("kind", LOOPS)
def test_a_service_that_reads_a_large_request_slowly_is_waited_for(kind):
    body = bytes(48 * 1024 * 1024)
    may_read = threading.Semaphore(0)

    def script(peer: Peer) -> None:
        left = len(body)
        while left > 0:
            may_read.acquire(timeout=0.02)  # slower in all than the clock allows without a byte
            left -= len(peer._connection.recv(1 << 20))
        peer.say(chunked(b"hello"))

    async def main(url: str) -> tuple[int, bytes]:
        transport = FastTransport()
        try:
            return await fetched(transport, request(url, body=body), Timeouts(60, 0.3, 60))
        finally:
            await transport.aclose()

    with serving(script) as server:
        assert run(kind, main(server.url)) == (200, b"hello")


@pytest.mark.parametrize("kind", LOOPS)
def test_a_service_that_reads_nothing_of_a_large_request_runs_into_the_clock(kind):
    stop = threading.Event()

    def script(_: Peer) -> None:
        stop.wait(60)

    async def main(url: str) -> None:
        transport = FastTransport()
        asked = request(url, body=bytes(48 * 1024 * 1024))
        with pytest.raises(Timeout, match="no data came"):
            await transport.send(asked, Timeouts(60, 0.2, 60))
        await transport.aclose()

    with serving(script) as server:
        run(kind, main(server.url))
        stop.set()


@pytest.mark.parametrize("kind", LOOPS)
def test_a_refusal_that_comes_before_the_end_of_the_request_is_read(kind):
    refused = b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nno!"
    done = threading.Event()

    def script(peer: Peer) -> None:
        peer.hear()
        peer.say(refused)
        done.wait(20)

    async def main(url: str) -> list[tuple[int, bytes]]:
        transport = FastTransport()
        asked = request(url, body=bytes(48 * 1024 * 1024))
        found = [await fetched(transport, asked) for _ in range(2)]
        done.set()
        await transport.aclose()
        return found

    with serving(script) as server:
        assert run(kind, main(server.url)) == [(413, b"no!")] * 2
    assert server.connections == 2  # a half-sent request is not followed by another


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("way", ["small", "large", "by the library", "in pieces"])
def test_what_must_not_be_lost_is_saved_before_the_service_reads_anything(kind, way):
    async def pieces():
        yield b"hello"

    async def main(url: str, heard: list[bytes]) -> list[int]:
        transport, saved = FastTransport(), list[int]()
        transport.before_write = lambda: saved.append(len(heard))
        for _ in range(2):
            if way == "in pieces":
                answer = await transport.send_pieces(request(url, body=b""), LONG, pieces())
                await answer.aclose()
            else:
                is_library = way == "by the library"
                body = b"" if is_library else bytes(100_000) if way == "large" else b"hello"
                await fetched(transport, request(url, "HEAD" if is_library else "POST", body))
        await transport.aclose()
        return saved

    with serving(answering(HEAD + b"content-length: 0\r\n\r\n")) as server:
        saved = run(kind, main(server.url, server.requests))
    assert saved[0] == 0
    assert len(saved) >= 2
    assert server.requests
