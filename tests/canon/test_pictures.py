"""Width and height of pictures, from headers written by hand after the formats' specifications."""

import struct

import pytest

from pondero.canon import measure_picture

SIZES = ((1, 1), (300, 200), (1440, 8570), (16383, 1))


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + bytes(5)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(3)


def jpeg(width: int, height: int, *, frame: int = 0xC0) -> bytes:
    """Return a JPEG with an application segment that looks like a frame, fill bytes and tables."""
    decoy = b"\xff\xc0" + bytes(30)
    segments = (
        b"\xff\xe1" + struct.pack(">H", len(decoy) + 2) + decoy + b"\xff\xff\xff\xc4\x00\x04ab"
    )
    return b"\xff\xd8" + segments + struct.pack(">BBHBHH", 0xFF, frame, 11, 8, height, width)


def riff(kind: bytes, fields: bytes) -> bytes:
    chunk = kind + struct.pack("<I", len(fields)) + fields
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def lossy(width: int, height: int) -> bytes:
    return riff(b"VP8 ", b"\x10\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height))


def lossless(width: int, height: int) -> bytes:
    return riff(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14 | 1 << 28))


def extended(width: int, height: int) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return riff(b"VP8X", b"\x10\x00\x00\x00" + sides)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("write", [png, gif, jpeg, lossy, lossless, extended])
def test_the_size_is_read_from_the_header(write, size):
    assert measure_picture(write(*size)) == size


@pytest.mark.parametrize("frame", [0xC1, 0xC2, 0xC3, 0xC9, 0xCF])
def test_every_kind_of_jpeg_frame_is_known(frame):
    assert measure_picture(jpeg(640, 480, frame=frame)) == (640, 480)


@pytest.mark.parametrize("write", [png, gif, jpeg, lossy, lossless, extended])
def test_a_picture_that_is_cut_off_has_a_size_or_none(write):
    whole = write(300, 200)
    for end in range(len(whole)):
        assert measure_picture(whole[:end]) in (None, (300, 200))
    assert measure_picture(whole[:8]) is None


@pytest.mark.parametrize("data", [b"", b"BM0000", b"\xff\xd8\xff\xd9", b"\xff\xd8" + bytes(9)])
def test_other_bytes_have_no_size(data):
    assert measure_picture(data) is None
