"""The last look at a recording before it is kept: nothing in it looks like a key."""

import json
from pathlib import Path

import pytest
from tests.recordings.corpus import FILES, exchanges

from pondero.canon import HttpRequest, ResponseHead
from pondero.cassettes.file_format import EarlyEnd, RecordedExchange
from pondero.cassettes.leak_check import find_in_exchanges
from pondero.vcr import find_leaks

ROOT = Path(__file__).parents[2]
_LONG = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"

# Written in two pieces, so that nobody's scanner takes this file for one that holds keys.
KEYS = [
    "sk-" + "abcdefghijklmnopqrstuvwxyz",
    "sk-" + "ant-api03-" + _LONG,
    "sk-" + "ant-THISISPLANTED",
    "sk-" + "proj-" + _LONG,
    "sk-" + "or-v1-" + _LONG,
    "sk-" + "my-own-" + _LONG,
    "AIza" + "SyA" + "1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "gsk_" + _LONG,
    "csk-" + _LONG.lower(),
    "xai-" + _LONG * 3,
    "hf_" + _LONG,
    "pplx-" + _LONG,
    "nvapi-" + _LONG,
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ASIA" + "IOSFODNN7EXAMPLE",
    "ABSK" + _LONG * 2,
    "BSA" + _LONG,
    "ya29." + _LONG,
    "ghp_" + _LONG,
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "Bearer " + _LONG,
    "-----BEGIN RSA " + "PRIVATE KEY-----",
]
NO_KEYS = [
    "xai-responses-v1",
    "task-0123456789abcdef0123456789",
    "risk-abcdefghijklmnopqrstuvwxyz",
    "sk-learn is a library, sk-learn-contrib-packages too",
    "sk-...",
    "sk-" + "ant-REDACTED",
    "Authorization: Bearer YOUR_API_KEY, using Bearer auth with your key",
    "Bearer REDACTED",
    "EqQBCkYICBgCKkA" + "AKIA" + "IOSFODNN7EXAMPLE" + "+/AIza" + _LONG * 3 + "==",
    "gAAAAAB-sk-" + _LONG + "_hf_" + _LONG,
    "eyJhbGciOiJIUzI1NiJ9",
    "call_" + _LONG,
    "req_011CUqWrsk-" + _LONG,
    "reasoning.encrypted_content",
]


def asked(**parts):
    values = {"method": "POST", "url": "https://api.test/", "headers": {}, "body": b""} | parts
    return HttpRequest(**values)


def places(key):
    """The places and the writings in which a key can hide."""
    text = key.encode()
    yield RecordedExchange(
        asked(url=f"https://api.test/v1/{key.replace(' ', '%20')}/x"), ResponseHead(200)
    )
    yield RecordedExchange(asked(url=f"https://api.test/v1?note={key}"), ResponseHead(200))
    yield RecordedExchange(asked(headers={"x-note": key}), ResponseHead(200))
    yield RecordedExchange(asked(body=b'{"a":"' + text + b'"}'), ResponseHead(200))
    yield RecordedExchange(
        asked(body=json.dumps({"a": f"line\n{key}"}).encode()), ResponseHead(200)
    )
    yield RecordedExchange(
        asked(body=json.dumps({"a": json.dumps({"b": f"\n{key}"})}).encode()), ResponseHead(200)
    )
    yield RecordedExchange(
        asked(body=b"a=1&b=" + text.replace(b"-", b"%2D").replace(b" ", b"%20")), ResponseHead(200)
    )
    yield RecordedExchange(asked(body=text.replace(b"-", b"\\u002d")), ResponseHead(200))
    yield RecordedExchange(asked(), ResponseHead(200, {"location": f"/x?{key}"}))
    yield RecordedExchange(
        asked(), ResponseHead(401), (b"Incorrect key: " + text[:9], text[9:] + b".")
    )
    yield RecordedExchange(asked(), end=EarlyEnd("Unreachable", f"cannot reach {key}"))
    frames = [b'data: {"delta":{"text":%s}}\n\n' % json.dumps(part).encode() for part in pairs(key)]
    yield RecordedExchange(asked(), ResponseHead(200), tuple(frames))


def pairs(text):
    return [text[at : at + 2] for at in range(0, len(text), 2)]


@pytest.mark.parametrize("key", KEYS, ids=[key[:6] for key in KEYS])
def test_every_shape_of_key_is_found_wherever_it_hides(key):
    for recorded in places(key):
        found = find_in_exchanges([recorded])
        assert found, recorded
        assert all(key not in str(leak) or len(key) <= 8 for leak in found)


@pytest.mark.parametrize("text", NO_KEYS)
def test_what_only_begins_like_a_key_is_none(text):
    body = json.dumps({"text": text, "list": [text, f"a {text} b"]}).encode()
    assert find_in_exchanges([RecordedExchange(asked(body=body), ResponseHead(200), (body,))]) == ()


def test_a_header_of_auth_that_was_not_redacted_is_found():
    [leak] = find_in_exchanges(
        [RecordedExchange(asked(headers={"x-api-key": "whatever-it-is"}), ResponseHead(200))]
    )
    assert str(leak) == "exchange 1, the header x-api-key: a header of auth 'wha'..."


@pytest.mark.parametrize("wrap", ["%s", '{"a":"\\u006b%s"}'])
def test_a_known_secret_is_found_where_no_shape_gives_it_away(wrap):
    text = wrap % "ey-of-the-house" if "u006b" in wrap else wrap % "key-of-the-house"
    [leak] = find_in_exchanges(
        [RecordedExchange(asked(), ResponseHead(200), (text.encode(),))], ["key-of-the-house"]
    )
    assert (leak.where, leak.shape, leak.begins) == ("the answer", "a secret", "key-")


def test_no_cassette_of_this_repository_holds_a_key():
    folders = [ROOT / name for name in ("tests", "docs", "src", "bench")]
    for path in (found for folder in folders for found in folder.rglob("cassettes/**/*.jsonl")):
        assert find_leaks(path) == ()


@pytest.mark.recordings
@pytest.mark.parametrize("file", sorted({file for files in FILES.values() for file in files}))
def test_no_real_exchange_is_taken_for_a_leak(recordings: Path, file):
    wrong = {}
    for each in exchanges(recordings, file):
        sent = json.dumps(each.asked, ensure_ascii=False).encode()
        answer = each.stream if each.stream is not None else each.body
        if found := find_in_exchanges(
            [RecordedExchange(asked(body=sent), ResponseHead(each.status, each.headers), (answer,))]
        ):
            wrong[each.id] = [str(leak) for leak in found]
    assert wrong == {}
