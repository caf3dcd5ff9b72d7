"""gateway.toml: what it says, and every mistake in it with its file, line and cure."""

import json
import re
from pathlib import Path
from typing import get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.errors import BadConfig
from pondero.gateway.config.examples import EXAMPLES
from pondero.gateway.config.model import (
    AlertsConfig,
    Deployment,
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    HookConfig,
    LevelRules,
    ProviderOverride,
    PurposeRule,
    RateLimitRule,
    ResponsesConfig,
    RuleMatch,
    ServerConfig,
    SignInConfig,
    SpendBudget,
    is_loopback,
)
from pondero.gateway.config.reader import (
    check_exposure,
    check_sharing,
    default_config,
    find_config,
    load,
    load_config,
    reload_config,
)
from pondero.store import load_catalog
from pondero.thinking import FIGURES, LEVELS

WHOLE = f"""\
[server]
host = "127.0.0.1"          # anything else refuses to start without keys
port = 8787
state = "memory"            # or "redis://host:6379/0"
ledger = "sqlite"

[[route]]
match = "opus"
to = ["anthropic:claude-opus-5", "bedrock:anthropic.claude-opus-5-v1:0"]
thinking = {{ default = "medium", floor = "low", cap = "high" }}
retries = 2

[[route]]
match = "claude-*"
to = "google:gemini-3-flash-preview"

[provider.anthropic]
url = "http://127.0.0.1:9100"
key = "env:ANTHROPIC_API_KEY"

[[key]]
name = "ci"
hash = "sha256:{"a" * 64}"
thinking = {{ cap = "medium" }}
models = ["opus", "claude-*"]
budget = {{ cost = 50, thinking_tokens = 5000000, per = "month" }}
limit = {{ requests = 60, tokens = 200000, per = "minute" }}
"""
SECRET = "sk-ant-" + "a1" * 12  # shaped like one, and none


@pytest.fixture
def read(tmp_path):
    def read(text: str) -> GatewayConfig:
        path = tmp_path / "gateway.toml"
        path.write_text(text, encoding="utf-8")
        return load(path, load_catalog())

    return read


def test_the_whole_of_a_configuration_is_read(read, tmp_path):
    assert read(WHOLE) == GatewayConfig(
        server=ServerConfig(),
        routes=(
            GatewayRoute(
                "opus",
                ("anthropic:claude-opus-5", "bedrock:anthropic.claude-opus-5-v1:0"),
                LevelRules("medium", "low", "high"),
            ),
            GatewayRoute("claude-*", ("google:gemini-3-flash-preview",)),
        ),
        providers={"anthropic": ProviderOverride("http://127.0.0.1:9100", "env:ANTHROPIC_API_KEY")},
        keys=(
            GatewayKey(
                "ci",
                f"sha256:{'a' * 64}",
                LevelRules(cap="medium"),
                ("opus", "claude-*"),
                SpendBudget(50, 5_000_000, "month"),
                RateLimitRule(60, 200_000, "minute"),
            ),
        ),
        path=tmp_path / "gateway.toml",
    )


