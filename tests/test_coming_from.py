"""docs/from: theirs and ours run as printed, where their package is installed, on the emulator."""

import io
import re
import shlex
import sys
from hashlib import sha256
from pathlib import Path

import click
import pytest

import pondero
from pondero.cli.app import app, run
from pondero.client import default_client as shared_clients
from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.gateway import hash_key, load_config
from pondero.store import load_catalog

FOLDER = Path(__file__).parents[1] / "docs" / "from"
HERE = (
    *("from/generate-content.md", "from/litellm.md", "from/llm.md", "from/pydantic-ai.md"),
    "from/vendor-sdks.md",
)
"""Pages with blocks of other libraries; tests/test_site.py runs what is ours alone."""

BLOCKS = [
    pytest.param(block, id=f"{page}-{number}")
    for page in HERE
    for number, block in enumerate(
        re.findall(
            r"^```python\n(.*?)^```",
            (FOLDER.parent / page).read_text("utf-8"),
            re.DOTALL | re.MULTILINE,
        )
    )
]


pytestmark = pytest.mark.usefixtures("leaves_open")


@pytest.fixture(scope="module")
def services():
    with run_emulator_in_thread(Emulator()) as where:
        yield where


@pytest.fixture
def offline(services, monkeypatch, tmp_path, config_dir, data_dir):
    """Their clients ask the emulator at an address, ours ask it in process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(pondero.Client, "_make_http_transport", lambda _: Emulator())
    monkeypatch.setattr(pondero.AsyncClient, "_make_http_transport", lambda _: Emulator())
    for held in ("_SHARED", "_ASHARED"):
        monkeypatch.setattr(shared_clients, held, {})
    monkeypatch.setattr(shared_clients, "_close_at_exit", lambda client: client)
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", services)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{services}/v1")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", services)
    for name in ("ANTHROPIC", "OPENAI", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-planted-{name}")


@pytest.mark.judge
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_runs_as_printed_and_gives_the_answer(block, offline, capsys):
    for package in re.findall(r"^(?:from|import) (\w+)", block, re.MULTILINE):
        pytest.importorskip(package)
    exec(compile(block, "docs/from", "exec", dont_inherit=True), {"__name__": "page"})
    printed = capsys.readouterr().out
    said = re.findall(r"print\(.*\)  # ([\d({\[].*)$", block, re.MULTILINE)
    for each in said or ["391"]:
        assert each in printed


PROXY = re.search(
    r"^```toml\n(.*?)^```", (FOLDER / "litellm.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.fixture
def proxy(monkeypatch, tmp_path):
    """The gateway.toml that does what a configuration of the LiteLLM proxy did."""
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:6379/0")
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1/pondero")
    monkeypatch.setenv("SLACK_WEBHOOK_URL", "https://127.0.0.1/hook")
    file = tmp_path / "gateway.toml"
    file.write_text(PROXY[1], "utf-8")
    return file


def test_the_gateway_that_replaces_the_litellm_proxy_is_right(proxy, monkeypatch, capsys):
    for name in ("OPENAI_KEY_A", "OPENAI_KEY_B", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, f"a-key-of-{name}")
    assert run(["serve", "--check", "--config", str(proxy)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "gateway.toml is right." in out
    assert "openai-a:gpt-5.5 (2) or openai-b:gpt-5.5 (1), then anthropic:claude-sonnet-5" in out
    assert "runs alone" not in out


def test_a_virtual_key_of_the_litellm_proxy_opens_the_gateway(proxy):
    token = sha256(b"sk-of-ann").hexdigest()  # what LiteLLM_VerificationToken.token has
    proxy.write_text(re.sub("sha256:[0-9a-f]{64}", f"sha256:{token}", PROXY[1]), "utf-8")
    (ann,) = load_config(str(proxy), load_catalog(), offline=True).keys
    assert ann.name == "ann"
    assert ann.hash == hash_key("sk-of-ann")


def test_every_page_says_what_only_the_other_has_and_how_to_keep_it():
    programs = FOLDER / "programs.md"  # whole programs: tests/examples/test_elsewhere.py
    pages = sorted(set(FOLDER.glob("*.md")) - {programs})
    assert [page.stem for page in pages] == [
        "ai-sdk",
        "generate-content",
        "litellm",
        "llm",
        "pydantic-ai",
        "vendor-sdks",
    ]
    for page in pages:
        text = page.read_text("utf-8")
        assert "\n## Side by side\n" in text
        assert "\n## What has no counterpart here\n" in text
        assert re.search(r"^## (?:Keep .*, take the dial|Only the fields)$", text, re.MULTILINE)


PLANS = re.findall(
    r"^```console\n\$ (.*?)\n(.*?)^```",
    (FOLDER / "generate-content.md").read_text("utf-8"),
    re.DOTALL | re.MULTILINE,
)


@pytest.mark.parametrize(("command", "shown"), PLANS)
def test_both_of_googles_apis_are_planned_as_the_page_shows(command, shown, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert run(shlex.split(command)[1:]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert "\n".join(lines).strip("\n") == shown.strip("\n")


def test_the_options_that_the_page_of_llm_names_are_there():
    cli = pytest.importorskip("llm.cli").cli
    known = {name for each in cli.commands["prompt"].params for name in each.opts}
    theirs, ours = _told(0), _told(1)
    assert min(len(theirs), len(ours)) > 5
    assert theirs - known == set()
    ask = app.get_command(click.Context(app), "ask")
    assert ours - {n for each in ask.params for n in (*each.opts, *each.secondary_opts)} == set()


def _told(column):
    """The options in a column of the table of llm."""
    rows = re.findall(r"^\| (.*) \| (.*) \|$", (FOLDER / "llm.md").read_text("utf-8"), re.MULTILINE)
    words = (re.findall(r"(?<![\w-])--?[\w-]+", row[column]) for row in rows)
    return {word for each in words for word in each} - {"---"}
