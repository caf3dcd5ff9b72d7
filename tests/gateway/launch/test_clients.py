"""The clients that can be launched: how each is pointed at a gateway of its own."""

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from string import Template

import pytest

from pondero.errors import UnknownModel
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, LevelRules
from pondero.gateway.config.reader import default_config
from pondero.gateway.config.routing import Routing
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.launch.clients import (
    copy_back,
    load_clients,
    prepare_launch,
    private_config,
)
from pondero.store import load_catalog

CLIENTS = load_clients()
OFFLINE = default_config(GatewayConfig(), load_catalog(), offline=True)
URL, KEY = "http://127.0.0.1:54321", "pnd_a-key-of-its-own"


def prepared(name: str, model: str | None, config: GatewayConfig = OFFLINE, offline=True):
    return private_config(
        config, CLIENTS[name], key=KEY, model=model, lookup=load_catalog(), offline=offline
    )


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with settings of every client, and a private folder beside it."""
    home = tmp_path / "home"
    for name in (".claude/settings.json", ".codex/config.toml", ".gemini/settings.json"):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text('{"security": {"auth": {"selectedType": "other"}, "x": 1}}')
    (home / ".gemini" / "GEMINI.md").write_text("Remember this.")
    monkeypatch.setattr(Path, "home", lambda: home)
    return home


def started(name: str, model: str | None, folder: Path, **environment: str):
    folder.mkdir()
    config, chosen = prepared(name, model)
    routing = Routing(config, load_catalog())
    return prepare_launch(
        CLIENTS[name],
        chosen,
        routing=routing,
        url=URL,
        key=KEY,
        folder=folder,
        environment=environment,
    )


def everything_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_clients_are_those_of_the_design():
    assert set(CLIENTS) == {"claude", "codex", "gemini", "opencode", "pi", "aider", "llm"}


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_is_told_address_key_and_model(name, tmp_path, home):
    before = everything_of(home)
    how = started(name, "gemini-3-flash-preview/high", tmp_path / "private")

    said = "\n".join((*how.arguments, *how.env.values()))
    written = b"\n".join(everything_of(tmp_path / "private").values()).decode()
    assert URL in said + written
    assert KEY in "\n".join(how.env.values())
    assert KEY not in "\n".join(how.arguments), "arguments are seen by everybody on the machine"
    if CLIENTS[name].is_told:
        assert "gemini-3-flash-preview" in said
    assert "$" not in "\n".join(how.arguments)
    assert everything_of(home) == before, "the user's own settings stay byte for byte"


def test_opencode_has_a_variant_for_every_level(tmp_path, home):
    how = started("opencode", "gpt-5.5", tmp_path / "private")
    config = json.loads(how.env["OPENCODE_CONFIG_CONTENT"])
    variants = config["provider"]["pondero"]["models"]["chosen"]["variants"]
    assert list(variants) == ["off", "low", "medium", "high", "max"]
    assert all(options.get("effort", "off") == name for name, options in variants.items())


NODE = shutil.which("node")
RUN = """
const load = await import(process.argv[1]);
load.default({registerProvider: (name, how) => console.log(JSON.stringify(how)), on: () => {}});
"""
SENDS = """
const load = await import(process.argv[1]);
const [provider, level, payload] = JSON.parse(process.argv[2]);
let rewrite;
load.default({
  registerProvider: () => {},
  getThinkingLevel: () => level,
  on: (event, handler) => { if (event === "before_provider_request") rewrite = handler; },
});
const changed = await rewrite({payload}, {model: {provider}});
console.log(JSON.stringify(changed === undefined ? payload : changed));
"""


@pytest.mark.skipif(NODE is None, reason="pi's extension runs in Node.js")
def test_pi_gets_the_key_itself_as_its_versions_read_names_differently(tmp_path, home):
    """Up to 0.74 a name is written bare, later with a dollar; the rest is taken for the key."""
    how = started("pi", "gpt-5.5", tmp_path / "private")
    extension = (tmp_path / "private" / "pondero.js").rename(tmp_path / "pondero.mjs")
    env = {"PATH": os.environ["PATH"], **how.env}
    ran = [NODE, "--input-type=module", "-e", RUN, str(extension)]
    provider = json.loads(subprocess.check_output(ran, env=env, text=True))
    assert provider["apiKey"] == KEY
    assert KEY not in extension.read_text(), "files outlive a process that is killed"


def sent_by_pi(tmp_path, provider: str, level: str, payload: dict) -> dict:
    how = started("pi", "gemini-3-flash-preview", tmp_path / "private")
    extension = (tmp_path / "private" / "pondero.js").rename(tmp_path / "pondero.mjs")
    env = {"PATH": os.environ["PATH"], **how.env}
    turn = json.dumps([provider, level, payload])
    ran = [str(NODE), "--input-type=module", "-e", SENDS, str(extension), turn]
    return json.loads(subprocess.check_output(ran, env=env, text=True))


@pytest.mark.skipif(NODE is None, reason="pi's extension runs in Node.js")
@pytest.mark.parametrize("level", ["minimal", "low", "medium", "high", "xhigh"])
def test_pi_sends_its_level_and_not_a_budget_of_its_own(level, tmp_path, home):
    """2,048 tokens, pi's budget for low, are so few for most models that they mean minimal."""
    thinking = {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}
    sent = sent_by_pi(tmp_path, "pondero", level, {"model": "m", "thinking": thinking})
    assert sent == {
        "model": "m",
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": level},
    }


