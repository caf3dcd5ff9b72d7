"""Addresses, headers, certificates and memory of the fast transport's own client."""

import asyncio
import gc
import socket
import tracemalloc
import weakref

import pytest
from msgspec.structs import replace
from tests.transport.direct import HEAD, LONG, LOOPS, fetched, request
from tests.transport.loopback import Peer, answering, chunked, serving
from tests.transport.tls_files import TlsFiles
from tests.transport.transports import run

from pondero.canon import HttpRequest
from pondero.errors import BadParameter, Unreachable
from pondero.transport import FastTransport
from pondero.transport.direct_http import find_place


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


@pytest.fixture
def look_up(monkeypatch):
    """Let every host have these addresses; return all hosts that were looked up."""
    looked: list[str] = []

    def give(port: int, *before: tuple[str, int], fails: int = 0) -> list[str]:
        async def addresses(_: object, host: str, __: int) -> list[tuple[object, ...]]:
            looked.append(host)
            if len(looked) <= fails:
                raise socket.gaierror(-2, "Name or service not known")
            stream = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
            return [(*stream, each) for each in (*before, ("127.0.0.1", port))]

        monkeypatch.setattr("pondero.transport.direct_http.DirectPool._look_up", addresses)
        return looked

    return give


@pytest.mark.parametrize("kind", LOOPS)
def test_a_host_whose_first_address_is_dead_is_reached_by_the_next_one(kind, look_up):
    async def main(port: int) -> list[tuple[int, bytes]]:
        looked = look_up(port, ("127.0.0.2", 9))
        transport = FastTransport()
        asked = request(f"http://service.invalid:{port}")
        answers = await asyncio.gather(*(fetched(transport, asked) for _ in range(8)))
        await transport.aclose()
        assert looked == ["service.invalid"]  # all share one look-up
        return list(answers)

    with serving(answering(chunked(b"hello"))) as server:
        assert run(kind, main(port_of(server.url))) == [(200, b"hello")] * 8


@pytest.mark.parametrize("kind", LOOPS)
def test_a_failed_look_up_is_not_kept(kind, look_up):
    async def main(port: int) -> tuple[int, bytes]:
        look_up(port, fails=1)
        transport = FastTransport()
        asked = request(f"http://service.invalid:{port}")
        with pytest.raises(Unreachable, match="name or service not known") as caught:
            await fetched(transport, asked)
        assert not caught.value.connected
        found = await fetched(transport, asked)
        await transport.aclose()
        return found

    with serving(answering(chunked(b"hello"))) as server:
        assert run(kind, main(port_of(server.url))) == (200, b"hello")


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
@pytest.mark.parametrize("kind", LOOPS)
def test_an_address_of_ipv6_is_reached(kind):
    async def main() -> tuple[bytes, tuple[int, bytes]]:
        heard, over = bytearray(), asyncio.Event()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.extend(await reader.readuntil(b"\r\n\r\n"))
            writer.write(chunked(b"hello"))
            await reader.read()  # until the client hangs up
            writer.close()
            await writer.wait_closed()
            over.set()

        try:
            server = await asyncio.start_server(answer, "::1", 0)
        except OSError:
            pytest.skip("this machine has no IPv6")
        port = server.sockets[0].getsockname()[1]
        transport = FastTransport()
        found = await fetched(transport, request(f"http://[::1]:{port}"))
        await transport.aclose()
        await over.wait()
        server.close()
        await server.wait_closed()
        assert f"host: [::1]:{port}".encode() in heard
        return bytes(heard), found

    assert run(kind, main())[1] == (200, b"hello")


@pytest.mark.parametrize(
    ("url", "host", "target"),
    [
        ("http://a.b", "a.b", "/"),
        ("http://a.b:80/x", "a.b", "/x"),
        ("https://a.b:443/x?y=1", "a.b", "/x?y=1"),
        ("https://a.b:80/x", "a.b:80", "/x"),
        ("http://[::1]:8080/x", "[::1]:8080", "/x"),
        ("http://[::1]:80/x", "[::1]", "/x"),
        ("http://a.b?x=%3A", "a.b", "/?x=%3A"),
        ("https://a.b/model%2F1:do", "a.b", "/model%2F1:do"),
    ],
)
def test_an_address_is_written_as_it_was_given(url, host, target):
    place = find_place(url)
    assert place is not None
    assert (place.named, place.target) == (host, target)


@pytest.mark.parametrize(
    "url",
    [
        *("http://u:p@a.b/x", "http://ä.b/x", "http://a.b/ä", "http://a.b/x y", "http://a.b/x#y"),
        *("http://a.b/x\r\nh: v", "ftp://a.b", "a.b", "http://", "http:///x"),
    ],
)
def test_an_address_that_is_not_plain_is_left_to_the_library(url):
    assert find_place(url) is None


@pytest.mark.parametrize(
    "headers",
    [{"x": "a\r\nevil: 1"}, {"x": "a\nb"}, {"x": "a\0b"}, {"x: y": "1"}, {"": "1"}, {"x\r\n": "1"}],
)
def test_a_header_cannot_add_a_line(headers):
    with serving(answering(chunked(b"hello"))) as server:

        async def main() -> None:
            transport = FastTransport()
            with pytest.raises(BadParameter):
                await transport.send(HttpRequest("POST", server.url, headers, b"{}"), LONG)
            await transport.aclose()

        asyncio.run(main())
    assert server.requests == []


