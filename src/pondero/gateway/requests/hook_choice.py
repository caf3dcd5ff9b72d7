"""Which hooks are for a request: those whose patterns name its key and its route."""

from collections.abc import Iterable
from fnmatch import fnmatchcase


def matches(patterns: tuple[str, ...], name: str) -> bool:
    """Return whether a hook with these patterns is for a name; without patterns, it is for all."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def matches_model(patterns: tuple[str, ...], names: Iterable[str]) -> bool:
    """Return whether a hook with these patterns is for a route, or a model by any of its names.

    Upper and lower case are the same: a client that goes around a hook may write either.
    """
    lower = tuple([pattern.lower() for pattern in patterns])
    return any(matches(lower, name.lower()) for name in names)
