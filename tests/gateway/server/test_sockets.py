"""WebSockets at the door: keys, limits, slow clients, and the end of the server."""

import asyncio
import base64
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.server.test_door import HOST, KEY, LONG, VALID, Raw, serving, until_recorded
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from pondero.asgi import bind
from pondero.gateway.server import (
    protocol,
    reading_deadline,
    rejections,
    run,
    socket_protocol,
    sockets,
)

PATH = "/test/echo"
OFFER = (
    b"connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
    b"sec-websocket-key: " + base64.b64encode(b"0" * 16) + b"\r\n"
)
ended: list[sockets.SocketEnd] = []


async def echo(_gateway: Any, opening: Any, who: Any) -> None:
    """Send back what comes, after the name of the key; some words have a meaning."""
    accepted = await opening.accept()
    await accepted.send(who.name)
    try:
        while True:
            message = await accepted.receive()
            if message == "fail":
                raise ValueError(message)
            if message == "slowly":  # an answer that is under way when the server stops
                await accepted.send("going")
                while not accepted.is_stopping:  # noqa: ASYNC110 - this is how handlers see it
                    await asyncio.sleep(0.01)
            if message == "flood":
                while True:
                    await accepted.send("x" * 65536)
            if message == "bye":
                await accepted.close(4001, "as you wish")
                return
            if message == "tick":  # an answer, until the client leaves
                left = asyncio.ensure_future(accepted.wait_until_left())
                while not left.done():
                    await asyncio.sleep(0.02)
                    with suppress(sockets.SocketEnd):
                        await accepted.send("tick")
                await left
            if message == "watch":
                left = asyncio.ensure_future(accepted.wait_until_left())
                await accepted.send("watching")
                await left
            await accepted.send(message)
    except sockets.SocketEnd as closed:
        ended.append(closed)
        raise


@pytest.fixture(scope="module", autouse=True)
def _with_echo() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sockets.SOCKETS, PATH, echo)
        patch.setattr(rejections, "PER_ADDRESS", 100_000)
        patch.setattr(rejections, "IN_ALL", 100_000)
        yield


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def keyless() -> Iterator[Any]:
    with serving(()) as found:
        yield found


@pytest.fixture
def closed() -> list[sockets.SocketEnd]:
    ended.clear()
    return ended


def opened(gateway: Any, **more: str) -> Any:
    headers = more or {"authorization": f"Bearer {KEY}"}
    url = f"ws://127.0.0.1:{gateway.port}{PATH}"
    return connect(url, additional_headers=headers, proxy=None, open_timeout=LONG)


def until_ended(closed: list[sockets.SocketEnd]) -> sockets.SocketEnd:
    end = time.monotonic() + LONG
    while not closed:
        assert time.monotonic() < end, "the handler goes on"
        time.sleep(0.01)
    return closed[0]


@given(st.lists(st.text() | st.binary(), max_size=5))
def test_messages_pass_in_both_directions_as_they_are(gateway, messages):
    with opened(gateway) as client:
        assert client.recv(LONG) == "ci"
        spoken = [each for each in messages if each not in ("fail", "bye", "flood")]
        for each in spoken:
            client.send(each)
        assert [client.recv(LONG) for _ in spoken] == spoken


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"x": "1"}, b"the request has no gateway key"),
        ({"authorization": "Bearer pnd_wrong"}, b"unknown gateway key"),
    ],
)
def test_a_socket_without_a_valid_key_is_rejected_before_it_is_accepted(gateway, headers, words):
    before = len(gateway.seen)
    with pytest.raises(InvalidStatus) as rejected, opened(gateway, **headers):
        pass
    assert rejected.value.response.status_code == 401
    assert words in rejected.value.response.body
    assert until_recorded(gateway, before).status == 401


@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"host": "evil.example"}])
def test_a_page_of_another_site_opens_no_socket_of_a_gateway_without_keys(keyless, headers):
    with opened(keyless, x="1") as client:
        assert client.recv(LONG)
    lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in headers.items())
    host = b"" if "host" in headers else HOST
    with Raw(keyless.port) as raw:
        raw.send(b"GET %b HTTP/1.1\r\n%b%b%b\r\n" % (PATH.encode(), host, lines, OFFER))
        assert raw.answer()[0] == 403


