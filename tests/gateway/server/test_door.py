"""What a client without a key can do to a gateway: raw sockets, as an attacker has them."""

import asyncio
import gzip
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, ServerConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.requests import read_request
from pondero.gateway.server import protocol, rejections
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.server.run import run_gateway_in_thread

KEY = "pnd_" + "0" * 40
OLD = "pnd_" + "1" * 40
KEYS = (
    GatewayKey(name="ci", hash=hash_key(KEY)),
    GatewayKey(name="old", hash=hash_key(OLD), expires=datetime(2020, 1, 31, tzinfo=UTC)),
)
ROUTES = (GatewayRoute(match="opus", to=("anthropic:claude-opus-5",)),)
ASKED = json.dumps(
    {"model": "opus", "max_tokens": 500, "messages": [{"role": "user", "content": "Hi"}]}
).encode()
HOST = b"host: 127.0.0.1\r\n"
VALID = HOST + b"x-api-key: %b\r\n" % KEY.encode()
LONG = 20.0  # seconds that a test waits for a fact


@contextmanager
def serving(keys: tuple[GatewayKey, ...] = KEYS) -> Iterator[SimpleNamespace]:
    """Serve in a thread; yield the port and the receipts."""
    seen: list[Receipt] = []
    config = GatewayConfig(ServerConfig(port=0), ROUTES, keys=keys)
    with run_gateway_in_thread(config, transport=Emulator(), observers=(seen.append,)) as url:
        yield SimpleNamespace(port=int(url.rpartition(":")[2]), seen=seen)


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    """Let this machine fail as often as these tests need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rejections, "PER_ADDRESS", 100_000)
        patch.setattr(rejections, "IN_ALL", 100_000)
        yield


@pytest.fixture(scope="module")
def gateway() -> Iterator[SimpleNamespace]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def keyless() -> Iterator[SimpleNamespace]:
    with serving(()) as found:
        yield found


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let deadlines pass within the test."""
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(protocol, "_SWEEP", 0.05)
    monkeypatch.setattr(read_request, "BODY_SILENCE", 0.3)


class Raw:
    """A connection on which anything can be sent."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LONG)

    def send(self, data: bytes) -> int:
        """Send until the other side has had enough; return how many bytes it took."""
        sent = 0
        try:
            while sent < len(data):
                sent += self.socket.send(data[sent : sent + (1 << 18)])
        except (ConnectionError, TimeoutError):
            pass
        return sent

    def rest(self) -> bytes:
        """Return all until the other side closes; raises TimeoutError if it does not."""
        said = b""
        try:
            while piece := self.socket.recv(1 << 16):
                said += piece
        except ConnectionError:
            pass
        return said

    def answer(self) -> tuple[int, bytes]:
        """Return the status and the whole of one answer, by its length."""
        said = b""
        while b"\r\n\r\n" not in said:
            piece = self.socket.recv(1 << 16)
            assert piece, said
            said += piece
        head, _, body = said.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split()[0])
        while len(body) < length:
            body += self.socket.recv(1 << 16)
        return int(head[9:12]), head + b"\r\n\r\n" + body

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def status(said: bytes) -> int:
    return int(said[9:12])


def until_recorded(gateway: SimpleNamespace, before: int) -> Receipt:
    """Return the record of the rejection since; an answer's may come in between."""
    end = time.monotonic() + LONG
    while not (found := [each for each in gateway.seen[before:] if each.end == "refused"]):
        assert time.monotonic() < end, "there is no record"
        time.sleep(0.01)
    (record,) = found
    return record


def is_served(gateway: SimpleNamespace) -> bool:
    with Raw(gateway.port) as raw:
        raw.send(b"POST /v1/messages HTTP/1.1\r\n%b" % VALID)
        raw.send(b"content-length: %d\r\n\r\n%b" % (len(ASKED), ASKED))
        return raw.answer()[0] == 200


