"""The law of secrets: a key that is planted anywhere is in no file, no output and no log.

The judge knows nothing of the redactor: it searches bytes for every spelling of the key.
"""

import asyncio
import json
import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.gateway.asgi import came

import pondero
from pondero.canon import HttpRequest
from pondero.emulator import Emulator, ScriptedTurn
from pondero.errors import CassetteError
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.observability.observers import open_observers
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.store import save_key
from pondero.vcr import Cassette

_LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0"
# In two pieces: nothing in this file looks like a key.
SHAPES = {
    "anthropic": "sk-" + "ant-api03-" + _LETTERS,
    "openai": "sk-" + "proj-" + _LETTERS,
    "google": "AIza" + "Sy" + _LETTERS + "xyz",
    "groq": "gsk_" + _LETTERS,
    "xai": "xai-" + _LETTERS * 2,
    "hugging_face": "hf_" + _LETTERS,
    "replicate": "r8_" + _LETTERS,
    "github": "ghp_" + _LETTERS,
    "aws": "AKIA" + "IOSFODNN7EXAMPL3",
    "gateway": "pnd_" + _LETTERS + "_-" + _LETTERS[:11],
}
KNOWN = {
    "kept": "Qm7/plain+mistral&key=" + "0123456789",
    "keyring": "nothing-like-a-key-in-the-ring",
    "environment": "k3y of&nobody's shape" + "-9876",
    "own_provider": "a-credential-by-another-name",
}
EVERY = {**SHAPES, **KNOWN}
QUICK = ["anthropic", *KNOWN]  # the long walks; every shape is tried in the short ones


def spell(key: str) -> set[bytes]:
    """Return the bytes in which a key could be found."""
    raw = key.encode()
    found = {raw, key.encode("utf-16-le"), key.encode("utf-16-be")}
    found |= {json.dumps(key)[1:-1].encode(), json.dumps(json.dumps(key))[3:-3].encode()}
    for before in range(3):
        whole = b64encode(b"\0" * before + raw)
        found.add(whole[4:] if before else whole)
        found = {each.rstrip(b"=") for each in found}
    # The last letters of base64 depend on what follows.
    return {each if raw in each or b"\0" in each else each[:-2] for each in found}


def search(key: str, outputs: list[str], *folders: Path, but: tuple[Path, ...] = ()) -> None:
    texts = {f"output {n}": text.encode() for n, text in enumerate(outputs)}
    for folder in folders:
        for path in folder.rglob("*"):
            texts[f"the name {path.name}"] = path.name.encode()
            if path.is_file() and path not in but:
                texts[str(path)] = path.read_bytes()
    assert texts
    for where, text in texts.items():
        for spelling in spell(key):
            assert spelling not in text, f"{where}: {text[:2000]!r}"


@pytest.fixture
def plant(config_dir, data_dir, monkeypatch):
    """Make a key known as its name says, and return it."""
    monkeypatch.setattr("pondero.store.secrets._in_use", set())

    def planted(name: str) -> str:
        key = EVERY[name]
        if name == "kept":
            save_key("MISTRAL_API_KEY", key)
        elif name == "keyring":
            ring = SimpleNamespace(
                errors=SimpleNamespace(KeyringError=ValueError),
                set_password=lambda *_: None,
                get_password=lambda _service, _variable: key,
            )
            monkeypatch.setattr("pondero.store.secrets._find_keyring", lambda: ring)
            assert save_key("MISTRAL_API_KEY", key) == "keyring"
        elif name == "environment":
            monkeypatch.setenv("SOMEONES_TOKEN", key)
        elif name == "own_provider":
            monkeypatch.setenv("ACME_CRED", key)
            provider = config_dir / "providers" / "acme.toml"
            provider.parent.mkdir()
            provider.write_text(
                'label = "Acme"\nurl = "https://acme.test/v1"\nsource = "https://acme.test"\n'
                'checked = "2026-11-16"\ndialect = "openai_chat"\nkeys = ["ACME_CRED"]\n'
            )
            pondero.store.load_catalog.cache_clear()
        # As in a new process: only the files and the environment say what is a key.
        monkeypatch.setattr("pondero.store.secrets._in_use", set())
        return key

    yield planted
    pondero.store.load_catalog.cache_clear()