BROKEN = {
    "no key": OFFER.replace(b"sec-websocket-key", b"x-key"),
    "another version": OFFER.replace(b": 13", b": 12"),
    "a body": OFFER + b"content-length: 5\r\n",
    "a short key": OFFER.replace(b"MDAw", b""),
    "an odd subprotocol": OFFER + b"sec-websocket-protocol: ,;=\r\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_offer_that_is_no_web_socket_is_answered_over_http_and_recorded(gateway, name):
    before = len(gateway.seen)
    with Raw(gateway.port) as raw:
        raw.send(b"GET %b HTTP/1.1\r\n%b%b\r\n" % (PATH.encode(), VALID, BROKEN[name]))
        assert raw.answer()[0] == 426
    assert until_recorded(gateway, before).status == 426


def test_a_path_without_a_socket_is_told_to_use_http(gateway):
    for path in (b"/v1/unknown", PATH.encode() + b"/", PATH.encode() + b"%20"):
        with Raw(gateway.port) as raw:
            raw.send(b"GET %b HTTP/1.1\r\n%b%b\r\n" % (path, VALID, OFFER))
            assert raw.answer()[0] == 426


def test_a_socket_is_no_way_around_the_limits_of_a_head(gateway):
    head = b"GET %b HTTP/1.1\r\n%b%b" % (PATH.encode(), VALID, OFFER)
    for more in (b"x: 1\r\n" * 124, b"x: " + b"a" * 65536 + b"\r\n"):
        with Raw(gateway.port) as raw:
            raw.send(head + more + b"\r\n")
            assert raw.answer()[0] == 431
    with Raw(gateway.port) as raw:  # a line that is long but allowed
        raw.send(head + b"x: " + b"a" * 30_000 + b"\r\n\r\n")
        assert raw.socket.recv(12) == b"HTTP/1.1 101"


def frame(data: bytes, opcode: int = 2, *, fin: bool = True) -> bytes:
    head = bytes([fin << 7 | opcode])
    size = len(data)
    length = bytes([0x80 | size]) if size < 126 else struct.pack("!BQ", 0xFF, size)
    return head + length + bytes(4) + data


def begun(port: int, more: bytes = b"") -> Raw:
    """Return a raw connection after its handshake and the name of the key."""
    raw = Raw(port)
    raw.send(b"GET %b HTTP/1.1\r\n%b%b\r\n%b" % (PATH.encode(), VALID, OFFER, more))
    said = b""
    while not said.endswith(b"ci"):
        said += raw.socket.recv(1)
    assert said.startswith(b"HTTP/1.1 101")
    return raw


@given(st.binary(min_size=1, max_size=300), st.data())
def test_bytes_that_follow_the_head_and_any_split_of_frames_are_read(gateway, message, data):
    sent = frame(message) + frame(b"", 9) + frame(b"e", 1, fin=False) + frame(b"nd", 0)
    cut = data.draw(st.integers(0, len(sent)))
    with begun(gateway.port, sent[:cut]) as raw:
        raw.send(sent[cut:])
        expected = {message, b"end"}
        said = b""
        while not said.endswith(b"\x81\x03end"):
            piece = raw.socket.recv(1 << 16)
            assert piece, (said, expected)
            said += piece
        assert message in said


def test_a_message_has_a_maximum_size(gateway):
    with begun(gateway.port) as raw:
        raw.send(struct.pack("!BBQ", 0x82, 0xFF, 65 << 20) + bytes(4))
        assert b"\x03\xf1" in raw.rest()  # 1009


def test_a_message_has_a_maximum_number_of_pieces(gateway, monkeypatch):
    monkeypatch.setattr(socket_protocol, "PIECES", 100)
    with begun(gateway.port) as raw:
        raw.send(frame(b"a", 2, fin=False) + frame(b"", 0, fin=False) * 200)
        assert b"\x03\xf1" in raw.rest()


def test_frames_that_are_not_masked_end_the_connection(gateway):
    with begun(gateway.port) as raw:
        raw.send(b"\x81\x02hi")
        assert b"\x03\xea" in raw.rest()  # 1002


def test_a_failing_handler_closes_with_1011_and_says_nothing_of_why(gateway):
    with opened(gateway) as client:
        client.recv(LONG)
        client.send("fail")
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(LONG)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1011, "")


