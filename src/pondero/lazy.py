"""Lazy names: a room loads a file when one of its names is first used."""

import sys
from collections.abc import Callable, Mapping


def lazily(room: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a room's ``__getattr__``; ``homes`` maps each name to the file that has it."""

    def load(name: str) -> object:
        if name not in homes:
            message = f"module {room!r} has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module  # noqa: PLC0415 - only needed once a name is loaded

        value: object = getattr(import_module(f"{room}.{homes[name]}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return load
