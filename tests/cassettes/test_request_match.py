"""Whether a request is the recorded one, and in what it is not."""

import json
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import HttpRequest
from pondero.cassettes.request_match import MATCH, describe_mismatch, differences

WORDS = ("method", "host", "path", "query", "body", "body-subset")

_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
_bodies = st.binary(max_size=60) | _json.map(lambda value: json.dumps(value).encode())


def _parses(url):
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True


_parts = st.text("abc%2F=&[]@é/", max_size=12)
_urls = st.builds("https://{}.test/{}?{}".format, _parts, _parts, _parts).filter(_parses)


def request(body=b"", url="https://api.test/v1/messages?alt=sse", method="POST"):
    return HttpRequest(method, url, {}, body)


def different(recorded, sent, *match):
    found = differences(
        request(json.dumps(recorded).encode()), request(json.dumps(sent).encode()), match
    )
    return [(each.path, each.expected, each.actual) for each in found]


@given(_bodies, _urls, st.text(max_size=6))
def test_every_request_matches_itself_by_every_word(body, url, method):
    same = request(body, url, method)
    assert differences(same, same, WORDS) == []


@given(_json)
def test_how_json_is_written_does_not_matter(value):
    recorded = request(json.dumps(value).encode())
    sent = request(json.dumps(value, indent=2, ensure_ascii=False).encode())
    assert differences(recorded, sent) == []


@given(_json, _json)
def test_two_bodies_match_exactly_when_they_are_the_same_json(one, other):
    found = differences(request(json.dumps(one).encode()), request(json.dumps(other).encode()))
    assert bool(found) == (
        json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True)
    ) or (
        one == other  # 1 and 1.0 are written apart, and the same number
    )


@given(
    st.dictionaries(st.text(max_size=5), _json, max_size=4),
    st.dictionaries(st.text(max_size=5), _json, max_size=4),
)
def test_a_request_with_more_in_it_matches_by_subset(recorded, more):
    assert different(recorded, {**more, **recorded}, "body-subset") == []


def test_a_subset_lacks_nothing_and_changes_nothing():
    recorded = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    sent = {"messages": [{"role": "user", "content": "ho", "id": 1}, {"role": "user"}], "n": 1}
    assert [path for path, *_ in different(recorded, sent, "body-subset")] == [
        "body.model",
        "body.messages[0].content",
        "body.messages[1]",
    ]


def test_truth_is_not_a_number():
    assert different({"a": True, "b": 0}, {"a": 1, "b": False}, "body") == [
        ("body.a", True, 1),
        ("body.b", 0, False),
    ]


def test_a_number_is_the_same_number_with_a_point():
    assert different({"temperature": 1}, {"temperature": 1.0}, "body") == []


def test_what_was_redacted_stands_for_anything():
    assert different({"token": "REDACTED"}, {"token": "whatever"}, "body") == []
    assert (
        different({"note": "use REDACTED now, REDACTED!"}, {"note": "use a now, b!"}, "body") == []
    )
    assert different({"note": "use REDACTED now"}, {"note": "use a"}, "body")
    assert different({"note": "REDACTED and REDACTED and"}, {"note": "a and"}, "body")


def test_bytes_that_are_no_text_are_compared_too():
    assert differences(request(b"\xff\x00"), request(b"\xff\x00")) == []
    assert differences(request(b"\xff\x00"), request(b"\xfe\x00")) != []


@pytest.mark.parametrize(
    ("word", "url", "path"),
    [
        ("path", "https://api.test/v1/other?alt=sse", "path"),
        ("host", "https://else.test/v1/messages?alt=sse", "host"),
        ("query", "https://api.test/v1/messages?alt=json", "query.alt[0]"),
        ("method", "https://api.test/v1/messages?alt=sse", "method"),
    ],
)
def test_each_word_looks_at_its_part_of_the_request(word, url, path):
    sent = request(url=url, method="PUT" if word == "method" else "POST")
    assert [each.path for each in differences(request(), sent, (word,))] == [path]
    others = tuple(each for each in WORDS if each != word)
    assert differences(request(), sent, others) == []


def test_by_default_the_host_and_the_query_do_not_matter():
    assert MATCH == ("method", "path", "body")
    assert differences(request(), request(url="http://127.0.0.1:9100/v1/messages")) == []


def test_a_path_is_the_same_however_it_is_encoded():
    recorded = request(url="https://a.test/models/gemini%3Agenerate")
    assert differences(recorded, request(url="https://a.test/models/gemini:generate")) == []


def test_a_long_text_is_shown_where_it_begins_to_differ():
    [found] = differences(request(b"a" * 5000 + b"here"), request(b"a" * 5000 + b"there"))
    assert str(found).splitlines()[1].startswith('    expected  ..."aaaa')
    assert 'aahere"' in str(found).splitlines()[1]
    assert 'aathere"' in str(found).splitlines()[2]
    assert max(map(len, str(found).splitlines())) < 250


def test_a_dozen_differences_are_shown_and_the_rest_counted():
    recorded, sent = request(json.dumps(list(range(20))).encode()), request(b"[]")
    text = describe_mismatch(differences(recorded, sent))
    assert text.count("expected") == 12
    assert text.endswith("  and 8 more")
