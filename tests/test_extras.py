"""The hint for a missing extra is a command that works where pondero was installed."""

import json
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from pondero.extras import install_hint

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FOLDER = {"url": "file:///home/ada/pondero", "dir_info": {}}
IN_PLACE = {"url": "file:///home/ada/my%20pondero", "dir_info": {"editable": True}}
REPOSITORY = {
    "url": "https://example.org/pondero.git",
    "vcs_info": {"vcs": "git", "commit_id": "abc123", "requested_revision": "main"},
}


REQUIRES = [
    "httpx>=1",
    'textual-that-nobody-has>=8; extra == "tui"',
    'pytest>=2; extra == "mcp"',
    'pytest>=2; extra == "gateway"',
    'redis-that-nobody-has; sys_platform != "win32" and extra == "gateway"',
    'pondero[mcp,tui]; extra == "all"',
]


class Installed:
    def __init__(self, **files):
        self.files = files

    def read_text(self, name):
        return self.files.get(name)


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Be the program of an active environment, installed with these files."""

    def become(**files):
        here = metadata.distribution
        known = {"pondero": Installed(**files)}
        monkeypatch.setattr(metadata, "distribution", lambda name: known.get(name) or here(name))
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
        monkeypatch.setattr(sys, "executable", f"{tmp_path}/bin/python")
        monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
        return tmp_path

    return become


@pytest.mark.parametrize(
    ("installer", "source", "hint"),
    [
        ("", {}, "pip install 'pondero[tui]'"),
        ("", "no json", "pip install 'pondero[tui]'"),
        ("pip\n", FOLDER, "pip install 'pondero[tui] @ file:///home/ada/pondero'"),
        ("uv", FOLDER, "uv pip install 'pondero[tui] @ file:///home/ada/pondero'"),
        ("uv", IN_PLACE, "uv pip install -e '/home/ada/my pondero[tui]'"),
        ("pip\n", IN_PLACE, "pip install -e '/home/ada/my pondero[tui]'"),
    ],
)
def test_a_hint_is_in_the_way_of_the_installation(environment, installer, source, hint):
    source = source if isinstance(source, str) else json.dumps(source)
    environment(INSTALLER=installer, **{"direct_url.json": source})
    assert install_hint("tui") == hint


def test_the_environment_is_named_if_it_is_not_the_active_one(environment, monkeypatch):
    folder = environment(INSTALLER="pip")
    monkeypatch.delenv("VIRTUAL_ENV")
    assert install_hint("tui") == f"{folder}/bin/python -m pip install 'pondero[tui]'"
    environment(INSTALLER="uv")
    monkeypatch.setenv("VIRTUAL_ENV", "/home/ada/other")
    assert install_hint("tui") == f"uv pip install --python {folder} 'pondero[tui]'"


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("uv-receipt.toml", "uv tool install --force"),
        ("pipx_metadata.json", "pipx install --force"),
    ],
)
def test_a_tool_is_told_by_its_receipt_and_keeps_the_extras_that_are_there(
    environment, monkeypatch, receipt, command
):
    folder = environment(INSTALLER="uv", **{"direct_url.json": json.dumps(REPOSITORY)})
    (folder / receipt).write_text("")
    monkeypatch.setattr(metadata, "requires", lambda _: REQUIRES)
    source = "git+https://example.org/pondero.git@abc123"
    assert install_hint("tui") == f"{command} 'pondero[mcp,tui] @ {source}'"


def test_a_program_that_is_not_installed_has_a_hint(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert install_hint("tui").endswith("install 'pondero[tui]'")


def test_no_other_file_writes_such_a_hint_itself():
    for file in (ROOT / "src").rglob("*.py"):
        if file.name != "extras.py":
            assert "install 'pondero[" not in file.read_text("utf-8"), file


def test_what_the_readme_installs_runs_the_emulators_server():
    gateway = (ROOT / "pyproject.toml").read_text("utf-8").partition("\ngateway = [")[2]
    server = PROJECT["optional-dependencies"]["server"]
    assert {line.split(">=")[0] for line in server} == {"starlette", "uvicorn"}
    for line in server:
        assert f'"{line}"' in gateway.partition("]\n")[0]
