"""Heads that a connection repeats: whether the gateway knows them changes nothing but its work."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from uvicorn.server import ServerState

from pondero.canon import HttpRequest, HttpResponse
from pondero.gateway.requests.read_request import HEAD, PROBLEM, WHOLE, read_head
from pondero.gateway.server import protocol
from pondero.gateway.server.arrival import find_head_problem

DATE = [(b"date", b"Wed, 18 Nov 2026 09:00:00 GMT")]
PLAIN = (
    b"POST /v1/messages?beta=true HTTP/1.1\r\nHost: a:4000\r\nConnection: keep-alive\r\n"
    b"X-Api-Key: Secret\r\nx-a: 1\r\nX-A: 2\r\nContent-Length: %b\r\nAccept: */*\r\n\r\n%b"
)
LAST = b"POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: %b\r\n\r\n%b"
FIRST = b"POST /v1/%%66iles HTTP/1.1\r\ncontent-length: %b\r\nhost: a\r\n\r\n%b"
FORMS = {  # of a request with a length; each may be told apart from a known one by a single byte
    "plain": PLAIN,
    "last": LAST,
    "first": FIRST,
    "another key": PLAIN.replace(b"Secret", b"Sacret"),
    "a case": PLAIN.replace(b"Content-Length", b"content-length"),
    "a tab": PLAIN.replace(b"Length: ", b"Length:\t"),
    "no space": PLAIN.replace(b"Length: ", b"Length:"),
    "two spaces": LAST.replace(b"length: ", b"length:  "),
    "a space after": LAST.replace(b"%b\r\n\r\n", b"%b \r\n\r\n"),
    "a sign": LAST.replace(b"length: ", b"length: +"),
    "a zero": LAST.replace(b"length: ", b"length: 0"),
    "hexadecimal": LAST.replace(b"length: ", b"length: 0x"),
    "many zeros": LAST.replace(b"length: ", b"length: 000000000"),
    "a huge length": LAST.replace(b"length: ", b"length: 99999999999999999999"),
    "two lengths": LAST.replace(b"host: a", b"content-length: 1"),
    "a list of lengths": LAST.replace(b"length: ", b"length: 1, "),
    "chunks too": LAST.replace(b"host: a", b"transfer-encoding: chunked"),
    "a coding": LAST.replace(b"host: a", b"transfer-encoding: identity"),
    "a fold": LAST.replace(b"host: a", b"host: a\r\n b"),
    "a folded length": LAST.replace(b"length: ", b"length:\r\n "),
    "a bare line feed": LAST.replace(b"host: a\r\n", b"host: a\n"),
    "a bare return": LAST.replace(b"host: a\r\n", b"host: a\r"),
    "ends in line feeds": LAST.replace(b"\r\n", b"\n"),
    "a null": LAST.replace(b"host: a", b"host: \0"),
    "a space in a name": LAST.replace(b"host:", b"host :"),
    "expects": LAST.replace(b"host: a", b"expect: 100-continue"),
    "closes": LAST.replace(b"host: a", b"connection: close"),
    "closes too": PLAIN.replace(b"keep-alive", b"keep-alive, close"),
    "closes by proxy": LAST.replace(b"host: a", b"proxy-connection: close"),
    "upgrades": LAST.replace(b"host: a", b"connection: upgrade\r\nupgrade: h2c"),
    "http/1.0": LAST.replace(b"1.1", b"1.0"),
    "http/1.0 kept": PLAIN.replace(b"1.1", b"1.0"),
    "put": LAST.replace(b"POST", b"PUT"),
    "a lower method": LAST.replace(b"POST", b"post"),
    "absolute": LAST.replace(b" /v1", b" http://b:1/v1"),
    "an empty line before": b"\r\n" + LAST,
    "a long name in the path": LAST.replace(b"/v1", b"/" + b"v" * 600),
    "many lines": LAST.replace(b"host: a", b"x: 1\r\n" * 127 + b"x: 1"),
    "a long head": LAST.replace(b"host: a", b"x: " + b"a" * 5000),
}
OTHERS = [
    b"GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n",
    b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"\r\n" * 3,
    b"garbage",
    b"x: 1\r\n" * 200,
    PLAIN.partition(b"%b")[0],
    PLAIN.partition(b"%b")[0] + b"7",
]
BODIES = [b"", b"{}", b'{"model":"a"}', LAST % (b"2", b"{}"), b"\r\n\r\n", b"a" * 70_000]
KINDS = st.sampled_from([*[PLAIN, PLAIN, LAST, FIRST] * 20, *FORMS.values()])  # most are valid
REQUESTS = st.one_of(
    st.tuples(KINDS, st.sampled_from(BODIES), st.booleans()),
    st.tuples(KINDS, st.sampled_from(BODIES), st.booleans()),
    st.tuples(KINDS, st.sampled_from(BODIES), st.booleans()),
    st.tuples(st.sampled_from(OTHERS), st.none(), st.just(False)),
)


class Wire(asyncio.Transport):
    """A transport whose other side is this test."""

    def __init__(self) -> None:
        super().__init__()
        self.said = b""
        self.is_closed = False
        self.is_paused = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"sockname": ("127.0.0.1", 1), "peername": ("127.0.0.1", 2)}.get(name, default)

    def write(self, data: Any) -> None:
        self.said += data

    def writelines(self, pieces: Any) -> None:
        self.said += b"".join(pieces)

    def can_write_eof(self) -> bool:
        return False

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def set_protocol(self, protocol: Any) -> None:
        raise AssertionError("no request asked for a WebSocket")


class Connection:
    """One connection of the server, to an application that notes what it gets."""

    def __init__(self, turns: int = 0, *, waits_for_body: bool = True) -> None:
        self.turns = turns  # of the event loop, before the application answers
        self.waits_for_body = waits_for_body  # also for one that is here with its head
        self.calls: list[Any] = []
        self.rejected: list[Any] = []
        self.wholes = 0  # requests that were here as a whole
        self.wire = Wire()

    def connect(self) -> None:
        config = uvicorn.Config(self.app, interface="asgi3", proxy_headers=False, ws="none")
        config.load()
        state = ServerState()
        state.default_headers = DATE
        kind: Any = protocol.make_protocol(self.reject, lambda: None)
        self.protocol = kind(config, state, {})
        self.protocol.connection_made(self.wire)

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        known, problem = scope.pop(HEAD, None), find_head_problem(scope)
        read = read_head(scope)
        assert known is None or (known, None) == (read, problem)
        call = {**scope, "known": known is not None}
        self.calls.append(call)
        call["body"] = b""
        for _ in range(self.turns):
            await asyncio.sleep(0)
        whole = scope.pop(WHOLE, None)
        call.pop(WHOLE, None)
        if whole is not None:
            assert known is not None
            assert whole == HttpRequest(read.method, read.url, read.headers, whole.body)
            self.wholes += 1
        if whole is not None and not self.waits_for_body:
            call |= {"body": whole.body, "end": ("http.request", scope.get(PROBLEM))}
        while whole is None or self.waits_for_body:
            message = await receive()
            call["body"] += message.get("body", b"")
            call["end"] = message["type"], scope.get(PROBLEM)
            if not message.get("more_body", False):
                break
        answer = b"%d %b" % (len(call["body"]), scope["raw_path"])
        headers = [(b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def reject(
        self, address: str, status: int, reason: str, head: HttpRequest | None
    ) -> HttpResponse:
        self.rejected.append((address, status, reason, head))
        return HttpResponse(status, {}, reason.encode())

    async def send(self, pieces: Sequence[bytes], waits: Sequence[bool] = ()) -> None:
        """Send pieces, and let the application work after those that wait."""
        for at, piece in enumerate(pieces):
            self.protocol.data_received(piece)
            if at < len(waits) and waits[at]:
                await asyncio.sleep(0)
        for _ in range(60 + 40 * self.turns):
            await asyncio.sleep(0)

    @property
    def known(self) -> list[bool]:
        return [call["known"] for call in self.calls]


def run(
    pieces: Sequence[bytes],
    waits: Sequence[bool] = (),
    *,
    turns: int = 0,
    keeps: bool = True,
    waits_for_body: bool = True,
) -> Connection:
    async def talk() -> Connection:
        made = Connection(turns, waits_for_body=waits_for_body)
        made.connect()
        await made.send(pieces, waits)
        made.protocol.connection_lost(None)
        await asyncio.sleep(0)
        return made

    with pytest.MonkeyPatch.context() as patch:
        if not keeps:
            patch.setattr(protocol, "_UNREPEATED", 0)
        return asyncio.run(talk())


def write(form: bytes, body: bytes | None) -> bytes:
    return form if body is None else form % (b"%d" % len(body), body)


def split(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    ends = sorted({cut % len(data) for cut in cuts} | {0, len(data)})
    return [data[begin:end] for begin, end in pairwise(ends)]


def compare(pieces: Sequence[bytes], waits: Sequence[bool] = (), turns: int = 0) -> Connection:
    """Return the connection that keeps heads, after it did all that one does which keeps none."""
    other = run(pieces, waits, turns=turns, keeps=False)
    assert not any(other.known)
    assert not other.wholes
    keeping = [run(pieces, waits, turns=turns, waits_for_body=waiting) for waiting in (False, True)]
    for each in keeping:
        assert [{**call, "known": False} for call in each.calls] == other.calls
        assert each.wire.said == other.wire.said
        assert each.rejected == other.rejected
        assert each.wire.is_closed == other.wire.is_closed
        assert each.wire.is_paused == other.wire.is_paused
    return keeping[1]


@settings(max_examples=300)
@given(
    requests=st.lists(REQUESTS, min_size=1, max_size=24),
    joined=st.lists(st.booleans(), max_size=24),
    cuts=st.lists(st.integers(0, 3000), max_size=6),
    waits=st.lists(st.booleans(), max_size=30),
    turns=st.integers(0, 3),
)
def test_a_connection_does_the_same_whether_or_not_it_knows_a_head(
    requests, joined, cuts, waits, turns
):
    """Requests come one by one or joined, and some in pieces: nearly all clients cut at the body."""
    pieces: list[bytes] = []
    for at, (form, body, apart) in enumerate(requests):
        data = write(form, body)
        if apart and body and data.endswith(body):
            pieces += [data.removesuffix(body), body]
            continue
        if pieces and at < len(joined) and joined[at]:
            pieces[-1] += data
        else:
            pieces.append(data)
    for at, cut in enumerate(cuts):
        place = (at * 7 + cut) % len(pieces)
        pieces[place : place + 1] = split(pieces[place], [cut])
    compare(pieces, waits, turns)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    "body", [b"", b"{}", LAST % (b"2", b"{}")], ids=["none", "json", "request"]
)
def test_no_form_of_a_request_is_taken_for_another(name, body):
    known = [write(each, b"{}") for each in (PLAIN, PLAIN, LAST, LAST, FIRST, FIRST)]
    form = write(FORMS[name], body)
    compare([*known, form, form, write(LAST, b"[]"), form, form])
    compare([form, form, *known, form + form, form])
    compare([form, *known[:2], form + known[0]])


@pytest.mark.parametrize("other", OTHERS)
def test_no_beginning_is_taken_for_a_known_head(other):
    known = write(PLAIN, b"{}")
    compare([known, known, other, known, known])
    compare([known, known, other + known])


def test_it_does_not_matter_where_a_known_request_is_cut():
    known = write(PLAIN, b'{"a":1}')
    for cut in range(1, len(known)):
        found = compare([known, known, known[:cut], known[cut:], known])
        assert found.known == [False, True, len(known) - cut <= len(b'{"a":1}'), True]
        compare([known, known + known[:cut], known[cut:] + known[:cut], known[cut:]])


def test_a_body_is_not_taken_for_a_known_request():
    known = write(LAST, b"{}")
    form = write(PLAIN, known * 2)
    head = form.removesuffix(known * 2)
    for before in ([], [form, form]):
        found = compare([known, known, *before, head, known, known, known])
        assert found.calls[-2]["body"] == known * 2
        assert found.known[-1]


@pytest.mark.parametrize("more", [0, 6])
def test_empty_lines_before_a_known_head_count_for_its_limit(more):
    known = write(LAST, b"{}")
    lines = b"\r\n" * ((protocol.HEAD_BYTES - len(known) + more) // 2)
    found = compare([known, known, lines, known])
    assert len(found.rejected) == (1 if more else 0)


def test_nothing_is_read_of_a_connection_that_is_being_closed():
    async def talk() -> int:
        made = Connection()
        made.connect()
        await made.send([write(LAST, b"{}")] * 2)
        made.wire.close()
        await made.send([write(LAST, b"{}")])
        return len(made.calls)

    assert asyncio.run(talk()) == 2


# -- what is known -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [PLAIN, LAST, FIRST])
def test_a_repeated_head_is_known_with_another_length(form):
    bodies = [b"{}", b"", b"a" * 5, b"a" * 70_000]
    found = compare([write(form, body) for body in bodies])
    assert found.known == [False, True, True, True]
    assert [call["body"] for call in found.calls] == bodies


def test_two_heads_of_a_connection_are_known_in_turns():
    both = [write(PLAIN, b"{}"), write(LAST, b"{}")]
    assert compare(both * 3).known == [False, False, True, True, True, True]


def test_a_known_request_is_followed_by_those_behind_it():
    data = write(LAST, b"{}")
    found = compare([data, data * 3 + OTHERS[0], data])
    assert found.known == [False, True, False, False, False, True]


def test_a_connection_does_not_know_the_heads_of_another():
    data = write(LAST, b"{}")
    assert [run([data]).known, run([data]).known] == [[False], [False]]


def test_a_connection_whose_heads_all_differ_keeps_them_no_more():
    heads = [PLAIN.replace(b"Secret", b"%d" % at) for at in range(9)]
    found = compare([write(head, b"{}") for head in (*heads, heads[-1])])
    assert not any(found.known)
    repeated = [write(head, b"{}") for head in heads for _ in range(2)]
    assert compare(repeated, [True] * 18).known == [False, True] * 9


USUAL = {"plain", "last", "first", "another key", "a case", "a zero", "many zeros"}


@pytest.mark.parametrize("name", sorted(set(FORMS) - USUAL))
def test_a_peculiar_head_is_never_known(name):
    data = write(FORMS[name], b"{}")
    assert not any(compare([data, data, data]).known)


def test_a_known_request_in_one_piece_is_here_as_a_whole():
    data, packed = write(LAST, b"{}"), LAST.replace(b"host: a", b"content-encoding: gzip")
    assert compare([data, data, data[:-1], data[-1:], data]).wholes == 2
    assert compare([write(packed, b"{}")] * 3).wholes == 0


def test_a_client_that_leaves_before_its_request_is_read_is_seen():
    async def talk() -> Connection:
        made = Connection(waits_for_body=False)
        made.connect()
        await made.send([write(LAST, b"{}")])
        made.protocol.data_received(write(LAST, b"{}"))
        made.protocol.connection_lost(None)
        await made.send([])
        return made

    ends = [call["end"][0] for call in asyncio.run(talk()).calls]
    assert ends == ["http.request", "http.disconnect"]


def test_too_many_requests_that_wait_are_rejected_though_their_head_is_known():
    data = write(LAST, b"{}")
    found = compare([data, *[data] * 30], turns=40)
    assert [reason for *_, reason, _ in found.rejected]
    assert len(found.calls) == 1 + protocol.PIPELINED


def test_a_connection_that_rests_keeps_nothing_of_its_last_request():
    class Answering(Connection):
        async def app(self, scope: Any, receive: Any, send: Any) -> None:
            self.wholes += WHOLE in scope
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    async def talk() -> Answering:
        made = Answering()
        made.connect()
        for _ in range(2):
            await made.send([write(LAST, b"a" * 60_000)])
        return made

    made = asyncio.run(talk())
    assert made.wholes == 1
    assert made.protocol.cycle.body == b""
    assert WHOLE not in made.protocol.cycle.scope
