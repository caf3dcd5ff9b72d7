"""Answers that the fast transport's own client reads or refuses."""

import asyncio
import gzip
import zlib

import pytest
from tests.transport.direct import HEAD, LONG, LOOPS, outcome, request, saying
from tests.transport.loopback import Peer, answering, chunked, serving

from pondero.errors import Unreachable
from pondero.transport import FastTransport

HOSTILE = {
    "two lengths": HEAD + b"content-length: 3\r\ncontent-length: 5\r\n\r\nabcde",
    "length and chunks": HEAD
    + b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "chunks and length": HEAD
    + b"transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "negative length": HEAD + b"content-length: -1\r\n\r\nabc",
    "signed length": HEAD + b"content-length: +3\r\n\r\nabc",
    "length beyond numbers": HEAD + b"content-length: " + b"9" * 40 + b"\r\n\r\nabc",
    "another coding": HEAD + b"transfer-encoding: gzip\r\n\r\nabc",
    "two codings": HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "chunked is not last": HEAD + b"transfer-encoding: chunked, gzip\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "chunked twice": HEAD
    + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "a size that is none": chunked()[:-5] + b"0x3\r\nabc\r\n0\r\n\r\n",
    "a size beyond numbers": chunked()[:-5] + b"F" * 20 + b"\r\nabc\r\n0\r\n\r\n",
    "a chunk longer than its size": chunked()[:-5] + b"2\r\nabc\r\n0\r\n\r\n",
    "bare line feeds": b"HTTP/1.1 200 OK\ncontent-length: 3\n\nabc",
    "bare line feeds in chunks": chunked()[:-5] + b"3\nabc\n0\n\n",
    "a folded header": HEAD + b"x: a\r\n b\r\ncontent-length: 3\r\n\r\nabc",
    "a space before a colon": HEAD + b"content-length : 3\r\n\r\nabc",
    "a zero in a header": HEAD + b"x: a\0b\r\ncontent-length: 3\r\n\r\nabc",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "HTTP/2": b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x80\0\4\0\1\0\0\0\5\0\xff\xff\xff",
    "a switch of protocols": b"HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nabc",
    "a status that is none": b"HTTP/1.1 2000 OK\r\n\r\n",
}


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_an_answer_that_is_not_http_is_one_clear_error(kind, said):
    error = outcome(kind, saying(said))
    assert isinstance(error, Unreachable), error
    assert "127.0.0.1" in str(error)
    assert " object at 0x" not in str(error)


ENDLESS = {
    "headers": (HEAD, b"x-filler: " + b"y" * 1000 + b"\r\n"),
    "one header": (HEAD + b"x-filler: ", b"y" * 1000),
    "the first line": (b"HTTP/1.1 200 ", b"O" * 1000),
    "announcements": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"),
    "a chunk's extension": (chunked()[:-5] + b"3;", b"x" * 1000),
    "trailers": (chunked(b"abc")[:-2], b"x-filler: " + b"y" * 1000 + b"\r\n"),
    "one trailer": (chunked(b"abc")[:-2] + b"x-filler: ", b"y" * 1000),
}


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize(("first", "again"), ENDLESS.values(), ids=ENDLESS)
def test_what_never_comes_to_the_point_is_given_up_within_64_kib(kind, first, again):
    said = 0

    def script(peer: Peer) -> None:
        nonlocal said
        peer.read()
        peer.say(first)
        while True:
            peer.say(again)
            said += len(again)

    error = outcome(kind, script)
    assert isinstance(error, Unreachable), error
    assert "without any of the body" in str(error)
    assert said < 64 * 1024 * 1024  # what sockets hold


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("line", [b"a: b\r\n", b"a:\r\n"])
def test_a_head_of_many_short_lines_is_refused_before_they_are_joined(kind, line):
    error = outcome(kind, saying(HEAD + line * 12_000 + b"content-length: 5\r\n\r\nhello"))
    assert isinstance(error, Unreachable), error
    assert "more than 256 header lines" in str(error)


