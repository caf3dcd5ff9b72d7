"""The transports that go over the network, against a server on this machine."""

import asyncio
import gzip
import re
import subprocess
import sys
import threading

import pytest
from tests.transport.loopback import Peer, answering, chunked, serving
from tests.transport.transports import AWAITED, KINDS, ByLibrary, run

from pondero.canon import HttpRequest
from pondero.errors import BadParameter, PonderoError, Timeout, Unreachable
from pondero.exchange import Timeouts
from pondero.extras import install_hint
from pondero.transport import AsyncHttpTransport, FastTransport, HttpTransport

LONG = Timeouts()


def request(url: str) -> HttpRequest:
    return HttpRequest("POST", f"{url}/v1/x", {"content-type": "application/json"}, b'{"a":1}')


def exchanges(
    kind: str, url: str, *, times: int = 1, timeouts: Timeouts = LONG, read: int | None = None
):
    """Return head and pieces of each exchange, over one transport; ``read``: so many pieces."""
    if kind == "sync":
        return _waited(url, times, timeouts, read)
    return run(kind, _awaited(AWAITED[kind](), url, times, timeouts, read))


def _waited(url, times, timeouts, read):
    transport, found = HttpTransport(), []
    try:
        for _ in range(times):
            answer = transport.send(request(url), timeouts)
            try:
                pieces = []
                for piece in answer:
                    pieces.append(piece)
                    if len(pieces) == read:
                        break
            finally:
                answer.close()
                answer.close()
            found.append((answer.head, pieces))
        return found
    finally:
        transport.close()
        transport.close()


async def _awaited(transport, url, times, timeouts, read):
    found = []
    try:
        for _ in range(times):
            answer = await transport.send(request(url), timeouts)
            try:
                pieces = []
                async for piece in answer:
                    pieces.append(piece)
                    if len(pieces) == read:
                        break
            finally:
                await answer.aclose()
                await answer.aclose()
            found.append((answer.head, pieces))
        return found
    finally:
        await transport.aclose()
        await transport.aclose()


def broken_off(kind: str, url: str, begun: threading.Event):
    """Return the pieces of an answer, read late, and the error at their end."""
    pieces: list[bytes] = []
    if kind == "sync":
        transport = HttpTransport()
        answer = transport.send(request(url), LONG)
        begun.set()
        try:
            pieces.extend(answer)
        except PonderoError as error:
            return pieces, error
        finally:
            answer.close()
            transport.close()

    async def read_late():
        transport = AWAITED[kind]()
        answer = await transport.send(request(url), LONG)
        begun.set()
        await asyncio.sleep(0.3)  # all has come, and the connection is gone
        try:
            async for piece in answer:
                pieces.append(piece)  # noqa: PERF401 - those before the error are wanted
        except PonderoError as error:
            return pieces, error
        finally:
            await answer.aclose()
            await transport.aclose()

    return run(kind, asyncio.wait_for(read_late(), 20))


@pytest.mark.parametrize("kind", KINDS)
def test_head_and_bytes_arrive_and_the_connection_is_used_again(kind):
    with serving(answering(chunked(b"one ", b"two"))) as server:
        found = exchanges(kind, server.url, times=3)
    for head, pieces in found:
        assert (head.status, head.headers["x-request-id"]) == (200, "r1")
        assert b"".join(pieces) == b"one two"
    assert server.connections == 1
    assert all(sent.endswith(b'{"a":1}') for sent in server.requests)
    assert b"user-agent: pondero" in server.requests[0].lower()