# -- heads ----------------------------------------------------------------------------------------

TOO_LARGE = {
    "one header line of 16 MiB": b"GET / HTTP/1.1\r\nx: " + b"a" * (16 << 20),
    "600,000 header lines": b"GET / HTTP/1.1\r\n" + b"x: 1\r\n" * 600_000,
    "129 header lines": b"GET / HTTP/1.1\r\n" + b"x: 1\r\n" * 129 + b"\r\n",
    "a target of 1 MiB": b"GET /" + b"a" * (1 << 20),
    "a header name of 1 MiB": b"GET / HTTP/1.1\r\n" + b"a" * (1 << 20),
    "a whole head of 65 KiB": b"GET / HTTP/1.1\r\nx: " + b"a" * (65 << 10) + b"\r\n\r\n",
    "lines of 1 KiB each": b"GET / HTTP/1.1\r\n" + (b"x: " + b"a" * 1019 + b"\r\n") * 100,
    "empty lines before a request": b"\r\n" * 200_000,
    "a folded header": b"GET / HTTP/1.1\r\nx: 1\r\n" + b" folded\r\n" * 20_000,
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_head_beyond_the_limits_is_rejected_and_the_connection_closed(gateway, name):
    before = len(gateway.seen)
    with Raw(gateway.port) as raw:
        took = raw.send(TOO_LARGE[name])
        said = raw.rest()
    assert status(said) in ((400, 431) if name == "a folded header" else (431,))
    assert took < 12 << 20  # what the systems' buffers hold, and the gateway ignored
    record = until_recorded(gateway, before)
    assert (record.status, record.end) == (status(said), "refused")
    assert "127.0.0.1" in (record.reason or "")
    assert is_served(gateway)


def test_a_head_at_the_limits_is_accepted_and_one_byte_more_is_not(gateway):
    for more in (0, 1):
        head = b"GET /health HTTP/1.1\r\n" + b"x: 1\r\n" * 127
        last = b"y: %b\r\n\r\n" % (b"a" * (65536 - len(head) - 7 + more))
        with Raw(gateway.port) as raw:
            raw.send(head + last)
            assert raw.answer()[0] == (431 if more else 200)


def test_a_head_that_arrives_byte_by_byte_is_read_and_counted(gateway):
    with Raw(gateway.port) as raw:
        raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n":
            raw.send(bytes((byte,)))
        assert raw.answer()[0] == 200


@given(cuts=st.lists(st.integers(1, 70_000), max_size=12), lines=st.integers(1, 140))
def test_it_does_not_matter_where_a_head_is_cut(gateway, cuts, lines):
    head = b"GET /health HTTP/1.1\r\n" + (b"x: " + b"a" * 500 + b"\r\n") * lines + b"\r\n"
    allowed = lines <= 128 and len(head) <= 65536
    with Raw(gateway.port) as raw:
        begin = 0
        for end in (*sorted(cut for cut in cuts if cut < len(head)), len(head)):
            raw.send(head[begin:end])
            begin = end
        assert raw.answer()[0] == (200 if allowed else 431)


def test_a_pipelined_head_beyond_the_limits_is_rejected_too(gateway):
    with Raw(gateway.port) as raw:
        raw.send(b"GET /health HTTP/1.1\r\n\r\n" + TOO_LARGE["129 header lines"])
        said = raw.rest()
    assert status(said) == 200
    assert said.count(b"HTTP/1.1 200") == 1


def test_only_a_few_requests_wait_on_a_connection(gateway):
    with Raw(gateway.port) as raw:
        raw.send(b"GET /health HTTP/1.1\r\n\r\n" * 100_000)
        assert 0 < raw.rest().count(b"HTTP/1.1 200") < 100
    assert is_served(gateway)


def test_what_follows_a_request_does_not_take_its_answer(gateway):
    """Too many at once, or a head that is too large: what was asked before it is answered."""
    whole = post(VALID + b"content-length: %d\r\n" % len(ASKED), ASKED)
    for first, rest in (
        (b"GET /health HTTP/1.1\r\n\r\n", b"GET /health HTTP/1.1\r\n\r\n" * 29),
        (whole, TOO_LARGE["129 header lines"]),
        (whole, b"no HTTP\r\n\r\n"),
    ):
        with Raw(gateway.port) as raw:
            raw.send(first + rest)
            assert raw.answer()[0] == 200
            raw.rest()  # and it is closed


@pytest.mark.parametrize(
    "begun",
    [b"", b"\r\n", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nx: 1\r\n"],
)
@pytest.mark.usefixtures("quick")
def test_a_head_has_a_deadline(gateway, begun):
    with serving() as slow, Raw(slow.port) as raw:
        raw.send(begun)
        said = raw.rest()
        assert said == b"" or status(said) == 408
        assert [record.status for record in slow.seen] == ([408] if said else [])


@pytest.mark.usefixtures("quick")
def test_slow_heads_that_send_a_little_now_and_then_end_too():
    with serving() as slow, Raw(slow.port) as raw:
        raw.send(b"GET / HTTP/1.1\r\n")
        end = time.monotonic() + LONG
        raw.socket.settimeout(0.05)
        said = None
        while said is None and time.monotonic() < end:
            raw.send(b"x: 1\r\n")
            try:
                said = raw.socket.recv(1 << 16)
            except TimeoutError:
                continue
            except ConnectionError:
                said = b""
        assert said is not None


# -- bodies ---------------------------------------------------------------------------------------


def post(headers: bytes, body: bytes = b"", path: bytes = b"/v1/messages") -> bytes:
    return b"POST %b HTTP/1.1\r\n%b\r\n%b" % (path, headers, body)


@pytest.mark.parametrize(
    "headers",
    [
        HOST + b"content-length: 60000000\r\n",
        HOST + b"transfer-encoding: chunked\r\n",
        HOST + b"x-api-key: pnd_wrong\r\ncontent-length: 10\r\n",
        HOST + b"content-length: 10\r\nexpect: 100-continue\r\n",
    ],
)
def test_without_a_key_the_answer_does_not_wait_for_the_body(gateway, headers):
    with Raw(gateway.port) as raw:
        raw.send(post(headers))
        said = raw.rest()
    assert status(said) == 401
    assert b"connection: close" in said
    assert b"100 Continue" not in said


def test_a_key_in_a_trailer_is_no_key(gateway):
    chunks = b"%x\r\n%b\r\n0\r\nx-api-key: %b\r\n\r\n" % (len(ASKED), ASKED, KEY.encode())
    with Raw(gateway.port) as raw:
        raw.send(post(HOST + b"transfer-encoding: chunked\r\n", chunks))
        assert raw.answer()[0] == 401


def test_a_rejected_body_is_not_drained(gateway):
    with Raw(gateway.port) as raw:
        took = raw.send(post(HOST + b"content-length: 60000000\r\n", b"a" * 60_000_000))
        assert status(raw.rest() or b"HTTP/1.1 401") == 401
    assert took < 30_000_000


def test_nothing_is_inflated_without_a_key(gateway, monkeypatch):
    inflated: list[str] = []
    monkeypatch.setattr(read_request, "decompress", lambda *said: inflated.append(said[1]) or b"")
    bomb = gzip.compress(b"0" * (64 << 20))
    packed = b"content-encoding: gzip\r\ncontent-length: %d\r\n" % len(bomb)
    with Raw(gateway.port) as raw:
        raw.send(post(HOST + packed, bomb))
        assert raw.answer()[0] == 401
    assert inflated == []
    with Raw(gateway.port) as raw:
        raw.send(post(VALID + packed, bomb))
        assert raw.answer()[0] == 400
    assert inflated == ["gzip"]


@pytest.mark.parametrize(
    "body", [b"1\r\na\r\n0\r\nx: " + b"a" * (1 << 20), b"1;" + b"a" * (1 << 20)]
)
def test_trailers_and_chunk_extensions_are_no_way_around(gateway, body):
    with Raw(gateway.port) as raw:
        raw.send(post(VALID + b"transfer-encoding: chunked\r\n"))
        time.sleep(0.05)
        raw.send(body)
        said = raw.rest()
    assert said == b"" or status(said) in (400, 431)
    assert is_served(gateway)


CHUNKED = VALID + b"transfer-encoding: chunked\r\n"
BROKEN = {
    "a size that is no number": (CHUNKED, b"zz\r\n{}\r\n0\r\n\r\n"),
    "a chunk longer than its size": (CHUNKED, b"1\r\n{}{}{}\r\n0\r\n\r\n"),
    "an unknown coding": (VALID + b"transfer-encoding: xchunked\r\n", b"2\r\n{}\r\n0\r\n\r\n"),
    "trailers of 100 KiB": (CHUNKED, b"1\r\n{\r\n0\r\nx: " + b"a" * 100_000 + b"\r\n\r\n"),
}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_body_is_one_error_in_the_clients_api_and_one_record(name, at_once):
    headers, body = BROKEN[name]
    with serving() as own, Raw(own.port) as raw:
        raw.send(post(headers, body if at_once else b""))
        if not at_once:
            time.sleep(0.05)
            raw.send(body)
        said = raw.rest()
        assert said.count(b"HTTP/1.1 ") == 1
        assert status(said) == 400
        assert json.loads(said.partition(b"\r\n\r\n")[2])["type"] == "error"
        assert b"\r\nrequest-id: " in said
    assert [(each.status, each.key, each.end) for each in own.seen] == [(400, "ci", "refused")]


def test_a_client_that_leaves_inside_its_body_is_recorded_and_no_failure(caplog):
    with serving() as own:
        with Raw(own.port) as raw:
            raw.send(post(VALID + b"content-length: 1000\r\n", b"{"))
            time.sleep(0.1)
        end = time.monotonic() + LONG
        while not own.seen:
            assert time.monotonic() < end, "there is no record"
            time.sleep(0.01)
    assert [(each.status, each.end) for each in own.seen] == [(499, "left")]
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/admin/keys"])
def test_a_gateway_that_stops_while_a_body_arrives_says_so(path):
    """uvicorn cancels what is left after the drain, and would answer with a plain 500."""
    seen: list[Receipt] = []
    sent: list[Any] = []
    boss = GatewayKey(name="boss", hash=hash_key(KEY), admin=True)
    gate = GatewayContext(
        GatewayConfig(routes=ROUTES, keys=(boss,)), Emulator(), observers=(seen.append,)
    )
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "headers": [(b"authorization", b"Bearer " + KEY.encode()), (b"content-length", b"9")],
    }

    async def send(message: Any) -> None:
        sent.append(message)

    async def run() -> None:
        waits = asyncio.Event()

        async def receive() -> dict[str, Any]:
            waits.set()
            return await asyncio.Future()

        task = asyncio.ensure_future(App(gate)(scope, receive, send))
        await waits.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    start, body = sent
    assert start["status"] in (503, 529)
    assert b"the gateway stops" in body["body"]
    if path != "/admin/keys":
        assert [(each.status, each.end, each.key) for each in seen] == [(503, "failed", "boss")]


def test_600_000_trailers_are_rejected(gateway):
    with Raw(gateway.port) as raw:
        trailers = b"1\r\na\r\n0\r\n" + b"x: 1\r\n" * 600_000
        raw.send(post(VALID + b"transfer-encoding: chunked\r\n", trailers))
        said = raw.rest()
    assert said == b"" or status(said) in (400, 431)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "headers", [b"content-length: 1000\r\n", b"transfer-encoding: chunked\r\n"]
)
def test_a_body_that_never_comes_is_a_408_in_the_clients_api(headers):
    with serving() as slow, Raw(slow.port) as raw:
        raw.send(post(VALID + headers))
        said = raw.rest()
        assert status(said) == 408
        assert json.loads(said.partition(b"\r\n\r\n")[2])["type"] == "error"
        (record,) = slow.seen
        assert (record.status, record.key, record.end) == (408, "ci", "refused")


