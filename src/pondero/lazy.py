"""Lazy imports: a package with this ``__getattr__`` imports a file on first use of its names.

This keeps ``import pondero`` fast and loads an extra's library only if it is used.
"""

import sys
from collections.abc import Callable, Mapping

Loader = Callable[[str], object]


def index_names(files: Mapping[str, str]) -> dict[str, str]:
    """Return the file of each name, from the names of each file separated by spaces."""
    return {name: file for file, names in files.items() for name in names.split()}


def make_lazy_getattr(room: str, homes: Mapping[str, str]) -> Loader:
    """Return the ``__getattr__`` of a package; ``homes`` maps each name to its file."""

    def load(name: str) -> object:
        if name not in homes:
            message = f"module {room!r} has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module  # noqa: PLC0415 - only needed once a name is loaded

        value: object = getattr(import_module(f"{room}.{homes[name]}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return load
