"""The model for users who name none: the catalog's default at the first provider with a key."""

import os
from collections.abc import Iterator

from msgspec import Struct

from ..catalog import Provider
from ..store import list_saved_keys, load_catalog


class UsualModel(Struct, frozen=True):
    """A model's full name, and why it was chosen."""

    model: str
    why: str


def find_usual_model(*, offline: bool = False) -> UsualModel | None:
    """Return the default model of the first provider with a key that has one; None if none has.

    A key in a variable counts before a saved one. ``offline`` needs no key: without one, the first
    default of the catalog is returned.
    """
    lookup = load_catalog()
    for provider, why in _iter_present_keys():
        if (model := lookup.default_of(provider.name)) is not None:
            return UsualModel(model, why)
    if offline:
        known = map(lookup.default_of, lookup.catalog.names.defaults)
        if (model := next(filter(None, known), None)) is not None:
            return UsualModel(model, "you named none")
    return None


def explain_no_default() -> str | None:
    """Say that the provider of the first key has no default model; None if there is no key."""
    if (found := next(_iter_present_keys(), None)) is None:
        return None
    provider, why = found
    example = f"{provider.name}:{load_catalog().find_example(provider.name) or 'MODEL'}"
    return f"{why}, but {provider.label} has no default model; name one, as in {example!r}"


def _iter_present_keys() -> Iterator[tuple[Provider, str]]:
    """Yield the providers with a key, those that have a default first, and where the key is."""
    lookup = load_catalog()
    known = lookup.catalog.providers
    defaults = lookup.catalog.names.defaults
    # Of two APIs behind one key, the usual one has the shorter name: azure, not azure-chat.
    names_in_order = dict.fromkeys((*defaults, *sorted(known, key=len)))
    ordered = [known[name] for name in names_in_order if name in known]
    in_variables = frozenset(name for name in os.environ if os.environ[name].strip())
    for names, where in ((in_variables, "set"), (frozenset(list_saved_keys()), "saved")):
        for provider in ordered:
            if key := next((each for each in provider.key_variables if each in names), None):
                yield provider, f"{key} is {where}"
