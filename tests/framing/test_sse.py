"""Server-sent events, in every line ending and every split."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.errors import Malformed
from pondero.framing import SseReader, SseSplitter, find_data

from .pieces import splits


def read(data: bytes, cuts: list[int] | None = None, **options) -> list[bytes]:
    reader = SseReader(**options)
    frames = []
    for piece in splits(data, cuts or []):
        frames += reader.feed(piece)
    return frames + reader.eof()


@pytest.mark.parametrize(
    ("stream", "payloads"),
    [
        (b"data: x\n\n", [b"x"]),
        (b"data:x\n\n", [b"x"]),
        (b"data:  x \n\n", [b" x "]),
        (b"event: ping\ndata: {}\n\n", [b"{}"]),
        (b"event:ping\ndata:{}\nid: 7\n\n", [b"{}"]),
        (b"id: 7\nretry: 10\nevent: e\ndata: {}\n\n", [b"{}"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data: a\nevent: e\ndata: b\n\n", [b"a\nb"]),
        (b"data: a\ndata\ndata: b\n\n", [b"a\n\nb"]),
        (b": a comment\n\ndata: x\n\n", [b"x"]),
        (b": a comment\ndata: x\n\n", [b"x"]),
        (b"\n\n\n\ndata: x\n\n\n\n\ndata: y\n\n\n", [b"x", b"y"]),
        (b"event: ping\n\ndata: x\n\n", [b"x"]),
        (b"data:\n\ndata: \n\ndata\n\ndata: x\n\n", [b"x"]),
        (b"database: no\n\nmetadata: no\n\n data: no\n\n", []),
        (b"event: data: e\ndata: x\n\n", [b"x"]),
        (b"data: data: x\n\n", [b"data: x"]),
        (b"data: a:b\n\n", [b"a:b"]),
        (b"data: x", [b"x"]),
        (b"data: x\n", [b"x"]),
        (b"dat", []),
        (b"\xef\xbb\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n", [b"x"]),
        (b"\xef\xbb\xbf\n\ndata: x\n\n", [b"x"]),
        (b"", []),
        ("data: zażółć\n\n".encode(), ["zażółć".encode()]),
        (b"data: \xff\xfe\n\n", [b"\xff\xfe"]),
    ],
)
def test_events_give_their_data(stream, payloads):
    assert read(stream) == payloads
    assert read(stream, list(range(len(stream)))) == payloads
    assert read(stream.replace(b"\n", b"\r")) == payloads
    assert read(stream.replace(b"\n", b"\r\n")) == payloads
    assert read(stream.replace(b"\n", b"\r\n"), list(range(2 * len(stream)))) == payloads


lines = st.sampled_from(
    [
        b"data: a",
        b"data:b",
        b"data",
        b"data: ",
        b"event: e",
        b"id: 1",
        b": c",
        b"",
        b"",
        b"odd",
        b"data: \xc3",
    ]
)
ends = st.sampled_from([b"\n", b"\r", b"\r\n"])
streams = st.lists(st.tuples(lines, ends)).map(lambda pairs: b"".join(a + b for a, b in pairs))
cuts = st.lists(st.integers(0, 200))


def by_the_letter(data: bytes) -> list[bytes]:
    """Read a stream as the standard words it, slowly; a last event is dispatched at the end."""
    payloads: list[bytes] = []
    buffer: list[bytes] = []
    for line in [*data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), b""]:
        if not line:
            if any(buffer) or len(buffer) > 1:
                payloads.append(b"\n".join(buffer))
            buffer = []
            continue
        name, _, value = line.partition(b":")
        if name == b"data":
            buffer.append(value.removeprefix(b" "))
    return payloads


@given(streams, cuts)
def test_any_split_gives_the_events_of_the_standard(stream, cuts):
    assert read(stream, cuts) == by_the_letter(stream)


@given(st.binary(), cuts)
def test_any_bytes_give_the_same_in_any_split(data, cuts):
    assert read(data, cuts) == read(data)


@pytest.mark.parametrize("step", [1, 7, 1_000, 10_000])
def test_a_frame_above_the_limit_is_refused_after_the_events_before_it(step):
    stream = b"data: first\n\ndata: " + b"x" * 2_000 + b"\n\ndata: last\n\n"
    reader = SseReader(max_frame=1_000)
    frames = []
    with pytest.raises(Malformed, match="more than 1,000 bytes"):  # noqa: PT012
        for piece in splits(stream, list(range(0, len(stream), step))):
            frames += reader.feed(piece)
        frames += reader.eof()
    assert frames == [b"first"]
    with pytest.raises(Malformed):
        reader.feed(b"data: more\n\n")
    with pytest.raises(Malformed):
        reader.eof()


@pytest.mark.parametrize("step", [1, 3, 100])
def test_a_long_frame_in_small_pieces_costs_linear_time(step):
    def spent(size: int) -> float:
        piece = b"x" * step
        reader = SseReader()
        reader.feed(b"data: ")
        start = time.process_time()
        for _ in range(size):
            reader.feed(piece)
        reader.feed(b"\n\n")
        return time.process_time() - start

    short = min(spent(10_000) for _ in range(3))
    assert spent(100_000) < 40 * short  # quadratic would be 100


@given(
    st.lists(st.sampled_from([b"data: x", b"event: e\ndata: {}", b": ping", b"data: a\ndata: b"])),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.lists(st.integers(0, 90)),
    st.booleans(),
)
def test_a_splitter_finds_the_same_events_with_every_line_end_and_split(events, end, cuts, whole):
    """Only the line ends change; the last event need not be followed by a blank line."""
    stream = b"".join(event + b"\n\n" for event in events)
    stream = stream if whole else stream.removesuffix(b"\n\n")
    splitter, found = SseSplitter(), list[bytes]()
    for piece in splits(stream.replace(b"\n", end), cuts):
        found += splitter.feed(piece)
    found += splitter.eof()
    assert found == [event + b"\n\n" for event in events]
    assert [data for event in found if (data := find_data(event))] == read(stream)
