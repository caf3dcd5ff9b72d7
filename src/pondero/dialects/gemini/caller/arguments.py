"""Puts together the arguments of a call that Vertex streams as values at JSON paths."""

import re

from pondero.canon import Json
from pondero.errors import Malformed

from .chunks import PartialArgument

_WHERE = "$..partialArgs[*].jsonPath"
_DEEPEST = 100  # deeper, the arguments could be read and not written again
_STEP = re.compile(
    r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]"""
)


class Arguments:
    """Pieces in, the whole object out. A string that goes on is joined once, at its end."""

    def __init__(self, start: dict[str, Json] | None) -> None:
        self._whole: dict[str, Json] = dict(start or {})
        self._path = ""
        self._strings: list[str] = []

    def add(self, pieces: list[PartialArgument]) -> None:
        """Take more pieces, in order."""
        for piece in pieces:
            if piece.json_path != self._path:
                self._end_string()
            if piece.string_value is None:
                self._end_string()
                self._put(piece.json_path, _value(piece))
                continue
            self._path = piece.json_path
            self._strings.append(piece.string_value)
            if not piece.will_continue:
                self._end_string()

    def whole(self) -> dict[str, Json]:
        """Return the arguments as far as they came."""
        self._end_string()
        return self._whole

    def _end_string(self) -> None:
        if self._path:
            path, self._path = self._path, ""
            strings, self._strings = self._strings, []
            self._put(path, "".join(strings))

    def _put(self, path: str, value: Json) -> None:
        at: Json = {"$": self._whole}
        key: str | int = "$"
        for step in _steps(path):
            below = _get(at, key)
            if below is None:
                below = [] if isinstance(step, int) else {}
                _set(at, key, below, path)
            at, key = below, step
        if key != "$":
            _set(at, key, value, path)


def _value(piece: PartialArgument) -> Json:
    return piece.number_value if piece.number_value is not None else piece.bool_value


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            break
        name, number, single, double = found.groups()
        steps.append(int(number) if number is not None else name or single or double or "")
        at = found.end()
        if len(steps) > _DEEPEST:
            raise Malformed("arguments that are nested too deep", path=_WHERE)
    if not path.startswith("$") or at < len(path):
        raise Malformed(f"{path!r} is no path into arguments", path=_WHERE)
    return steps


def _get(at: Json, key: str | int) -> Json:
    if isinstance(at, dict):
        return at.get(key)
    return at[key] if isinstance(at, list) and isinstance(key, int) and key < len(at) else None


def _set(at: Json, key: str | int, value: Json, path: str) -> None:
    if isinstance(at, list) and key == len(at):
        at.append(value)
    elif _fits(at, key):
        at[key] = value
    else:
        raise Malformed(f"{path!r} does not fit the arguments so far", path=_WHERE)


def _fits(at: Json, key: str | int) -> bool:
    if isinstance(key, int):
        return isinstance(at, list) and key < len(at)
    return isinstance(at, dict)
