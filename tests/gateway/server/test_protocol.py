"""HTTP before the application: unread answers, other protocols, and rejections with an id."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.server.test_door import (
    ASKED,
    HOST,
    LONG,
    VALID,
    Raw,
    is_served,
    serving,
    until_recorded,
)

from pondero.asgi import bind
from pondero.gateway.server import protocol, reading_deadline, rejections, run

KEYLESS = b"GET /v1/models HTTP/1.1\r\n%b\r\n" % HOST
SMALL = 4096  # bytes of the systems' buffers, so that few answers fill them


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rejections, "PER_ADDRESS", 100_000)
        patch.setattr(rejections, "IN_ALL", 100_000)
        yield


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with serving() as found:
        yield found


# -- clients that do not read --------------------------------------------------------------------


@pytest.fixture
def transports(monkeypatch) -> list[Any]:
    """Let deadlines pass within the test; yield the server's side of each connection."""
    found: list[Any] = []
    made = protocol._LimitedProtocol.connection_made

    def connection_made(self: Any, transport: Any) -> None:
        found.append(transport)
        made(self, transport)

    def bind_small(host: str, port: int) -> socket.socket:
        bound = bind(host, port)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        return bound

    monkeypatch.setattr(run, "bind", bind_small)
    monkeypatch.setattr(protocol._LimitedProtocol, "connection_made", connection_made)
    monkeypatch.setattr(reading_deadline, "READ_SECONDS", 2.0)
    monkeypatch.setattr(protocol, "_SWEEP", 0.05)
    return found


