"""``pondero config`` and ``pondero keys``: settled once, and the keys apart from it."""

import json
import re

import pytest

from pondero.client import load_catalog
from pondero.store import config_file, find_key, keys_file

KEY = "planted-key-0123456789"


@pytest.fixture(autouse=True)
def _alone(config_dir, monkeypatch):
    monkeypatch.setattr("pondero.store.secrets._in_use", set())


def test_a_setting_is_set_read_and_taken_out(call):
    assert call("config", "path") == (0, f"{config_file()}\n", "")
    code, out, err = call("config", "get", "thinking")
    assert (code, out) == (1, "")
    assert "not set" in err
    assert call("config", "set", "thinking", "medium") == (0, "", 'thinking = "medium"\n')
    assert call("config", "get", "thinking") == (0, "medium\n", "")
    call("config", "set", "policy.unsupported", "warn")
    assert call("config", "get")[1] == 'thinking = "medium"\npolicy.unsupported = "warn"\n'
    made = json.loads(call("config", "get", "--json")[1])
    assert made == {
        "path": str(config_file()),
        "settings": {"thinking": "medium", "policy.unsupported": "warn"},
    }
    assert json.loads(call("config", "get", "save", "--json")[1]) == {
        "name": "save",
        "value": None,
        "set": False,
    }
    assert call("config", "unset", "thinking")[0] == 0
    assert call("config", "get", "thinking")[0] == 1
    assert "not set" in call("config", "unset", "thinking")[2]


def test_values_are_as_a_shell_wants_them(call):
    call("config", "set", "save", "false")
    call("config", "set", "tools.approved", '["a/b", "c/d"]')
    call("config", "set", "policy.answer_room", "8192")
    assert call("config", "get", "save")[1] == "false\n"
    assert call("config", "get", "tools.approved")[1] == "a/b\nc/d\n"
    assert call("config", "get", "policy.answer_room")[1] == "8192\n"


def test_a_variable_that_takes_precedence_over_a_setting_is_named(call, monkeypatch):
    monkeypatch.setenv("PONDERO_MODEL", "gemini-3-flash-preview/low")
    code, _, err = call("config", "set", "model", "claude-opus-5/medium")
    assert code == 0
    assert "PONDERO_MODEL is set to 'gemini-3-flash-preview/low', and takes precedence" in err
    assert "PONDERO_MODEL is set" in call("config", "unset", "model")[2]
    assert "PONDERO" not in call("config", "set", "thinking", "medium")[2]
    monkeypatch.setenv("PONDERO_MODEL", " ")
    assert "PONDERO" not in call("config", "set", "model", "claude-opus-5/medium")[2]
    pytest.importorskip("textual")
    monkeypatch.setenv("PONDERO_THEME", "nord")
    assert "PONDERO_THEME is set to 'nord'" in call("config", "set", "theme", "dracula")[2]


