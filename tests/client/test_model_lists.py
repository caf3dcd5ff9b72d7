"""The models that a service lists itself, with what the catalog knows of them."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.client.answering import Answers

import pondero
from pondero.emulator import Emulator
from pondero.errors import AuthFailed, Malformed, MissingKey, UnknownProvider, Unsupported

LISTING = ("anthropic", "openai", "google", "cohere", "ollama", "deepseek", "openrouter")


def pages(*found):
    """A service that answers with these pages."""
    return Answers(*((200, page) for page in found))


def rows(*names, key="id"):
    return [{key: name} for name in names]


@pytest.mark.parametrize("provider", LISTING)
def test_the_whole_list_of_a_service_comes_with_the_catalogs_facts(provider):
    with pondero.Client(transport=Emulator()) as client:
        listed = client.models(provider)
    entries = {entry.model: entry for entry in pondero.models(provider)}
    assert {each.name for each in listed} <= entries.keys()
    assert len(listed) > len(entries) / 3
    for each in listed:
        assert (each.known, each.provider, each.id) == (True, provider, f"{provider}:{each.name}")
        assert (each.family, each.context) == (each.entry.family, each.entry.context)
        assert each.max_output == each.entry.max_output
        assert each.raw
    assert pondero.Client(transport=Emulator()).ask(listed[0].id, "What is 17 * 23?").text


def test_awaiting_lists_the_same():
    async def ask():
        async with pondero.AsyncClient(transport=Emulator()) as client:
            return await client.models("anthropic")

    with pondero.Client(transport=Emulator()) as client:
        assert asyncio.run(ask()) == client.models("anthropic")


def test_levels_and_price_are_those_of_the_dial_and_of_the_prices():
    pytest.importorskip("genai_prices")
    with pondero.Client(transport=Emulator()) as client:
        listed = {each.name: each for each in client.models("anthropic")}
    opus = listed["claude-opus-5"]
    assert opus.levels == ("off", "low", "medium", "high", "xhigh", "max")
    assert opus.price.output > opus.price.input > 0
    assert listed["claude-3-haiku"].levels == ()


def test_a_model_that_the_catalog_lacks_is_listed_with_what_a_relative_has():
    service = pages({"data": [*rows("gpt-99-giant", "whisper-1"), {"id": 3}, "odd"]})
    client = pondero.Client(transport=service, keys={"openai": "sk-planted"})
    giant, whisper = client.models("openai")
    assert (giant.name, giant.known, giant.raw) == ("gpt-99-giant", False, {"id": "gpt-99-giant"})
    assert (whisper.name, whisper.known) == ("whisper-1", False)
    assert whisper.price is None or whisper.price.input >= 0


@pytest.mark.parametrize(
    ("provider", "found", "queries"),
    [
        (
            "anthropic",
            [
                {"data": rows("a", "b"), "has_more": True, "last_id": "b"},
                {"data": rows("c"), "has_more": False, "last_id": "c"},
            ],
            [{"limit": ["1000"]}, {"limit": ["1000"], "after_id": ["b"]}],
        ),
        (
            "google",
            [
                {"models": rows("models/a", "models/b", key="name"), "nextPageToken": "x/y="},
                {"models": rows("models/c", key="name")},
            ],
            [{"pageSize": ["1000"]}, {"pageSize": ["1000"], "pageToken": ["x/y="]}],
        ),
        (
            "cohere",
            [
                {"models": rows("a", "b", key="name"), "next_page_token": "n"},
                {"models": rows("c", key="name"), "next_page_token": ""},
            ],
            [
                {"endpoint": ["chat"], "page_size": ["1000"]},
                {"endpoint": ["chat"], "page_size": ["1000"], "page_token": ["n"]},
            ],
        ),
    ],
)
def test_pages_are_followed_to_the_end(provider, found, queries):
    service = pages(*found)
    client = pondero.Client(transport=service, keys={provider: "sk-planted-key"})
    assert [each.name for each in client.models(provider)] == ["a", "b", "c"]
    sent = [parse_qs(urlsplit(each.url).query) for each in service.requests]
    assert sent == queries


def test_a_service_that_repeats_a_page_is_asked_no_further():
    page = {"data": rows("a"), "has_more": True, "last_id": "a"}
    client = pondero.Client(transport=pages(page, page, page), keys={"anthropic": "sk-planted"})
    assert [each.name for each in client.models("anthropic")] == ["a"]


def test_a_bare_list_is_read_too():
    client = pondero.Client(transport=pages(rows("a", "b")), keys={"together": "sk-planted"})
    assert [each.name for each in client.models("together")] == ["a", "b"]


def test_the_key_and_the_version_go_along():
    service = pages({"data": []})
    assert (
        pondero.Client(transport=service, keys={"anthropic": "sk-planted"}).models("anthropic")
        == []
    )
    (request,) = service.requests
    assert (request.method, request.headers["x-api-key"]) == ("GET", "sk-planted")
    assert request.headers["anthropic-version"]


def test_errors_are_clear(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(MissingKey):
        pondero.Client().models("anthropic")
    client = pondero.Client(transport=Emulator())
    with pytest.raises(UnknownProvider, match="did you mean 'anthropic'"):
        client.models("antropic")
    with pytest.raises(UnknownProvider, match="a provider is a name such as"):
        client.models(3)
    with pytest.raises(Unsupported, match=r"pondero.models\('bedrock'\) has those of the catalog"):
        client.models("bedrock")
    with pytest.raises(Malformed, match="with no list of models"):
        pondero.Client(transport=pages({"hello": 1}), keys={"openai": "sk-planted"}).models(
            "openai"
        )
    refusing = pondero.Client(transport=Answers((401, {})), keys={"openai": "sk-planted"})
    with pytest.raises(AuthFailed):
        refusing.models("openai")


def test_a_model_of_a_list_is_shown_in_one_short_line():
    with pondero.Client(transport=Emulator()) as client:
        listed = client.models("openai")
    assert "<pondero.ServiceModel openai:gpt-5.5, gpt-5.5>" in map(repr, listed)
    assert max(len(repr(each)) for each in listed) < 100


def test_without_a_provider_every_service_with_a_key_is_asked(monkeypatch):
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-planted-mistral")
    with pondero.Client(transport=Emulator(), keys={"anthropic": "sk-planted"}) as client:
        assert client.models() == client.models("anthropic") + client.models("mistral")


def test_without_a_provider_and_a_key_the_error_says_what_to_do():
    with (
        pondero.Client(transport=Emulator()) as client,
        pytest.raises(pondero.MissingKey, match="name a provider"),
    ):
        client.models()