@pytest.mark.usefixtures("quick")
def test_a_slow_body_ends_too(monkeypatch):
    monkeypatch.setattr(read_request, "BODY_RATE", 1 << 20)
    with serving() as slow, Raw(slow.port) as raw:
        raw.send(post(VALID + b"content-length: 1000000\r\n"))
        raw.socket.settimeout(0.1)
        end = time.monotonic() + LONG
        said = b""
        while not said and time.monotonic() < end:
            raw.send(b" ")
            try:
                said = raw.socket.recv(1 << 16)
            except TimeoutError:
                continue
        assert status(said) == 408


def test_too_large_a_body_is_rejected_by_its_announcement(gateway):
    with Raw(gateway.port) as raw:
        raw.send(post(VALID + b"content-length: 99999999999999999999999\r\n"))
        assert status(raw.rest()) in (400, 413)
    with Raw(gateway.port) as raw:
        raw.send(post(VALID + b"content-length: 99999999999\r\n"))
        assert raw.answer()[0] == 413


# -- keys -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        b"x-api-key: %b   \r\n",
        b"x-api-key:   %b\t\r\n",
        b"x-goog-api-key: %b \r\n",
        b"api-key: %b \r\n",
        b"authorization: Bearer %b  \r\n",
        b"authorization:  bearer   %b\r\n",
    ],
)
def test_space_around_a_key_is_no_part_of_it(gateway, sent):
    with Raw(gateway.port) as raw:
        raw.send(b"GET /v1/models HTTP/1.1\r\n%b%b\r\n" % (HOST, sent % KEY.encode()))
        assert raw.answer()[0] == 200


