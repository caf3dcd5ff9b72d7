"""Packed bodies, however their bytes are made and cut."""

import gzip
import time
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.transport.packed_body import PackedBody

MOST = 256 * 1024


def unpack(coding: str, *pieces: bytes) -> tuple[bytes, bool]:
    """Return what a body is in the end, and whether it is whole."""
    packed, found = PackedBody(coding), b""
    for piece in pieces:
        packed.feed(piece)
        while data := packed.take():
            assert len(data) <= MOST
            found += data
    return found, packed.is_whole()


def pack(coding: str, data: bytes) -> bytes:
    if coding == "gzip":
        return gzip.compress(data, mtime=0)
    return zlib.compress(data, wbits=zlib.MAX_WBITS if coding == "zlib" else -zlib.MAX_WBITS)


@pytest.mark.parametrize("coding", ["gzip", "zlib", "bare"])
@pytest.mark.parametrize("size", [0, 1, MOST - 1, MOST, MOST + 226, 2 * MOST, 2 * MOST + 226])
def test_the_last_bytes_come_also_if_they_do_not_fit_the_piece_before(coding, size):
    data = bytes(size)
    named = "gzip" if coding == "gzip" else "deflate"
    assert unpack(named, pack(coding, data)) == (data, True)


@given(
    st.lists(st.binary(max_size=50), min_size=1, max_size=5),
    st.integers(0, 20),
    st.lists(st.integers(0, 400), max_size=5),
)
def test_members_of_gzip_and_their_padding_may_be_cut_anywhere(members, padding, cuts):
    packed = b"".join(pack("gzip", each) for each in members) + bytes(padding)
    ends = sorted({0, len(packed), *(cut for cut in cuts if cut < len(packed))})
    pieces = [packed[at:end] for at, end in pairwise(ends)]
    assert unpack("gzip", *pieces) == (b"".join(members), True)


def test_what_follows_gzip_and_is_no_padding_is_an_error():
    with pytest.raises(zlib.error):
        unpack("gzip", pack("gzip", b"hello") + b"\0\0no gzip")


def test_many_small_members_take_time_by_their_number_and_not_by_its_square():
    def measure(number: int) -> float:
        packed = pack("gzip", b"") * number
        begun = time.process_time()
        assert unpack("gzip", packed) == (b"", True)
        return time.process_time() - begun

    assert measure(40_000) < 40 * max(measure(4_000), 0.01)
