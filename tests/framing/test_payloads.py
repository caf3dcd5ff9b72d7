"""What a frame or body carries: typed JSON, an error page's words, and which framing it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.json import Decoder

from pondero.errors import Malformed
from pondero.framing import describe_body, detect_framing, parse_json_or_none, parse_payload


class Frame(Struct):
    text: str = ""
    counts: dict[str, int] = {}
    places: list[int] = []


FRAME = Decoder(Frame)
ANYTHING = Decoder()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (rb'{"text":"a\ud83d"}', "a\ufffd"),
        (rb'{"text":"\ude00b"}', "\ufffdb"),
        (rb'{"text":"\ud83d\ude00\ud83d"}', "\U0001f600\ufffd"),
        (b'{"text":"\xed\xa0\xbd"}', "\ufffd"),
    ],
)
def test_half_of_a_surrogate_pair_becomes_the_replacement_character(data, text):
    assert parse_payload(data, FRAME).text == text


def test_an_escaped_backslash_before_half_a_pair_is_left_alone():
    assert parse_payload(rb'{"text":"\\ud83d \ud83d"}', FRAME).text == "\\ud83d \ufffd"


@given(st.text(st.characters(exclude_categories=())))
def test_whatever_text_is_written_as_json_can_be_read(text):
    read = parse_payload(json.dumps(text).encode(), ANYTHING)

    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert read.replace("\ufffd", "") == joined.replace("\ufffd", "")


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"[]", "$"),
        (b'{"text":1}', "$.text"),
        (b'{"places":[1,"2"]}', "$.places[1]"),
        (b'{"counts":{"a":"b"}}', "$.counts[...]"),
        (rb'{"text":1,"counts":{"\ud800":1}}', "$.text"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_with_its_path(data, path):
    with pytest.raises(Malformed) as caught:
        parse_payload(data, FRAME)

    assert caught.value.path == path


def test_a_path_goes_on_from_where_the_piece_stands():
    with pytest.raises(Malformed) as caught:
        parse_payload(b'{"text":1}', FRAME, at="$.response")

    assert caught.value.path == "$.response.text"


def test_a_key_of_the_wrong_type_is_told_with_its_path():
    with pytest.raises(Malformed) as caught:
        parse_payload(b'{"a":1}', Decoder(dict[int, int]))

    assert caught.value.path == "$"


@pytest.mark.parametrize(
    "data", [b"", b"{", b"<html>", b"\xff", b'{"text":NaN', b"[" * 100_000, rb'{"text":"\ud8"}']
)
def test_what_is_no_json_is_malformed_and_shown(data):
    with pytest.raises(Malformed, match="not JSON") as caught:
        parse_payload(data, ANYTHING, at="$.item")

    assert caught.value.path == "$.item"
    assert repr(data[:60]) in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [(b'{"a":[1]}', {"a": [1]}), (b"null", None), (b"<html>", None), (b"\xff", None), (b"", None)],
)
def test_json_is_read_where_there_is_some(data, said):
    assert parse_json_or_none(data) == said


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
    assert describe_body(body, status=502) == words


def test_inside_a_stream_there_is_no_status_to_tell():
    assert describe_body(b"oops", status=None) == "an error without a message: oops"


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
    assert detect_framing(data) == framing
