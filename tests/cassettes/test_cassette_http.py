"""Recorded from a server on this machine over real HTTP, and played without it."""

import gzip
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from tests.transport.scripted import TIMEOUTS

from pondero.canon import HttpRequest
from pondero.errors import Unreachable
from pondero.vcr import AsyncCassette, Cassette

KEY = "k3y-of-the-house-and-garden"
EVENTS = [b"data: one\n\n", b"data: two \xc3\xa9\n\n", b"data: [DONE]\n\n"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        getattr(self, f"_{self.path.partition('?')[0].strip('/')}")()

    def _stream(self) -> None:
        self._head(
            "text/event-stream", ("transfer-encoding", "chunked"), ("set-cookie", f"s={KEY}")
        )
        for event in EVENTS:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _whole(self) -> None:
        body = gzip.compress(b'{"echo":"%s"}' % self.headers["x-api-key"].encode())
        self._head(
            "application/json", ("content-length", str(len(body))), ("content-encoding", "gzip")
        )
        self.wfile.write(body)

    def _cut(self) -> None:
        self._head("text/event-stream", ("transfer-encoding", "chunked"))
        self.wfile.write(b"%x\r\n%b\r\n" % (len(EVENTS[0]), EVENTS[0]))
        self.close_connection = True

    def _head(self, kind: str, *headers: tuple[str, str]) -> None:
        self.send_response(200)
        for name, value in (("content-type", kind), *headers):
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "VCR_RECORD"):
        monkeypatch.delenv(name, raising=False)


def asking(base: str, path: str) -> HttpRequest:
    return HttpRequest("POST", f"{base}/{path}?key={KEY}", {"x-api-key": KEY}, b'{"q":1}')


def test_a_stream_a_packed_body_and_a_cut_stream_are_played_as_they_came(server, tmp_path):
    path = tmp_path / "case.jsonl"
    with Cassette(path, record=True) as cassette:
        live = [_all(cassette, asking(server, name)) for name in ("stream", "whole", "cut")]
    assert live[0][0] == b"".join(EVENTS)
    assert live[1] == (b'{"echo":"%s"}' % KEY.encode(), None)
    assert live[2][0] == EVENTS[0]
    assert live[2][1] is Unreachable
    assert KEY not in path.read_text()

    cassette = Cassette(path)
    gone = "http://127.0.0.1:1"
    played = [_all(cassette, asking(gone, name)) for name in ("stream", "whole", "cut")]
    assert played == [live[0], (b'{"echo":"REDACTED"}', None), live[2]]
    cassette.assert_played()


@pytest.mark.anyio
async def test_the_same_with_asyncio(server, tmp_path):
    path = tmp_path / "case.jsonl"
    async with AsyncCassette(path, record=True) as cassette:
        answer = await cassette.send(asking(server, "stream"), TIMEOUTS)
        live = [piece async for piece in answer]
        await answer.aclose()
    answer = await AsyncCassette(path).send(asking(server, "stream"), TIMEOUTS)
    assert [piece async for piece in answer] == live
    assert b"".join(live) == b"".join(EVENTS)
    assert answer.head.headers["set-cookie"] == "REDACTED"
    assert "transfer-encoding" not in answer.head.headers


def _all(cassette, request):
    got = b""
    answer = cassette.send(request, TIMEOUTS)
    try:
        for piece in answer:
            got += piece
    except Unreachable as error:
        return got, type(error)
    finally:
        answer.close()
    return got, None


@pytest.fixture
def anyio_backend():
    return "asyncio"
