"""Describe the rooms of the source for docs/architecture.md: layers, table and picture.

The layers come from the import contracts in pyproject.toml, the rest from the packages themselves.
"""

import ast
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "pondero"
MAIN_NAMES = 5


def layers() -> list[list[str]]:
    """Return the rooms by layer, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (found,) = [each["layers"] for each in contracts["contracts"] if each["type"] == "layers"]
    return [[room.strip() for room in layer.split("|")] for layer in found]


def picture() -> str:
    """Return the layers as a drawing; each may import the ones below it."""
    rows = ["  |  ".join(layer) for layer in layers()]
    width = max(map(len, rows))
    edge = f"+{'-' * (width + 2)}+"
    lines = [edge, *(line for row in rows for line in (f"| {row:^{width}} |", edge))]
    return "\n".join(["```text", *lines, "```"])


def table() -> str:
    """Return every room with its subject, layer, size and the names that others use most."""
    found = layers()
    rows = ["| room | what is in it | layer | lines | main names |", "|---|---|---|---|---|"]
    for number, layer in enumerate(reversed(found), 1):
        for room in layer:
            names = ", ".join(f"`{name}`" for name in main_names(room))
            rows.append(f"| `{room}` | {subject(room)} | {number} | {lines(room)} | {names} |")
    return "\n".join(rows)


def subject(room: str) -> str:
    """Return the first sentence of a room's docstring."""
    text = ast.get_docstring(ast.parse(_entry(room).read_text("utf-8"))) or ""
    return (
        text.split("\n\n")[0].replace("\n", " ").replace("|", "\\|").partition(". ")[0].rstrip(".")
    )


def lines(room: str) -> str:
    """Return a room's size, coarse enough that few changes change it."""
    folder = SOURCE / room
    files = folder.rglob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]
    count = sum(len(path.read_text("utf-8").splitlines()) for path in files)
    return "under 1,000" if count < 1000 else f"about {round(count, -3):,}"


def main_names(room: str) -> list[str]:
    """Return the names of a room that the most files of other rooms import."""
    counted = Counter({name: uses for (home, name), uses in _uses().items() if home == room})
    ordered = sorted(counted, key=lambda name: (-counted[name], name))
    return ordered[:MAIN_NAMES]


@cache
def _uses() -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("pondero", *path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                base = parts[: len(parts) - node.level] if node.level else ()
                target = (*base, *(node.module or "").split("."))
                if len(target) == 2 and target[0] == "pondero" and target[1] != parts[1]:
                    found.update((target[1], each.name) for each in node.names)
    return found


def _entry(room: str) -> Path:
    folder = SOURCE / room
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


BLOCKS = {"layers": picture, "rooms": table}
