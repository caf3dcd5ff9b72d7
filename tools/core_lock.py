"""Prints the part of requirements.lock that ``pip install pondero`` would need, hashes and all.

``make demo`` installs only that. It runs before anything is installed, so it imports nothing but
the standard library; the lock's own ``# via`` lines say who needs what.
"""

import re
import sys
import tomllib
from pathlib import Path

_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?==")
_VIA = re.compile(r"^    #(?: via)?\s+(?P<name>[A-Za-z0-9._-]+)")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def blocks(lock: str) -> dict[str, list[str]]:
    """Return the lines of each pinned package: the pin, its hashes, and who needs it."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in lock.splitlines():
        if pin := _PIN.match(line):
            lines = found.setdefault(_plain(pin["name"]), [])
        if not line.startswith("#"):
            lines.append(line)
    return found


def needed(lock: dict[str, list[str]], wanted: list[str]) -> list[str]:
    """Return the wanted packages with all that they need, in the lock's order."""
    needs: dict[str, set[str]] = {}
    for name, lines in lock.items():
        for line in lines:
            if by := _VIA.match(line):
                needs.setdefault(_plain(by["name"]), set()).add(name)
    reached: set[str] = set()
    waiting = [_plain(name) for name in wanted]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += needs.get(name, ())
    if missing := reached - lock.keys():
        sys.exit(f"requirements.lock has no {', '.join(sorted(missing))}; run make lock")
    return [name for name in lock if name in reached]


def wanted(project: Path) -> list[str]:
    """Return what the package needs to run, and what builds it."""
    read = tomllib.loads(project.read_text("utf-8"))
    stated = [*read["project"]["dependencies"], *read["build-system"]["requires"]]
    return [match[0] for each in stated if (match := _NAME.match(each))]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(root: Path) -> None:
    """Print the part of the lock."""
    lock = blocks((root / "requirements.lock").read_text("utf-8"))
    for name in needed(lock, wanted(root / "pyproject.toml")):
        print("\n".join(lock[name]))


if __name__ == "__main__":
    main(Path(__file__).parents[1])
