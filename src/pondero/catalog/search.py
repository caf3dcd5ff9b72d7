"""Finds models by words: parts of names, providers, product lines, and what they can do."""

import re
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from .lookup import Lookup, ModelEntry
from .relatives import Version, fold_name
from .short_names import describe_meaning, split_line

_FREE = ":free"

TRAITS: Mapping[str, Callable[[ModelEntry], bool]] = {
    "local": lambda entry: entry.provider.auth == "none",
    "free": lambda entry: entry.provider.auth == "none" or entry.model.endswith(_FREE),
    "thinks": lambda entry: entry.capability.thinks,
    "tools": lambda entry: entry.takes_tools,
    "batch": lambda entry: entry.provider.batch is not None,
}
"""Words for an offer of a model or its provider; all others are parts of names."""


class _Rank(Struct, frozen=True, order=True):
    """How well a model fits, the best first.

    Versions are compared only in one line: a 4 of one maker is not older than a 5 of another.
    """

    is_not_short: bool
    fit: int
    is_abroad: bool
    is_of_other_line: bool
    is_not_newest: bool
    line: str
    version: tuple[int, int]
    name: str


def find_meanings(lookup: Lookup, words: Iterable[str]) -> list[str]:
    """Return a sentence for each word that is a short name: which model it means."""
    shorts = lookup.short_names
    names = dict.fromkeys(map(fold_name, words))
    return [describe_meaning(name, shorts[name]) for name in names if name in shorts]


def search_models(lookup: Lookup, words: Iterable[str]) -> list[ModelEntry]:
    """Return the models that fit all words, the best first."""
    wanted = [fold_name(word) for word in words if word.strip()]
    traits = [word for word in wanted if word in TRAITS]
    names = [word for word in wanted if word not in TRAITS]
    known_shorts = lookup.short_names
    meant = {known_shorts[word].line for word in names if word in known_shorts}
    newest = {short.id for short in known_shorts.values()}
    shorts = {word: short.id for word, short in known_shorts.items() if word in names}
    at_home = {
        (group.home, name)
        for group in lookup.catalog.groups.values()
        for family in group.family
        for name in family.match
    }
    found: list[tuple[_Rank, ModelEntry]] = []
    for entry in lookup.entries():
        if not all(TRAITS[word](entry) for word in traits):
            continue
        fits = [0 if shorts.get(word) == entry.id else _fit(word, entry) for word in names]
        if (known := [fit for fit in fits if fit is not None]) != fits:
            continue
        line, (major, minor) = _find_line(entry, lookup.catalog.names.statuses)
        rank = _Rank(
            entry.id not in shorts.values(),
            max(known, default=0),
            (entry.provider.name, entry.model) not in at_home,
            line not in meant,
            entry.id not in newest,
            line,
            (-major, -minor),
            entry.id,
        )
        found.append((rank, entry))
    return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]


def _find_line(entry: ModelEntry, statuses: tuple[str, ...]) -> tuple[str, Version]:
    """Return the line and the version of a model; a size and a date are no version."""
    bare = fold_name(entry.model).rpartition("/")[2]
    if (parts := split_line(bare, statuses)) is None:
        return bare, (0, 0)
    words, version, _ = parts
    return "-".join(words), version


def _fit(word: str, entry: ModelEntry) -> int | None:
    """Return how a word fits: 0 is the whole name, 4 its family; None if it does not."""
    model, provider = fold_name(entry.model), entry.provider
    bare = model.rpartition("/")[2]
    places = (
        word in (model, bare, fold_name(entry.id)),
        bare.startswith(word) or word in (provider.name, *fold_name(provider.label).split()),
        word in re.split(r"[-/:]", model),
        word in fold_name(entry.id),
        word in fold_name(entry.family),
    )
    return next((number for number, fits in enumerate(places) if fits), None)
