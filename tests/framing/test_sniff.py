"""The first bytes tell the framing."""

import pytest

from pondero.framing import sniff


@pytest.mark.parametrize(
    ("data", "framing"),
    [
        (b"data: {}\n\n", "sse"),
        (b"event: message_start\n", "sse"),
        (b": comment\n", "sse"),
        (b"\r\n\r\ndata:", "sse"),
        (b"\xef\xbb\xbfdata: {}", "sse"),
        (b"", "sse"),
        (b'[{"candidates"', "json_array"),
        (b"\xef\xbb\xbf [", "json_array"),
        (b'{\n  "error"', "json_array"),
        (b'{ \r\n  "error"', "json_array"),
        (b'{"model":"m"}\n{', "ndjson"),
        (b'{ "model":"m"}', "ndjson"),
    ],
)
def test_first_bytes_tell_the_framing(data, framing):
    assert sniff(data) == framing
