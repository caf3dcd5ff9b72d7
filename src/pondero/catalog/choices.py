"""Names the values that a field may have, for the error about another one."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import inspect

_PATH = re.compile(r"at `\$(?P<path>.*)`$")
_STEP = re.compile(r"\.(\w+)|\[[^]]*\]")


def describe_choices(type_: type, problem: str) -> str:
    """Return ``; use a b c`` for a problem at a field with a fixed set of words, else nothing."""
    if (found := _PATH.search(problem)) is None:
        return ""
    kinds = [inspect.type_info(type_)]
    for step in _STEP.finditer(found["path"]):
        kinds = [inner for kind in _plain(kinds) for inner in _inside(kind, step[1])]
    words = [word for kind in _plain(kinds) for word in getattr(kind, "values", ())]
    return f"; use {' '.join(map(str, words))}" if words else ""


def _plain(kinds: list[Any]) -> Iterator[Any]:
    for kind in kinds:
        match kind:
            case inspect.UnionType():
                yield from _plain(list(kind.types))
            case inspect.Metadata():
                yield from _plain([kind.type])
            case _:
                yield kind


def _inside(kind: Any, name: str | None) -> Iterator[Any]:
    if name is not None:
        yield from (each.type for each in getattr(kind, "fields", ()) if each.encode_name == name)
    elif (item := getattr(kind, "item_type", None)) is not None:
        yield item
    elif (value := getattr(kind, "value_type", None)) is not None:
        yield value
