"""Lines, in every split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.errors import Malformed
from pondero.framing import NdjsonReader

from .pieces import splits


def read(data: bytes, cuts: list[int] | None = None) -> list[bytes]:
    reader = NdjsonReader()
    frames = []
    for piece in splits(data, cuts or []):
        frames += reader.feed(piece)
    return frames + reader.eof()


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}\r\n\r\n\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        (b"", []),
        (b"\n \n", []),
    ],
)
def test_lines_come_without_their_ends(stream, frames):
    assert read(stream) == frames
    assert read(stream, list(range(len(stream)))) == frames


@given(st.binary() | st.text("ab\r\n ").map(str.encode), st.lists(st.integers(0, 100)))
def test_any_split_gives_the_same_lines(data, cuts):
    assert read(data, cuts) == read(data)


@pytest.mark.parametrize("step", [1, 7, 1_000])
def test_a_line_above_the_limit_is_refused_after_the_lines_before_it(step):
    stream = b"{}\n" + b"x" * 300 + b"\n{}\n"
    reader = NdjsonReader(max_frame=100)
    frames = []
    with pytest.raises(Malformed, match="more than 100 bytes"):  # noqa: PT012
        for piece in splits(stream, list(range(0, len(stream), step))):
            frames += reader.feed(piece)
        frames += reader.eof()
    assert frames == [b"{}"]
    with pytest.raises(Malformed):
        reader.eof()
