"""Keys of providers by reference, and keys of clients by hash."""

import pytest

from pondero import store
from pondero.errors import MissingKey
from pondero.gateway.config import secrets
from pondero.gateway.config.model import GatewayConfig, GatewayKey, ProviderOverride

GOOGLE = store.load_catalog().provider("google")


def config(reference: str | None = None, url: str | None = None) -> GatewayConfig:
    return GatewayConfig(providers={"google": ProviderOverride(url, reference)})


def test_a_reference_is_followed_each_time_it_is_used(monkeypatch, tmp_path):
    file = tmp_path / "key"
    for key in ("first-key-of-many", "second-key-of-many"):
        monkeypatch.setenv("MY_KEY", f"{key}-env")
        file.write_text(f"{key}-file\n")

        assert secrets.find_provider_key(config("env:MY_KEY"), GOOGLE) == f"{key}-env"
        assert secrets.find_provider_key(config(f"file:{file}"), GOOGLE) == f"{key}-file"
        assert f"{key}-file" not in store.redact_secrets(f"it is {key}-file")


def test_a_key_of_the_keyring_is_read_again_after_a_new_configuration(monkeypatch):
    kept = {"MY_KEY": "a-key-in-the-ring"}
    monkeypatch.setattr(store, "load_saved_key", kept.get)
    secrets.forget()
    assert secrets.find_provider_key(config("keyring:MY_KEY"), GOOGLE) == "a-key-in-the-ring"

    kept["MY_KEY"] = "another-key-in-it"
    secrets.forget()
    assert secrets.find_provider_key(config("keyring:MY_KEY"), GOOGLE) == "another-key-in-it"


def test_a_reference_to_nothing_says_what_helps(monkeypatch, tmp_path):
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(MissingKey, match="env:MY_KEY is not set; set that variable"):
        secrets.find_provider_key(config("env:MY_KEY"), GOOGLE)
    with pytest.raises(MissingKey, match=r"could not read .*: No such file"):
        secrets.find_provider_key(config(f"file:{tmp_path}/no"), GOOGLE)


def test_without_a_reference_the_usual_key_and_address_are_taken(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "the-usual-key")
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)

    assert secrets.find_provider_key(config(), GOOGLE) == "the-usual-key"
    assert secrets.find_provider_url(config(), GOOGLE) == GOOGLE.url
    assert (
        secrets.find_provider_url(config(url="http://127.0.0.1:9"), GOOGLE)
        == "http://127.0.0.1:9/v1beta"
    )


def test_a_clients_key_is_known_by_its_hash_alone():
    mine, other = secrets.make_key(), secrets.make_key()
    keys = [
        GatewayKey("other", secrets.hash_key(other)),
        GatewayKey("mine", secrets.hash_key(mine)),
    ]

    assert mine != other
    assert secrets.find_holder(keys, mine) == keys[1]
    assert secrets.find_holder(keys, f"{mine}x") is None
    assert secrets.find_holder(keys, "\udc80") is None
    assert mine not in repr(keys)


def test_a_provider_that_is_the_gateway_itself_is_noticed(monkeypatch):
    for url, same in (
        ("http://127.0.0.1:8787", True),
        ("http://localhost:8787/v1", True),
        ("http://127.0.0.1:8788", False),
        ("http://gate.example:8787", False),
    ):
        assert secrets.is_self(config(url=url), GOOGLE) is same
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://[::1]:8787")
    assert secrets.is_self(GatewayConfig(), GOOGLE)
