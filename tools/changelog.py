"""Writes a version's section of CHANGELOG.md from the fragments in ``changes``, and removes them.

``make changelog`` calls it. A section that is there already is added to, so a late fragment needs
nothing but another run.
"""

import datetime as dt
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed"}
_FRAGMENT = re.compile(r"[a-z0-9][a-z0-9-]*\.(" + "|".join(KINDS) + r")\.md")
_SECTION = re.compile(r"^## (?P<title>\S+).*\n(?P<body>(?:(?!^## ).*\n?)*)", re.MULTILINE)
_GROUP = re.compile(r"^### (?P<title>\S+)\n(?P<body>(?:(?!^### ).*\n?)*)", re.MULTILINE)
_UNRELEASED = "Unreleased"


def fragments(folder: Path) -> list[Path]:
    """Return the fragments in order; raises SystemExit for a file that is none."""
    found = sorted(path for path in folder.iterdir() if path.name != "README.md")
    for path in found:
        if not _FRAGMENT.fullmatch(path.name):
            sys.exit(f"{path.name} is no fragment: see {folder.name}/README.md")
        if not path.read_text("utf-8").strip():
            sys.exit(f"{path.name} says nothing")
    return found


def items(paths: Iterable[Path]) -> dict[str, list[str]]:
    """Return the list items of each kind."""
    made: dict[str, list[str]] = {title: [] for title in KINDS.values()}
    for path in paths:
        made[KINDS[path.name.split(".")[1]]].append(_item(path.read_text("utf-8")))
    return made


def _item(text: str) -> str:
    first, *rest = text.strip().splitlines()
    return "\n".join([f"- {first}", *(f"  {line}".rstrip() for line in rest)])


def written(changelog: str, version: str, day: str, new: Mapping[str, list[str]]) -> str:
    """Return the changelog with these items in this version's section, which comes first."""
    head = changelog[: _first(changelog)].rstrip()
    sections = {match["title"]: match for match in _SECTION.finditer(changelog)}
    sections.pop(_UNRELEASED, None)
    same = sections.pop(version, None)
    old = {} if same is None else {m["title"]: m["body"] for m in _GROUP.finditer(same["body"])}
    body = [f"## {version} ({day})"]
    for title in KINDS.values():
        listed = [*([old[title].strip()] if title in old else []), *new.get(title, ())]
        if listed:
            body.append("\n".join([f"### {title}", "", *listed]))
    earlier = [match[0].strip() for match in sections.values()]
    return "\n\n".join([head, *body, *earlier]) + "\n"


def _first(changelog: str) -> int:
    found = _SECTION.search(changelog)
    return found.start() if found else len(changelog)


def version_of(source: Path) -> str:
    """Return the version that the package says it has."""
    found = re.search(r'^__version__ = "(.+)"$', source.read_text("utf-8"), re.MULTILINE)
    if found is None:
        sys.exit(f"there is no __version__ in {source}")
    return found[1]


def main(root: Path) -> None:
    """Write the changelog of a checkout and remove its fragments."""
    paths = fragments(root / "changes")
    if not paths:
        print("there are no fragments; nothing is written")
        return
    version = version_of(root / "src" / "pondero" / "__init__.py")
    file, day = root / "CHANGELOG.md", dt.datetime.now(dt.UTC).date().isoformat()
    text = written(file.read_text("utf-8"), version, day, items(paths))
    file.write_text(text, encoding="utf-8", newline="\n")
    for path in paths:
        path.unlink()
    print(f"CHANGELOG.md has {len(paths)} changes of {version}")


if __name__ == "__main__":
    main(Path(__file__).parents[1])
