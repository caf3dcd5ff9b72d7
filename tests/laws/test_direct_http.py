"""Laws of the fast transport's own HTTP client: splits change nothing, and a cut is an error.

The judge is the standard library's client, which reads the same bytes.
"""

import asyncio
import io
from http.client import HTTPResponse
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("httptools")
from pondero.transport import WriteBatch
from pondero.transport.direct_connection import DirectConnection

TOKENS = st.text("abcdefgh-", min_size=1, max_size=9).map(lambda text: f"x-{text}")
VALUES = st.text("abc 09,;=/*", max_size=20).map(str.strip)
HEADERS = st.dictionaries(TOKENS, VALUES, max_size=6)
BODIES = st.lists(st.binary(min_size=1, max_size=80), max_size=8)
INTERIM = st.lists(st.sampled_from([100, 102, 103, 110]), max_size=3)


class Wire:
    """A transport that goes nowhere; it stands for its own socket."""

    def __init__(self) -> None:
        self.aborted = False

    def get_extra_info(self, _: str) -> "Wire":
        return self

    def fileno(self) -> int:
        return 0

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.aborted

    def write(self, _: bytes) -> None:
        """Forget it."""

    def pause_reading(self) -> None:
        """Go on."""

    def abort(self) -> None:
        self.aborted = True


def make_connection() -> DirectConnection:
    return DirectConnection("origin", lambda _: None, WriteBatch())


def heard(pieces: list[bytes], *, closes: bool) -> dict[str, Any]:
    """Return what a connection makes of these bytes, and of an end of the connection after them."""

    async def main() -> dict[str, Any]:
        connection, wire = make_connection(), Wire()
        connection.connection_made(wire)  # type: ignore[arg-type]  # as much of one as is used
        connection.ask([b"GET / HTTP/1.1\r\n\r\n"], 60.0)
        for piece in pieces:
            if not wire.aborted:
                connection.data_received(piece)
        keeps = not connection._is_last
        if closes or wire.aborted:
            connection.connection_lost(None)
        found = {
            name: getattr(connection, name) for name in ("status", "headers", "has_ended", "error")
        }
        found |= {"body": b"".join(connection.parts), "keeps": keeps}
        connection.connection_lost(None)
        return found

    return asyncio.run(main())


def written(interim: list[int], headers: dict[str, str], body: list[bytes], framing: str) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    first = "".join(f"HTTP/1.1 {status} Soon\r\nx-early: 1\r\n\r\n" for status in interim)
    if framing == "length":
        data = b"".join(body)
        lines += f"content-length: {len(data)}\r\n"
    else:
        data = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in body) + b"0\r\n\r\n"
        lines += "transfer-encoding: chunked\r\n"
    return f"{first}HTTP/1.1 200 OK\r\n{lines}\r\n".encode() + data


def judged(data: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return what the standard library reads."""

    class Socket:
        def makefile(self, _: str) -> io.BytesIO:
            return io.BytesIO(data)

    while data.startswith(b"HTTP/1.1 1"):  # it knows of 100 only
        data = data.partition(b"\r\n\r\n")[2]
    response = HTTPResponse(Socket())  # type: ignore[arg-type]  # as much of one as is used
    response.begin()
    return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[one:two] for one, two in pairwise(places) if two > one]


ANSWERS = st.builds(written, INTERIM, HEADERS, BODIES, st.sampled_from(["length", "chunks"]))


@given(ANSWERS, st.lists(st.integers(0, 2_000), max_size=12))
def test_an_answer_is_the_same_however_it_is_split(data, cuts):
    found = heard(split(data, cuts), closes=False)
    assert (found["status"], found["headers"], found["body"]) == judged(data)
    assert found["has_ended"]
    assert found["keeps"]
    assert not found["error"]


@given(ANSWERS)
def test_an_answer_is_the_same_byte_by_byte(data):
    whole, single = heard([data], closes=False), heard([bytes([b]) for b in data], closes=False)
    assert whole == single


@given(ANSWERS, st.integers(0, 10_000), st.lists(st.integers(0, 2_000), max_size=4))
def test_an_answer_that_is_cut_is_an_error_and_what_came_of_it_is_its_beginning(data, at, cuts):
    part = data[: at % len(data)]
    found = heard(split(part, cuts), closes=True)
    assert found["error"]
    assert not found["keeps"]
    assert judged(data)[2].startswith(found["body"])


@given(ANSWERS, st.binary(min_size=1, max_size=30) | ANSWERS)
def test_what_follows_an_answer_never_reaches_its_reader(data, more):
    found = heard([data + more], closes=False)
    assert found["body"] == judged(data)[2]
    assert not found["error"]
    later = heard([data, more], closes=False)
    assert (later["body"], later["keeps"]) == (found["body"], False)


@given(ANSWERS, st.integers(0, 10_000), st.binary(max_size=4), st.lists(st.integers(0, 2_000)))
@example(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", 0, b"\xff", [])
def test_no_bytes_make_it_fail_in_another_way_than_by_an_error(data, at, noise, cuts):
    place = at % len(data)
    spoilt = data[:place] + noise + data[place + 1 :]
    found = heard(split(spoilt, cuts), closes=True)
    assert found["has_ended"]
    assert isinstance(found["error"], str)
