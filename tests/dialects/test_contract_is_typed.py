"""A function of a wrong signature in a dialect is an error of the type checker."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKELETON = Path(__file__).parents[1] / "skeleton"
ROOT = Path(__file__).parents[2]
# (file, what stands there, what somebody might write instead)
WRONG = {
    "arguments swapped": (
        "caller/request.py",
        "def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:",
        "def encode(plan: Plan, request: Request, target: Target) -> HttpRequest:",
    ),
    "an argument forgotten": (
        "caller/stream.py",
        "def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[bytes]:",
        "def stream(head: ResponseHead, where: AnswerContext, quirks: object) -> FrameStream[bytes]:",
    ),
    "another result": (
        "service/address.py",
        "def serves(path: str) -> bool:",
        "def serves(path: str) -> str | None:",
    ),
    "a context of another make": (
        "service/rules.py",
        "def accept(http: HttpRequest, _provider: str) -> AcceptedRequest[Context]:",
        "def accept(http: HttpRequest, _provider: str) -> AcceptedRequest[bytes]:",
    ),
    "a stream without an end": (
        "service/reply.py",
        "    def eof(self) -> bytes:",
        "    def finish(self) -> bytes:",
    ),
}


def checked(folder: Path) -> str:
    """Return what mypy says about the dialect in a folder; its cache stays warm beside it."""
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent"]
    command += ["--no-error-summary", "--explicit-package-bases"]
    command += ["--cache-dir", str(folder / "cache"), "eighth"]
    paths = {"MYPYPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        command, cwd=folder, env=paths, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def write(file: Path, text: str) -> None:
    """Write a file so that its time differs from before: mypy looks at time and size first."""
    later = file.stat().st_mtime_ns + 2_000_000_000
    file.write_text(text, "utf-8")
    os.utime(file, ns=(later, later))


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of a dialect that mypy has checked once and found right."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(SKELETON, folder / "eighth", ignore=shutil.ignore_patterns("__pycache__"))
    assert checked(folder) == ""
    return folder


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_signature_is_refused_with_a_warm_cache(copy, mistake):
    name, right, wrong = WRONG[mistake]
    file = copy / "eighth" / name
    text = file.read_text("utf-8")
    assert text.count(right) == 1
    write(file, text.replace(right, wrong))
    try:
        assert "error:" in checked(copy)
    finally:
        write(file, text)
    assert checked(copy) == ""
