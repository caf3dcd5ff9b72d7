"""The beginning of a model string to all it can become: names, and the levels that model has."""

from collections.abc import Iterable

from ..catalog import Entry
from ..errors import UsageError
from ..store import lookup
from .dial import models


def complete(text: str) -> tuple[str, ...]:
    """Return the model strings that begin so; after a slash, only with levels the model has.

    Bare names, and the providers that names can be asked for at; after a provider, its names.
    """
    if names := _beginning(text, _names(text)):  # first: there are slashes in names, too
        return names
    model, slash, _ = text.rpartition("/")
    return _beginning(text, (f"{model}/{level}" for level in levels_of(model))) if slash else ()


def _names(text: str) -> Iterable[str]:
    catalog = lookup().catalog
    provider, colon, _ = text.partition(":")
    if colon and provider in catalog.providers:
        return sorted(entry.id for entry in models(provider))
    homes = {group.home for group in catalog.groups.values() if group.home in catalog.providers}
    bare = sorted({entry.model for home in homes for entry in models(home)})
    return (*bare, *(f"{each}:" for each in catalog.providers))


def levels_of(model: str) -> tuple[str, ...]:
    """Return the levels a model has, weakest first; none for a model nobody knows."""
    entry = _entry(model)
    if entry is None or not entry.capability.thinks:
        return ()
    facts = entry.capability
    return tuple(dict.fromkeys((*(("off",) if facts.off else ()), *facts.levels)))


def _entry(model: str) -> Entry | None:
    try:
        return lookup().entry(model, unknown="family" if ":" in model else "error")
    except UsageError:
        return None


def _beginning(text: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name.startswith(text))