class Deaf(Raw):
    """A client with small buffers that reads nothing by itself."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        self.socket.connect(("127.0.0.1", port))

    def ask(self, gateway: Any, count: int) -> bool:
        """Ask without a key, and return whether all was answered, as far as the gateway sees."""
        before, end = len(gateway.seen), time.monotonic() + 1
        self.socket.sendall(KEYLESS * count)
        while len(gateway.seen) < before + count and time.monotonic() < end:
            time.sleep(0.0005)
        return len(gateway.seen) == before + count

    def is_cut_off(self) -> bool:
        """Return whether the other side ended the connection, without reading."""
        self.socket.settimeout(0.01)
        try:
            self.socket.send(b"\r\n")
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return False


def until(true: Any, what: str) -> None:
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@pytest.mark.parametrize("count", [1, 8], ids=["one by one", "pipelined"])
def test_a_client_that_never_reads_is_cut_off(transports, count):
    with serving() as own, Deaf(own.port) as deaf:
        while deaf.ask(own, count):
            assert len(own.seen) < 5_000, "the answers go nowhere, and requests are still read"
        (transport,) = transports
        assert transport.get_write_buffer_size() < 80 << 10
        until(deaf.is_cut_off, "the connection is still open")
        until(lambda: transport.get_write_buffer_size() == 0, "its answers are still there")
        assert is_served(own)


def test_a_client_that_reads_no_more_is_cut_off_when_its_connection_is_closed(
    transports, monkeypatch
):
    monkeypatch.setattr(run, "KEEP_ALIVE", 1)
    with serving() as own, Deaf(own.port) as deaf:
        while deaf.ask(own, 1) and transports[0].get_write_buffer_size() < SMALL:
            continue  # a few answers wait, and nothing is asked any more
        until(transports[0].is_closing, "an idle connection is kept")
        assert 0 < transports[0].get_write_buffer_size() < 1 << 16
        until(lambda: transports[0].get_write_buffer_size() == 0, "its answers are still there")
        until(deaf.is_cut_off, "the connection is still open")


def test_a_client_that_reads_slowly_gets_all(transports, monkeypatch):
    monkeypatch.setattr(reading_deadline, "READ_SECONDS", 0.2)
    get = b"GET /console/style.css HTTP/1.1\r\n%b\r\n" % HOST
    with serving() as own, Deaf(own.port) as slow:
        slow.socket.settimeout(LONG)
        slow.socket.sendall(get * 12 + get.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
        until(lambda: transports and transports[0].get_write_buffer_size() > 1 << 16, "all is read")
        said = b""
        while piece := slow.socket.recv(SMALL):
            said += piece
            time.sleep(0.01)
        assert said.count(b"HTTP/1.1 200") == 13
        assert len(said) > 13 * int(said.partition(b"content-length: ")[2].split()[0])


# -- rejections by the protocol ------------------------------------------------------------------

PATHS = {
    b"/v1/messages": ("anthropic", "request-id"),
    b"/v1/chat/completions": ("openai_chat", "x-request-id"),
    b"/v1/responses": ("openai_responses", "x-request-id"),
    b"/v1beta/models/opus:generateContent": ("gemini", "x-pondero-id"),
    b"/model/opus/converse": ("bedrock", "x-amzn-requestid"),
    b"/v2/chat": ("cohere", "x-pondero-id"),
    b"/api/chat": ("ollama", "x-pondero-id"),
}
BROKEN = {
    400: b"host: a\r\nx: \x00\r\n\r\n",
    431: b"host: a\r\n" + b"x: 1\r\n" * 200,
}


def split(said: bytes) -> tuple[dict[str, str], Any]:
    head, _, body = said.partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
    return {name: value for name, _, value in lines}, json.loads(body)


@pytest.mark.parametrize("status", BROKEN)
@pytest.mark.parametrize("path", PATHS)
def test_a_broken_head_is_an_error_of_its_api_with_the_id_of_its_record(gateway, path, status):
    before = len(gateway.seen)
    with Raw(gateway.port) as raw:
        raw.send(b"POST %b HTTP/1.1\r\n%b" % (path, BROKEN[status]))
        said = raw.rest()
    headers, body = split(said)
    record = until_recorded(gateway, before)
    front, header = PATHS[path]
    assert int(said[9:12]) == record.status == status
    assert record.front == front
    assert headers["x-pondero-id"] == headers[header] == record.id
    assert headers["connection"] == "close"
    if front == "anthropic":
        assert (body["type"], body["request_id"]) == ("error", record.id)
    if front == "cohere":
        assert body["id"] == record.id
    with Raw(gateway.port) as raw:  # as the same API rejects a wrong key
        raw.send(b"POST %b HTTP/1.1\r\n%b\r\n" % (path, HOST))
        assert split(raw.answer()[1])[1].keys() == body.keys()


UNKNOWN = {
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00", 400),
    "half a target": (b"GET /v1/mess" + b"\x00", 400),
    "an endless target": (b"POST /v1/messages" + b"a" * (1 << 18), 431),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_without_a_path_the_error_is_a_generic_one_with_an_id(gateway, name):
    sent, status = UNKNOWN[name]
    before = len(gateway.seen)
    with Raw(gateway.port) as raw:
        raw.send(sent)
        said = raw.rest()
    headers, body = split(said)
    record = until_recorded(gateway, before)
    assert int(said[9:12]) == record.status == status
    assert record.front == ""
    assert headers["x-pondero-id"] == body["request_id"] == record.id
    assert body["error"]["message"]


def test_the_path_of_an_answered_request_is_not_that_of_what_follows(gateway):
    """Empty lines before a request have a limit too."""
    with Raw(gateway.port) as raw:
        raw.send(b"POST /v1/messages HTTP/1.1\r\n%b\r\n" % HOST)
        assert raw.answer()[0] == 401
        before = len(gateway.seen)
        raw.send(b"\r\n" * 200_000)
        headers, body = split(raw.rest())
    record = until_recorded(gateway, before)
    assert (record.status, record.front) == (431, "")
    assert headers["x-pondero-id"] == body["request_id"] == record.id


@given(cuts=st.lists(st.integers(1, 150), max_size=6))
def test_the_api_of_a_head_is_known_wherever_it_is_cut(gateway, cuts):
    """After an earlier request, whose line must not be taken for this one's."""
    first = b"POST /v1/chat/completions HTTP/1.1\r\n%b\r\n" % HOST
    data = b"POST /v1/messages HTTP/1.1\r\nx-first: %b\x00\r\n\r\n" % (b"a" * 99)
    with Raw(gateway.port) as raw:
        raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.send(first)
        assert raw.answer()[0] == 401
        begin = 0
        for end in (*sorted(cut for cut in cuts if cut < len(data)), len(data)):
            raw.send(data[begin:end])
            begin = end
        said = raw.rest()
    assert int(said[9:12]) == 400
    assert split(said)[1]["type"] == "error"


@pytest.mark.parametrize(
    ("begun", "front"),
    [
        (b"POST /v1/messages HTTP/1.1\r\n", "anthropic"),
        (b"POST /v1/messages HTTP/1.1\r\nx: a", "anthropic"),
        (b"POST /v1/messages", ""),
        (b"POST /v1/messages HTTP/1.", "anthropic"),
    ],
)
def test_a_slow_head_is_an_error_with_an_id(monkeypatch, begun, front):
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(protocol, "_SWEEP", 0.05)
    with serving() as slow, Raw(slow.port) as raw:
        for at in range(0, len(begun), 20):
            raw.send(begun[at : at + 20])
            time.sleep(0.02)
        said = raw.rest()
        (record,) = slow.seen
    headers, _ = split(said)
    assert (int(said[9:12]), record.status, record.front) == (408, 408, front)
    assert headers["x-pondero-id"] == record.id


