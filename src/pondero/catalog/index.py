"""Finds the family of a model name by prefixes: ``gpt-5`` fits ``gpt-5-mini``, not ``gpt-5.1``."""

import re
from collections import Counter
from collections.abc import Iterable
from heapq import nlargest
from itertools import chain, pairwise
from typing import Literal

from msgspec import Struct

from .relatives import ModelLines, fold_name
from .schema import Family

_WORD = re.compile(r"[a-z]{4,}")
_NO_DIGIT = re.compile(r"\D+")
# A version may have a word, as the 5.1x of gpt-5.1x; 8b, 32k, 8x7b and 16e are sizes.
_VERSION = re.compile(r"-\d{1,2}(?!(?:[bekm]|x\d+b)(?![0-9a-z]))[a-z]*(?![0-9a-z])")
_BOUNDARIES = "-:@"  # characters that can follow a name; _BOUNDARY has the conditions
_BOUNDARY = re.compile(r"[-:]|@(?=\d|default|latest)")
_LONGEST = 96  # characters of a name that may be a misspelt one; the longest of all have 60
_SHORTEST = 4  # letters of a word that may be a misspelt one: los is no sol
_NEARLY = 0.85  # of 1: opuss and opus have 0.89, worth and north 0.8
_LIKELY = 24  # names that are compared letter by letter


class FamilyMatch(Struct, frozen=True):
    """A match: the first ``weight`` characters of ``bare`` are ``name`` in the catalog."""

    family: Family
    weight: int
    inferred: bool = False
    name: str = ""
    bare: str = ""
    like: str = ""
    why: Literal["nearest", "oldest", "newest", "word", "any"] = "newest"

    def catalog_name(self, model: str) -> str:
        """Return a model's name in the catalog's spelling, its suffix included."""
        if not self.name or len(self.bare) > len(model):
            return model
        start = len(model) - len(self.bare)
        if model[start : start + self.weight] in self.family.match:
            return model
        rest = model[start + self.weight :]
        return f"{model[:start]}{self.name}{rest if ':' in rest else rest.lower()}"


class FamilyIndex:
    """An index of the names of some families."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._plain: dict[str, tuple[Family, str]] = {}
        self._globs: list[tuple[re.Pattern[str], int, Family]] = []
        for family in families:
            for name in family.match:
                pattern = fold_name(name)
                if "*" in pattern:
                    glob = re.compile(
                        ".*".join(map(re.escape, pattern.split("*"))) + r"(?![0-9a-z])"
                    )
                    self._globs.append((glob, len(pattern) - pattern.count("*"), family))
                else:
                    self._plain.setdefault(pattern, (family, name))

    def best(self, names: Iterable[str]) -> FamilyMatch | None:
        """Return the longest match for any of these names."""
        hits = [hit for name in names if (hit := self._find(name))]
        return max(hits, key=lambda hit: hit.weight, default=None)

    def _find(self, model: str) -> FamilyMatch | None:
        best = _longest(model, self._plain, versions=True)
        for glob, weight, family in self._globs:
            if (best is None or weight >= best.weight) and glob.match(model):
                best = FamilyMatch(family, weight)
        return best


class ProviderFamilies:
    """Finds relatives among one provider's families, for unknown names."""

    def __init__(self, families: list[Family]) -> None:
        self._lines = ModelLines(families)
        self._newest: dict[str, tuple[Family, str]] = {}
        for family in families:
            for line in family.newest_of:
                self._newest.setdefault(fold_name(line), (family, ""))

    def best(self, names: Iterable[str]) -> FamilyMatch | None:
        """Return the nearest version of the same line, else the newest of the line."""
        hits = [hit for name in names if (hit := self._relative(name))]
        return max(hits, key=lambda hit: hit.weight, default=None)

    def _relative(self, model: str) -> FamilyMatch | None:
        line = _longest(model, self._newest, versions=False)
        kin = self._lines.relative(model, line.family if line else None)
        if kin is not None:
            return FamilyMatch(kin.family, kin.weight, inferred=True, like=kin.name, why=kin.why)
        if line is None:
            return None
        whole = (name for name in line.family.match if name and "*" not in name)
        like = next(whole, line.family.name)
        why: Literal["newest", "any"] = "newest" if line.weight else "any"
        return FamilyMatch(line.family, line.weight, inferred=True, like=like, why=why)