@pytest.mark.skipif(NODE is None, reason="pi's extension runs in Node.js")
@pytest.mark.parametrize(
    ("provider", "thinking"),
    [
        ("pondero", {"type": "disabled"}),
        ("pondero", {"type": "adaptive"}),
        ("anthropic", {"type": "enabled", "budget_tokens": 2048}),
    ],
)
def test_pi_sends_everything_else_unchanged(provider, thinking, tmp_path, home):
    payload = {"model": "m", "thinking": thinking}
    assert sent_by_pi(tmp_path, provider, "low", payload) == payload


@pytest.mark.parametrize("name", CLIENTS)
def test_what_is_written_can_be_read(name, tmp_path, home):
    how = started(name, "openrouter:openai/gpt-5.5", tmp_path / "private")

    texts = {
        **{path: text.decode() for path, text in everything_of(tmp_path / "private").items()},
        **{variable: text for variable, text in how.env.items() if text.startswith(("{", "\n{"))},
    }
    for path, text in texts.items():
        if path.endswith(".json") or "CONTENT" in path:
            assert json.loads(text)
    for flag, value in zip(how.arguments, how.arguments[1:], strict=False):
        if flag == "-c":
            assert tomllib.loads(value)


@pytest.mark.parametrize("name", CLIENTS)
def test_no_row_names_what_is_not_filled_in(name):
    row = CLIENTS[name]
    always = {"url", "key", "folder"}
    model = {"model", "context", "output", "thinks"}
    for text in (*row.arguments, *row.env.values(), *row.files.values(), *row.merged.values()):
        used = set(Template(text).get_identifiers())
        assert used <= always | (model if row.needs_model else set())
    for text in (*row.model_arguments, *row.model_env.values()):
        assert set(Template(text).get_identifiers()) <= always | model


def test_variables_that_lead_elsewhere_are_taken_out_and_a_proxy_is_passed_by(tmp_path, home):
    how = started(
        "claude",
        None,
        tmp_path / "private",
        ANTHROPIC_API_KEY="the user's own",
        CLAUDE_CODE_USE_BEDROCK="1",
        HTTP_PROXY="http://proxy:1",
        NO_PROXY="internal",
        PATH="/bin",
    )

    assert not {"ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_BEDROCK"} & how.env.keys()
    assert how.env["NO_PROXY"] == "internal,127.0.0.1,localhost"
    assert how.env["PATH"] == "/bin"
    assert "ANTHROPIC_MODEL" not in how.env, "no model was chosen"


def test_a_mirrored_home_shows_what_the_user_has_and_changes_only_what_it_must(tmp_path, home):
    started("gemini", "gpt-5.5", tmp_path / "private")
    mirror = tmp_path / "private" / ".gemini"

    assert (mirror / "GEMINI.md").read_text() == "Remember this."
    assert json.loads((mirror / "settings.json").read_bytes()) == {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "x": 1}
    }
    (mirror / "GEMINI.md").write_text("What the client itself writes goes through.")
    assert (home / ".gemini" / "GEMINI.md").read_text().startswith("What the client")