@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_chunks_arrive_in_order_and_the_connection_is_used_again(kind):
    events = [b"event %d %b\n" % (number, b"x" * (number % 700)) for number in range(8_000)]
    with serving(answering(chunked(*events))) as server:
        found = exchanges(kind, server.url, times=2)
    for _, pieces in found:
        assert b"".join(pieces) == b"".join(events)
        assert all(pieces)
    assert server.connections == 1


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_that_come_in_halves_arrive_whole(kind):
    events = [b"event %d\n" % number for number in range(50)]
    data = chunked(*events)

    def script(peer: Peer) -> None:
        peer.read()
        for at in range(0, len(data), 7):
            peer.say(data[at : at + 7])

    with serving(script) as server:
        ((_, pieces),) = exchanges(kind, server.url)
    assert b"".join(pieces) == b"".join(events)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_packed_is_unpacked(kind):
    packed = gzip.compress(b"words " * 100)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    with serving(answering(head + packed)) as server:
        ((_, pieces),) = exchanges(kind, server.url)
    assert b"".join(pieces) == b"words " * 100


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_left_early_frees_its_connection_at_once(kind):
    gone = threading.Event()

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(chunked(b"first")[:-5])  # and never an end
        if peer.gone():
            gone.set()

    with serving(script) as server:
        exchanges(kind, server.url, read=1)
        assert gone.wait(20)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("said", "timeouts"),
    [
        (b"", Timeouts(connect=60, first_byte=0.2, between_bytes=60)),
        (chunked(b"first")[:-5], Timeouts(connect=9, first_byte=60, between_bytes=0.2)),
    ],
)
def test_the_first_byte_and_those_after_it_have_clocks_of_their_own(kind, said, timeouts):
    def script(peer: Peer) -> None:
        peer.read()
        peer.say(said)
        peer.gone()  # hangs up by itself, long before the longer of the two clocks

    with serving(script) as server, pytest.raises(Timeout, match=r"127\.0\.0\.1"):
        exchanges(kind, server.url, timeouts=timeouts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"nonsense\r\n\r\n",
        chunked(b"x")[:-5],
    ],
)
def test_a_connection_that_breaks_is_unreachable(kind, said):
    def script(peer: Peer) -> None:
        peer.read()
        peer.say(said)

    with serving(script) as server, pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        exchanges(kind, server.url)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("broken", [b"", b"9\r\nha", b"zz\r\nnonsense"])
def test_what_came_before_a_connection_broke_is_not_lost(kind, broken):
    begun = threading.Event()
    events = [b"event %d\n" % number for number in range(500)]
    head, _, body = chunked(*events)[:-5].partition(b"\r\n\r\n")

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(head + b"\r\n\r\n")
        begun.wait(20)
        peer.say(body + broken)

    with serving(script) as server:
        found, error = broken_off(kind, server.url, begun)
    assert b"".join(found).removesuffix(b"ha") == b"".join(events)
    assert isinstance(error, Unreachable)


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_there_is_unreachable(kind):
    with serving(answering(b"")) as server:
        url = server.url
    with pytest.raises(Unreachable):
        exchanges(kind, url)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("url", ["nowhere", "ftp://127.0.0.1"])
def test_an_address_that_is_none_is_said_to_be_none(kind, url):
    with pytest.raises((BadParameter, Unreachable)):
        exchanges(kind, url)


@pytest.mark.parametrize("kind", KINDS)
def test_the_environments_proxy_is_used_and_its_exceptions_are_kept(kind, monkeypatch):
    with serving(answering(chunked(b"by proxy"))) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        ((_, pieces),) = exchanges(kind, "http://service.invalid")
        assert b"".join(pieces) == b"by proxy"
        assert proxy.requests[0].startswith(b"POST http://service.invalid/v1/x")
        with serving(answering(chunked(b"direct"))) as server:
            ((_, pieces),) = exchanges(kind, server.url)
    assert b"".join(pieces) == b"direct"


@pytest.mark.parametrize("kind", KINDS)
def test_a_proxy_that_says_nothing_runs_into_a_clock(kind, monkeypatch):
    def script(peer: Peer) -> None:
        peer.read()
        peer.gone()

    with serving(script) as proxy:
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        clocks = Timeouts(connect=0.1, first_byte=0.1, between_bytes=60)
        with pytest.raises(Timeout, match=r"service\.invalid"):
            exchanges(kind, "https://service.invalid", timeouts=clocks)
    assert proxy.requests[0].startswith(b"CONNECT service.invalid:443")


@pytest.mark.parametrize("make", [AsyncHttpTransport, FastTransport, ByLibrary])
def test_one_transport_serves_several_event_loops_and_leaves_nothing_open(make):
    transport = make()

    async def once(url):
        answer = await transport.send(request(url), LONG)
        return b"".join([piece async for piece in answer])

    with serving(answering(chunked(b"hello"))) as server:
        assert [asyncio.run(once(server.url)) for _ in range(3)] == [b"hello"] * 3
    assert server.connections == 3


@pytest.mark.parametrize("package", ["aiohttp", "httptools"])
def test_without_its_packages_the_fast_transport_says_what_to_install(package, monkeypatch):
    from pondero.errors import MissingExtra

    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "pondero.transport.fast_http")
    with pytest.raises(MissingExtra, match=re.escape(install_hint("fast"))):
        import pondero.transport.fast_http  # noqa: F401


@pytest.mark.parametrize("library", ["httpx2", "aiohttp"])
def test_the_fast_transport_does_not_load_a_library_that_it_does_not_use(library):
    code = f"""
import sys
from pondero.transport import FastTransport
FastTransport()
print({library!r} in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