MISTAKES = [
    ("port = 8787", "prot = 8787", 3, "did you mean 'port'?"),
    ("port = 8787", 'port = "x"', 3, "write port = 8787"),
    ("port = 8787", "port = 70000", 3, "write port = 8787"),
    ("[server]", "[sever]", 1, "did you mean 'server'?"),
    ('"memory"', "memory", 4, "this is not TOML"),
    ('"memory"', '"mem"', 4, 'write state = "memory"'),
    ('"memory"', '"redis://:hunter2@host/0"', 4, 'write state = "env:NAME"'),
    ('"sqlite"', '"mysql://host/x"', 5, 'write ledger = "sqlite"'),
    ('match = "opus"', "", 7, 'write match = "claude-*"'),
    ('match = "opus"', 'match = "*"', 14, "put this route before that one"),
    ('match = "claude-*"', 'match = "opus"', 14, "in line 8 is tried first; remove one"),
    ("claude-opus-5", "claude-opuss-5", 9, "did you mean anthropic:claude-opus-5?"),
    ("google:gemini", "gogle:gemini", 15, "did you mean 'google'?"),
    ('to = "google:gemini-3-flash-preview"', 'to = "gemnii-3-flash"', 15, "did you mean"),
    ('to = "google:gemini-3-flash-preview"', "to = []", 15, "write to = "),
    ('flash-preview"', 'flash-preview/high"', 15, 'thinking = { default = "high" }'),
    ('cap = "high"', 'cap = "hihg"', 10, "did you mean 'high'?"),
    ('cap = "high"', 'cap = "on"', 10, 'write cap = "high"'),
    ('cap = "high"', "cap = 2000", 10, "floor 'low' is above cap '2000'"),
    ('floor = "low"', 'floor = "max"', 10, "lower the floor, or raise the cap"),
    ('floor = "low"', 'flor = "low"', 10, "did you mean 'floor'?"),
    ('{ cap = "medium" }', '"medium"', 24, "write thinking = {"),
    ("retries = 2", "retries = -1", 11, "write retries = 2"),
    ("retries = 2", 'show = "loud"', 11, "write show = "),
    ("retries = 2", "first_byte_seconds = 0", 11, "write first_byte_seconds = 300"),
    ("provider.anthropic", "provider.antropic", 17, "did you mean 'anthropic'?"),
    ('"env:ANTHROPIC_API_KEY"', f'"{SECRET}"', 19, 'write key = "env:ANTHROPIC_API_KEY"'),
    ("http://127.0.0.1:9100", "ftp://127.0.0.1", 18, 'write url = "http://'),
    ("http://127.0.0.1:9100", f"http://me:{SECRET}@host", 18, "contains a password"),
    ("[[key]]", "[key]", 21, "write [[key]]"),
    (f"sha256:{'a' * 64}", SECRET, 23, "'pondero keys create --gateway' prints"),
    ('"opus", "claude-*"', '"opsu"', 25, "did you mean 'opus'?"),
    ("cost = 50", 'cost = "50"', 26, "write cost = 50"),
    (
        'per = "month"',
        'per = "mont"',
        26,
        'write per = "month", "week", "day" or "hour" in a budget',
    ),
    ("cost = 50", "csot = 50", 26, "did you mean 'cost'?"),
    ("cost = 50, thinking_tokens = 5000000, ", "", 26, "no maximum is set"),
    ("cost = 50", "money = 50", 26, "unknown key 'money'; it is now 'cost'"),
    ("requests = 60, tokens = 200000, ", "", 27, "no maximum is set"),
    ("requests = 60", "requests = 0", 27, "write requests = 60"),
    ('name = "ci"', 'name = "two\\nlines"', 22, 'write name = "ci"'),
    ('name = "ci"', f'name = "{"a" * 129}"', 22, "a key's name may have 128 characters"),
    (
        'name = "ci"',
        f'name = "pnd_{"a" * 43}"',
        22,
        "a key's name may not have the text of a key in it",
    ),
    ('name = "ci"', 'name = "ci"\nexpires = "soon"', 23, "write expires = 2027-01-31"),
    ('name = "ci"', 'name = "ci"\nexpires = 12:00:00', 23, "write expires = 2027-01-31"),
]


@pytest.mark.parametrize(("good", "bad", "line", "cure"), MISTAKES)
def test_a_mistake_names_its_file_line_and_cure(read, tmp_path, good, bad, line, cure):
    assert good in WHOLE

    with pytest.raises(BadConfig) as caught:
        read(WHOLE.replace(good, bad, 1))

    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'gateway.toml'}:{line}: ")
    assert cure in said
    assert SECRET not in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("written", "expires"),
    [
        ("2027-01-31", "2027-01-31T23:59:59.999999+00:00"),
        ("2027-01-31T12:00:00", "2027-01-31T12:00:00+00:00"),
        ("2027-01-31T12:00:00+02:00", "2027-01-31T12:00:00+02:00"),
        ('"2027-01-31"', "2027-01-31T23:59:59.999999+00:00"),
    ],
)
def test_a_key_expires_after_a_day_or_at_a_time(read, written, expires):
    config = read(WHOLE.replace('name = "ci"', f'name = "ci"\nexpires = {written}'))
    (key,) = config.keys
    assert key.expires is not None
    assert key.expires.isoformat() == expires


def test_a_mistake_is_found_in_whatever_way_toml_writes_the_table(read):
    tables = (
        '[[route]]\nmatch = "a"\nto = "claude-opus-5"\n\n[route.thinking]\n# why\ncap = "hihg"\n',
        '[[route]]\nmatch = "a"\nto = [\n  "claude-opus-5",\n]\n\n\nthinking.cap = "hihg"\n',
    )
    for text, line in zip(tables, (7, 8), strict=True):
        with pytest.raises(BadConfig, match=rf":{line}: unknown level 'hihg'"):
            read(text)


def test_two_keys_of_one_name_or_hash_are_a_mistake(read):
    second = f'\n[[key]]\nname = "NAME"\nhash = "sha256:{"b" * 64}"\n'
    with pytest.raises(BadConfig, match=":30: an earlier key has this name too"):
        read(WHOLE + second.replace("NAME", "ci"))
    with pytest.raises(BadConfig, match=":31: an earlier key has this hash too"):
        read(WHOLE + second.replace("NAME", "cd").replace("b" * 64, "a" * 64))