def test_each_request_has_its_own_key_address_and_length():
    asks = [
        HttpRequest("POST", "/a", {"x-api-key": "one"}, b"1"),
        HttpRequest("POST", "/a", {"x-api-key": "two"}, b"22"),
        HttpRequest("POST", "/b", {"x-api-key": "one"}, b"333"),
        HttpRequest("PUT", "/a", {"x-api-key": "one"}, b""),
        HttpRequest("GET", "/a", {"x-api-key": "one"}, b""),
        HttpRequest("POST", "/a", {"x-api-key": "one", "x-more": "1"}, b"55555"),
        HttpRequest("POST", "/a", {"x-api-key": "one"}, b"1"),
    ]
    with serving(answering(chunked(b"hello"))) as server:

        async def main() -> None:
            transport = FastTransport()
            for each in asks:
                await fetched(transport, replace(each, url=server.url + each.url))
            await transport.aclose()

        asyncio.run(main())
    for each, sent in zip(asks, server.requests, strict=True):
        head, _, body = sent.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        said = dict(line.split(": ", 1) for line in lines)
        assert (first, body) == (f"{each.method} {each.url} HTTP/1.1", each.body)
        assert len(said) == len(lines)
        length = {} if each.method == "GET" else {"content-length": str(len(body))}
        usual = ("host", "accept", "accept-encoding", "user-agent")
        assert {name: said[name] for name in said if name not in usual} == each.headers | length


def test_headers_that_frame_the_request_are_its_own():
    sent = {"Content-Length": "99", "Transfer-Encoding": "chunked", "connection": "upgrade"}
    with serving(answering(chunked(b"hello"))) as server:

        async def main() -> None:
            transport = FastTransport(headers={"x-team": "search", "x-own": "transport"})
            more = {**sent, "X-Own": "request", "Accept-Encoding": "identity"}
            await fetched(transport, HttpRequest("POST", f"{server.url}/p", more, b"{}"))
            await transport.aclose()

        asyncio.run(main())
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert (lines[0], body) == (b"POST /p HTTP/1.1", b"{}")
    assert sorted(lines[1:]) == sorted(
        [
            b"host: " + server.url.removeprefix("http://").encode(),
            b"accept: */*",
            b"accept-encoding: identity",
            b"user-agent: pondero",
            b"x-team: search",
            b"x-own: request",
            b"content-length: 2",
        ]
    )


# -- TLS and memory -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return TlsFiles(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize("kind", LOOPS)
def test_a_connection_by_tls_is_kept_and_large_bodies_pass_both_ways(kind, files):
    body = bytes(range(256)) * 8_192
    said = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body

    async def main(url: str) -> bool:
        transport = FastTransport(verify=files.authority)
        found = [await fetched(transport, request(url, body=body)) for _ in range(3)]
        await transport.aclose()
        return found == [(200, body)] * 3

    with serving(answering(said), files.server_context()) as server:
        assert run(kind, main(server.url))
    assert server.connections == 1
    assert all(sent.endswith(body) for sent in server.requests)


@pytest.mark.parametrize("kind", LOOPS)
def test_a_certificate_for_another_host_is_rejected(kind, files, look_up):
    async def main(port: int) -> None:
        look_up(port)
        transport = FastTransport(verify=files.authority)
        with pytest.raises(Unreachable, match=r"(?i)certificate") as caught:
            await transport.send(request(f"https://other.invalid:{port}"), LONG)
        assert not caught.value.connected
        await transport.aclose()

    with serving(answering(chunked(b"hello")), files.server_context()) as server:
        run(kind, main(port_of(server.url)))
    assert server.requests == []


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("said", [chunked(b"x" * 100_000), chunked(b"x" * 100_000)[:-9]])
def test_what_an_answer_held_is_freed_without_the_garbage_collector(kind, said):
    async def main(url: str) -> bool:
        transport = FastTransport()
        gc.collect()
        gc.disable()
        try:
            answer = await transport.send(request(url), LONG)
            connection = weakref.ref(answer._connection)  # type: ignore[attr-defined]  # look inside
            try:
                async for _ in answer:
                    pass
            except Unreachable:
                pass
            await answer.aclose()
            freed = weakref.ref(answer)
            del answer
            await transport.aclose()
            for _ in range(5):
                await asyncio.sleep(0)
            return freed() is None and connection() is None
        finally:
            gc.enable()

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(said)

    with serving(script) as server:
        assert run(kind, main(server.url))


def test_an_oversized_answer_is_not_kept_after_it_was_left():
    async def main(url: str) -> int:
        transport = FastTransport()
        await fetched_some(transport, url)
        gc.collect()
        tracemalloc.start()
        for _ in range(20):
            await fetched_some(transport, url)
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        await transport.aclose()
        return held

    async def fetched_some(transport: FastTransport, url: str) -> None:
        answer = await transport.send(request(url), LONG)
        async for _ in answer:
            break
        await answer.aclose()
        del answer

    said = HEAD + b"content-length: 4000000\r\n\r\n" + bytes(4_000_000)
    gc.disable()
    try:
        with serving(answering(said)) as server:
            assert asyncio.run(main(server.url)) < 4_000_000
    finally:
        gc.enable()