def _longest(
    model: str, names: dict[str, tuple[Family, str]], *, versions: bool
) -> FamilyMatch | None:
    whole = len(model)
    for end in (whole, *range(min(whole - 1, _LONGEST), -1, -1)):
        if 0 < end < whole and model[end] not in _BOUNDARIES:
            continue
        found = names.get(model[:end])
        if found is not None and _ends(model, end, versions=versions):
            family, name = found
            return FamilyMatch(family, end, name=name, bare=model)
    return None


def _ends(model: str, end: int, *, versions: bool) -> bool:
    if end in (0, len(model)):
        return True
    return bool(_BOUNDARY.match(model, end)) and not (versions and _VERSION.match(model, end))


# -- misspelt names, for hints and errors ---------------------------------------------------------


def near_name(model: str, names: Iterable[str]) -> str | None:
    """Return the name with the same digits and nearly the same letters."""
    if len(model) > _LONGEST:
        return None
    digits = _NO_DIGIT.sub("", model)
    alike = [name for name in names if digits and _NO_DIGIT.sub("", name) == digits]
    return next(iter(_close(model.lower(), alike, 1, 0.85)), None) if alike else None


def is_misspelt(model: str, words: "SimilarNames") -> bool:
    """Return whether a word of this name is nearly one of ``words``; numbers may be new."""
    if len(model) > _LONGEST:
        return False
    return any(
        word not in words and (words.has_swapped(word) or words.close(word, 1, 0.8))
        for word in dict.fromkeys(_WORD.findall(model.lower()))
    )


def split_words(names: Iterable[str]) -> set[str]:
    """Return the words of names."""
    return set(_WORD.findall(" ".join(names).lower()))


class SimilarNames:
    """Finds the names that are most like a word, fast: clients of a gateway can invent words.

    Only names that have many pairs of letters in common with the word are compared with it.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted(set(names))
        self._known = frozenset(self._names)
        self._swapped = {"".join(sorted(name)) for name in self._names}
        self._sizes = [len(_pairs(name)) for name in self._names]
        self._having: dict[str, list[int]] = {}
        for number, name in enumerate(self._names):
            for pair in _pairs(name):
                self._having.setdefault(pair, []).append(number)

    def __contains__(self, name: str) -> bool:
        """Return whether this is one of the names."""
        return name in self._known

    def has_swapped(self, word: str) -> bool:
        """Return whether a name has the letters of this word in another order."""
        return "".join(sorted(word)) in self._swapped

    def has_nearly(self, word: str) -> bool:
        """Return whether a word differs from a name in a letter or two; short words do not."""
        if len(word) < _SHORTEST:
            return False
        return self.has_swapped(word) or bool(self.close(word, 1, _NEARLY))

    def close(self, word: str, most: int, cutoff: float) -> list[str]:
        """Return the similar names, the nearest first; none for a word that is much too long."""
        if len(word) > _LONGEST:
            return []
        pairs = _pairs(word)
        common = Counter(chain.from_iterable(self._having.get(pair, ()) for pair in pairs))
        size, sizes = len(pairs), self._sizes
        likely = nlargest(_LIKELY, common, key=lambda each: common[each] / (size + sizes[each]))
        return _close(word, sorted(self._names[each] for each in likely), most, cutoff)


def _pairs(word: str) -> set[str]:
    """Return each two letters that follow each other, its first and its last one too."""
    return {*map("".join, pairwise(f" {word} ")), *word}


def _close(word: str, known: Iterable[str], most: int, cutoff: float) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, only for an error

    return get_close_matches(word, list(known), n=most, cutoff=cutoff)