def test_a_file_that_is_missing_or_no_text_is_a_mistake(tmp_path):
    with pytest.raises(BadConfig, match=r"cannot be read: No such file"):
        load(tmp_path / "nothing.toml", load_catalog())
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadConfig, match="is not UTF-8"):
        load(tmp_path / "odd.toml", load_catalog())


def test_the_cure_of_every_setting_is_known():
    kinds = (
        ServerConfig,
        GatewayRoute,
        ProviderOverride,
        GatewayKey,
        LevelRules,
        SpendBudget,
        RateLimitRule,
        PurposeRule,
        RuleMatch,
        AlertsConfig,
        Deployment,
        SignInConfig,
        ResponsesConfig,
        HookConfig,
    )
    fields = {field for kind in kinds for field in kind.__struct_fields__}

    assert fields == set(EXAMPLES)


def test_the_documentation_shows_every_setting_in_a_file_that_is_right(read):
    text = (Path(__file__).parents[3] / "docs" / "gateway.md").read_text("utf-8")
    shown = text.partition("```toml\n")[2].partition("```")[0]

    config = read(shown)
    assert len(config.routes) == 2
    assert config.server == ServerConfig()
    for name in EXAMPLES:
        assert re.search(rf"(?<![\w.]){name} = ", shown), name


@given(floor=st.sampled_from(LEVELS), cap=st.sampled_from(LEVELS))
def test_a_floor_is_accepted_where_it_is_at_most_the_cap(tmp_path_factory, floor, cap):
    path = tmp_path_factory.mktemp("gate") / "gateway.toml"
    path.write_text(
        f'[[route]]\nmatch = "a"\nto = "claude-opus-5"\nthinking = {{floor="{floor}", cap="{cap}"}}'
    )

    if LEVELS.index(floor) <= LEVELS.index(cap):
        assert load(path, load_catalog()).routes[0].thinking == LevelRules(floor=floor, cap=cap)
    else:
        with pytest.raises(BadConfig, match="is above cap"):
            load(path, load_catalog())


def test_a_number_of_tokens_may_be_written_as_a_number(read):
    route = '[[route]]\nmatch = "a"\nto = "claude-opus-5"\nthinking = { cap = 8000, floor = "low" }'

    assert read(route).routes[0].thinking == LevelRules(floor="low", cap="8000")
    assert FIGURES["low"] <= 8000


def test_the_file_is_the_one_named_else_the_one_in_the_config_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path))

    assert find_config() is None
    (tmp_path / "gateway.toml").write_text("")
    assert find_config() == tmp_path / "gateway.toml"
    assert find_config("other.toml") == Path("other.toml")


def test_without_routes_the_providers_that_have_a_key_are_served(monkeypatch, read):
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-of-mine")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    for config in (
        default_config(GatewayConfig(), load_catalog()),
        read("[server]\nport = 9000\n"),
    ):
        assert "google" in config.open
        assert "ollama" in config.open, "it needs no key"
        assert "anthropic" not in config.open

    assert "anthropic" in read('[provider.anthropic]\nkey = "file:/run/key"\n').open
    assert read(WHOLE).open == frozenset()
    assert default_config(GatewayConfig(), load_catalog(), offline=True).open == set(
        load_catalog().catalog.providers
    )


@pytest.mark.parametrize(
    ("host", "here"),
    [
        *(("127.0.0.1", True), ("::1", True), ("[::1]", True), ("localhost", True)),
        *(("0.0.0.0", False), ("::", False), ("192.168.1.2", False), ("gate.example", False)),
    ],
)
def test_only_loopback_is_open_to_everybody(host, here):
    assert is_loopback(host) is here
    config = GatewayConfig(server=ServerConfig(host=host))
    assert config.is_exposed is not here
    keyed = msgspec.structs.replace(config, keys=(GatewayKey("ci", f"sha256:{'a' * 64}"),))
    assert not keyed.is_exposed


def test_the_file_is_read_again_and_where_it_listens_stays(read, tmp_path):
    path = tmp_path / "gateway.toml"
    here = msgspec.structs.replace(read(WHOLE), server=ServerConfig(host="0.0.0.0", port=1))
    path.write_text(WHOLE.replace('"claude-*"', '"sonnet"'))

    again = reload_config(here, load_catalog())
    assert again.server == here.server
    assert again.routes[1].match == "sonnet"

    path.write_text(WHOLE.partition("[[key]]")[0])
    with pytest.raises(BadConfig, match="any machine could use this gateway"):
        reload_config(here, load_catalog())
    path.write_text("[sever]")
    with pytest.raises(BadConfig, match=":1: unknown setting 'sever'"):
        reload_config(here, load_catalog())