def kept_file(config_dir: Path) -> tuple[Path, ...]:
    return (config_dir / "keys.json",)


@pytest.mark.parametrize("name", EVERY)
def test_ask_writes_no_key(name, plant, call, config_dir, data_dir, tmp_path):
    key = plant(name)
    note = tmp_path / "note.txt"
    note.write_text(f"the note says {key} here")
    said = []

    def run(*arguments, code=0, **how):
        got, out, err = call(*arguments, **how)
        said.extend((out, err))
        assert got in (code, 1 if code is None else code), (arguments, out, err)

    model = ("claude-opus-5/low", "--offline")
    run("ask", *model, f"Repeat: my key is {key}.", "--system", f"It is {key}", "--thinking")
    if name in QUICK:
        for how in (("--json",), ("--json-lines",), ("--wire", "--usage"), ("--levels", "low,max")):
            run("ask", *model[1:], "-m", "claude-opus-5", key, *how)
        run("ask", *model, "Read it.", "--attach", str(note), "--wire")
        run("ask", "-c", "--offline", f"And {key}?")
    run("ask", f"no-such:{key}", "Hi", code=2)
    run("threads", "list")
    run("threads", "show", "last", "--json")
    run("threads", "search", "key")
    for ending in ("md", "html", "jsonl"):
        run("threads", "export", "last", "--to", str(tmp_path / "data" / f"talk.{ending}"))
    assert "REDACTED" in (tmp_path / "data" / "talk.md").read_text()
    search(key, said, config_dir, data_dir, but=kept_file(config_dir))


@pytest.mark.parametrize("name", EVERY)
def test_settings_and_templates_reject_a_key(name, plant, call, config_dir, data_dir):
    key = plant(name)
    said = []
    quoted = json.dumps(key)
    for arguments, stdin in (
        (("config", "set", "model", key), ""),
        (("config", "set", "model", f"acme:{key}/high"), ""),
        (("config", "set", "tools.approved", json.dumps([key])), ""),
        (("templates", "edit", "mine"), f"prompt = {quoted}\n"),
        (("templates", "edit", "mine"), f'prompt = "Hi"\n[defaults]\nname = {quoted}\n'),
    ):
        code, out, err = call(*arguments, stdin=stdin)
        said += [out, err]
        assert (code, "hold" in err) == (2, True), (arguments, err)
    template = config_dir / "templates" / "mine.toml"
    template.parent.mkdir(exist_ok=True)
    template.write_text(f"prompt = {quoted}\n")
    code, out, err = call("ask", "-t", "mine", "claude-opus-5", "--offline")
    assert (code, "holds a key" in err) == (2, True)
    search(key, [*said, out, err], config_dir, but=(*kept_file(config_dir), template))


@pytest.mark.parametrize("name", QUICK)
def test_batches_and_sweeps_keep_no_key(name, plant, call, config_dir, data_dir, tmp_path):
    key = plant(name)
    said = []
    asks = tmp_path / "asks.jsonl"
    asks.write_text(json.dumps({"id": "one", "prompt": f"my key is {key}"}) + "\n")
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"input": f"my key is {key}", "target": "4"}) + "\n")
    for arguments in (
        ("batch", "run", str(asks), "-m", "gpt-5.5", "--offline"),
        ("sweep", "run", str(questions), "-m", "claude-opus-5", "--offline", "--yes"),
    ):
        code, out, err = call(*arguments)
        said += [out, err]
        assert (code, "holds a key" in err) == (2, True), err
    search(key, said, config_dir, data_dir, but=kept_file(config_dir))