# -- other protocols -----------------------------------------------------------------------------

H2C = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAA\r\n"
LENGTH = b"content-length: %d\r\n\r\n%b" % (len(ASKED), ASKED)
CHUNKS = b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(ASKED), ASKED)


@pytest.mark.parametrize(
    "offer", [H2C, H2C.lower(), b"Connection: upgrade\r\nUpgrade: TLS/1.0\r\n"]
)
@pytest.mark.parametrize("body", [LENGTH, CHUNKS], ids=["length", "chunks"])
@given(cuts=st.lists(st.integers(1, 400), max_size=5))
def test_an_offer_of_another_protocol_is_ignored(gateway, offer, body, cuts):
    """curl --http2 and Java's HttpClient make it with their first request."""
    data = b"POST /v1/messages HTTP/1.1\r\n%b%b%b" % (VALID, offer, body)
    before = len(gateway.seen)
    with Raw(gateway.port) as raw:
        raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin = 0
        for end in (*sorted(cut for cut in cuts if cut < len(data)), len(data)):
            raw.send(data[begin:end])
            begin = end
        assert raw.answer()[0] == 200
        raw.send(b"GET /v1/models HTTP/1.1\r\n%b\r\n" % VALID)  # and the connection goes on
        assert raw.answer()[0] == 200
    until(lambda: len(gateway.seen) >= before + 2, "there are no records")
    assert len(gateway.seen) == before + 2


def test_offers_are_ignored_on_pipelined_requests_and_before_the_key(gateway):
    get = b"GET /health HTTP/1.1\r\n%b%b\r\n" % (HOST, H2C)
    with Raw(gateway.port) as raw:
        raw.send(
            get * 3 + b"GET /v1/models HTTP/1.1\r\n%b%bconnection: close\r\n\r\n" % (HOST, H2C)
        )
        said = raw.rest()
    assert said.count(b"HTTP/1.1 200") == 3
    assert said.count(b"HTTP/1.1 401") == 1


def test_a_web_socket_is_still_told_to_use_http(gateway):
    offer = b"connection: keep-alive, Upgrade\r\nupgrade: websocket\r\n"
    with Raw(gateway.port) as raw:
        for _ in range(2):
            raw.send(b"GET /v1/responses HTTP/1.1\r\n%b%b\r\n" % (VALID, offer))
            assert raw.answer()[0] == 426


def test_an_offer_is_no_way_around_the_limits(gateway):
    with Raw(gateway.port) as raw:
        raw.send(b"GET /health HTTP/1.1\r\n%b" % H2C + b"x: 1\r\n" * 126 + b"\r\n")
        assert raw.answer()[0] == 431
    with Raw(gateway.port) as raw:
        raw.send(b"CONNECT a:443 HTTP/1.1\r\n%b\r\n" % HOST + b"\x16\x03\x01" * 9)
        assert int(raw.rest()[9:12]) in (400, 401, 404)
    assert is_served(gateway)


# -- the end of what a client sends --------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (b"GET /health HTTP/1.1\r\n%b\r\n" % HOST, 200),
        (KEYLESS, 401),
        (b"POST /v1/messages HTTP/1.1\r\n%bcontent-length: 1\r\n\r\n{" % VALID, 400),
    ],
    ids=["health", "no key", "no JSON"],
)
def test_a_client_that_sends_nothing_more_gets_what_is_answered_at_once(gateway, asked, status):
    """As ``nc -N``, socat and the nc of busybox do: they end their side after the request."""
    for _ in range(5):
        with Raw(gateway.port) as raw:
            raw.send(asked)
            raw.socket.shutdown(socket.SHUT_WR)
            assert raw.rest()[9:12] == b"%d" % status


# -- idle connections ----------------------------------------------------------------------------


def test_idle_connections_are_kept_longer_than_clients_keep_them():
    """Else a client sends a request just when the gateway closes, and the request is lost."""
    kept = {
        "httpx": httpx.Limits().keepalive_expiry,
        "aiohttp": 15.0,  # keepalive_timeout of BaseConnector
        "nginx": 60.0,  # keepalive_timeout in upstream (nginx.org, ngx_http_upstream_module)
        "AWS": 60.0,  # idle_timeout.timeout_seconds (Application Load Balancers, attributes)
        "Go": 90.0,  # IdleConnTimeout of http.DefaultTransport
        "reqwest": 90.0,  # pool_idle_timeout
    }
    assert max(each or 0 for each in kept.values()) < run.KEEP_ALIVE
