"""config.toml: what may stand in it, and that a change leaves the rest as it is."""

import pytest

from pondero.errors import BadConfig, PonderoWarning
from pondero.store import (
    SETTINGS,
    Settings,
    check_config,
    config_file,
    configured_policy,
    load_settings,
    set_config,
    unset_config,
)
from pondero.thinking import Policy

TEXT = """\
# mine
thinking = "low"  # not too much

[policy]
# be strict
unsupported = "strict"
"""


def test_without_a_file_everything_has_its_default(config_dir):
    assert load_settings() == Settings(None, None, True, Policy(), {})


def test_what_stands_in_the_file_counts(config_dir):
    config_file().write_text(TEXT + "answer_room = 100\n")
    found = load_settings()
    assert (found.thinking, found.policy) == ("low", Policy(unsupported="strict", answer_room=100))
    assert found.values == {
        "thinking": "low",
        "policy.unsupported": "strict",
        "policy.answer_room": 100,
    }


def test_a_change_keeps_every_comment(config_dir):
    config_file().write_text(TEXT)
    set_config("thinking", "high")
    set_config("policy.off", "floor")
    set_config("save", "false")
    text = config_file().read_text()
    for comment in ("# mine", "# not too much", "# be strict"):
        assert comment in text
    assert (load_settings().thinking, load_settings().save) == ("high", False)
    assert load_settings().policy == Policy(unsupported="strict", off="floor")
    assert unset_config("policy.unsupported")
    assert not unset_config("policy.unsupported")
    assert load_settings().policy == Policy(off="floor")


def test_an_unknown_setting_can_be_removed(config_dir):
    config_file().parent.mkdir(parents=True, exist_ok=True)
    text = 'thinking = "low"\nthinking_level = "high"\n[mcp.files]\ncommand = "x"\n'
    config_file().write_text(text)
    assert unset_config("thinking_level")
    assert "thinking_level" not in config_file().read_text()
    with pytest.raises(BadConfig, match="unknown setting 'mcp'"):
        unset_config("mcp")
    with pytest.raises(BadConfig, match="unknown setting 'thinking_level'"):
        unset_config("thinking_level")


def test_a_first_change_makes_the_file(config_dir):
    assert not unset_config("policy.off")
    assert set_config("policy.answer_room", "8192") == 8192
    assert set_config("policy.context_cap", "10000") == 10000
    assert set_config("thinking", "8k") == "8k"
    assert set_config("model", "claude-opus-5/high") == "claude-opus-5/high"
    assert load_settings().policy == Policy(answer_room=8192, context_cap=10000)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("thinkin", "low", "did you mean 'thinking'?"),
        ("policy.unsuported", "warn", "did you mean 'policy.unsupported'?"),
        (
            "policy",
            "x",
            "unknown setting 'policy'; use one of policy.unsupported policy.off policy.",
        ),
        ("policy.", "x", "unknown setting 'policy.'; use one of policy.unsupported policy.off "),
        ("thinking", "hihg", "did you mean 'high'?"),
        ("save", "perhaps", "use true or false"),
        ("model", " ", "invalid model"),
        ("policy.off", "never", "use least floor omit"),
        ("policy.answer_room", "-1", "whole number"),
        ("openai.api_key", "x", "pondero keys set"),
        ("key", "x", "pondero keys set"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_written(config_dir, name, value, said):
    with pytest.raises(BadConfig, match=said.replace("?", r"\?")):
        set_config(name, value)
    assert not config_file().exists()


def test_a_key_cannot_hide_in_another_setting(config_dir, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-0123456789")
    with pytest.raises(BadConfig, match="pondero keys set") as raised:
        set_config("model", "planted-key-0123456789")
    assert "planted-key" not in str(raised.value)
    assert not config_file().exists()


@pytest.mark.parametrize(
    "text", ["thinking = ", "nonsense = 1", "[policy]\noff = 3", "thinking = [1]"]
)
def test_a_file_that_cannot_be_is_a_sentence(config_dir, text):
    config_file().write_text(text)
    with pytest.raises(BadConfig):
        check_config()


def test_an_unknown_name_is_ignored_and_reported_once_with_the_nearest(config_dir):
    config_file().write_text('thinking = "low"\nthinking_level = "high"\n[policy]\nof = "floor"\n')
    with pytest.warns(PonderoWarning) as caught:
        assert load_settings().values == {"thinking": "low"}
    assert [str(each.message).partition("config.toml:")[2] for each in caught] == [
        "2: ignored: unknown setting 'thinking_level'; did you mean 'thinking'?",
        "4: ignored: unknown setting 'policy.of'; did you mean 'policy.off'?",
    ]
    assert caught[0].filename == __file__
    load_settings()  # a second warning would be an error here
    configured_policy()


def test_the_library_checks_only_the_policy(config_dir):
    config_file().write_text('save = 3\n[policy]\noff = "floor"\n')
    assert configured_policy() == Policy(off="floor")
    with pytest.raises(BadConfig, match="use true or false"):
        load_settings()
    config_file().write_text("[policy]\noff = 3\n")
    for load in (load_settings, configured_policy):
        with pytest.raises(BadConfig, match=r"config\.toml:2: invalid policy off=3"):
            load()


def test_a_table_that_is_none_is_a_sentence(config_dir):
    config_file().write_text("policy = 1\n")
    with pytest.raises(
        BadConfig, match=r"config.toml:1: policy: this is not a table; write \[policy\]"
    ):
        set_config("policy.off", "floor")


def test_every_policy_can_be_set():
    assert {f"policy.{name}" for name, _ in Policy()} < set(SETTINGS)


def test_a_model_of_the_environment_wins_over_the_one_of_the_file(config_dir, monkeypatch):
    set_config("model", "claude-opus-5")
    monkeypatch.setenv("PONDERO_MODEL", "gpt-5.1/low")
    assert load_settings().model == "gpt-5.1/low"
    assert load_settings().values == {"model": "claude-opus-5"}
    monkeypatch.setenv("PONDERO_MODEL", " ")
    assert load_settings().model == "claude-opus-5"
