"""Lazy imports: a package with this ``__getattr__`` imports a file when a name of it is first used.

``import pondero`` stays quick that way, and an extra's library is loaded only by those who use it.
"""

import sys
from collections.abc import Callable, Mapping

Loader = Callable[[str], object]


def make_lazy_getattr(room: str, names: Mapping[str, str]) -> Loader:
    """Return the ``__getattr__`` of a package; ``names`` are the names of each file, in a text."""
    homes = {name: file for file, listed in names.items() for name in listed.split()}

    def load(name: str) -> object:
        if name not in homes:
            message = f"module {room!r} has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module  # noqa: PLC0415 - only needed once a name is loaded

        value: object = getattr(import_module(f"{room}.{homes[name]}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return load
