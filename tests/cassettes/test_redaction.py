"""What never reaches a cassette, wherever it stands and however it is written."""

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.framing.aws import aws_objects, aws_stream
from tests.framing.pieces import splits

from pondero.canon import HttpRequest, ResponseHead, find_secrets
from pondero.cassettes import redaction as secret
from pondero.cassettes.file_format import EarlyEnd, RecordedExchange
from pondero.cassettes.redaction import Redactor, check_secrets, redact_exchange
from pondero.errors import BadParameter

KEY = "k3y+of/the=house&garden"
_secrets = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=12, max_size=40
)
_keys = st.text("ABCabc012_-", min_size=12, max_size=40)


def exchange(url="https://api.test/", headers=None, body=b"", answer=(), told=None, end=None):
    request = HttpRequest("POST", url, headers or {}, body)
    return RecordedExchange(request, ResponseHead(200, told or {}), tuple(answer), end)


def redacted(recorded, *secrets):
    learned = set(secret.exchange_secrets(recorded))
    return Redactor({*secrets, *learned}).exchange(recorded)


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("authorization", f"Bearer {KEY}", "Bearer REDACTED"),
        ("Authorization", f"bearer {KEY}", "bearer REDACTED"),
        ("authorization", KEY, "REDACTED"),
        ("authorization", "Basic dXNlcjpwYXNzd29yZA==", "Basic REDACTED"),
        (
            "authorization",
            "AWS4-HMAC-SHA256 Credential=AKIA" + "X" * 16 + "/20261115/us-east-1/x, Signature=ab12",
            "AWS4-HMAC-SHA256 REDACTED",
        ),
        ("proxy-authorization", f"Basic {KEY}", "Basic REDACTED"),
        ("x-api-key", KEY, "REDACTED"),
        ("X-Goog-Api-Key", KEY, "REDACTED"),
        ("api-key", KEY, "REDACTED"),
        ("ocp-apim-subscription-key", KEY, "REDACTED"),
        ("x-subscription-token", KEY, "REDACTED"),
        ("x-amz-security-token", KEY, "REDACTED"),
        ("cookie", f"session={KEY}; theme=dark", "REDACTED"),
        ("set-cookie", f"session={KEY}; path=/", "REDACTED"),
        ("openai-organization", "org-1234567890", "REDACTED"),
    ],
)
def test_of_a_header_for_auth_only_the_scheme_is_left(name, value, written):
    done = redacted(exchange(headers={name: value}, told={name: value}))
    assert done.request.headers == {name.lower(): written}
    assert done.head.headers == {name.lower(): written}


@pytest.mark.parametrize(
    "name",
    [
        "content-type",
        "x-ratelimit-remaining-tokens",
        "anthropic-ratelimit-tokens-reset",
        "x-ratelimit-limit-token",
        "retry-after",
        "x-request-id",
        "anthropic-version",
        "monkey",
    ],
)
def test_other_headers_are_kept(name):
    assert redacted(exchange(told={name: "12 of 20"})).head.headers == {name: "12 of 20"}


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("https://a.test/v1?alt=sse&key=AIzaSecret", "https://a.test/v1?alt=sse&key=REDACTED"),
        (
            "https://a.test/?api_key=x&api-key=y",
            "https://a.test/?api_key=REDACTED&api-key=REDACTED",
        ),
        ("https://a.test/?access_token=x#end", "https://a.test/?access_token=REDACTED#end"),
        ("https://a.test/?X-Amz-Signature=0a&n=1", "https://a.test/?X-Amz-Signature=REDACTED&n=1"),
        ("https://a.test/?api%5Fkey=x", "https://a.test/?api%5Fkey=REDACTED"),
        ("https://me:pass@a.test/v1", "https://REDACTED@a.test/v1"),
        ("https://a.test/v1?pageToken=5&alt", "https://a.test/v1?pageToken=5&alt"),
        ("https://a.test/v1/models/m:generate?", "https://a.test/v1/models/m:generate?"),
        (f"https://a.test/bot{quote(KEY, safe='')}/send", "https://a.test/botREDACTED/send"),
    ],
)
def test_keys_in_an_address_are_taken_out_and_the_rest_is_as_it_was(url, written):
    assert redacted(exchange(url=url), KEY).request.url == written


@pytest.mark.parametrize(
    "sent",
    [
        {"headers": {"authorization": f"Bearer {KEY}"}},
        {"headers": {"x-api-key": KEY}},
        {"headers": {"authorization": "Basic " + b64encode(f"me:{KEY}".encode()).decode()}},
        {"headers": {"cookie": f"a=1; session={KEY}"}},
        {"url": f"https://a.test/?key={quote(KEY, safe='')}"},
        {"url": f"https://me:{quote(KEY, safe='')}@a.test/"},
        {"body": json.dumps({"tools": [{"type": "mcp", "authorization": KEY}]}).encode()},
    ],
)
def test_a_key_that_was_sent_is_taken_out_of_the_error_that_repeats_it(sent):
    said = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}."}}).encode()
    done = redacted(exchange(**sent, answer=[said], end=EarlyEnd("Timeout", f"with {KEY}")))
    assert done.body == b'{"error": {"message": "Incorrect API key provided: REDACTED."}}'
    assert done.end == EarlyEnd("Timeout", "with REDACTED")


def test_a_key_in_the_address_of_the_source_is_taken_out():
    taken = replace(exchange(), source="https://me:hunter22@gw.test/v1?key=abcdefgh")
    assert redact_exchange(taken).source == "https://REDACTED@gw.test/v1?key=REDACTED"


