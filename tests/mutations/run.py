"""Plants each defect of plantings.toml in a copy of the tree; the tests named for it must fail.

``make mutants`` runs all of them, ``make mutants ROWS="A93 E36"`` those of some rows.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_PYTEST = ("-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", "--no-header")
_COMPILE = ("-c", "from pondero.catalog import write_compiled; write_compiled()")
_FAILED = 1  # pytest's word for it; what cannot be imported or collected gives another
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "site", "node_modules")

Planting = dict[str, str]


def load_plantings() -> list[Planting]:
    """Return the table: where a defect is planted, and the tests that must notice it."""
    plantings: list[Planting] = _load(Path(__file__).with_name("plantings.toml"))["planting"]
    return plantings


def load_requirements() -> dict[str, Any]:
    """Return the requirements list: rows, and the tests that show each."""
    return _load(ROOT / "docs" / "requirements.toml")


def find_tests(planting: Planting) -> list[str]:
    """Return the tests that must notice: its own, or those that the requirements name for its row."""
    if "test" in planting:
        return [planting["test"]]
    listed = load_requirements()
    found: list[str] = []
    for name in listed["rows"][planting["row"]]["shown"]:
        alias, _, scenario = name.partition(":")
        if "::" in name:
            found.append(name)
        elif scenario:
            found += _find_cases(listed["tests"][alias], scenario)
        else:
            found.append(listed["tests"][alias])
    return found


@contextmanager
def planted(planting: Planting, tree: Path, number: int) -> Iterator[None]:
    """Plant the defect in a tree, and remove it afterwards; raises LookupError if it has no place."""
    path = tree / planting["file"]
    text, times = path.read_text("utf-8"), path.stat()
    if text.count(planting["old"]) != 1:
        message = f"{planting['file']} must have once: {planting['old']!r}"
        raise LookupError(message)
    path.write_text(text.replace(planting["old"], planting["new"]), "utf-8")
    os.utime(path, (times.st_atime, times.st_mtime + number))  # bytecode is known by its time
    _compile(path, tree)
    try:
        yield
    finally:
        path.write_text(text, "utf-8")
        os.utime(path, (times.st_atime, times.st_mtime))
        _compile(path, tree)


def survivors(plantings: Sequence[Planting], tree: Path) -> Iterator[Planting]:
    """Yield the plantings that no test named for them notices, and print how each one went."""
    for number, planting in enumerate(plantings, 1):
        with planted(planting, tree, number):
            done = _run(tree, *_PYTEST, "--inline-snapshot=disable", *find_tests(planting))
        noticed = done.returncode == _FAILED
        failed = re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE)
        print(planting["row"], planting["what"], *failed, sep=" · ", flush=True)
        if not noticed:
            print(done.stdout[-2_000:], done.stderr[-2_000:], "SURVIVED", sep="\n", flush=True)
            yield planting


def main(rows: Sequence[str]) -> int:
    """Return 1 if a planted defect survives."""
    chosen = [each for each in load_plantings() if not rows or each["row"] in rows]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(shutil.copytree(ROOT, Path(folder) / "tree", ignore=_LEFT_OUT))
        left = len(list(survivors(chosen, tree)))
    print(f"{len(chosen)} planted, {left} survived")
    return int(left > 0)


@cache
def _load(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


@cache
def _find_cases(node: str, scenario: str) -> list[str]:
    """Return the cases of a test that run one scenario."""
    found = _run(ROOT, *_PYTEST, "--collect-only", node, "-k", scenario).stdout
    return [line for line in found.splitlines() if f"[{scenario}-" in line]


def _compile(path: Path, tree: Path) -> None:
    if path.suffix == ".toml":
        _run(tree, *_COMPILE).check_returncode()


def _run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree / "src"),
        "HYPOTHESIS_PROFILE": "quick",
        "COLUMNS": "400",  # so that pytest writes the names of tests whole
    }
    environment.pop("PONDERO_RECORDINGS", None)  # a proof must not need what few people have
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tree, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
