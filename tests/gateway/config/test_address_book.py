"""The address and key of a provider, which every request needs: kept, and never out of date."""

from pathlib import Path

import pytest

from pondero.errors import MissingKey
from pondero.gateway.config.model import GatewayConfig, ProviderOverride
from pondero.gateway.config.secrets import AddressBook
from pondero.store import load_catalog

ANTHROPIC = load_catalog().catalog.providers["anthropic"]


def with_key(key: str | None, url: str | None = None) -> GatewayConfig:
    return GatewayConfig(providers={"anthropic": ProviderOverride(url=url, key=key)})


def test_a_changed_variable_is_seen_at_once(monkeypatch):
    config = with_key("env:TEAM_KEY")
    book = AddressBook(lambda: config)
    monkeypatch.setenv("TEAM_KEY", "first-key-0123456789")
    assert book.find(ANTHROPIC, "", needed=True)[1] == "first-key-0123456789"
    monkeypatch.setenv("TEAM_KEY", "second-key-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://elsewhere.test")
    url, key = book.find(ANTHROPIC, "", needed=True)
    assert (url.startswith("http://elsewhere.test"), key) == (True, "second-key-0123456789")
    monkeypatch.delenv("TEAM_KEY")
    with pytest.raises(MissingKey):
        book.find(ANTHROPIC, "", needed=True)


def test_a_missing_variable_is_looked_for_each_time(monkeypatch):
    config = with_key("env:TEAM_KEY")
    book = AddressBook(lambda: config)
    with pytest.raises(MissingKey):
        book.find(ANTHROPIC, "", needed=True)
    monkeypatch.setenv("TEAM_KEY", "first-key-0123456789")
    assert book.find(ANTHROPIC, "", needed=True)[1] == "first-key-0123456789"


def test_a_file_is_read_each_time(tmp_path: Path):
    file = tmp_path / "key"
    config = with_key(f"file:{file}")
    book = AddressBook(lambda: config)
    for key in ("first-key-0123456789", "second-key-0123456789"):
        file.write_text(key)
        assert book.find(ANTHROPIC, "", needed=True)[1] == key


def test_another_configuration_is_used_at_once(monkeypatch):
    monkeypatch.setenv("TEAM_KEY", "first-key-0123456789")
    config = with_key("env:TEAM_KEY", "http://one.test/v1")
    book = AddressBook(lambda: config)
    assert book.find(ANTHROPIC, "", needed=True)[0] == "http://one.test/v1"
    config = with_key("env:TEAM_KEY", "http://two.test/v1")
    assert book.find(ANTHROPIC, "", needed=True)[0] == "http://two.test/v1"
