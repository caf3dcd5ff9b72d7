"""The model for users who name none: the catalog's default at the first provider with a key."""

import os

from msgspec import Struct

from ..store import list_saved_keys, load_catalog


class UsualModel(Struct, frozen=True):
    """A model's full name, and why it was chosen."""

    model: str
    why: str


def find_usual_model(*, offline: bool = False) -> UsualModel | None:
    """Return the default model of the first provider with a key; None if there is no key.

    A key in a variable counts before a saved one. ``offline`` needs no key: without one, the first
    default of the catalog is returned.
    """
    lookup = load_catalog()
    known = [
        (lookup.catalog.providers[name], model)
        for name in lookup.catalog.names.defaults
        if (model := lookup.default_of(name)) is not None
    ]
    in_variables = frozenset(name for name in os.environ if os.environ[name].strip())
    for names, where in ((in_variables, "set"), (frozenset(list_saved_keys()), "saved")):
        for provider, model in known:
            if key := next((each for each in provider.keys if each in names), None):
                return UsualModel(model, f"{key} is {where}")
    if offline and known:
        return UsualModel(known[0][1], "you named none")
    return None