def test_a_model_or_a_theme_that_does_not_exist_is_not_set(call):
    code, _, err = call("config", "set", "model", "opsu/high")
    assert code == 2
    assert "did you mean 'opus'" in err
    assert call("config", "get", "model")[0] == 1
    assert call("config", "set", "model", "opus/hihg")[0] == 2
    code, _, err = call("config", "set", "model", "opus/high")
    assert code == 0
    assert "the newest claude-opus" in err
    assert call("config", "set", "model", "ollama:anything")[0] == 0
    pytest.importorskip("textual")
    code, _, err = call("config", "set", "theme", "nosuch")
    assert code == 2
    assert "unknown theme 'nosuch'; use dark light" in err
    assert call("config", "set", "theme", "nord")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("get", "thinkin"),
        ("set", "thinkin", "low"),
        ("unset", "thinkin"),
        ("set", "thinking", "hihg"),
    ],
)
def test_what_cannot_be_is_one_sentence(call, arguments):
    code, out, err = call("config", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "did you mean" in err


def test_an_editor_is_opened_on_a_file_that_explains_itself(call, monkeypatch):
    opened = []
    monkeypatch.setattr("click.edit", lambda **what: opened.append(what["filename"]))
    assert call("config", "edit")[0] == 2
    assert call("config", "edit", tty=True)[0] == 0
    assert opened == [str(config_file())]
    assert call("config", "get") == (0, "", "")
    monkeypatch.setattr("click.edit", lambda filename: config_file().write_text("nonsense = 1"))
    code, _, err = call("config", "edit", tty=True)
    assert (code, "unknown setting 'nonsense'" in err) == (2, True)


def test_a_key_is_piped_in_kept_and_used(call):
    code, out, err = call("keys", "set", "openai", stdin=f"{KEY}\n")
    assert (code, out) == (0, "")
    assert "OPENAI_API_KEY" in err
    openai = load_catalog().catalog.providers["openai"]
    chat = load_catalog().catalog.providers["openai-chat"]
    assert find_key(openai, {}, needed=True) == find_key(chat, {}, needed=True) == KEY


def test_a_stored_key_says_when_it_is_used(call):
    err = call("keys", "set", "openai", stdin=KEY)[2]
    assert err.startswith("the key of OpenAI is stored in ")
    assert "; it is used if OPENAI_API_KEY is not set" in err


def test_a_key_is_typed_unseen(call, monkeypatch):
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: KEY)
    monkeypatch.setattr("click.termui.hidden_prompt_func", lambda prompt: KEY)
    code, out, err = call("keys", "set", "openai", tty=True)
    assert (code, KEY in out + err) == (0, False)
    assert KEY in keys_file().read_text()


def test_the_environment_wins_over_what_is_kept(call, monkeypatch):
    call("keys", "set", "openai", stdin=KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    assert (
        find_key(load_catalog().catalog.providers["openai"], {}, needed=True)
        == "of-the-environment"
    )
    err = call("keys", "set", "openai", stdin=KEY)[2]
    assert "OPENAI_API_KEY is set in the environment, and takes precedence" in err
    listed = json.loads(call("keys", "list", "--json")[1])["keys"]
    assert {row["from"] for row in listed if row["provider"] == "openai"} == {"environment"}


def test_the_list_has_names_and_places_and_no_key(call):
    assert "no keys" in call("keys", "list")[2]
    call("keys", "set", "groq", stdin=KEY)
    code, out, _ = call("keys", "list")
    assert (code, out.split()) == (0, ["groq", "GROQ_API_KEY", str(keys_file())])
    made = call("keys", "list", "--json")[1]
    assert json.loads(made) == {
        "keys": [{"provider": "groq", "variable": "GROQ_API_KEY", "from": str(keys_file())}]
    }
    every = call("keys", "list", "--all")[1]
    assert "ANTHROPIC_API_KEY" in every
    assert KEY not in out + made + every


def test_a_key_is_forgotten(call):
    call("keys", "set", "groq", stdin=KEY)
    assert call("keys", "remove", "groq")[0] == 0
    assert KEY not in keys_file().read_text()
    assert call("keys", "remove", "groq")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (("set", "opnai"), KEY, "did you mean 'openai'?"),
        (("set", "ollama"), KEY, "needs no key"),
        (("remove", "ollama"), KEY, "needs no key"),
        (("set", "openai"), "", "is not a key"),
        (("set", "openai"), f"my key is {KEY}", "is not a key"),
    ],
)
def test_what_is_no_provider_or_no_key_is_one_sentence(call, arguments, stdin, said):
    code, out, err = call("keys", *arguments, stdin=stdin)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert KEY not in err
    assert not keys_file().exists()


@pytest.mark.parametrize(
    "verb",
    [
        ("config", "path"),
        ("config", "get"),
        ("config", "set"),
        ("config", "unset"),
        ("config", "edit"),
        ("keys", "set"),
        ("keys", "list"),
        ("keys", "remove"),
        ("stats",),
        ("doctor",),
        ("threads",),
        ("keys",),
        ("config",),
        ("ask",),
    ],
)
def test_every_verb_has_examples(call, verb):
    code, out, _ = call(*verb, "--help")
    assert (code, f"pondero {' '.join(verb)}" in out.partition("Examples:")[2]) == (0, True)


