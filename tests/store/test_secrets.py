"""Keys that are kept: where, for whom, and that they stay there."""

import stat
from types import SimpleNamespace

import pytest

from pondero.errors import StoreError
from pondero.store import (
    forget_key,
    keys_file,
    list_saved_keys,
    load_saved_key,
    redact_secrets,
    save_key,
)

KEY = "a-planted-key-0123456789"


@pytest.fixture(autouse=True)
def _nothing_in_use(monkeypatch):
    monkeypatch.setattr("pondero.store.secrets._in_use", set())


class KeyringError(Exception):
    pass


@pytest.fixture
def ring(monkeypatch):
    """A keyring that holds what it is given."""
    held = {}
    made = SimpleNamespace(
        held=held,
        errors=SimpleNamespace(KeyringError=KeyringError),
        set_password=lambda service, name, key: held.update({(service, name): key}),
        get_password=lambda service, name: held.get((service, name)),
        delete_password=lambda service, name: held.pop((service, name)),
    )
    monkeypatch.setattr("pondero.store.secrets._find_keyring", lambda: made)
    return made


def test_without_a_keyring_a_key_is_in_a_file_of_its_owners(config_dir):
    assert load_saved_key("SOME_API_KEY") is None
    assert save_key("SOME_API_KEY", KEY) == str(keys_file())
    assert keys_file().parent == config_dir
    assert stat.S_IMODE(keys_file().stat().st_mode) == 0o600
    assert load_saved_key("SOME_API_KEY") == KEY
    assert list_saved_keys() == {"SOME_API_KEY": str(keys_file())}


def test_where_keyring_is_not_installed_the_file_is_used(config_dir, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)
    assert save_key("SOME_API_KEY", KEY) == str(keys_file())
    assert load_saved_key("SOME_API_KEY") == KEY


def test_a_keyring_is_used_where_there_is_one_and_the_file_only_names_the_variable(
    config_dir, ring
):
    assert save_key("SOME_API_KEY", KEY) == "keyring"
    assert KEY not in keys_file().read_text()
    assert ring.held == {("pondero", "SOME_API_KEY"): KEY}
    assert load_saved_key("SOME_API_KEY") == KEY
    assert list_saved_keys() == {"SOME_API_KEY": "keyring"}
    assert forget_key("SOME_API_KEY")
    assert (ring.held, list_saved_keys()) == ({}, {})


def test_a_keyring_that_fails_or_forgets_is_not_trusted(config_dir, ring):
    ring.get_password = lambda service, name: None
    assert save_key("SOME_API_KEY", KEY) == str(keys_file())

    def refuse(*_):
        raise KeyringError

    ring.set_password = ring.get_password = refuse
    assert save_key("OTHER_API_KEY", KEY) == str(keys_file())
    assert load_saved_key("OTHER_API_KEY") == KEY


def test_a_keyring_that_is_shut_has_no_key_and_lets_none_go(config_dir, ring):
    save_key("SOME_API_KEY", KEY)

    def refuse(*_):
        raise KeyringError("locked")

    ring.get_password = ring.delete_password = refuse
    assert load_saved_key("SOME_API_KEY") is None
    with pytest.raises(StoreError, match="could not delete"):
        forget_key("SOME_API_KEY")
    assert list_saved_keys() == {"SOME_API_KEY": "keyring"}


def test_a_forgotten_key_is_gone_and_the_others_stay(config_dir):
    save_key("SOME_API_KEY", KEY)
    save_key("OTHER_API_KEY", "another-planted-key")
    assert forget_key("SOME_API_KEY")
    assert not forget_key("SOME_API_KEY")
    assert load_saved_key("SOME_API_KEY") is None
    assert load_saved_key("OTHER_API_KEY") == "another-planted-key"
    assert KEY not in keys_file().read_text()


def test_a_key_that_was_read_is_hidden_from_then_on(config_dir):
    save_key("SOME_API_KEY", "only-ever-kept-9876543210")
    assert redact_secrets("it is only-ever-kept-9876543210.") == "it is REDACTED."


def test_a_broken_file_is_a_sentence_without_what_is_in_it(config_dir):
    keys_file().write_text(f'{{"SOME_API_KEY": "{KEY}"')
    with pytest.raises(StoreError) as raised:
        load_saved_key("SOME_API_KEY")
    assert "cannot read the saved keys" in str(raised.value)
    assert KEY not in str(raised.value)


def test_a_folder_that_cannot_be_is_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="cannot "):
        save_key("SOME_API_KEY", KEY)