def test_a_reload_names_the_settings_that_need_a_restart_and_takes_the_others(read, tmp_path):
    path = tmp_path / "gateway.toml"
    alerts = '[alerts]\nwebhook = "https://a.test/hook"\nerror_share = 0.2\n'
    running = read("[server]\nport = 1\nworkers = 2\n" + alerts)
    running = msgspec.structs.replace(running, overridden=frozenset({"workers"}))
    assert running.waiting == ()
    changed = '[server]\nport = 2\nlog = "off"\nworkers = 3\naccept_plain_envelopes = "never"\n'
    path.write_text(changed + alerts.replace("a.test", "b.test").replace("0.2", "0.3"))

    again = reload_config(running, load_catalog())
    assert again.waiting == ("server.port", "server.log", "alerts.webhook")
    assert (again.server.port, again.server.log, again.server.workers) == (1, "stderr", 2)
    assert again.alerts.webhook == "https://a.test/hook"
    assert (again.server.accept_plain_envelopes, again.alerts.error_share) == ("never", 0.3)
    assert reload_config(again, load_catalog()).waiting == again.waiting

    path.write_text("[server]\nport = 1\n" + alerts)
    assert reload_config(again, load_catalog()).waiting == ()


def test_every_setting_of_the_server_holds_after_a_reload_or_is_named(read, tmp_path):
    running = read("[server]\n")
    others = {
        "host": "localhost",
        "port": 9,
        "state": "redis://a",
        "ledger": "off",
        "workers": 2,
        "max_body": 9,
        "max_upload": 9,
        "answer_cache_seconds": 9,
        "answer_cache_bytes": 9,
        "drain_seconds": 9,
        "on_state_loss": "refuse",
        "log": "off",
        "accept_plain_envelopes": "never",
    }
    assert {*others, "envelope_secret"} == {*ServerConfig.__struct_fields__}
    for name, value in others.items():
        (tmp_path / "gateway.toml").write_text(f"[server]\n{name} = {json.dumps(value)}\n")
        again = reload_config(running, load_catalog())
        assert (getattr(again.server, name) == value) != (again.waiting == (f"server.{name}",))


def test_without_a_file_the_environment_is_read_again(monkeypatch, tmp_path):
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path))
    config = load_config(None, load_catalog())
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-of-mine")

    assert "google" not in config.open
    assert "google" in reload_config(config, load_catalog()).open
    assert "anthropic" in reload_config(config, load_catalog(), offline=True).open


def test_others_are_let_in_only_with_keys():
    check_exposure(GatewayConfig())
    with pytest.raises(BadConfig, match="pondero keys create --gateway"):
        check_exposure(GatewayConfig(server=ServerConfig(host="0.0.0.0")))


def test_several_workers_share_what_they_count(read):
    bounded = '[server]\nworkers = 2\n[[route]]\nmatch = "opus"\nto = "anthropic:claude-opus-5"\n'
    check_sharing(read(bounded))
    with pytest.raises(
        BadConfig, match="2 workers would count the limit of route 'opus' separately"
    ):
        check_sharing(read(f"{bounded}limit = {{ requests = 3 }}\n"))
    with pytest.raises(BadConfig, match="would count the budget of route 'opus' separately"):
        check_sharing(read(f"{bounded}budget = {{ cost = 3 }}\n"))
    shared = bounded.replace("[[route]]", 'state = "redis://host:6379/0"\n[[route]]')
    check_sharing(read(f"{shared}limit = {{ requests = 3 }}\n"))


def test_a_reload_that_would_remove_every_key_is_rejected(tmp_path):
    """A file that is cut off may be valid, and without keys every client would have access."""
    file = tmp_path / "gateway.toml"
    route = '[[route]]\nmatch = "opus"\nto = "anthropic:claude-opus-5"\n'
    file.write_text(f'{route}[[key]]\nname = "ci"\nhash = "sha256:{"0" * 64}"\n')
    running = load(file, load_catalog())
    for rest in (route, ""):
        file.write_text(rest)
        with pytest.raises(BadConfig, match=r"no .*key.* any more.*restart"):
            reload_config(running, load_catalog(), offline=True)


def test_a_budget_is_per_month_and_a_limit_per_minute_unless_the_file_says_otherwise(read):
    route = '[[route]]\nmatch = "opus"\nto = "anthropic:claude-opus-5"\n'
    (found,) = read(f"{route}budget = {{ cost = 50 }}\nlimit = {{ requests = 3 }}\n").routes
    assert found.budget is not None
    assert found.limit is not None
    assert (found.budget.per, found.limit.per) == ("month", "minute")


def test_the_example_of_a_period_names_all_that_there_are():
    periods = {*get_args(get_type_hints(SpendBudget)["per"])}
    periods |= {*get_args(get_type_hints(RateLimitRule)["per"])}
    assert periods <= set(re.findall(r'"(\w+)"', EXAMPLES["per"]))
