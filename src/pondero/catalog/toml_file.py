"""One TOML file of the user or of the catalog: read whole, and errors that name file and line.

``load`` reads the catalog with it, ``store`` the user's config.toml.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from ..canon import converted
from ..errors import BadCatalog, UsageError

_T = TypeVar("_T")
_KEY = re.compile(r"[\s\"'\[\]]")
_AT = re.compile(r"line (\d+)")
_DEEPEST = 40  # tables in tables: no setting is that deep, and Python's own stack ends near 1,000


class TomlFile(msgspec.Struct, frozen=True):
    """One file: its name for messages, its text for line numbers, its values."""

    name: str
    text: str
    values: dict[str, Any]

    def place(self, key: str = "", *, table: str = "", number: int = 0) -> str:
        """Return where a key stands, as people look it up: file, line, table and key."""
        line = _line(self.text.splitlines(), table, number, key)
        where = f"{self.name}:{line}" if line else self.name
        spot = ".".join(part for part in (f"{table}[{number}]" if table else "", key) if part)
        return f"{where}: {spot}" if spot else where

    def only(self, *allowed: str) -> None:
        """Raise BadCatalog for a key of the file that is none of these."""
        for key in self.values:
            if key not in allowed:
                message = f"{self.place(key)}: unknown key {key!r}; use {' '.join(allowed)}"
                raise BadCatalog(message)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the tables of a name; raises BadCatalog where it is not an array of tables."""
        rows = self.values.get(table, [])
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            return rows
        message = f"{self.place(table)}: this is not an array of tables; write [[{table}]]"
        raise BadCatalog(message)

    def tables(self, *names: str) -> None:
        """Raise BadCatalog where one of these is there and is not a table."""
        for name in names:
            value = self.values.get(name, {})
            if not isinstance(value, dict):
                message = f"{self.place(name)}: this is not a table; write [{name}]"
                raise BadCatalog(message)

    def convert(self, values: Any, type_: type[_T], *, table: str = "", number: int = 0) -> _T:
        """Return values as a type; raises BadCatalog with the place of the one that is wrong."""
        try:
            return converted(values, type_)
        except msgspec.ValidationError as error:
            where = self.place(_key_of(str(error)), table=table, number=number)
            message = f"{where}: {error}"
            raise BadCatalog(message) from None


def read_toml(name: str, text: str, error: type[UsageError] = BadCatalog) -> TomlFile:
    """Return a file with its values; raises ``error`` with file and line where it is not TOML."""
    import tomllib  # noqa: PLC0415 - the shipped catalog is JSON; few have files of their own

    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise error(_too_deep(name, text)) from None
    except ValueError as problem:  # TOMLDecodeError, and numbers with thousands of digits
        line = _AT.search(str(problem))
        number = line[1] if line else len(text.splitlines())
        message = f"{name}:{number}: this is not TOML: {problem}"
        raise error(message) from None
    if _depth(values) > _DEEPEST:
        raise error(_too_deep(name, text))
    return TomlFile(name, text, values)


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return a guess at the name that was meant, ready to stand in a sentence; else nothing."""
    from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, only for an error

    close = get_close_matches(word, list(names), n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def _too_deep(name: str, text: str) -> str:
    line = max(enumerate(text.splitlines(), 1), key=lambda each: _brackets(each[1]))[0]
    return f"{name}:{line}: tables stand in tables more than {_DEEPEST} deep; nothing here is"


def _brackets(line: str) -> int:
    return sum(map(line.count, "[{."))


def _depth(values: Any) -> int:
    """Return how many tables and arrays stand in one another, without recursion."""
    depth, level = 0, [values]
    while level:
        depth += 1
        inner = (each.values() if isinstance(each, Mapping) else each for each in level)
        level = [value for each in inner for value in each if isinstance(value, Mapping | list)]
    return depth


def _key_of(text: str) -> str:
    """Return the key a validation error speaks of: "... - at `$.budget.min`", "... `foo`"."""
    path = (
        text.rpartition("at `$.")[2].rstrip("`").split(".")[0].split("[")[0]
        if "at `$." in text
        else ""
    )
    if path:
        return path
    return text.split("`")[1] if "`" in text else ""


def _line(lines: list[str], table: str, number: int, key: str) -> int:
    """Return the line of a key within the nth table of that name, or of the table itself."""
    start = 0
    if table:
        heads = [
            n for n, line in enumerate(lines, 1) if line.strip() in (f"[[{table}]]", f"[{table}]")
        ]
        start = heads[number] if number < len(heads) else 0
    for n, line in enumerate(lines[start:], start + 1):
        if n > start + 1 and table and line.startswith("["):
            break
        if key and _KEY.sub("", line.split("=")[0]).split(".")[0] == key:
            return n
    return start
