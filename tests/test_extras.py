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


class Installed:
    def __init__(self, **files):
        self.files = files

    def read_text(self, name):
        return self.files.get(name)


@pytest.mark.parametrize(
    ("files", "prefix", "hint"),
    [
        ({}, "/usr", "pip install 'pondero[tui]'"),
        (
            {"direct_url.json": json.dumps(FOLDER), "INSTALLER": "pip\n"},
            "/home/ada/.venv",
            "pip install 'pondero[tui] @ file:///home/ada/pondero'",
        ),
        (
            {"direct_url.json": json.dumps(FOLDER), "INSTALLER": "uv"},
            "/home/ada/.venv",
            "uv pip install 'pondero[tui] @ file:///home/ada/pondero'",
        ),
        (
            {"direct_url.json": json.dumps(IN_PLACE), "INSTALLER": "uv"},
            "/home/ada/.venv",
            "uv pip install -e '/home/ada/my pondero[tui]'",
        ),
        (
            {"direct_url.json": json.dumps(IN_PLACE), "INSTALLER": "pip\n"},
            "/home/ada/.venv",
            "pip install -e '/home/ada/my pondero[tui]'",
        ),
        (
            {"direct_url.json": json.dumps(REPOSITORY), "INSTALLER": "uv"},
            "/home/ada/.local/share/uv/tools/pondero",
            "uv tool install --force 'pondero[tui] @ git+https://example.org/pondero.git@abc123'",
        ),
        (
            {"direct_url.json": "no json"},
            "/home/ada/.local/share/pipx/venvs/pondero",
            "pipx install --force 'pondero[tui]'",
        ),
        (
            {"INSTALLER": "uv"},
            "C:\\Users\\Ada\\uv\\tools\\pondero",
            "uv tool install --force 'pondero[tui]'",
        ),
    ],
)
def test_a_hint_is_in_the_way_of_the_installation(monkeypatch, files, prefix, hint):
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(**files))
    monkeypatch.setattr(sys, "prefix", prefix)
    assert install_hint("tui") == hint


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
