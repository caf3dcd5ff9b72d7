"""Short names, as ``opus``: each means the newest model of a product line, by rule.

A line is the models of a group whose names have the same words: ``claude-opus-5`` and
``claude-3-opus`` are of the line ``claude-opus``. The newest is the one that the catalog calls so
(``newest_of``), else the one with the highest version. No name is listed in Python: words that
several makers use are the group's ``words``, and those that say nothing are in ``names.toml``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ..thinking import is_level_text
from .relatives import Version, fold_name
from .schema import Catalog, Family, FamilyGroup

_TOKEN = re.compile(r"([a-z]*)(\d{1,2})?")
_SHORTEST = 3  # letters of a short name: glm, gpt
_NO_VERSION = (-1, 0)  # of a name such as codestral-latest
_PARTS = 2  # numbers of a version: 5 and 1 of 5.1


class ShortName(NamedTuple):
    """A short name's model, by its full name, and the line whose newest model it is."""

    id: str
    line: str


def describe_meaning(name: str, meant: ShortName) -> str:
    """Say which model a short name means, and why."""
    return f"{name} is {meant.id}, the newest {meant.line} in the catalog"


class LineMember(NamedTuple):
    """A catalogued name: its words, its version, and the lines whose newest its family is.

    ``settled`` if it is no preview.
    """

    words: tuple[str, ...]
    version: Version
    settled: bool
    newest_of: tuple[str, ...]
    name: str


IsServed = Callable[[str, str], bool]
"""Whether a provider is known to serve a model under this very name."""


def find_short_names(
    catalog: Catalog, served: IsServed
) -> tuple[dict[str, ShortName], dict[str, list[str]]]:
    """Return the short names, and the words that several lines have, each with those lines."""
    lines: dict[str, ShortName] = {}
    roots: dict[str, ShortName] = {}
    tails: dict[str, list[ShortName]] = {}
    owned: dict[str, ShortName] = {}
    for group in catalog.groups.values():
        if group.home not in catalog.providers:
            continue
        newest = _newest_members(group, catalog, served)
        roots |= dict(_find_roots(group, newest))
        for words, member in newest.items():
            short = ShortName(f"{group.home}:{member.name}", "-".join(words))
            lines[short.line] = short
            if tail := "-".join(words[1:]):
                tails.setdefault(tail, []).append(short)
                owned |= {tail: short} if tail in group.words else {}
    alone = {tail: found[0] for tail, found in tails.items() if len(found) == 1}
    flagships = {name: short for name, short in roots.items() if name in lines}
    rules = _NameRules(catalog)
    whole = {
        name: short
        for name, short in (roots | alone | lines | flagships).items()
        if rules.allows(name, short)
    } | owned
    return whole, {
        tail: [short.line for short in found] for tail, found in tails.items() if tail not in whole
    }


class _NameRules:
    """Which words may be short names: no level, no word of many makers, no other provider."""

    def __init__(self, catalog: Catalog) -> None:
        self._generic = frozenset(catalog.names.generic)
        self._providers = catalog.providers

    def allows(self, name: str, short: ShortName) -> bool:
        """Return whether a word may mean this model."""
        if (
            len(name) < _SHORTEST
            or is_level_text(name)
            or self._generic.issuperset(name.split("-"))
        ):
            return False
        return name not in self._providers or short.id.startswith(f"{name}:")


def _newest_members(
    group: FamilyGroup, catalog: Catalog, served: IsServed
) -> dict[tuple[str, ...], LineMember]:
    """Return the newest model of each line, in the catalog's order."""
    home = group.home or ""
    absent = catalog.providers[home].absent
    members: dict[tuple[str, ...], list[LineMember]] = {}
    for family in group.family:
        for member in _list_members(family, catalog.names.statuses):
            if member.name not in absent:
                members.setdefault(member.words, []).append(member)
    chosen = {}
    for words, known in members.items():
        called = [each for each in known if "-".join(words) in each.newest_of]
        # Some names of the catalog are beginnings: no service serves plain gemini-3.1-pro.
        chosen[words] = max(
            called or known,
            key=lambda each: (each.version, served(home, each.name), each.settled),
        )
    return chosen


def _find_roots(
    group: FamilyGroup, lines: Mapping[tuple[str, ...], LineMember]
) -> Iterator[tuple[str, ShortName]]:
    """Yield the first words of a group's lines: each means the flagship among them.

    It is the catalog's own (``flagship``), else of the family that is the newest of this word, or
    of a word that begins with it; the plain line first, then the highest version.
    """
    for root in dict.fromkeys(words[0] for words in lines):
        mine = [each for words, each in lines.items() if words[0] == root]
        exact = [each for each in mine if root in each.newest_of]
        begun = [each for each in mine if any(line.startswith(root) for line in each.newest_of)]
        stated = [each for each in mine if "-".join(each.words) == group.flagship]
        best = max(
            stated or exact or begun or mine,
            key=lambda each: (len(each.words) == 1, each.version),
        )
        yield root, ShortName(f"{group.home}:{best.name}", "-".join(best.words))


def _list_members(family: Family, statuses: tuple[str, ...]) -> Iterator[LineMember]:
    newest_of = tuple(map(fold_name, family.newest_of))
    for name in family.match:
        if (parts := split_line(fold_name(name), statuses)) is not None:
            yield LineMember(*parts, newest_of, name)


def split_line(
    name: str, statuses: tuple[str, ...]
) -> tuple[tuple[str, ...], Version, bool] | None:
    """Return the words and the version of a name; None if it has other parts, as a size.

    The last value is False for a preview.
    """
    words, numbers, settled = list[str](), list[int](), True
    for token in name.split("-"):
        if (found := _TOKEN.fullmatch(token)) is None:
            return None
        word, number = found[1], found[2]
        if word in statuses:
            settled = False
        elif word and (len(word) > 1 or number is None):
            words.append(word)
        elif not words:  # o3: the letter is no word, and what follows is no line
            return None
        if number is not None:
            numbers.append(int(number))
    if not words or len(words[0]) < _SHORTEST or len(numbers) > _PARTS:
        return None
    if not numbers:
        return None if settled else (tuple(words), _NO_VERSION, settled)
    major, minor = (*numbers, 0)[:_PARTS]
    return tuple(words), (major, minor), settled