def test_close_codes_and_reasons_pass_in_both_directions(gateway, closed):
    with opened(gateway) as client:
        client.recv(LONG)
        client.send("bye")
        with pytest.raises(ConnectionClosed) as ours:
            client.recv(LONG)
    assert ours.value.rcvd is not None
    assert (ours.value.rcvd.code, ours.value.rcvd.reason) == (4001, "as you wish")
    with opened(gateway) as client:
        client.recv(LONG)
        client.close(4002, "enough")
    assert (until_ended(closed).code, closed[0].reason) == (4002, "enough")


def test_a_client_that_leaves_is_noticed_while_it_is_answered(gateway, closed):
    with opened(gateway) as client:
        client.recv(LONG)
        client.send("watch")
        assert client.recv(LONG) == "watching"
        client.send("more")  # is read ahead
        client.socket.shutdown(socket.SHUT_RDWR)
    assert until_ended(closed).code in (1005, 1006)


@pytest.mark.parametrize("count", [1, 17, 500])
def test_a_client_that_leaves_is_noticed_however_many_messages_wait(gateway, closed, count):
    with opened(gateway) as client:
        client.recv(LONG)
        client.send("watch")
        assert client.recv(LONG) == "watching"
        for _ in range(count):
            client.send("more")
        client.socket.shutdown(socket.SHUT_RDWR)
    assert until_ended(closed).code in (1005, 1006)


def test_a_client_with_more_bytes_than_are_read_ahead_is_noticed_when_it_is_answered(
    gateway, closed
):
    with opened(gateway) as client:
        client.recv(LONG)
        client.send("tick")
        assert client.recv(LONG) == "tick"
        for _ in range(3):
            client.send("x" * (sockets.AHEAD_BYTES // 2))
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.socket.close()
    assert until_ended(closed).code in (1005, 1006)


def test_a_client_that_does_not_read_is_cut_off(monkeypatch, closed):
    def bind_small(host: str, port: int) -> socket.socket:
        bound = bind(host, port)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return bound

    monkeypatch.setattr(run, "bind", bind_small)
    monkeypatch.setattr(reading_deadline, "READ_SECONDS", 0.2)
    monkeypatch.setattr(protocol, "_SWEEP", 0.05)
    with serving() as gateway, begun(gateway.port) as raw:
        raw.send(frame(b"flood", 1))
        assert until_ended(closed).code == 1006


def test_pongs_for_a_client_that_does_not_read_take_no_memory(monkeypatch):
    found: list[Any] = []
    made = socket_protocol._SocketProtocol.open

    def remember(self: Any, request: Any) -> None:
        found.append(self)
        made(self, request)

    monkeypatch.setattr(socket_protocol._SocketProtocol, "open", remember)
    with serving() as gateway, begun(gateway.port) as raw:
        raw.socket.settimeout(2.0)
        pings = frame(b"p" * 125, 9) * 1000
        for _ in range(200):  # 25 MB
            raw.send(pings)
        assert found[0].transport.get_write_buffer_size() < 1 << 20


def test_a_server_that_stops_closes_idle_sockets_with_1012_and_lets_answers_end():
    codes: list[int] = []
    words: list[Any] = []

    def wait_for_end(client: Any) -> None:
        try:
            while True:
                words.append(client.recv(LONG))
        except ConnectionClosed as closed:
            codes.append(closed.rcvd.code if closed.rcvd is not None else 0)

    with ExitStack() as clients:
        with serving() as gateway:
            idle, busy = (clients.enter_context(opened(gateway)) for _ in range(2))
            assert (idle.recv(LONG), busy.recv(LONG)) == ("ci", "ci")
            busy.send("slowly")
            assert busy.recv(LONG) == "going"
            waiting = [threading.Thread(target=wait_for_end, args=(each,)) for each in (idle, busy)]
            for each in waiting:
                each.start()
        for each in waiting:
            each.join(LONG)
    assert codes == [1012, 1012]
    assert words == ["slowly"]


def test_an_upgrade_after_an_unanswered_request_on_the_same_connection_opens_no_socket(gateway):
    with Raw(gateway.port) as raw:
        get = b"GET /v1/models HTTP/1.1\r\n%b\r\n" % VALID
        last = b"GET /health HTTP/1.1\r\n%bconnection: close\r\n\r\n" % HOST
        raw.send(get + b"GET %b HTTP/1.1\r\n%b%b\r\n" % (PATH.encode(), VALID, OFFER) + last)
        said = raw.rest()
    assert said.count(b"HTTP/1.1 200") == 2
    assert said.count(b"HTTP/1.1 426") == 1
