"""A cassette's file: exchanges to JSON Lines and back."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pondero.canon import HttpRequest, ResponseHead
from pondero.cassettes.file_format import EarlyEnd, RecordedExchange, dump, load_cassette, parse
from pondero.errors import CassetteError

_headers = st.dictionaries(st.text(max_size=20).map(str.lower), st.text(max_size=40), max_size=3)
_requests = st.builds(HttpRequest, st.text(), st.text(), _headers, st.binary(max_size=200))
_heads = st.builds(ResponseHead, st.integers(100, 599), _headers)
_pieces = st.lists(st.binary(min_size=1, max_size=50), max_size=6).map(tuple)
_ends = st.none() | st.builds(EarlyEnd, st.sampled_from(["Timeout", "Unreachable"]), st.text())
_answered = st.builds(
    RecordedExchange, _requests, _heads, _pieces, _ends | st.just(EarlyEnd(closed=True))
)
_failed = st.builds(RecordedExchange, _requests, end=_ends.filter(bool))

_WORDS = (
    *("_request", "_response", "_body", "_chunk", "_end", "method", "url", "headers", "body"),
    *("status", "base64", "error", "message", "closed", "_source"),
)
ASKED = '{"_request":{"method":"GET","url":"https://api.test/a","headers":{},"body":""}}\n'


def _content(recorded):
    return recorded.request, recorded.head, recorded.pieces, recorded.end


@given(st.lists(_answered | _failed, max_size=4))
def test_any_exchanges_in_any_pieces_come_back_as_they_were(exchanges):
    read = parse(dump(exchanges), "x.jsonl")
    assert [_content(each) for each in read] == [_content(each) for each in exchanges]


@given(st.lists(_answered | _failed, max_size=4))
def test_every_line_is_an_object_with_one_key_that_begins_with_an_underscore(exchanges):
    for line in dump(exchanges).splitlines():
        [key] = json.loads(line)
        assert key in ("_request", "_response", "_body", "_chunk", "_end")


def test_a_body_in_one_piece_is_a_body_and_in_several_is_chunks():
    request, head = (
        HttpRequest("POST", "https://api.test/", {"a": "b"}, b'{"q":1}'),
        ResponseHead(200),
    )
    text = dump([
        RecordedExchange(request, head, (b'{"x":1}',)),
        RecordedExchange(request, head, (b"data: 1\n\n", b"data: \xc3", b"\xa9\n\n")),
        RecordedExchange(request, head),
    ])  # fmt: skip
    assert text.decode().splitlines() == [
        '{"_request":{"method":"POST","url":"https://api.test/","headers":{"a":"b"},"body":"{\\"q\\":1}"}}',
        '{"_response":{"status":200,"headers":{}}}',
        '{"_body":"{\\"x\\":1}"}',
        '{"_request":{"method":"POST","url":"https://api.test/","headers":{"a":"b"},"body":"{\\"q\\":1}"}}',
        '{"_response":{"status":200,"headers":{}}}',
        '{"_chunk":"data: 1\\n\\n"}',
        '{"_chunk":{"base64":"ZGF0YTogww=="}}',
        '{"_chunk":{"base64":"qQoK"}}',
        '{"_request":{"method":"POST","url":"https://api.test/","headers":{"a":"b"},"body":"{\\"q\\":1}"}}',
        '{"_response":{"status":200,"headers":{}}}',
        '{"_body":""}',
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"_body":"x"}\n', "x.jsonl:1: _body comes before any _request"),
        (ASKED + '{"_resp', "x.jsonl:2: this is not JSON"),
        (ASKED, "x.jsonl:1: the request has no answer; was the file cut?"),
        (ASKED + '{"_response":{"status":200}}\n', "x.jsonl:2: the answer has no body"),
        (ASKED + '{"_body":"x"}\n', "x.jsonl:2: the request has no answer"),
        (ASKED + '{"_response":{"status":"ok"}}\n{"_body":""}', "x.jsonl:2: _response is invalid"),
        (ASKED + '\n{"_response":{"status":200}}\n{"_body":7}\n', "x.jsonl:4: _body is invalid"),
        (
            ASKED + '{"_response":{"status":200}}\n{"_chunk":{"base64":"*"}}\n',
            "x.jsonl:3: this is not base64",
        ),
        (
            ASKED + '{"_response":{"status":200}}\n{"_end":{}}\n{"_chunk":"x"}\n',
            "x.jsonl:3: _end is not allowed here",
        ),
        (ASKED + '{"_end":{"error":"Timeout"}}\n{"_body":"x"}', "x.jsonl:"),
        ('{"_request":{"url":"/"}}\n', "x.jsonl:1: _request is invalid: .*`method`"),
        ('{"name":"x"}\n', "x.jsonl:1: a line is an object with one key of _request _response"),
        ('["_request"]\n', "x.jsonl:1: a line is an object"),
        ("[" * 5000, "x.jsonl:1: this is not JSON"),
    ],
)
def test_a_broken_file_is_one_error_with_file_and_line(text, error):
    with pytest.raises(CassetteError, match=error):
        parse(text.encode(), "x.jsonl")


_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_WORDS), inner),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.sampled_from(_WORDS), _value, max_size=2), max_size=4))
def test_whatever_stands_in_a_file_it_is_read_or_refused(lines):
    with suppress(CassetteError):
        parse("\n".join(map(json.dumps, lines)).encode(), "x.jsonl")


@given(st.binary(max_size=100))
def test_bytes_that_are_no_cassette_are_refused(data):
    with suppress(CassetteError):
        assert parse(data, "x.jsonl") == ()


def test_every_way_to_cut_a_file_is_noticed_or_leaves_whole_lines():
    whole = dump([
        RecordedExchange(HttpRequest("POST", "https://api.test/", {}, b"{}"), ResponseHead(200), (b"one", b"two"))
    ])  # fmt: skip
    for at in range(1, len(whole) - 1):
        try:
            [read] = parse(whole[:at], "x.jsonl")
        except CassetteError as error:
            assert str(error).startswith("x.jsonl:")  # noqa: PT017 - either is right
        else:
            assert read.pieces in ((b"one",), (b"one", b"two"))


def test_a_source_stands_once_before_every_exchange_and_is_known_of_each():
    taken = RecordedExchange(
        HttpRequest("POST", "https://api.test/v1", {}, b"{}"), ResponseHead(200), (b"{}",)
    )
    data = dump([replace(taken, source="https://api.test"), taken])
    assert data.splitlines()[0] == b'{"_source":{"url":"https://api.test"}}'
    assert data.count(b"_source") == 1
    assert [each.source for each in parse(data, "x.jsonl")] == ["https://api.test"] * 2


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"_source":{"url":"a"}}\n{"_source":{"url":"b"}}\n', "x.jsonl:2: _source comes before"),
        (
            ASKED + '{"_source":{"url":"a"}}\n{"_end":{"closed":true}}\n',
            "x.jsonl:2: _source is not allowed",
        ),
        ('{"_source":{}}\n', "x.jsonl:1: _source is invalid"),
    ],
)
def test_a_source_that_is_out_of_place_is_an_error_with_its_line(text, error):
    with pytest.raises(CassetteError, match=error):
        parse(text.encode(), "x.jsonl")


def test_a_missing_cassette_says_how_to_record_it(tmp_path):
    with pytest.raises(CassetteError, match=r"there is no cassette .*a\.jsonl; .*VCR_RECORD=1"):
        load_cassette(tmp_path / "a.jsonl")


def test_a_cassette_that_cannot_be_read_says_why(tmp_path):
    with pytest.raises(CassetteError, match="cannot be read: Is a directory"):
        load_cassette(tmp_path)