@pytest.mark.parametrize("name", EVERY)
def test_a_cassette_keeps_no_key(name, plant, tmp_path, config_dir):
    key = plant(name)
    path = tmp_path / "cassettes" / "talk.jsonl"
    emulator = Emulator(any_model=True)
    # A known key that a stream has in pieces stops the recording too; that is its own test.
    emulator.expect(ScriptedTurn(text="it is fine" if name in KNOWN else f"it is {key}"))
    said = []
    try:
        with (
            Cassette(path, record=True, transport=emulator) as cassette,
            pondero.Client(transport=cassette) as client,
        ):
            client.ask("claude-opus-5", f"my key is {key}", system=f"or {key}")
    except CassetteError as error:  # a shape that nothing names is not written at all
        said.append(str(error))
    assert path.exists() is (name in KNOWN)
    search(key, [*said, ""], path.parent)


_BODIES = {
    "prompt": lambda key: {"messages": [{"role": "user", "content": f"my key is {key}"}]},
    "system": lambda key: {"system": key},
    "model": lambda key: {"model": f"opus:{key}"},
    "tool": lambda key: {"tools": [{"name": "a", "description": key, "input_schema": {}}]},
    "invalid": lambda key: {"max_tokens": key},
    "unknown": lambda key: {key: key},
}


@pytest.mark.parametrize("name", EVERY)
def test_the_gateway_records_no_key(name, plant, data_dir, config_dir, tmp_path, caplog, capfd):
    key = plant(name)
    data_dir.mkdir()
    log = data_dir / "access.log"
    config = GatewayConfig(
        ServerConfig(log=str(log)),
        (GatewayRoute(match="opus*", to=("anthropic:claude-opus-5",)),),
    )
    usual = {
        "model": "opus",
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "Hi"}],
    }

    async def run(app: App) -> list[str]:
        pages = []
        for place, make in _BODIES.items():
            http = HttpRequest(
                "POST",
                "http://gateway/v1/messages",
                {"content-type": "application/json", "x-note": key, "x-api-key": key},
                json.dumps(usual | make(key)).encode(),
            )
            response = await came(app, http)
            if response.status >= 400:
                pages.append(response.body.decode())
            assert place != "invalid" or response.status == 400
        for path in (f"/v1/nothing/{key}", "/admin/requests", "/admin/figures", "/metrics"):
            url = f"http://gateway{path}"
            pages.append((await came(app, HttpRequest("GET", url, {}, b""))).body.decode())
        return pages

    with open_observers(config.server) as seen:
        database = seen.ledger.database
        emulator = Emulator(any_model=True)
        context = GatewayContext(config, emulator, observers=seen.told, ledger=database)
        pages = asyncio.run(run(App(context, seen)))
    assert log.exists()
    said = [*pages, *capfd.readouterr(), *(each.getMessage() for each in caplog.records)]
    said.append(json.dumps([str(each) for each in emulator.log.entries]))
    search(key, said, data_dir, config_dir, but=kept_file(config_dir))


def test_the_prompt_is_sent_unchanged(plant):
    key = plant("kept")
    prepared = pondero.Client(keys={"openai": "x"}).prepare("gpt-5.5", f"my key is {key}")
    assert json.dumps(key)[1:-1].encode() in prepared.request.body


_START = """
import sys
class Ring:
    def __getattr__(self, name): raise AssertionError("the keyring was opened")
import pondero.store.secrets as secrets
secrets._find_keyring = Ring()
from pondero.cli.app import run
sys.exit(run(sys.argv[1:]))
"""


def test_plan_and_settings_open_no_keyring(config_dir):
    (config_dir / "keys.json").write_text('{"MISTRAL_API_KEY": null}')
    (config_dir / "config.toml").write_text('thinking = "low"\n')
    for arguments in (["plan", "claude-opus-5/high"], ["config", "get"], ["keys", "list"]):
        ended = subprocess.run(
            [sys.executable, "-c", _START, *arguments],
            capture_output=True,
            env={**os.environ, "PONDERO_CONFIG_DIR": str(config_dir)},
            check=False,
        )
        assert ended.returncode == 0, ended.stderr.decode()
