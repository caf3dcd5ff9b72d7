"""Our writing of a response, held to uvicorn's: the same bytes, in fewer writes."""

import asyncio
import logging
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from pondero.gateway.answers.response_writer import RESPONSE
from pondero.gateway.server._response_cycle import ResponseCycle

DATE = [(b"date", b"Wed, 18 Nov 2026 09:00:00 GMT")]
LOG = logging.getLogger("tests.quiet")


class Written:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def writelines(self, pieces: Sequence[bytes]) -> None:
        self.writes.append(b"".join(pieces))

    def close(self) -> None:
        self.is_closed = True


def send(
    kind: type[RequestResponseCycle],
    messages: Sequence[Any],
    *,
    method: str,
    keeps: bool,
    version: str = "1.1",
) -> tuple[Written, bool, str]:
    """Return what a cycle wrote, whether it is complete, and the error that ended it."""
    written = Written()
    ended: list[bool] = []

    async def run() -> str:
        transport: Any = written
        cycle = kind(
            scope={"method": method, "http_version": version},  # type: ignore[typeddict-item]  # all that it reads
            transport=transport,
            flow=FlowControl(transport),
            logger=LOG,
            access_logger=LOG,
            access_log=False,
            default_headers=DATE,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=keeps,
            on_response=lambda: ended.append(True),
        )
        try:
            for message in messages:
                await cycle.send(message)
        except RuntimeError:
            return "error"
        return ""

    error = asyncio.run(run())
    return written, bool(ended), error


def start(status: int, headers: Sequence[tuple[bytes, bytes]]) -> Any:
    return {"type": "http.response.start", "status": status, "headers": headers}


def piece(body: bytes, *, more: bool) -> Any:
    return {"type": "http.response.body", "body": body, "more_body": more}


NAMES = st.sampled_from(
    [b"Content-Type", b"x-pondero-level", b"connection", b"transfer-encoding", b"set-cookie"]
)
VALUES = st.sampled_from([b"close", b"keep-alive, Close", b"chunked", b"application/json", b""])
BODIES = st.lists(st.sampled_from([b"", b"{}", b"a piece", b"x" * 70_000]), min_size=1, max_size=4)


@given(
    status=st.sampled_from([200, 204, 304, 400, 529]),
    headers=st.lists(st.tuples(NAMES, VALUES), max_size=4, unique_by=itemgetter(0)),
    bodies=BODIES,
    method=st.sampled_from(["POST", "GET", "HEAD"]),
    keeps=st.booleans(),
    sized=st.booleans(),
)
def test_the_client_gets_the_bytes_that_uvicorn_writes(
    status, headers, bodies, method, keeps, sized
):
    if sized:
        length = b"%d" % sum(map(len, bodies))
        headers = [each for each in headers if each[0] != b"transfer-encoding"]
        headers.append((b"content-length", length))
    last = len(bodies) - 1
    messages = [start(status, headers)]
    messages += [piece(body, more=at < last) for at, body in enumerate(bodies)]
    theirs, is_over, error = send(RequestResponseCycle, messages, method=method, keeps=keeps)
    ours, ours_over, our_error = send(ResponseCycle, messages, method=method, keeps=keeps)
    assert (our_error, ours_over) == (error, is_over)
    assert ours.is_closed == theirs.is_closed
    if not error:  # else ours may have written nothing yet
        assert _lines(b"".join(ours.writes)) == _lines(b"".join(theirs.writes))


TEXTS = st.sampled_from(
    ["application/json", "", "\u00e9", "\u2603", "a\tb", "a\r\nb: c", "\0", "close", "chunked"]
)
SHOWN = st.sampled_from(
    ["content-type", "X-Level", "x-level", "connection", "transfer-encoding", "a b", "a:b", ""]
)


@given(
    status=st.sampled_from([200, 204, 304, 400, 529, 600]),
    headers=st.dictionaries(SHOWN, TEXTS, max_size=4),
    body=st.sampled_from([b"", b"{}", b"x" * 70_000]),
    method=st.sampled_from(["POST", "GET", "HEAD"]),
    keeps=st.booleans(),
)
def test_a_response_in_one_message_is_the_same_as_in_two(status, headers, body, method, keeps):
    one = [{"type": RESPONSE, "status": status, "headers": headers, "body": body}]
    sized = {**headers, "content-length": str(len(body))}
    pairs = [(k.encode("latin-1"), v.encode("latin-1", "replace")) for k, v in sized.items()]
    two = [start(status, pairs), piece(body, more=False)]
    for _ in range(2):  # the second time, the names are known
        written, *said = send(ResponseCycle, one, method=method, keeps=keeps)
        other, *others = send(ResponseCycle, two, method=method, keeps=keeps)
        assert said == others
        assert written.is_closed == other.is_closed
        assert b"".join(written.writes) == b"".join(other.writes)
    after = [*one, *one]
    assert send(ResponseCycle, after, method=method, keeps=keeps)[2] == "error"


def _lines(answer: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Return status line, header lines in any order, and body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    return first, sorted(lines), body


def test_a_whole_answer_is_one_write():
    messages = [start(200, [(b"content-length", b"2")]), piece(b"{}", more=False)]
    written, is_over, _ = send(ResponseCycle, messages, method="POST", keeps=True)
    assert len(written.writes) == 1
    assert is_over


def test_what_is_no_status_is_told_as_a_bad_gateway():
    messages = [start(600, [(b"content-length", b"2")]), piece(b"{}", more=False)]
    written, is_over, error = send(ResponseCycle, messages, method="POST", keeps=True)
    assert b"".join(written.writes).startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert is_over
    assert not error


@pytest.mark.parametrize(
    "messages",
    [
        [piece(b"{}", more=False)],
        [start(200, []), start(200, [])],
        [start(200, []), piece(b"", more=False), piece(b"{}", more=False)],
        [start(200, [(b"content-length", b"1")]), piece(b"{}", more=False)],
        [start(200, [(b"content-length", b"3")]), piece(b"{}", more=False)],
        [start(200, [(b"x-name", b"a\r\nb: c")]), piece(b"", more=False)],
        [start(200, [(b"x name", b"a")]), piece(b"", more=False)],
    ],
)
def test_what_is_no_response_is_an_error(messages):
    written, _, error = send(ResponseCycle, messages, method="POST", keeps=True)
    assert error
    assert b"b: c" not in b"".join(written.writes)


def test_a_stream_to_an_old_client_ends_with_its_connection():
    messages = [start(200, []), piece(b"one", more=True), piece(b"two", more=False)]
    written, ended, error = send(ResponseCycle, messages, method="GET", keeps=False, version="1.0")
    head, _, body = b"".join(written.writes).partition(b"\r\n\r\n")
    assert (body, ended, error, written.is_closed) == (b"onetwo", True, "", True)
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
