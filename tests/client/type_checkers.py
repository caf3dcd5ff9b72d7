"""Runs mypy and pyright, each once over a folder, as strictly as they can, and reads what they say.

The blocks of a page of the documentation are programs: one that imports pondero begins a new one,
the others continue it.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLUGINS = [str(folder) for folder in sorted((ROOT / "plugins").iterdir())]
SOURCES = [str(ROOT), str(ROOT / "src"), *PLUGINS]
_UNKNOWN_MEMBERS = "# pyright: reportUnknownMemberType=false"
THEIR_GAPS = {"google": _UNKNOWN_MEMBERS, "llm": _UNKNOWN_MEMBERS}
"""Packages whose own types have gaps, and the rule of pyright that reports them to their users."""

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
_OURS = re.compile(r"^import (?:.*, )?pondero$", re.MULTILINE)
_FOUND = re.compile(r"^\s*(?P<file>[^:\s]+\.py):(?P<line>\d+):(?:\d+)?(?: -)? (?P<kind>error|note)")

Findings = dict[tuple[str, int], str]
"""What a checker says, by the file's name and the line."""


def doc_programs() -> Iterator[tuple[str, str]]:
    """Yield the programs of all pages by a file's name; their lines have the page's numbers."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text("utf-8")
        stem = re.sub(r"\W", "_", page.relative_to(ROOT).with_suffix("").as_posix())
        programs: list[list[str]] = []
        for block in _BLOCK.finditer(text):
            if not programs or _OURS.search(block[1]):
                programs.append([])
            begin = text.count("\n", 0, block.start(1))
            lines = programs[-1]
            lines += [""] * (begin - len(lines)) + block[1].splitlines()
        for number, lines in enumerate(programs):
            gaps = {rule for name, rule in THEIR_GAPS.items() if name in _imports(lines)}
            yield f"{stem}_{number}.py", "\n".join([*sorted(gaps), *lines[len(gaps) :], ""])


def is_installed(program: str) -> bool:
    """Return whether all packages that a program imports are here."""
    sys.path[:0] = PLUGINS
    try:
        return all(find_spec(name) for name in _imports(program.splitlines()))
    finally:
        del sys.path[: len(PLUGINS)]


def _imports(lines: list[str]) -> set[str]:
    return {name for line in lines for name in _IMPORT.findall(line)}


def run_mypy(folder: Path, *options: str) -> Findings:
    """Return what mypy says of a folder's files, without the types of large packages."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    lines = ["[mypy]", "strict = True", f"mypy_path = {':'.join(SOURCES)}", *options]
    for each in settings["overrides"]:
        if each.get("ignore_missing_imports"):
            lines += [f"[mypy-{','.join(each['module'])}]", "ignore_missing_imports = True"]
            lines += ["follow_imports = skip"] if "follow_imports" in each else []
    config = folder / "mypy.ini"
    config.write_text("\n".join(lines))
    command = ["mypy", "--config-file", str(config), "--cache-dir", str(folder / "cache")]
    return _run([*command, "--no-error-summary", str(folder)])


def run_pyright(folder: Path) -> Findings:
    """Return what pyright says of a folder's files; its wheel brings all that it runs."""
    settings = {"include": ["."], "extraPaths": SOURCES, "typeCheckingMode": "strict"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return _run(["pyright", "-p", str(folder), f"--pythonpath={sys.executable}"])


def _run(command: list[str]) -> Findings:
    ran = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT, check=False
    )
    found: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    at: tuple[str, int] | None = None
    for line in ran.stdout.splitlines():
        if match := _FOUND.match(line):
            at = Path(match["file"]).name, int(match["line"])
        if at is not None and (match or line[:1].isspace()):
            found[at].append(line.strip())
    assert bool(found) == (ran.returncode == 1), ran.stdout + ran.stderr
    return {at: "\n".join(lines) for at, lines in found.items()}


CHECKERS = {"mypy": run_mypy, "pyright": run_pyright}
