"""Redis's protocol: replies in any pieces, and what a real Redis says to our bytes."""

import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.gateway.state.redis_protocol import (
    ReplyError,
    ReplyReader,
    pack_command,
    pair_fields,
)

_LEAVES = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.binary(max_size=40)
    | st.builds(ReplyError, st.from_regex(r"\A[A-Z]{2,8} [a-z \u00e9]{0,12}\Z"))
)
REPLIES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=4), max_leaves=12)


def _write(reply: Any) -> bytes:
    if reply is None:
        return b"$-1\r\n"
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, bytes):
        return b"$%d\r\n%b\r\n" % (len(reply), reply)
    if isinstance(reply, ReplyError):
        return b"-%b\r\n" % str(reply).encode()
    return b"*%d\r\n%b" % (len(reply), b"".join(map(_write, reply)))


def _plain(reply: Any) -> Any:
    """Return a reply that can be compared: errors are equal if their texts are."""
    if isinstance(reply, ReplyError):
        return ("error", reply.code, str(reply))
    return [_plain(each) for each in reply] if isinstance(reply, list) else reply


@given(replies=st.lists(REPLIES, max_size=6), data=st.data())
def test_replies_are_read_whatever_pieces_they_arrive_in(replies, data):
    wire = b"".join(map(_write, replies))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    reader = ReplyReader()
    read: list[Any] = []
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        if end > start:
            read += reader.feed(wire[start:end])
    assert _plain(read) == _plain(replies)


@given(replies=st.lists(REPLIES, min_size=1, max_size=3))
def test_replies_are_read_byte_by_byte_each_as_soon_as_it_is_whole(replies):
    reader = ReplyReader()
    for reply in replies:
        wire = _write(reply)
        early = [each for at in range(len(wire) - 1) for each in reader.feed(wire[at : at + 1])]
        assert early == []
        assert _plain(reader.feed(wire[-1:])) == [_plain(reply)]


@pytest.mark.parametrize("wire", [b"what\r\n", b"\r\n", b":one\r\n", b"$x\r\n"])
def test_bytes_that_are_no_reply_are_an_error(wire):
    with pytest.raises(ValueError, match=r".+"):
        ReplyReader().feed(wire)


def test_a_real_redis_understands_our_commands_and_we_its_answers(redis):
    words: list[Any] = [
        ("SET", "a", b"\x00\r\n\xff"),
        ("GET", "a"),
        ("GET", "nothing"),
        ("HSET", "h", "é", 1, "b", -2),
        ("HGETALL", "h"),
        ("HGETALL", "nothing"),
        ("INCR", "a"),
        ("EVAL", "return {1, {'two', {}}, false}", 0),
    ]
    reader, replies = ReplyReader(), []
    with socket.create_connection(("127.0.0.1", redis.port)) as line:
        line.sendall(b"".join(map(pack_command, words)))
        while len(replies) < len(words):
            replies += reader.feed(line.recv(7))
    *first, fields, none, error, nested = replies
    assert first == [b"OK", b"\x00\r\n\xff", None, 2]
    assert pair_fields(fields) == {"é".encode(): b"1", b"b": b"-2"}
    assert pair_fields(none) == {}
    assert isinstance(error, ReplyError)
    assert error.code == "ERR"
    assert nested == [1, [b"two", []], None]
