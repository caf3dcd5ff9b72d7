"""The places of the vendors' own request types, for adversaries that know nothing of our parser."""

from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from typing_extensions import TypeAliasType, get_type_hints, is_typeddict

SCHEMAS = {"parameters", "input_schema", "output_schema", "schema", "metadata", "input_examples"}
"""Fields with JSON of the client's own, in which a name means nothing to the service."""


def walk(
    kind: Any, wanted: Callable[[str], object], at: str = "", seen: tuple[Any, ...] = ()
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the paths of a type whose last name is wanted, as ``a.b[].c``.

    Each comes with the ``type`` that the objects on the way must have, by their paths.
    """
    kind = kind.__value__ if isinstance(kind, TypeAliasType) else kind
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        for member in inside:
            yield from walk(member, wanted, at, seen)
    elif is_typeddict(kind):
        if kind in seen:
            return
        hints = get_type_hints(kind)
        tag = _tag(hints.get("type"))
        for name, inner in hints.items():
            if name in SCHEMAS:
                continue
            path = f"{at}.{name}" if at else name
            tags = {at: tag} if tag else {}
            if wanted(name):
                yield path, tags
            for found, more in walk(inner, wanted, path, (*seen, kind)):
                yield found, {**tags, **more}
    elif origin is Literal or not inside:
        return
    elif isinstance(origin, type) and issubclass(origin, Iterable) and origin is not dict:
        yield from walk(inside[0], wanted, f"{at}[]", seen)


def _tag(kind: Any) -> str | None:
    while get_origin(kind) is not None and get_origin(kind) is not Literal:
        kind = get_args(kind)[0]
    return get_args(kind)[0] if get_origin(kind) is Literal else None


def put(body: dict[str, Any], path: str, value: Any, tags: dict[str, str]) -> None:
    """Put a value at a path, in new elements of the lists on the way."""
    at, here = "", body
    *names, last = path.split(".")
    for name in names:
        at = f"{at}.{name}" if at else name
        plain = name.removesuffix("[]")
        held = here.get(plain)
        if name.endswith("[]"):
            held = held if isinstance(held, list) else []
            here[plain] = held
            held.append({})
            here = held[-1]
        else:
            here[plain] = held = held if isinstance(held, dict) else {}
            here = held
        if at in tags:
            here.setdefault("type", tags[at])
    here[last] = value
