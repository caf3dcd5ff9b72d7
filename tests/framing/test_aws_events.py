"""AWS event streams: frames in, events out, however they are cut."""

from struct import pack
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from pondero.errors import Malformed, PonderoError
from pondero.framing import AwsEventsReader, detect_framing, read_payloads, write_aws_event

from .aws import aws_frame
from .pieces import splits

# Made by hand from the layout, and taken by botocore's parser.
EVENT = bytes.fromhex(
    "000000b200000057fa2a404a0b3a6576656e742d74797065070011636f6e74656e74426c6f636b44656c7461"
    "0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d74"
    "7970650700056576656e747b22636f6e74656e74426c6f636b496e646578223a302c2264656c7461223a7b22"
    "726561736f6e696e67436f6e74656e74223a7b2274657874223a224869227d7d2c2270223a226162227d04f1"
    "c65a"
)
EXCEPTION = bytes.fromhex(
    "00000090000000618e91a9b70f3a657863657074696f6e2d747970650700137468726f74746c696e67457863"
    "657074696f6e0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573"
    "736167652d74797065070009657863657074696f6e7b226d657373616765223a22546f6f206d616e79207265"
    "717565737473227de67f8005"
)
names = st.text("abc:-", min_size=1, max_size=10)
values = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
headers = st.dictionaries(names, values, max_size=4)
frames = st.lists(st.tuples(headers, st.binary(max_size=60)), max_size=5)


def read(pieces):
    reader = AwsEventsReader()
    return [(dict(e.headers), e.payload) for piece in pieces for e in reader.feed(piece)], reader


def outcome(pieces):
    reader, events = AwsEventsReader(), []
    try:
        for piece in pieces:
            events += reader.feed(piece)
        reader.eof()
    except PonderoError as error:
        return events, f"{type(error).__name__}: {error}"
    return events, None


def botocores(stream):
    buffer = EventStreamBuffer()
    buffer.add_data(stream)
    return [(frame.headers, frame.payload) for frame in buffer]


def test_an_event_and_an_exception():
    (event, exception), reader = read([EVENT + EXCEPTION])
    assert event[0][":event-type"] == "contentBlockDelta"
    assert event[1].startswith(b'{"contentBlockIndex":0,')
    assert exception[0][":exception-type"] == "throttlingException"
    assert exception[1] == b'{"message":"Too many requests"}'
    assert reader.eof() == []


@given(frames, st.lists(st.integers(0, 600)))
def test_what_is_written_is_read_by_us_and_by_botocore(given, cuts):
    stream = b"".join(write_aws_event(*frame) for frame in given)
    assert stream == b"".join(aws_frame(*frame) for frame in given)
    assert read(splits(stream, cuts))[0] == given
    assert read([stream[at : at + 1] for at in range(len(stream))])[0] == given
    assert botocores(stream) == given


@given(frames, st.integers(0, 600), st.binary(max_size=3), st.lists(st.integers(0, 600)))
def test_broken_bytes_break_alike_however_they_are_cut(given, at, noise, cuts):
    stream = b"".join(write_aws_event(*frame) for frame in given)
    broken = stream[:at] + noise + stream[at + 1 :]
    assert outcome(splits(broken, cuts)) == outcome([broken])


@given(frames.filter(bool), st.data())
def test_a_stream_cut_within_a_frame_is_truncated(given, data):
    written = [write_aws_event(*frame) for frame in given]
    cut = data.draw(st.integers(1, len(written[-1]) - 1))
    events, why = outcome([b"".join(written)[:-cut]])
    assert len(events) == len(given) - 1
    assert why is not None
    assert why.startswith("Truncated")


@pytest.mark.parametrize("at", range(0, len(EVENT), 7))
def test_one_wrong_bit_anywhere_is_noticed(at):
    broken = bytearray(EVENT)
    broken[at] ^= 1
    events, why = outcome([bytes(broken)])
    assert events == []
    assert why is not None


def test_whole_frames_come_first_and_the_error_after_them():
    reader = AwsEventsReader()
    assert len(reader.feed(EVENT + b"x" * 12)) == 1
    for _ in range(2):
        with pytest.raises(Malformed, match="prelude"):
            reader.feed(EVENT)
    with pytest.raises(Malformed, match="prelude"):
        reader.eof()


def test_an_absurd_frame_is_refused_before_it_is_kept():
    with pytest.raises(Malformed, match="more than 100 bytes"):
        AwsEventsReader(max_frame=100).feed(EVENT[:12])


def test_a_page_of_html_is_no_frame():
    with pytest.raises(Malformed):
        AwsEventsReader().feed(b"<html><body>Bad gateway</body></html>")


@pytest.mark.parametrize(
    ("block", "read_as"),
    [
        (b"\x01a\x00\x01b\x07\x00\x01x", {"a": "", "b": "x"}),
        (b"\x01a\x04\x00\x00\x00\x07", {"a": "\0\0\0\a"}),
        (b"\x01a\x06\x00\x02\xff\x00", {"a": "\\xff\0"}),
        (b"\x01a\x08" + bytes(8), {"a": "\0" * 8}),
    ],
)
def test_headers_of_every_type_are_passed(block, read_as):
    assert read([_with_block(block)])[0] == [(read_as, b"{}")]


@pytest.mark.parametrize("block", [b"\x05a", b"\x01a\x63", b"\x01a\x07\x00\x09x", b"\x01\xff\x00"])
def test_broken_headers_are_malformed(block):
    with pytest.raises(Malformed, match="headers"):
        AwsEventsReader().feed(_with_block(block))


def test_the_framing_is_told_by_its_first_bytes():
    assert detect_framing(EVENT) == "aws_events"
    assert detect_framing(b"\0\0\0\x10 not a frame") != "aws_events"
    assert read_payloads(EVENT + EXCEPTION)[1] == b'{"message":"Too many requests"}'


def _with_block(block):
    prelude = pack(">II", 18 + len(block), len(block))
    frame = prelude + pack(">I", crc32(prelude)) + block + b"{}"
    return frame + pack(">I", crc32(frame))
