"""Commands for gateway keys say which file they read: a reader may have meant another."""

import pytest

KEY = """
[[route]]
match = "*"
to = "anthropic:claude-opus-5"

[[key]]
name = "ci"
hash = "sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
"""


@pytest.fixture(autouse=True)
def file(monkeypatch, tmp_path):
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gateway.toml").write_text(KEY)
    return tmp_path / "gateway.toml"


def test_a_command_that_read_no_file_says_so_and_how_to_name_one(call):
    for command in (("block", "ci"), ("remove", "--gateway", "ci")):
        code, _, err = call("keys", *command)
        assert code != 0
        assert "no key 'ci'" in err
        assert "no gateway.toml was read (name one: --config FILE)" in err
    assert "no gateway.toml was read" in call("keys", "list", "--gateway")[2]


def test_an_unknown_key_is_told_with_the_file_that_was_read(call, file):
    code, _, err = call("keys", "block", "cl", "--config", str(file))
    assert code != 0
    assert f"no key 'cl' in {file}" in err
    file.write_text(KEY[: KEY.index("[[key]]")])
    assert f"no keys in {file}" in call("keys", "list", "--gateway", "--config", str(file))[2]


def test_the_commands_of_the_page_block_a_key_and_undo_it(call, file):
    for verb, state in (("block", "blocked"), ("unblock", "active")):
        code, _, err = call("keys", verb, "ci", "--config", "gateway.toml")
        assert code == 0, err
        assert state in call("keys", "list", "--gateway", "--config", str(file))[1]


def test_the_help_of_create_says_where_a_budget_goes(call):
    assert "budget = {" in call("keys", "create", "--help")[1]


def test_create_says_how_a_running_gateway_takes_the_key(call):
    first, last = call("keys", "create", "--gateway", "ci")[2].splitlines()
    assert "kill -HUP PID" in first
    assert last.startswith("the key, which is shown only now: pnd_")
