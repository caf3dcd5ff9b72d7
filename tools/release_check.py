"""Says whether a checkout may be published under a tag; the release workflow asks it first.

``make release-check TAG=v1.2.3`` calls it. It names everything that is missing, not only the first.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def missing(root: Path, tag: str) -> Iterator[str]:
    """Yield what stands in the way of a release, a sentence each."""
    source = (root / "src" / "pondero" / "__init__.py").read_text("utf-8")
    found = _VERSION.search(source)
    version = found[1] if found else ""
    if tag != f"v{version}":
        yield f"the tag is {tag!r} and the version {version!r}; they differ by the v alone"
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE):
        yield f"CHANGELOG.md has no section for {version}; run make changelog"
    left = [path.name for path in (root / "changes").glob("*.md") if path.name != "README.md"]
    if left:
        yield f"{len(left)} fragments are not in the changelog; run make changelog"
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    for name, url in project.get("urls", {}).items():
        if ".example" in url:
            yield f"the address of {name} in pyproject.toml is a stand-in: {url}"


def main(root: Path, tag: str) -> None:
    """Print what is missing and exit with 1, or say that all is there."""
    found = list(missing(root, tag))
    if found:
        sys.exit("\n".join(found))
    print(f"{tag} may be published")


if __name__ == "__main__":
    main(Path(__file__).parents[1], *sys.argv[1:])
