"""A provider of the user's own, on every dialect: known offline as it is online."""

import pytest

import pondero
from pondero.canon import HttpRequest
from pondero.catalog import load_shipped
from pondero.client import Client, models
from pondero.dialects import NAMES, get_dialect
from pondero.emulator import Emulator
from pondero.store import load_catalog

FAMILY = """
[[family]]
name = "rocket"
match = ["rocket-1"]
style = "rocket"
max_output = 32000
default = "off"
source = "Acme"
checked = "2026-11-15"
"""
LISTS = {
    "anthropic": ("/v1/models?limit=1000", {"x-api-key": "k", "anthropic-version": "2023-06-01"}),
    "openai_responses": ("/models", {"authorization": "Bearer k"}),
    "openai_chat": ("/models", {"authorization": "Bearer k"}),
    "gemini": ("/v1beta/models?pageSize=1000", {"x-goog-api-key": "k"}),
}


def home(name):
    return load_shipped().providers[get_dialect(name).service().default_provider]


def provider(name, *, like):
    """Return the text of a provider's file: like the dialect's first, or with its own family."""
    first = home(name)
    path = ".".join(first.parameters["max_tokens"])
    version = "/v1beta" if name == "gemini" else ""
    own = f'dialect = "{name}"\nfamilies = ["acme"]\nauth = "{first.auth}"'
    lines = [
        f'label = "Acme"\nurl = "https://api.acme.test{version}"\nkeys = ["ACME_API_KEY"]',
        f'like = "{first.name}"' if like else own,
        'source = "Acme"\nchecked = "2026-11-15"',
        "" if like else f'[parameters]\nmax_tokens = "{path}"',
    ]
    return "\n".join(lines)


@pytest.fixture(params=[False, True], ids=["own", "like"])
def acme(request, config_dir):
    """Return a function that adds Acme on a dialect and returns the name of one of its models."""

    def add(name):
        files = {"providers": provider(name, like=request.param), "families": FAMILY}
        for folder, text in files.items():
            (config_dir / folder).mkdir()
            (config_dir / folder / "acme.toml").write_text(text, "utf-8")
        load_catalog.cache_clear()
        return load_catalog().entries("acme")[-1].model

    yield add
    load_catalog.cache_clear()


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_the_users_own_provider_answers_offline(acme, name):
    model = acme(name)
    emulator = Emulator(any_model=True)
    with Client(transport=emulator) as client:
        assert "391" in client.ask(f"acme:{model}", "What is 17 * 23?").text
        unknown = client.ask("acme:rocket-9", "What is 17 * 23?", max_tokens=1000)
    assert "391" in unknown.text
    assert {(each.service, each.status) for each in emulator.log.entries} == {("acme", 200)}


@pytest.mark.parametrize("name", LISTS)
def test_the_users_own_provider_lists_its_models_offline(acme, name):
    model = acme(name)
    path, headers = LISTS[name]
    answer = Emulator().send(HttpRequest("GET", f"https://api.acme.test{path}", headers, b""))
    listed = b"".join(answer).decode()
    assert answer.head.status == 200
    if model != "rocket-1" or name.startswith("openai"):  # the others list what their wire knows
        assert model in listed


@pytest.mark.parametrize("name", NAMES)
def test_there_is_one_catalog_whoever_asks(acme, name):
    acme(name)
    assert "acme" in {entry.provider.name for entry in models()}
    assert pondero.plan("acme:rocket-1").dialect == name
    assert load_catalog() is load_catalog()