def test_fields_that_hold_keys_are_taken_out_also_of_json_in_json():
    inner = json.dumps({"api_key": "short", "query": "q"})
    body = json.dumps({"arguments": inner, "access_token": 'with "quotes"', "max_tokens": 7})
    done = redacted(exchange(answer=[body.encode()]))
    assert json.loads(done.body) == {
        "arguments": '{"api_key": "REDACTED", "query": "q"}',
        "access_token": "REDACTED",
        "max_tokens": 7,
    }


def test_a_field_that_only_describes_a_key_is_kept():
    body = b'{"properties":{"api_key":{"type":"string"},"token":{"type":"string"}},"tokens":"many"}'
    assert redacted(exchange(body=body)).request.body == body


def test_values_of_variables_that_name_a_key_are_secrets():
    environment = {
        "SOME_API_KEY": "0123456789abcdef",
        "HF_TOKEN": "fedcba9876543210",
        "AWS_BEARER_TOKEN_BEDROCK": "bearer-0123456789",
        "AWS_SECRET_ACCESS_KEY": "secret-0123456789",
        "LOCAL_API_KEY": "EMPTY",
        "HOME": "/home/somebody-or-other",
        "MONKEY": "0123456789-monkey",
    }
    assert sorted(find_secrets(environment)) == [
        "0123456789abcdef",
        "bearer-0123456789",
        "fedcba9876543210",
        "secret-0123456789",
    ]


def _written(key):
    """The ways in which a secret is written by those who write it."""
    yield key.encode()
    yield json.dumps(key).encode()
    yield json.dumps(key, ensure_ascii=False).encode()
    yield json.dumps(json.dumps(key, ensure_ascii=False), ensure_ascii=False).encode()
    yield quote(key, safe="").encode()
    yield quote(key, safe="").lower().encode() if key.islower() else b""
    for before in ("", "a", "ab", "user:"):
        yield b64encode(f"{before}{key}:more".encode())
        yield urlsafe_b64encode(f"{before}{key}".encode())
    yield key.encode().hex().encode()


@given(_secrets)
def test_a_secret_is_found_however_it_is_written(key):
    for written in _written(key):
        done = Redactor([key]).pieces([b'{"text":"before ', written, b' after"}'])
        text = b"".join(done)
        assert key.encode() not in text
        assert not written or written not in text
        assert text.startswith(b'{"text":"before ')
        assert text.endswith(b' after"}')


@given(
    _keys,
    st.text("xyz ", max_size=10),
    st.text("xyz ", max_size=10),
    st.lists(st.integers(0, 60), max_size=8),
    st.sampled_from([str.encode, lambda key: b64encode(key.encode())]),
)
def test_a_secret_is_taken_out_however_the_stream_is_cut(key, before, after, cuts, write):
    whole = before.encode() + write(key) + b" and again " + write(key) + after.encode()
    done = Redactor([key]).pieces(splits(whole, cuts))
    text = b"".join(done).decode()
    assert text.count("REDACTED") == 2
    assert text.startswith(f"{before}REDACTED")
    assert text.endswith(after)
    assert key not in text


@given(st.binary(max_size=80), st.lists(st.integers(0, 80), max_size=8), _keys)
def test_what_holds_no_secret_stays_byte_for_byte_in_its_pieces(data, cuts, key):
    pieces = tuple(splits(data.replace(key.encode(), b""), cuts))
    assert Redactor([key]).pieces(pieces) == pieces


@given(_keys, st.lists(st.integers(0, 60), max_size=8))
def test_redacting_twice_changes_nothing_more(key, cuts):
    redactor = Redactor([key])
    once = redactor.pieces(splits(f"a {key} b {key}".encode(), cuts))
    assert redactor.pieces(once) == once


def test_pieces_keep_their_place_around_a_secret_that_lies_across_them():
    pieces = [b"one k3y-of-", b"the", b"-house two", b" three"]
    assert Redactor(["k3y-of-the-house"]).pieces(pieces) == (b"one REDACTED", b" two", b" three")


def test_a_secret_that_would_be_found_everywhere_is_refused():
    with pytest.raises(BadParameter, match="a secret of 3 characters occurs everywhere"):
        check_secrets(["abc"])
    assert check_secrets("hunter2") == {"hunter2"}


def test_of_a_cookie_that_is_set_only_its_value_is_a_secret():
    told = (
        "a=first-secret-value; Domain=.api.services.test; Expires=Wed, 21 Oct 2026 07:28:00 GMT, "
        "b=second-secret-value; Path=/somewhere/deep; HttpOnly"
    )
    found = secret.exchange_secrets(exchange(told={"set-cookie": told}))
    assert list(found) == ["first-secret-value", "second-secret-value"]


def test_a_binary_stream_is_read_again_after_a_secret_was_taken_out_of_it():
    said = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": f"it is {KEY}!"}}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    stream = aws_stream(said)
    kept = redacted(exchange(answer=splits(stream, [7, 40, 200])), KEY).pieces
    said[1]["contentBlockDelta"]["delta"]["text"] = "it is REDACTED!"
    assert aws_objects(b"".join(kept)) == said


def test_a_binary_stream_without_a_secret_keeps_its_pieces():
    pieces = tuple(splits(aws_stream([{"messageStart": {"role": "assistant"}}]), [7, 40]))
    assert redacted(exchange(answer=pieces), KEY).pieces == pieces
