"""Compares a request with the recorded one; the player calls it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from msgspec import Struct

from ..canon import HttpRequest, Json
from ..errors import BadParameter
from .redaction import REDACTED

MATCH = ("method", "path", "body")
_SHOWN = 12
_WIDTH = 200


class Missing(Struct, frozen=True):
    """A value that one side lacks."""


NOTHING = Missing()


class RequestDifference(Struct, frozen=True):
    """One place in which a request differs from the recorded one."""

    path: str
    expected: Json
    actual: Json

    @property
    def weight(self) -> int:
        """Return the size of the difference, to find the nearest recorded request."""
        ours, theirs = self.expected, self.actual
        if isinstance(ours, str) and isinstance(theirs, str):
            same = _first_difference(ours, theirs)
            same += _first_difference(ours[same:][::-1], theirs[same:][::-1])
            return len(ours) + len(theirs) - 2 * same
        return len(msgspec.json.encode(ours)) + len(msgspec.json.encode(theirs))

    def __str__(self) -> str:
        expected, actual = _format_side(self, 0), _format_side(self, 1)
        return f"  {self.path}\n    expected  {expected}\n    actual    {actual}"


def differences(
    recorded: HttpRequest, sent: HttpRequest, match: tuple[str, ...] = MATCH
) -> list[RequestDifference]:
    """Return the differences between the sent request and the recorded one."""
    return [found for word in match for found in _COMPARED[word](recorded, sent)]


def check_match(match: Iterable[str]) -> tuple[str, ...]:
    """Return the names to match by; raises BadParameter for an unknown one."""
    words = (match,) if isinstance(match, str) else tuple(match)
    for word in words:
        if word not in _COMPARED:
            message = f"invalid match={word!r}; use {' '.join(_COMPARED)}"
            raise BadParameter(message)
    return words


def describe_mismatch(found: list[RequestDifference]) -> str:
    """Return the differences as text, path by path; at most the first dozen."""
    lines = [str(each) for each in found[:_SHOWN]]
    if len(found) > _SHOWN:
        lines.append(f"  and {len(found) - _SHOWN} more")
    return "\n".join(lines)


# -- what is compared ------------------------------------------------------------------------


def _method(recorded: HttpRequest, sent: HttpRequest) -> Iterator[RequestDifference]:
    yield from _value("method", recorded.method.upper(), sent.method.upper())


def _host(recorded: HttpRequest, sent: HttpRequest) -> Iterator[RequestDifference]:
    ours, theirs = urlsplit(recorded.url), urlsplit(sent.url)
    yield from _value("host", ours.netloc.rpartition("@")[2], theirs.netloc.rpartition("@")[2])


def _path(recorded: HttpRequest, sent: HttpRequest) -> Iterator[RequestDifference]:
    ours, theirs = urlsplit(recorded.url), urlsplit(sent.url)
    yield from _value("path", unquote(ours.path), unquote(theirs.path))


def _query(recorded: HttpRequest, sent: HttpRequest) -> Iterator[RequestDifference]:
    queries = (urlsplit(each.url).query for each in (recorded, sent))
    ours, theirs = (parse_qs(query, keep_blank_values=True) for query in queries)
    yield from _value("query", ours, theirs)


def _body(
    recorded: HttpRequest, sent: HttpRequest, *, whole: bool = True
) -> Iterator[RequestDifference]:
    if recorded.body == sent.body:
        return
    try:
        ours, theirs = msgspec.json.decode(recorded.body), msgspec.json.decode(sent.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        ours, theirs = (each.body.decode("utf-8", "replace") for each in (recorded, sent))
        if ours == theirs:  # different bytes, none of them text
            ours, theirs = recorded.body.hex(), sent.body.hex()
    yield from _value("body", ours, theirs, whole=whole)


_COMPARED: Mapping[str, Callable[[HttpRequest, HttpRequest], Iterator[RequestDifference]]] = {
    "method": _method,
    "host": _host,
    "path": _path,
    "query": _query,
    "body": _body,
    "body-subset": partial(_body, whole=False),
}


# -- JSON, path by path ----------------------------------------------------------------------


def _value(
    path: str, ours: Json, theirs: Json, *, whole: bool = True
) -> Iterator[RequestDifference]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        names = [*ours, *(name for name in theirs if whole and name not in ours)]
        for name in names:
            yield from _value(
                f"{path}.{name}", ours.get(name, NOTHING), theirs.get(name, NOTHING), whole=whole
            )
    elif isinstance(ours, list) and isinstance(theirs, list):
        for place in range(max(len(ours), len(theirs))):
            yield from _value(f"{path}[{place}]", _at(ours, place), _at(theirs, place), whole=whole)
    elif not _same(ours, theirs):
        yield RequestDifference(path, ours, theirs)


def _at(values: list[Json], place: int) -> Json:
    return values[place] if place < len(values) else NOTHING


def _same(ours: Json, theirs: Json) -> bool:
    if isinstance(ours, str) and isinstance(theirs, str):
        # A redacted value matches anything.
        return ours == theirs or (REDACTED in ours and _fits(ours.split(REDACTED), theirs))
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs  # to Python, True is 1
    return bool(ours == theirs)


def _fits(around: list[str], text: str) -> bool:
    """Return whether the text has these pieces in this order, the first and last at its ends."""
    first, *middle, last = around
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        if (found := text.find(piece, at, end)) < 0:
            return False
        at = found + len(piece)
    return text.endswith(last)


# -- messages --------------------------------------------------------------------------------


def _format_side(difference: RequestDifference, side: int) -> str:
    """Return one side's value; for a long text, the part around the first difference."""
    value = (difference.expected, difference.actual)[side]
    if isinstance(value, Missing):
        return "(nothing)"
    other = (difference.expected, difference.actual)[1 - side]
    start = 0
    if isinstance(value, str) and isinstance(other, str) and len(value) > _WIDTH:
        start = max(0, _first_difference(value, other) - _WIDTH // 4)
        value = value[start:]
    text = msgspec.json.encode(value).decode("utf-8")
    cut = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
    return f"...{cut}" if start else cut


def _first_difference(ours: str, theirs: str) -> int:
    pairs = zip(ours, theirs, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs)))
