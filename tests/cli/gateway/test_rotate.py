"""``keys rotate`` says whose secret it changed."""

import pytest


@pytest.fixture(autouse=True)
def _folders(monkeypatch, tmp_path):
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def test_without_a_configuration_it_says_how_to_name_one(call):
    code, _, err = call("keys", "rotate")
    assert code == 0
    said = " ".join(err.split())
    assert "stored in the data folder, for all gateways that use it (name one with Redis" in said
    assert "--config" in err


def test_a_configuration_and_its_store_are_named(call, tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text('[[route]]\nmatch = "*"\nto = ["anthropic:claude-opus-5"]\n')
    code, _, err = call("keys", "rotate", "--config", str(file))
    assert code == 0, err
    said = " ".join(err.split())
    assert f"stored in the data folder, for all gateways that use it (also that of {file})" in said
