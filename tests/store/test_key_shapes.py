"""The one recogniser of keys: what is a key, what is not, and keys that come in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cassettes.test_leak_check import KEYS, NO_KEYS

from pondero.store import StreamRedactor, find_key_shapes, redact_secrets

ORDINARY = [
    *(text for text in NO_KEYS if "AKIA" not in text),
    "Set ANTHROPIC_API_KEY=sk-ant-your-key-here in .env, or sk-ant-xxxxxxxx",
    "pnd_short is a prefix; hf_hub_download and r8_ are words; xai-responses",
    "commit 0f3b1c2d4e5f60718293a4b5c6d7e8f901234567, uuid 123e4567-e89b-12d3-a456-426614174000",
    "eyJhbGciOiJIUzI1NiJ9 alone, npm_config_registry, glpat- and the bearer of news",
    "task-" + "admin-interface-of-version-20251115, disk-or-tape-archive2",
    "mask-" + "ant-colony-optimization1",
    "https://host/AIzawa, path/to/npm_config_cache_directory_of_the_user_0123456789",
    "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO",
]


@pytest.mark.parametrize("key", KEYS)
def test_only_the_secret_is_redacted(key):
    redacted = redact_secrets(f"before {key}, after")
    assert redacted.startswith("before ")
    assert redacted.endswith(", after")
    assert key.removeprefix("Bearer ") not in redacted


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text):
    assert list(find_key_shapes(text)) == []
    assert redact_secrets(text) == text


LETTERS = "SHAPESEC0123456789abcdefghijKLMNOPQRSTUVWXYZ"
SHAPES = [
    *("sk-" + kind + LETTERS for kind in ("proj-", "ant-api03-", "or-v1-", "svcacct-", "admin-")),
    *(start + LETTERS for start in ("gsk_", "xai-", "ghp_", "github_pat_", "glpat-", "pnd_")),
    "AIza" + LETTERS[:35],
]
ESCAPES = [
    r"\n",
    r"\t",
    r"\\n",
    "%3D",
    "%20",
    r"\u003d",
    r"\x3d",
    "=3D",
    "\x1b[0m",
    "\x1b[1;31m",
    "/",
]


@pytest.mark.parametrize("before", [*ESCAPES, "f-", "KEY_", "x_", "key"])
@pytest.mark.parametrize("key", SHAPES)
def test_a_key_is_found_after_an_escape_and_inside_a_word(key, before):
    assert redact_secrets(f"my {before}{key} and") == f"my {before}REDACTED and"


@pytest.mark.parametrize("before", ESCAPES)
@pytest.mark.parametrize("key", [*KEYS[:13], *KEYS[17:19]])
def test_every_key_is_found_after_an_escape(key, before):
    assert redact_secrets(f"my {before}{key}") == f"my {before}REDACTED"


@given(
    key=st.sampled_from(SHAPES),
    before=st.sampled_from([*ESCAPES, "f-", "KEY_", "key", "so "]),
    cuts=st.lists(st.integers(1, 30), min_size=1, max_size=9),
)
def test_a_key_inside_a_word_is_redacted_in_pieces(key, before, cuts):
    text, pieces, at = f"a {before}{key} b", [], 0
    while at < len(text):
        size = cuts[len(pieces) % len(cuts)]
        pieces.append(text[at : at + size])
        at += size
    stream = StreamRedactor()
    shown = "".join([*map(stream.feed, pieces), stream.end()])
    assert shown.endswith("REDACTED b")
    assert key[4:] not in shown
    assert shown.removeprefix(f"a {before}").removesuffix("REDACTED b") in ("", key[:1], key[:2])


def test_a_private_key_is_redacted_as_a_whole():
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSj+/AgEAAoIBAQ==\n"
    pem = "-----BEGIN RSA " + f"PRIVATE KEY-----\n{body}-----END RSA " + "PRIVATE KEY-----"
    assert redact_secrets(f"a {pem} b") == "a REDACTED b"
    assert redact_secrets(f"a {pem} b".replace("\n", "\\n")) == "a REDACTED b"


_WORDS = st.sampled_from(["so ", "a key: ", "s", "sk", "task-", "\n", "Bear ", "hf_hub ", "-----"])
_TEXTS = st.lists(st.sampled_from([*KEYS[:14], "kept-in-a-file-01234"]) | _WORDS, max_size=8)


@given(parts=_TEXTS, cuts=st.lists(st.integers(1, 30), min_size=1, max_size=9))
def test_a_text_in_pieces_is_redacted_as_the_whole(parts, cuts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_API_KEY", "kept-in-a-file-01234")
        text, pieces, at = " ".join(parts), [], 0
        while at < len(text):
            size = cuts[len(pieces) % len(cuts)]
            pieces.append(text[at : at + size])
            at += size
        stream = StreamRedactor()
        shown = [*map(stream.feed, pieces), stream.end()]
        assert "".join(shown) == redact_secrets(text)


def test_ordinary_words_are_not_held_back(monkeypatch):
    # Another test's key may begin as a word ends.
    monkeypatch.setattr("pondero.store.secrets.known_secrets", lambda **_: frozenset())
    stream = StreamRedactor()
    pieces = ["This ", "is ", "an answer", ", as ", "usual. ", "皆さん"]
    assert [stream.feed(piece) for piece in pieces] == pieces
