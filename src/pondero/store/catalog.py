"""The one catalog of a process: the shipped one with the user's own files over it.

Every room that looks a model or a provider up calls ``lookup``, so that what the user added in
models.toml or providers/NAME.toml is known everywhere: online, offline and to the contract kit.
"""

import os
from functools import lru_cache

from ..catalog import Lookup, extended, shipped
from .folders import config_folder, text_of


@lru_cache(maxsize=1)
def lookup() -> Lookup:
    """Return the catalog with the user's own models and providers, read once a process."""
    catalog, files = shipped(), catalog_files()
    return Lookup(extended(catalog, files) if files else catalog)


def catalog_files() -> dict[str, str]:
    """Return the user's catalog files by path: models.toml, families/*.toml, providers/*.toml."""
    folder = config_folder()
    places = (folder, os.path.join(folder, "families"), os.path.join(folder, "providers"))
    paths = [
        os.path.join(place, name)
        for place in places
        if os.path.isdir(place)
        for name in sorted(os.listdir(place))
        if (name == "models.toml" if place is folder else name.endswith(".toml"))
    ]
    return {path: text_of(path) for path in paths}