def test_many_keys_in_a_query_are_not_tried_one_by_one(gateway):
    many = b"&".join(b"key=%d" % number for number in range(5_000))
    with Raw(gateway.port) as raw:
        raw.send(b"GET /v1/models?%b&key=%b HTTP/1.1\r\n%b\r\n" % (many, KEY.encode(), HOST))
        assert raw.answer()[0] == 401


def test_an_expired_key_is_told_to_its_holder_alone(gateway):
    said = {}
    for name, key in (("old", OLD), ("unknown", "pnd_" + "2" * 40)):
        with Raw(gateway.port) as raw:
            raw.send(b"GET /v1/models HTTP/1.1\r\n%bx-api-key: %b\r\n\r\n" % (HOST, key.encode()))
            code, answer = raw.answer()
            assert code == 401
            said[name] = answer
    assert b"'old' expired at 2020-01-31" in said["old"]
    assert b"old" not in said["unknown"]


# -- web pages ------------------------------------------------------------------------------------

FOREIGN = {
    "a name of the attacker's (DNS rebinding)": b"host: evil.example:8787\r\n",
    "an address of the network": b"host: 192.168.0.7\r\n",
    "two hosts": HOST + b"host: evil.example\r\n",
    "a page of another site": HOST + b"origin: https://evil.example\r\n",
    "a sandboxed page": HOST + b"origin: null\r\n",
    "a page of another port": HOST + b"origin: http://127.0.0.1:3000\r\n",
    "a cross-site fetch": HOST + b"sec-fetch-site: cross-site\r\n",
    "a same-site fetch": HOST + b"sec-fetch-site: same-site\r\n",
    "half an address": b"host: [::1\r\n",
    "a name with a user": b"host: evil.example@localhost\r\n",
    "a port that is a name": b"host: localhost:evil.example\r\n",
    "a name in a query": b"host: localhost?evil.example\r\n",
    "two hosts with ports": b"host: localhost:1\r\nhost: localhost:2\r\n",
    "two origins": HOST + b"origin: https://evil.example\r\norigin: http://127.0.0.1\r\n",
    "two sites": HOST + b"sec-fetch-site: cross-site\r\nsec-fetch-site: none\r\n",
}
PLACES = (
    b"POST /v1/messages",
    b"POST /v1/chat/completions",
    b"POST /v1/responses",
    b"POST /v1beta/models/opus:generateContent",
    b"POST /api/chat",
    b"POST /v2/chat",
    b"POST /model/opus/converse",
    b"POST /v1/messages/count_tokens",
    b"GET /v1/models",
    b"GET /api/tags",
    b"GET /metrics",
    b"GET /health",
    b"GET /",
    b"OPTIONS /v1/messages",
    b"GET /nothing/here",
    b"GET /console",
    b"GET /admin/keys",
)


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("place", PLACES)
def test_without_keys_no_web_page_of_another_site_is_answered(keyless, place, name):
    before = len(keyless.seen)
    with Raw(keyless.port) as raw:
        raw.send(b"%b HTTP/1.1\r\n%b" % (place, FOREIGN[name]))
        raw.send(b"content-length: %d\r\n\r\n%b" % (len(ASKED), ASKED))
        code, said = raw.answer()
    assert code == 403
    assert json.loads(said.partition(b"\r\n\r\n")[2]).keys() & {"error", "message"}
    assert all(record.model is None for record in keyless.seen[before:])


