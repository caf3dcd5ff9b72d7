"""The image of ``deploy/Dockerfile`` as far as it shows without an engine: its commands are run here."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.gateway.sign_in.console_gateway import find_port
from tests.kubernetes_checks import DEPLOY, DOCKERFILE, find_line

# Notes every file that is opened for writing, made, moved or deleted.
WATCHED = """
import os, sys
notes = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def watch(event, given):
    if event == "open":
        path, mode, flags = given
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) if isinstance(flags, int) else 0
        if not writes or isinstance(path, int):
            return
    elif event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink",
                   "os.truncate", "os.chmod", "sqlite3.connect"):
        path = given[0]
        if event in ("os.remove", "os.rmdir") and given[1] != -1:
            return  # of a folder that is deleted, by its descriptor
    else:
        return
    os.write(notes, (os.fsdecode(path) + "\\n").encode())
sys.addaudithook(watch)
from pondero.cli import main
main()
"""
CONFIG = """\
[server]
workers = {workers}
[[route]]
match = "opus"
to = "anthropic:claude-opus-5"
[[key]]
name = "ci"
hash = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
"""


_TRIES = 300  # each starts a process, so that the gateway has minutes to begin


class Container:
    """A gateway that runs as in the container, with its folders at other places."""

    def __init__(self, folder: Path, *, workers: int = 1) -> None:
        for name in ("config", "data", "home", "tmp"):
            (folder / name).mkdir()
        (folder / "config" / "gateway.toml").write_text(CONFIG.format(workers=workers))
        (folder / "home").chmod(0o500)
        (folder / "config").chmod(0o500)
        self.folder = folder
        self.port = find_port()

    @contextmanager
    def run(self, **variables: str) -> Iterator[subprocess.Popen[str]]:
        """Run the command of the image until the block ends."""
        entry, command = (
            yaml.safe_load(find_line(rf"^{each} (\[.*\])$")) for each in ("ENTRYPOINT", "CMD")
        )
        assert entry == ["pondero"]
        given = [
            str(self.folder / each.lstrip("/")) if each.startswith("/") else each
            for each in command
        ]
        given[given.index("0.0.0.0")] = "127.0.0.1"
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        environment = {
            **kept,
            "HOME": str(self.folder / "home"),
            "PONDERO_DATA_DIR": str(self.folder / "data"),
            "PONDERO_CONFIG_DIR": str(self.folder / "config"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.folder / "tmp"),
            "NOTES": str(self.folder / "notes"),
            **variables,
        }
        line = [sys.executable, "-c", WATCHED, *given, "--port", str(self.port)]
        with subprocess.Popen(
            line, env=environment, cwd="/", stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                yield process
            finally:
                process.terminate()
                process.communicate(timeout=60)

    def check(self, test: list[str]) -> int:
        """Run a health check, and return its status."""
        assert test[0] == "python"
        assert ":8787/" in test[-1]
        line = [sys.executable, *test[1:-1], test[-1].replace(":8787/", f":{self.port}/")]
        return subprocess.run(line, check=False, timeout=60, capture_output=True).returncode

    def wait(self, test: list[str], process: subprocess.Popen[str]) -> None:
        """Run a health check until it passes."""
        for _ in range(_TRIES):
            if self.check(test) == 0:
                return
            assert process.poll() is None, process.communicate()[1]
        raise AssertionError(test)

    def list_written(self) -> set[str]:
        """Return the places that were written to, by their first folder under the container's."""
        lines = (self.folder / "notes").read_text().splitlines()
        found = set()
        for line in lines:
            path = Path("/", line)
            if path.is_relative_to("/dev/shm"):
                found.add("tmp")
            elif path.is_relative_to(self.folder):
                found.add(path.relative_to(self.folder).parts[0])
            else:
                found.add(line)
        return found


HEALTH = json.loads(find_line(r"^    CMD (\[\"python\".*\])$"))
READY = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]["gateway"][
    "healthcheck"
]["test"][1:]


@pytest.mark.parametrize("workers", [1, 2])
def test_it_runs_where_only_the_data_and_temporary_files_can_be_written(tmp_path, workers):
    container = Container(tmp_path, workers=workers)
    with container.run(ANTHROPIC_API_KEY="a-key-0123456789") as process:
        container.wait(HEALTH, process)
        container.wait(READY, process)
    assert container.list_written() - {"data", "tmp", os.devnull} == set()
    assert "data" in container.list_written()


def test_the_checks_of_health_say_what_they_are_for(tmp_path):
    container = Container(tmp_path)
    assert container.check(HEALTH) != 0  # nothing runs yet
    with container.run() as process:
        container.wait(HEALTH, process)
        assert container.check(READY) != 0  # alive, but no provider has a key
    assert container.check(HEALTH) != 0


def test_the_image_writes_to_its_volume_which_is_the_home_of_its_user():
    data = find_line(r"PONDERO_DATA_DIR=(\S+)")
    assert f"\nVOLUME {data}\n" in DOCKERFILE
    assert f"--home-dir {data} " in DOCKERFILE
