"""Where keys and addresses come from."""

import pytest

from pondero.client import lookup
from pondero.client.keys import NO_KEY, key_of, url_of
from pondero.errors import BadParameter, MissingKey


def provider(name):
    return lookup().catalog.providers[name]


def test_the_first_of_a_providers_variables_that_is_set_counts(monkeypatch):
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    assert key_of(provider("google"), {}, needed=True) == "second"
    monkeypatch.setenv("GEMINI_API_KEY", " first ")
    assert key_of(provider("google"), {}, needed=True) == "first"
    assert key_of(provider("google"), {"google": "given"}, needed=True) == "given"


def test_where_no_key_is_looked_at_none_is_needed():
    assert key_of(provider("openai"), {}, needed=False) == NO_KEY
    assert key_of(provider("lmstudio"), {}, needed=True) is None


@pytest.mark.parametrize("empty", [None, "", "  "])
def test_a_missing_key_names_its_variable(monkeypatch, empty):
    if empty is not None:
        monkeypatch.setenv("OPENAI_API_KEY", empty)
    with pytest.raises(MissingKey, match=r"OpenAI needs a key: set OPENAI_API_KEY"):
        key_of(provider("openai"), {}, needed=True)


@pytest.mark.parametrize(
    ("name", "variable", "said", "url"),
    [
        ("openai", "OPENAI_BASE_URL", "http://localhost:9/api/v1/", "http://localhost:9/api/v1"),
        ("openai", "OPENAI_BASE_URL", "http://localhost:9", "http://localhost:9/v1"),
        ("anthropic", "ANTHROPIC_BASE_URL", "http://localhost:9/", "http://localhost:9"),
        ("google", "GOOGLE_GEMINI_BASE_URL", "http://localhost:9", "http://localhost:9/v1beta"),
        ("azure", "AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/", "https://me.openai.azure.com/openai/v1"),
        ("ollama", "OLLAMA_HOST", "box:11434", "http://box:11434"),
    ],
)  # fmt: skip
def test_an_address_of_ones_own_gets_the_path_its_sdk_would_add(
    monkeypatch, name, variable, said, url
):
    monkeypatch.setenv(variable, said)
    assert url_of(provider(name), {}, needed=True) == url


def test_an_address_with_blanks_must_be_filled_in():
    with pytest.raises(BadParameter, match="AZURE_OPENAI_ENDPOINT"):
        url_of(provider("azure"), {}, needed=True)
    assert "{" not in url_of(provider("azure"), {}, needed=False)
    assert url_of(provider("azure"), {"azure": "https://x.y/z"}, needed=True) == "https://x.y/z"