@pytest.mark.parametrize(
    "own",
    [
        HOST,
        b"host: localhost:8787\r\n",
        b"host: [::1]:9\r\n",
        b"",
        b"host: LOCALHOST\r\n",
        b"host: 127.0.0.1:81\r\norigin: http://127.0.0.1:81\r\nsec-fetch-site: same-origin\r\n",
        HOST + b"sec-fetch-site: none\r\n",
    ],
)
def test_without_keys_programs_of_this_machine_are_answered(keyless, own):
    with Raw(keyless.port) as raw:
        raw.send(b"POST /v1/messages HTTP/1.1\r\n%b" % own)
        raw.send(b"content-length: %d\r\n\r\n%b" % (len(ASKED), ASKED))
        assert raw.answer()[0] == 200


def test_the_host_of_an_absolute_target_counts(keyless):
    for target, expected in ((b"http://evil.example/v1/models", 403), (b"http://localhost", 200)):
        with Raw(keyless.port) as raw:
            raw.send(b"GET %b HTTP/1.1\r\n%b\r\n" % (target, HOST))
            assert raw.answer()[0] == expected


def test_with_keys_the_key_decides_and_not_the_page(gateway):
    with Raw(gateway.port) as raw:
        raw.send(b"GET /v1/models HTTP/1.1\r\nhost: gateway.example\r\norigin: https://app\r\n")
        raw.send(b"x-api-key: %b\r\n\r\n" % KEY.encode())
        assert raw.answer()[0] == 200


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [513, 60_000])
def test_a_long_name_in_a_path_is_not_looked_up(gateway, length):
    with Raw(gateway.port) as raw:
        name = b"a" * length
        raw.send(post(VALID, path=b"/v1beta/models/%b:generateContent" % name))
        code, said = raw.answer()
    assert code == 404
    assert len(said) < 2_000


def test_a_long_model_name_is_a_404_in_the_clients_api(gateway):
    before = len(gateway.seen)
    body = ASKED.replace(b'"opus"', b'"%b"' % (b"a" * 1_000_000))
    with Raw(gateway.port) as raw:
        raw.send(post(VALID + b"content-length: %d\r\n" % len(body), body))
        code, said = raw.answer()
    assert code == 404
    assert len(said) < 2_000
    record = until_recorded(gateway, before)
    assert len(record.said) <= 512
    assert record.reason == "unknown model: a name of 1,000,000 characters; no model has one"
