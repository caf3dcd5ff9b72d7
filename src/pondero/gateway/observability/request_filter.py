"""Which requests the console shows: one filter, for the ledger in SQL and for live rows in Python.

Both readings of a filter agree; ``tests/gateway/observability/test_request_filter.py`` compares
them.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from ...errors import BadParameter
from ...thinking import LEVELS
from .receipt import NO_LEVELS
from .request_row import RequestRow

ENDS = ("done", "refused", "failed", "left")
ANSWERS = ("real", "emulator", "all")
"""Whose answers are shown: those of services, those of the emulator, or both."""
TOKENS, UNSET = "tokens", "none"
"""Levels of a filter: a number of tokens was sent, or nothing."""
_LONGEST = 200
_WORDS = 8
_ESCAPE = "!"
_DIGITS = tuple("0123456789")


class RequestFilter(Struct, frozen=True, kw_only=True):
    """What a request must have; None: anything.

    ``key``, ``group``, ``route``, ``purpose`` and ``model`` (``provider:model``) are exact names,
    ``level`` is the level sent. ``search``: words that must all be in its names, its reason or its
    id. ``since`` and ``until``: seconds since 1970. ``offline``: whether the emulator answered.
    """

    key: str | None = None
    model: str | None = None
    route: str | None = None
    end: str | None = None
    status: int | None = None
    level: str | None = None
    purpose: str | None = None
    search: str | None = None
    since: float | None = None
    until: float | None = None
    group: str | None = None
    offline: bool | None = None

    @property
    def is_selective(self) -> bool:
        """Return whether it asks for more than a time span."""
        return any(getattr(self, name) is not None for name in _TESTS)


class Clause(Struct, frozen=True):
    """A condition in SQL and its values."""

    sql: str
    values: tuple[Any, ...] = ()


class _Test(Struct, frozen=True):
    """How a field is compared: in SQL, and with a row."""

    clause: Callable[[Any], Clause]
    matches: Callable[[RequestRow, Any], bool]


def _level_clause(level: str) -> Clause:
    if level == TOKENS:
        return Clause(f"substr(sent, 1, 1) IN ({_marks(_DIGITS)})", _DIGITS)
    if level == UNSET:
        return Clause(f"(sent IS NULL OR sent IN ({_marks(NO_LEVELS)}))", NO_LEVELS)
    return Clause("sent = ?", (level,))


def _matches_level(row: RequestRow, level: str) -> bool:
    if level == TOKENS:
        return (row.sent or "").startswith(_DIGITS)
    return row.sent in (None, *NO_LEVELS) if level == UNSET else row.sent == level


def _model_clause(model: str) -> Clause:
    provider, _, name = model.partition(":")
    return Clause("(provider = ? AND model = ?)", (provider, name))


_SEARCHED = (
    *("id", "key", "said", "provider || ':' || model", "route", "why", "adjustments", "reason"),
    *("deployment", "key_group"),
)
# Joined texts would take twice the time: a hundred thousand rows are compared with each word.
_HAS_WORD = " OR ".join(f"{text} LIKE ? ESCAPE '{_ESCAPE}'" for text in _SEARCHED)


def _search_clause(search: str) -> Clause:
    patterns = [_make_pattern(word) for word in _split_words(search)]
    sql = " AND ".join(f"({_HAS_WORD})" for _ in patterns)
    return Clause(sql or "1 = 1", tuple(each for each in patterns for _ in _SEARCHED))


def _matches_search(row: RequestRow, search: str) -> bool:
    names = (row.id, row.key, row.requested_model, row.model, row.route, row.why)
    said = (" ".join(row.adjustments), row.reason, row.deployment, row.group)
    # Lines keep a word from matching across two names.
    text = "\n".join(each or "" for each in (*names, *said))
    return all(word in _lower(text) for word in _split_words(search))


def _split_words(search: str) -> list[str]:
    return _lower(search).split()[:_WORDS]


def _lower(text: str) -> str:
    """Return a text with small Latin letters: SQLite knows no others."""
    return "".join(each.lower() if each.isascii() else each for each in text)


def _make_pattern(word: str) -> str:
    for special in (_ESCAPE, "%", "_"):
        word = word.replace(special, _ESCAPE + special)
    return f"%{word}%"


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" for _ in values)


def _equals(column: str) -> Callable[[Any], Clause]:
    return lambda value: Clause(f"{column} = ?", (value,))


def _same(name: str) -> Callable[[RequestRow, Any], bool]:
    return lambda row, value: bool(getattr(row, name) == value)


_TESTS: Mapping[str, _Test] = {
    "key": _Test(_equals("key"), _same("key")),
    "group": _Test(_equals("key_group"), _same("group")),
    "model": _Test(_model_clause, _same("model")),
    "route": _Test(_equals("route"), _same("route")),
    "end": _Test(_equals("ended"), _same("end")),
    "status": _Test(_equals("status"), _same("status")),
    "level": _Test(_level_clause, _matches_level),
    "purpose": _Test(_equals("purpose"), _same("purpose")),
    "search": _Test(_search_clause, _matches_search),
    "offline": _Test(lambda wanted: Clause("offline = ?", (int(wanted),)), _same("offline")),
}
_TIMES: Mapping[str, _Test] = {
    "since": _Test(lambda at: Clause("at >= ?", (at,)), lambda row, at: row.at >= at),
    "until": _Test(lambda at: Clause("at < ?", (at,)), lambda row, at: row.at < at),
}


def make_clause(wanted: RequestFilter) -> Clause:
    """Return the condition for rows of the ledger."""
    parts = [test.clause(value) for test, value in _list_tests(wanted)]
    values = tuple(value for part in parts for value in part.values)
    return Clause(" AND ".join(part.sql for part in parts) or "1 = 1", values)


def matches(wanted: RequestFilter, row: RequestRow) -> bool:
    """Return whether a request is shown."""
    return all(test.matches(row, value) for test, value in _list_tests(wanted))


def _list_tests(wanted: RequestFilter) -> list[tuple[_Test, Any]]:
    values = asdict(wanted)
    tests = {**_TIMES, **_TESTS}
    return [(tests[name], value) for name, value in values.items() if value is not None]


# -- parameters of an address ---------------------------------------------------------------------


def parse_filter(parameters: Mapping[str, str], *, offline: bool) -> RequestFilter:
    """Return the filter that an address asks for; empty values ask for nothing.

    ``offline``: the emulator answers here, so that its answers are shown unless ``answers`` says
    otherwise; else those of services. Raises BadParameter.
    """
    given = {
        name: _READERS.get(name, _read_text)(name, value)
        for name in RequestFilter.__struct_fields__
        if name != "offline" and (value := parameters.get(name, "").strip())
    }
    return RequestFilter(**given, offline=read_answers(parameters, offline=offline))


def read_answers(parameters: Mapping[str, str], *, offline: bool) -> bool | None:
    """Return whether answers of the emulator are asked for; None: all. Raises BadParameter."""
    if not (value := parameters.get("answers", "").strip()):
        return offline
    chosen = _read_choice(ANSWERS)("answers", value)
    return {"real": False, "emulator": True, "all": None}[chosen]


def _read_text(_name: str, value: str) -> str:
    return value[:_LONGEST]


def _read_status(name: str, value: str) -> int:
    if not value.isascii() or not value.isdecimal() or len(value) > 3:
        message = f"invalid {name} {value[:20]!r}; use an HTTP status such as 429"
        raise BadParameter(message)
    return int(value)


def _read_choice(choices: Sequence[str]) -> Callable[[str, str], str]:
    def read(name: str, value: str) -> str:
        if value not in choices:
            message = f"invalid {name} {value[:20]!r}; use {' '.join(choices)}"
            raise BadParameter(message)
        return value

    return read


def read_time(name: str, value: str) -> float:
    """Return a moment: seconds since 1970, or a time with its offset."""
    try:
        found = float(value)
    except ValueError:
        try:
            found = datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            found = -1.0
    if not 0 <= found < 1e11:
        message = f"invalid {name} {value[:40]!r}; use seconds since 1970, or 2027-01-31T12:00:00Z"
        raise BadParameter(message)
    return found


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "status": _read_status,
    "end": _read_choice(ENDS),
    "level": _read_choice((*LEVELS, TOKENS, UNSET)),
    "since": read_time,
    "until": read_time,
}