def test_a_key_for_the_gateway_is_shown_once_and_its_lines_can_be_appended(call, tmp_path):
    from pondero.gateway.config.reader import load
    from pondero.gateway.config.secrets import find_holder
    from pondero.store import load_catalog

    file = tmp_path / "gateway.toml"
    keys = []
    for name in ('ci "two"', "cd"):
        code, out, err = call("keys", "create", "--gateway", name)
        assert code == 0
        keys.append(err.split()[-1])
        assert keys[-1] not in out
        with file.open("a") as lines:
            lines.write(out)

    config = load(file, load_catalog())
    assert [key.name for key in config.keys] == ['ci "two"', "cd"]
    assert [find_holder(config.keys, key) for key in keys] == list(config.keys)


def test_an_admins_key_of_the_gateway_says_so_in_its_lines(call, tmp_path):
    from pondero.gateway.config.reader import load
    from pondero.store import load_catalog

    file = tmp_path / "gateway.toml"
    for rights in ((), ("--admin",)):
        with file.open("a") as lines:
            lines.write(call("keys", "create", "--gateway", f"k{len(rights)}", *rights)[1])

    assert [key.admin for key in load(file, load_catalog()).keys] == [False, True]


@pytest.mark.parametrize(
    ("expires", "shown"),
    [("2027-01-31", "2027-01-31T23:59:59.999999"), ("2027-01-31T12:00Z", "2027-01-31T12:00:00")],
)
def test_a_key_of_the_gateway_that_expires_says_so_in_its_lines(call, tmp_path, expires, shown):
    file = tmp_path / "gateway.toml"
    options = ("--metrics", "--expires", expires)
    file.write_text(call("keys", "create", "--gateway", "ci", *options)[1])
    assert "metrics = true" in file.read_text()
    listed = call("keys", "list", "--gateway", "--json", "--config", str(file))[1]
    assert json.loads(listed)["keys"][0]["expires"] == f"{shown}+00:00"
    assert "until 2027" in call("keys", "list", "--gateway", "--config", str(file))[1]


def test_a_key_of_the_gateway_in_a_group_says_so_in_its_lines(call, tmp_path):
    file = tmp_path / "gateway.toml"
    lines = call("keys", "create", "--gateway", "ci", "--group", 'the "best"')[1]
    file.write_text(f"{lines}\n[[group]]\nname = 'the \"best\"'\n")

    listed = call("keys", "list", "--gateway", "--json", "--config", str(file))[1]
    assert json.loads(listed)["keys"][0]["group"] == 'the "best"'
    assert 'active, in the "best"' in call("keys", "list", "--gateway", "--config", str(file))[1]


@pytest.mark.parametrize(
    "wrong",
    [("two\nlines",), ("a" * 129,), ("ci", "--expires", "soon"), ("ci", "--group", "two\nlines")],
)
def test_a_key_of_the_gateway_with_a_wrong_name_or_end_is_not_created(call, wrong):
    code, out, err = call("keys", "create", "--gateway", *wrong)
    assert (code, out) == (2, "")
    assert "pnd_" not in err


def test_keys_of_the_gateway_are_listed_and_blocked(call, tmp_path):
    made = call("keys", "create", "--gateway", "ci")
    assert re.search(r"\bpnd_[\w-]{32,}$", made[2].strip())
    file = tmp_path / "gate.toml"
    file.write_text(made[1])
    where = ("--config", str(file))
    assert call("keys", "block", "ci", *where)[0] == 0
    listed = json.loads(call("keys", "list", "--gateway", "--json", *where)[1])["keys"]
    row = {"name": "ci", "from": str(file), "blocked": True, "models": None, "expires": None}
    assert [{name: each[name] for name in row} for each in listed] == [row]
    call("keys", "unblock", "ci", *where)
    assert "active" in call("keys", "list", "--gateway", *where)[1].split()
    code, _, err = call("keys", "remove", "--gateway", "ci", *where)
    assert (code, "gateway.toml" in err) == (2, True)
