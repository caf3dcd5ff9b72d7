"""Finds the nearest version of an unknown model's line, as ``gpt`` of ``gpt-5.9-mini``."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from .schema import Family

# One or two digits are a version, then the minor, perhaps with a word (2.5vl); 30b is a size, 2603
# and 20250929 are dates.
_VERSION = re.compile(
    r"(?<![0-9])(\d{1,2})(?:-(\d{1,2})(?=(?!b(?![a-z]))[a-z]*(?![0-9a-z]))|(?![0-9a-z]))"
)
_WORD = re.compile(r"[a-z]+")

Version = tuple[int, int]


class KnownVersion(NamedTuple):
    """A catalogued name of a line: its version, the words after it, its family."""

    version: Version
    words: frozenset[str]
    name: str
    family: Family


class Relative(NamedTuple):
    """The family used for an unknown name; ``weight`` is the length of the line's name."""

    family: Family
    name: str
    weight: int
    why: Literal["nearest", "oldest", "newest"]


def fold_name(name: str) -> str:
    """Return a name for comparison: lower case, only hyphens."""
    return name.lower().replace(".", "-").replace("_", "-")


class ModelLines:
    """The lines of one group of families, by folded name."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._kin: dict[str, list[KnownVersion]] = {}
        for family in families:
            for name in family.match:
                if (parts := _split(fold_name(name))) is not None:
                    line, version, words = parts
                    self._kin.setdefault(line, []).append(
                        KnownVersion(version, words, name, family)
                    )

    def relative(self, model: str, newest: Family | None = None) -> Relative | None:
        """Return the nearest known version not above this, else above; ``newest`` if above all."""
        parts = _split(model)
        if parts is None or parts[0] not in self._kin:
            return None
        line, version, words = parts
        kin = self._kin[line]
        older = [each for each in kin if each.version <= version]
        why: Literal["nearest", "oldest", "newest"] = "nearest"
        if len(older) == len(kin):
            why, older = "newest", [each for each in kin if each.family is newest] or kin
        elif not older:
            why, first = "oldest", min(each.version for each in kin)
            older = [each for each in kin if each.version == first]
        best = max(older, key=lambda each: (each.version, *_alike(each.words, words)))
        return Relative(best.family, best.name, len(line), why)


def _split(name: str) -> tuple[str, Version, frozenset[str]] | None:
    if (found := _VERSION.search(name)) is None or not found.start():
        return None
    version = (int(found[1]), int(found[2] or 0))
    return name[: found.start()].rstrip("-"), version, frozenset(_WORD.findall(name, found.end()))


def _alike(known: frozenset[str], words: frozenset[str]) -> tuple[int, int]:
    return len(known & words), -len(known ^ words)
