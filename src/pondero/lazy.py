"""Names loaded when they are first asked for, so that a room costs what is used of it."""

import sys
from collections.abc import Callable, Mapping


def lazily(room: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a room: each name with the file of the room that has it."""

    def load(name: str) -> object:
        if name not in homes:
            message = f"module {room!r} has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module  # noqa: PLC0415 - most that is loaded needs it not

        value: object = getattr(import_module(f"{room}.{homes[name]}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return load