@pytest.mark.parametrize("kind", LOOPS)
def test_a_head_of_256_lines_is_read(kind):
    said = HEAD + b"a: b\r\n" * 255 + b"content-length: 5\r\n\r\nhello"
    assert outcome(kind, saying(said)) == (200, b"hello")


# -- answers that are unusual ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"content-length: 5\r\n\r\nhello",
        b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n" * 20
        + HEAD
        + b"content-length: 5\r\n\r\nhello",
        b"HTTP/1.1 102 Wait\r\n\r\n" + chunked(b"hel", b"lo"),
        chunked(b"hello")[:-2] + b"x-trailer: 1\r\n\r\n",
        chunked()[:-5] + b"5;name=value\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200\r\ncontent-length: 5\r\n\r\nhello",
    ],
)
def test_what_http_allows_is_read(kind, said):
    assert outcome(kind, saying(said)) == (200, b"hello")


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_a_body_without_a_length_ends_with_its_connection(kind, version):
    def script(peer: Peer) -> None:
        peer.read()
        peer.say(b"HTTP/%b 200 OK\r\n\r\nhello" % version)

    assert outcome(kind, script) == (200, b"hello")


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_ends_at_once(kind, status):
    assert outcome(kind, saying(b"HTTP/1.1 %d Odd\r\n\r\n" % status)) == (status, b"")


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(b"words " * 50_000, mtime=0)),
        (
            "gzip",
            gzip.compress(b"words " * 20_000, mtime=0) + gzip.compress(b"words " * 30_000, mtime=0),
        ),
        ("GZIP", gzip.compress(b"words " * 50_000, mtime=0) + b"\0" * 16),
        ("x-gzip", gzip.compress(b"words " * 50_000, mtime=0)),
        ("deflate", zlib.compress(b"words " * 50_000)),
        ("deflate", zlib.compress(b"words " * 50_000, wbits=-15)),
        ("identity", b"words " * 50_000),
    ],
)
def test_packed_bodies_are_unpacked_however_they_are_cut(kind, coding, packed):
    head = HEAD + f"content-encoding: {coding}\r\ncontent-length: {len(packed)}\r\n\r\n".encode()

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(head)
        for at in range(0, len(packed), 977):
            peer.say(packed[at : at + 977])

    assert outcome(kind, script) == (200, b"words " * 50_000)


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize(
    ("coding", "body", "words"),
    [
        ("gzip", gzip.compress(b"words " * 100, mtime=0)[:-9], "was cut"),
        ("gzip", b"no gzip at all", "cannot unpack"),
        ("br", b"\x0b\x02\x80{}\x03", "was not asked for"),
        ("zstd", b"(\xb5/\xfd\x04\x00abc", "was not asked for"),
        (
            "gzip, gzip",
            gzip.compress(gzip.compress(b"words", mtime=0), mtime=0),
            "was not asked for",
        ),
    ],
)
def test_a_body_that_cannot_be_unpacked_is_one_clear_error(kind, coding, body, words):
    head = HEAD + f"content-encoding: {coding}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    error = outcome(kind, saying(head + body))
    assert isinstance(error, Unreachable)
    assert words in str(error)


def test_a_small_body_that_unpacks_to_a_large_one_comes_in_bounded_pieces():
    packed = gzip.compress(bytes(64 * 1024 * 1024))
    head = HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)

    async def main(url: str) -> list[int]:
        transport = FastTransport()
        answer = await transport.send(request(url), LONG)
        sizes = [len(piece) async for piece in answer]
        await transport.aclose()
        return sizes

    with serving(answering(head + packed)) as server:
        sizes = asyncio.run(main(server.url))
    assert sum(sizes) == 64 * 1024 * 1024
    assert max(sizes) <= 256 * 1024
