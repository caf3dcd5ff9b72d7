"""Commands for gateway keys say which file they read: a reader may have meant another."""

import asyncio
import json

import pytest

from pondero.gateway.config.reader import load
from pondero.gateway.state.keys import FileKeys, KeyRing
from pondero.store import load_catalog

GATEWAY = ("--gateway",)
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


def test_a_name_that_the_file_or_the_console_has_already_is_rejected(call, file):
    where = ("--config", str(file))
    code, out, err = call("keys", "create", "--gateway", "ci", *where)
    assert (code, out) == (2, "")
    assert f"there is a key 'ci' already, in {file}" in err
    assert "pnd_" not in err

    asyncio.run(KeyRing(tuple, FileKeys()).make("web"))
    code, out, err = call("keys", "create", "--gateway", "web", *where)
    assert (code, out) == (2, "")
    assert "created in the console" in err
    assert call("keys", "create", "--gateway", "another", *where)[0] == 0


def test_a_key_that_was_pasted_as_a_name_is_rejected_and_not_shown(call):
    pasted = f"pnd_{'a' * 43}"
    code, out, err = call("keys", "create", "--gateway", pasted)

    assert code == 2
    assert "a key's name may not have the text of a key in it" in err
    assert pasted not in out + err


def test_create_warns_of_a_group_that_the_file_does_not_have(call, file):
    options = ("--group", "research", "--config", str(file))
    code, _, err = call("keys", "create", "--gateway", "carl", *options)
    assert code == 0
    assert f"{file} has no group 'research' yet; add a [[group]]" in " ".join(err.split())

    file.write_text(f'{KEY}\n[[group]]\nname = "research"\n')
    assert "[[group]]" not in call("keys", "create", "--gateway", "carl", *options)[2]


def test_create_warns_of_a_key_that_has_already_expired(call):
    err = call("keys", "create", "--gateway", "carl", "--expires", "2020-01-01")[2]
    assert "the key 'carl' has already expired (2020-01-01)" in " ".join(err.split())
    assert (
        "expired" not in call("keys", "create", "--gateway", "carl", "--expires", "2099-01-01")[2]
    )


def test_a_key_for_metrics_alone_is_made_with_two_options(call, file):
    options = ("--metrics", "--no-models", "--config", str(file))
    code, lines, _ = call("keys", "create", "--gateway", "prometheus", *options)
    assert code == 0
    file.write_text(KEY + lines)
    key = load(file, load_catalog()).keys[-1]
    assert (key.metrics, key.models, key.endpoints) == (True, (), ())
    shown = "key prometheus (metrics): no model; other endpoints: none"
    assert shown in call("serve", "--check", "--offline", "--config", str(file))[1]


RULES = """
admin = true
expires = 2020-01-01
thinking = { cap = "medium" }
budget = { cost = 50 }

[[key]]
name = "later"
hash = "sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4c"
metrics = true
expires = 2099-01-01T12:00:00Z
models = ["opus"]
"""


def test_the_list_and_the_check_say_what_a_key_may_do_and_that_it_has_expired(call, file):
    other = file.with_name("g2.toml")
    other.write_text(KEY + RULES)
    where = ("--config", str(other))
    listed = [
        " ".join(line.split()) for line in call("keys", "list", *GATEWAY, *where)[1].splitlines()
    ]
    assert listed == [
        f"ci {other} expired 2020-01-01, admin",
        "everything; thinking: at most medium; at most $50.00 per month",
        f"later {other} active until 2099-01-01 12:00 UTC, metrics",
        "opus",
    ]
    checked = call("serve", "--check", "--offline", *where)[1]
    assert "key ci (admin, expired 2020-01-01): everything; thinking: at most medium" in checked
    assert "key later (metrics, active until 2099-01-01 12:00 UTC): opus" in checked

    rows = json.loads(call("keys", "list", *GATEWAY, "--json", *where)[1])["keys"]
    assert [(row["admin"], row["metrics"], row["expired"]) for row in rows] == [
        (True, False, True),
        (False, True, False),
    ]
    assert rows[0]["thinking"]["cap"] == "medium"
    assert rows[0]["budget"]["cost"] == 50
    assert [row["models"] for row in rows] == [None, ["opus"]]
    assert {row["from"] for row in rows} == {str(other)}
    assert "hash" not in rows[0]
