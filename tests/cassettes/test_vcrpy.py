"""Cassettes that vcrpy wrote are played as ours are."""

import builtins
import gzip
import zlib
from base64 import b64encode

import pytest
from tests.transport.scripted import TIMEOUTS

from pondero.canon import HttpRequest, ResponseHead
from pondero.errors import CassetteError, MissingExtra
from pondero.vcr import Cassette

SEVERAL = """\
interactions:
- request:
    body: '{"model": "m", "q": 1}'
    headers:
      Content-Type: [application/json]
      accept: ['*/*', text/plain]
    method: POST
    uri: https://api.test/v1/messages
  response:
    body:
      string: '{"a": "é"}'
    headers:
      Content-Type: [application/json]
      X-Request-Id: [req_1]
    status: {code: 200, message: OK}
- request:
    body: null
    headers: {}
    method: GET
    uri: https://api.test/v1/models?limit=2
  response:
    body: {string: 'not found'}
    headers: {}
    status: {code: 404, message: Not Found}
version: 1
"""


@pytest.fixture
def cassette(tmp_path):
    def make(text, name="case.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return Cassette(path, record=False)

    return make


def one(body, headers="{}", request="null", status="{code: 200, message: OK}"):
    return f"""\
interactions:
- request: {{body: {request}, headers: {{}}, method: POST, uri: 'https://api.test/'}}
  response: {{body: {body}, headers: {headers}, status: {status}}}
version: 1
"""


def play(cassette, body=b"", url="https://api.test/", method="POST"):
    answer = cassette.send(HttpRequest(method, url, {}, body), TIMEOUTS)
    return answer.head, b"".join(answer)


@pytest.mark.parametrize("name", ["case.yaml", "case.yml", "case.YAML"])
def test_several_interactions_are_played_to_the_requests_they_fit(cassette, name):
    tape = cassette(SEVERAL, name)
    head, body = play(tape, url="https://api.test/v1/models", method="GET")
    assert (head.status, body) == (404, b"not found")
    head, body = play(tape, b'{"q":1,"model":"m"}', "https://api.test/v1/messages")
    assert head == ResponseHead(200, {"content-type": "application/json", "x-request-id": "req_1"})
    assert body == '{"a": "é"}'.encode()
    tape.assert_played()


def test_a_request_that_does_not_match_is_shown_against_the_nearest(cassette):
    with pytest.raises(
        CassetteError, match=r"exchange 1: POST https://api\.test/v1/messages\n  body\.q"
    ):
        play(cassette(SEVERAL), b'{"model":"m","q":2}', "https://api.test/v1/messages")


def packed(data):
    return b64encode(data).decode()


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ("{string: '{\"a\":1}'}", "{}"),
        ("{string: !!binary " + packed(b'{"a":1}') + "}", "{}"),
        ("{base64_string: " + packed(b'{"a":1}') + "}", "{}"),
        ("!!binary " + packed(b'{"a":1}'), "{}"),
        (
            "{string: !!binary " + packed(gzip.compress(b'{"a":1}', mtime=0)) + "}",
            "{content-encoding: [gzip]}",
        ),
        (
            "{base64_string: " + packed(gzip.compress(b'{"a":1}', mtime=0)) + "}",
            "{Content-Encoding: gzip}",
        ),
        (
            "{string: !!binary " + packed(zlib.compress(b'{"a":1}')) + "}",
            "{content-encoding: [deflate]}",
        ),
        ("{string: '{\"a\":1}'}", "{content-encoding: [gzip]}"),
        ("{string: '{\"a\":1}'}", "{content-encoding: [br]}"),
    ],
)
def test_a_body_is_read_however_it_was_kept(cassette, body, headers):
    assert play(cassette(one(body, headers))) == (ResponseHead(200), b'{"a":1}')


def test_json_that_was_kept_parsed_is_json_again(cassette):
    text = """\
interactions:
- request:
    headers: {}
    method: POST
    parsed_body: {q: 1}
    uri: https://api.test/
  response:
    headers: {}
    parsed_body: {a: [1, null]}
    status: {code: 200, message: OK}
version: 1
"""
    assert play(cassette(text), b'{"q": 1}')[1] == b'{"a":[1,null]}'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("interactions: [\n  {a: 1\n", r"case\.yaml:3: this is not YAML"),
        ("- a\n", r"case\.yaml: it has no list of interactions"),
        ("a: 1\n", r"case\.yaml: it has no list of interactions"),
        (
            "interactions: [{request: {}}]\n",
            r"case\.yaml: interactions\[0\]: it is not an interaction",
        ),
        ("interactions: [7]\n", r"interactions\[0\]: it is not an interaction"),
        (one("{string: 7}"), r"interactions\[0\]: a body cannot be int"),
        (one("{string: !!binary H4sIAAAA}"), r"interactions\[0\]: its body is not gzip"),
        (
            one("{string: !!binary /////w==}", "{content-encoding: [br]}"),
            "its body is packed with 'br'",
        ),
        (one("{string: x}", status="{code: ok}"), "it is not an interaction"),
        ("a: !!python/object:os.system {}\n", "this is not YAML"),
        ("a: \x00\n", "this is not YAML"),
    ],
)
def test_a_broken_cassette_is_one_error_that_says_where(cassette, text, error):
    with pytest.raises(CassetteError, match=error):
        play(cassette(text))


def test_without_pyyaml_the_error_says_what_to_install(cassette, monkeypatch):
    imported = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "yaml":
            raise ModuleNotFoundError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match="needs pyyaml: pip install pyyaml"):
        play(cassette(SEVERAL))