def test_what_a_client_wrote_beside_its_links_is_brought_home(tmp_path, home):
    before = (home / ".gemini" / "settings.json").read_bytes()
    started("gemini", "gpt-5.5", tmp_path / "private")
    mirror = tmp_path / "private" / ".gemini"
    (mirror / "tmp" / "chats").mkdir(parents=True)
    (mirror / "tmp" / "chats" / "one.json").write_text("a session")
    (mirror / "new.md").write_text("Remember more.")
    (mirror / "new.md").replace(mirror / "GEMINI.md")
    (mirror / "settings.json").write_text("{}")

    copy_back(CLIENTS["gemini"], tmp_path / "private")

    assert (home / ".gemini/tmp/chats/one.json").read_text() == "a session"
    assert (home / ".gemini/GEMINI.md").read_text() == "Remember more."
    assert (home / ".gemini/settings.json").read_bytes() == before


def test_a_first_session_is_brought_home_too(tmp_path, monkeypatch):
    home = tmp_path / "new"
    home.mkdir()
    monkeypatch.setattr(Path, "home", lambda: home)
    started("gemini", "gpt-5.5", tmp_path / "private")
    copy_back(CLIENTS["gemini"], tmp_path / "private")
    assert everything_of(home) == {}
    (tmp_path / "private/.gemini/installation_id").write_text("1")
    copy_back(CLIENTS["gemini"], tmp_path / "private")
    assert everything_of(home) == {".gemini/installation_id": b"1"}
    copy_back(CLIENTS["claude"], tmp_path / "private")


def test_settings_that_are_not_plain_json_are_left_and_not_read(tmp_path, home):
    (home / ".gemini" / "settings.json").write_text("// a comment\n{}")
    started("gemini", "gpt-5.5", tmp_path / "private")

    assert json.loads((tmp_path / "private/.gemini/settings.json").read_bytes()) == {
        "security": {"auth": {"selectedType": "gemini-api-key"}}
    }


def test_the_gateway_is_the_clients_alone():
    config, chosen = prepared("claude", None)

    assert chosen is None
    assert config.server.host == "127.0.0.1"
    assert config.server.port == 0
    assert [key.hash for key in config.keys] == [hash_key(KEY)]
    assert config.open == OFFLINE.open


def test_the_chosen_model_answers_under_every_name_and_its_level_under_its_own():
    config, chosen = prepared("claude", "gemini-3-flash-preview/high")
    routing = Routing(config, load_catalog())

    assert (chosen.name, chosen.entry.id) == (
        "gemini-3-flash-preview",
        "google:gemini-3-flash-preview",
    )
    for said, force in (("gemini-3-flash-preview", "high"), ("claude-haiku-4-5", None)):
        resolved = routing.resolve(said)
        assert [each.id for each in resolved.entries] == ["google:gemini-3-flash-preview"]
        assert resolved.route is not None
        assert resolved.route.thinking.force == force


def test_a_client_that_cannot_be_told_a_name_gets_the_level_under_every_name():
    config, _ = prepared("llm", "gemini-3-flash-preview/high")

    resolved = Routing(config, load_catalog()).resolve("whatever it says")
    assert resolved.route is not None
    assert resolved.route.thinking.force == "high"


def test_a_route_of_the_users_is_taken_with_all_it_says_and_told_by_its_models_name():
    opus = GatewayRoute(
        "opus",
        ("anthropic:claude-opus-5", "bedrock:anthropic.claude-opus-5-v1:0"),
        LevelRules(cap="high"),
    )
    config, chosen = prepared("claude", "opus/max", GatewayConfig(routes=(opus,)))

    assert chosen is not None
    assert chosen.name == "claude-opus-5", "opus is a word that Claude Code itself replaces"
    assert config.routes == (
        GatewayRoute(chosen.name, opus.to, LevelRules(cap="high", force="max")),
        GatewayRoute("*", opus.to, LevelRules(cap="high")),
    )


def test_a_model_that_is_no_route_is_taken_from_the_catalog():
    opus = GatewayConfig(routes=(GatewayRoute("opus", ("anthropic:claude-opus-5",)),))
    _, chosen = prepared("claude", "openrouter:openai/gpt-5.5", opus)

    assert chosen is not None
    assert chosen.entry.id == "openrouter:openai/gpt-5.5"
    assert chosen.name == "openai-gpt-5.5", "a slash would end a segment of an address"
    with pytest.raises(UnknownModel, match="did you mean"):
        prepared("claude", "gemini-3-flsah-preview", opus)
