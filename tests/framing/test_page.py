"""A body without a message is told in its own words."""

import pytest

from pondero.framing import readable


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "HTTP 502, and nothing more"),
        (b" \n ", "HTTP 502, and nothing more"),
        (b"<html><h1>Bad</h1>\n<p>gateway</p></html>", "HTTP 502: Bad gateway"),
        (b"<STYLE>p { margin: 0 }</STYLE>busy", "HTTP 502: busy"),
        (b"busy<script>if (a < b) {", "HTTP 502: busy"),
        (b"\xff\xfe", "HTTP 502: \ufffd\ufffd"),
        (b"a < b", "HTTP 502: a < b"),
        (b"long " * 100, "HTTP 502: " + ("long " * 60)),
    ],
)
def test_the_words_of_a_page_are_told_and_not_its_tags(body, words):
    assert readable(body, status=502) == words


def test_inside_a_stream_there_is_no_status_to_tell():
    assert readable(b"oops", status=None) == "an error without a message: oops"
