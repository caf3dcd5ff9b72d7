"""Which hooks are for a request: those whose patterns name its key and its route."""

from fnmatch import fnmatchcase


def matches(patterns: tuple[str, ...], name: str) -> bool:
    """Return whether a hook with these patterns is for a name; without patterns, it is for all."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
