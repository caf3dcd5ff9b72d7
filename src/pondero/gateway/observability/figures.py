"""Adds up the ledger for the console, in a thread, because a database can be slow."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from math import ceil
from time import sleep
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...errors import StoreError
from ..levels.level_rules import RULE
from .ledger import round_dollars
from .ledger_database import LedgerDatabase
from .receipt import read_sent
from .request_filter import Clause, RequestFilter, make_clause
from .request_pages import find_ids
from .request_row import level_bucket
from .time_range import TimeRange, cut_range, find_span

RULES = ("cap", "floor", "force")
PERCENTILES = (0.5, 0.95, 0.99)
_MODEL = "provider || ':' || model"
_FAILED = "sum(CASE WHEN ended = 'failed' THEN 1 ELSE 0 END)"
_REJECTED = "sum(CASE WHEN ended = 'refused' THEN 1 ELSE 0 END)"
_MOST = 50
_TURN = 0.002  # seconds between two queries: a page of requests, or the writer, gets its turn
# The value, rounded down to three digits.
_ROUNDED = (
    "CASE WHEN {0} < 1000 THEN {0} WHEN {0} < 10000 THEN {0} / 10 * 10 "
    "WHEN {0} < 100000 THEN {0} / 100 * 100 ELSE {0} / 1000 * 1000 END"
)
_CHOICES = 2_000
_RARE = 2_000  # requests that are found once and then counted by their ids

Place = tuple[str, str | None]
"""A model and a route."""
Rows = Callable[[str], list[tuple[Any, ...]]]
"""Runs a query with the console's filter in place of ``{where}``."""


class UsageSlice(Struct, frozen=True, kw_only=True):
    """The use of one model at one level in one time step, which begins at ``at``."""

    at: int
    model: str
    level: str | None
    requests: int
    thinking: int
    answer: int
    cost: str | None


class StepTotal(Struct, frozen=True, kw_only=True):
    """How many requests a time step has, which begins at ``at``; also those sent to no model."""

    at: int
    requests: int


class RuleHit(Struct, frozen=True, kw_only=True):
    """How often a rule changed a key's requests for a name, and when it last did."""

    why: str
    key: str
    said: str
    asked: str | None
    sent: str | None
    times: int
    last: float


class PurposeTotal(Struct, frozen=True, kw_only=True):
    """The use of all requests with one purpose."""

    purpose: str
    requests: int
    thinking: int
    answer: int
    cost: str | None


class KeyTotal(Struct, frozen=True, kw_only=True):
    """The use of one key; its name is empty for requests that were rejected without a key."""

    key: str
    requests: int
    failed: int
    rejected: int
    thinking: int
    answer: int
    cost: str | None


class GroupTotal(Struct, frozen=True, kw_only=True):
    """The use of all keys that were in a group at that time, and how many keys those are."""

    group: str
    keys: int
    requests: int
    failed: int
    rejected: int
    thinking: int
    answer: int
    cost: str | None


class ModelTotal(Struct, frozen=True, kw_only=True):
    """The use of one model on one route.

    ``seconds`` and ``first``: the median, 95th and 99th percentile of finished answers, until
    their end and until their first piece; empty if there are none.
    """

    model: str
    route: str | None
    requests: int
    failed: int
    thinking: int
    answer: int
    cost: str | None
    seconds: tuple[float, ...] = ()
    first: tuple[float, ...] = ()


class EndTotal(Struct, frozen=True, kw_only=True):
    """How many requests ended in one way, with one status."""

    end: str
    status: int
    requests: int


class WatchTotal(Struct, frozen=True, kw_only=True):
    """Answers of a model that were all thinking, or thought though off, at one level.

    ``wasted``: the thinking tokens of the former.
    """

    route: str | None
    model: str
    level: str | None
    key: str
    answers: int
    exhausted: int
    wasted: int
    though_off: int


class ConsoleFigures(Struct, frozen=True, kw_only=True):
    """Usage in a time span; ``step``: seconds between two slices."""

    since: int
    until: int
    step: int
    steps: list[StepTotal]
    slices: list[UsageSlice]
    bites: list[RuleHit]
    adjustments: dict[str, int]
    ends: dict[str, int]
    statuses: list[EndTotal]
    purposes: list[PurposeTotal]
    keys: list[KeyTotal]
    groups: list[GroupTotal]
    models: list[ModelTotal]
    watch: list[WatchTotal]


class FilterChoices(Struct, frozen=True, kw_only=True):
    """The values of filters that occur in a time span."""

    keys: list[str]
    groups: list[str]
    models: list[str]
    routes: list[str]
    statuses: list[int]
    purposes: list[str]


def load_figures(
    database: LedgerDatabase,
    span: str,
    *,
    now: float,
    wanted: RequestFilter | None = None,
    stopped: Callable[[], bool] = bool,
) -> ConsoleFigures:
    """Return the usage in a time span up to now, or in the time that the filter names.

    ``stopped`` is asked before each query: whether the viewer has gone. Raises BadParameter and
    StoreError.
    """
    wanted = wanted or RequestFilter()
    time = find_range(database, span, wanted, now=now)
    if wanted.since is None and wanted.until is None:
        wanted = replace(wanted, since=time.since * 60)
    rows = partial(_rows, database, _make_clause(database, wanted, stopped), stopped)
    statuses = _load_statuses(rows)
    ends: Counter[str] = Counter()
    for each in statuses:
        ends[each.end] += each.requests
    return ConsoleFigures(
        since=time.since * 60,
        until=time.until * 60,
        step=time.step * 60,
        steps=_load_steps(rows, time.step),
        slices=_load_slices(rows, time.step),
        bites=_load_rule_hits(rows),
        adjustments=_count_adjustments(rows),
        ends=dict(ends),
        statuses=statuses,
        purposes=_load_purposes(rows),
        keys=_load_keys(rows),
        groups=_load_groups(rows),
        models=_load_models(rows),
        watch=_load_watch(rows),
    )


def find_range(
    database: LedgerDatabase, span: str, wanted: RequestFilter, *, now: float
) -> TimeRange:
    """Return the time of the figures; raises BadParameter and StoreError."""
    ((oldest,),) = database.rows("SELECT min(at) FROM pondero_receipts")
    found = find_span(span, now=now, oldest=oldest)
    if wanted.since is None and wanted.until is None:
        return found
    until = found.until * 60 if wanted.until is None else wanted.until
    since = oldest or found.since * 60 if wanted.since is None else wanted.since
    return cut_range(min(since, until - 60) if wanted.since is None else since, until)


def load_choices(
    database: LedgerDatabase, span: str, *, now: float, offline: bool | None = None
) -> FilterChoices:
    """Return what can be filtered by in a time span; raises BadParameter and StoreError.

    ``offline``: only in requests that the emulator answered, or only in others; None: in all.
    """
    wanted = RequestFilter(since=find_span(span, now=now).since * 60, offline=offline)
    clause = make_clause(wanted)
    found = database.rows(
        f"SELECT key, {_MODEL}, route, status, purpose, key_group FROM pondero_receipts "  # noqa: S608 - all of it is ours
        f"WHERE {clause.sql} "
        "GROUP BY key, provider, model, route, status, purpose, key_group LIMIT ?",
        (*clause.values, _CHOICES),
    )
    keys, models, routes, statuses, purposes, groups = (
        sorted({row[column] for row in found} - {None, ""}) for column in range(6)
    )
    return FilterChoices(
        keys=keys,
        groups=groups,
        models=models,
        routes=routes,
        statuses=statuses,
        purposes=purposes,
    )


def _make_clause(
    database: LedgerDatabase, wanted: RequestFilter, stopped: Callable[[], bool]
) -> Clause:
    """Return the condition for rows; a search that finds few is done once, not in every query."""
    ids = find_ids(database, wanted, most=_RARE, stopped=stopped) if wanted.search else None
    if ids is None:
        return make_clause(wanted)
    return Clause(f"id IN ({', '.join('?' for _ in ids)})" if ids else "1 = 0", tuple(ids))


def _rows(
    database: LedgerDatabase, clause: Clause, stopped: Callable[[], bool], sql: str
) -> list[tuple[Any, ...]]:
    sleep(_TURN)
    if stopped():
        raise StoreError("the figures are not wanted any more")
    return database.rows(sql.replace("{where}", clause.sql), clause.values)


def _load_statuses(rows: Rows) -> list[EndTotal]:
    found = rows(
        "SELECT ended, status, count(*) FROM pondero_receipts WHERE {where} "
        "GROUP BY ended, status ORDER BY 3 DESC, 1, 2"
    )
    return [EndTotal(end=end, status=status, requests=count) for end, status, count in found]


def _load_models(rows: Rows) -> list[ModelTotal]:
    """Return the use by model and route, the most used first."""
    found = rows(
        f"SELECT {_MODEL}, route, count(*), {_FAILED}, sum(thinking), sum(output), sum(cost) "  # noqa: S608 - all of it is ours
        "FROM pondero_receipts WHERE {where} AND model IS NOT NULL "
        f"GROUP BY provider, model, route ORDER BY 3 DESC, 1, 2 LIMIT {_MOST}"
    )
    seconds, first = _load_percentiles(rows, "seconds"), _load_percentiles(rows, "first")
    return [
        ModelTotal(
            model=model,
            route=route,
            requests=count,
            failed=int(failed),
            thinking=int(thinking or 0),
            answer=int(answer or 0),
            cost=round_dollars(cost),
            seconds=seconds.get((model, route), ()),
            first=first.get((model, route), ()),
        )
        for model, route, count, failed, thinking, answer, cost in found
    ]


def _load_percentiles(rows: Rows, column: str) -> dict[Place, tuple[float, ...]]:
    """Return percentiles by model and route: the least value that so many answers do not exceed.

    A database sorts a hundred thousand values for seconds, and counts equal ones at once; so they
    are counted as hundredths of themselves, in milliseconds.
    """
    found = rows(
        f"SELECT {_MODEL}, route, {_ROUNDED.format(f'CAST({column} * 1000 AS BIGINT)')}, count(*) "  # noqa: S608 - all of it is ours
        "FROM pondero_receipts WHERE {where} "
        f"AND model IS NOT NULL AND ended = 'done' AND {column} IS NOT NULL GROUP BY 1, 2, 3"
    )
    counts: dict[Place, dict[int, int]] = {}
    for model, route, value, count in found:
        counts.setdefault((model, route), {})[value] = count
    return {place: find_percentiles(values) for place, values in counts.items()}


def find_percentiles(counts: Mapping[int, int]) -> tuple[float, ...]:
    """Return the percentiles, in seconds, of values in milliseconds that occur so often."""
    ordered = sorted(counts)
    places = list(accumulate(counts[value] for value in ordered))
    return tuple(
        ordered[bisect_left(places, ceil(share * places[-1]))] / 1000 for share in PERCENTILES
    )


def _load_keys(rows: Rows) -> list[KeyTotal]:
    """Return the use by key, the most expensive first."""
    found = rows(
        f"SELECT key, count(*), {_FAILED}, {_REJECTED}, sum(thinking), sum(output), sum(cost) "  # noqa: S608 - all of it is ours
        "FROM pondero_receipts WHERE {where} "
        f"GROUP BY key ORDER BY coalesce(sum(cost), 0) DESC, 2 DESC, 1 LIMIT {_MOST}"
    )
    return [
        KeyTotal(
            key=key,
            requests=count,
            failed=int(failed),
            rejected=int(rejected),
            thinking=int(thinking or 0),
            answer=int(answer or 0),
            cost=round_dollars(cost),
        )
        for key, count, failed, rejected, thinking, answer, cost in found
    ]


def _load_groups(rows: Rows) -> list[GroupTotal]:
    """Return the use by group, the most expensive first."""
    found = rows(
        f"SELECT key_group, count(DISTINCT key), count(*), {_FAILED}, {_REJECTED}, "  # noqa: S608 - all of it is ours
        "sum(thinking), sum(output), sum(cost) FROM pondero_receipts "
        "WHERE {where} AND key_group IS NOT NULL "
        f"GROUP BY key_group ORDER BY coalesce(sum(cost), 0) DESC, 3 DESC, 1 LIMIT {_MOST}"
    )
    return [
        GroupTotal(
            group=group,
            keys=keys,
            requests=count,
            failed=int(failed),
            rejected=int(rejected),
            thinking=int(thinking or 0),
            answer=int(answer or 0),
            cost=round_dollars(cost),
        )
        for group, keys, count, failed, rejected, thinking, answer, cost in found
    ]


def _load_watch(rows: Rows) -> list[WatchTotal]:
    """Return where answers were all thinking, or thought though off; the most such first."""
    cut, odd = "verdict = 'exhausted'", "verdict = 'thought_though_off'"
    if not rows(f"SELECT 1 FROM pondero_receipts WHERE {{where}} AND ({cut} OR {odd}) LIMIT 1"):  # noqa: S608 - all of it is ours
        return []
    found = rows(
        f"SELECT route, {_MODEL}, sent, key, count(*), "  # noqa: S608 - all of it is ours
        f"sum(CASE WHEN {cut} THEN 1 ELSE 0 END), "
        f"sum(CASE WHEN {cut} THEN coalesce(thinking, 0) ELSE 0 END), "
        f"sum(CASE WHEN {odd} THEN 1 ELSE 0 END) FROM pondero_receipts "
        "WHERE {where} AND model IS NOT NULL AND ended = 'done' "
        "GROUP BY route, provider, model, sent, key "
        f"HAVING sum(CASE WHEN {cut} OR {odd} THEN 1 ELSE 0 END) > 0 "
        f"ORDER BY 6 DESC, 8 DESC, 2, 3, 4 LIMIT {_MOST}"
    )
    return [
        WatchTotal(
            route=route,
            model=model,
            level=level_bucket(sent),
            key=key,
            answers=count,
            exhausted=int(exhausted),
            wasted=int(wasted),
            though_off=int(though_off),
        )
        for route, model, sent, key, count, exhausted, wasted, though_off in found
    ]


def _load_purposes(rows: Rows) -> list[PurposeTotal]:
    """Return the use by purpose, the most frequent first."""
    found = rows(
        "SELECT purpose, count(*), sum(thinking), sum(output), sum(cost) FROM pondero_receipts "
        "WHERE {where} AND purpose IS NOT NULL GROUP BY purpose ORDER BY 2 DESC, 1"
    )
    return [
        PurposeTotal(
            purpose=purpose,
            requests=count,
            thinking=int(thinking or 0),
            answer=int(answer or 0),
            cost=round_dollars(cost),
        )
        for purpose, count, thinking, answer, cost in found
    ]


def _load_steps(rows: Rows, step: int) -> list[StepTotal]:
    found = rows(
        f"SELECT minute / {step}, count(*) FROM pondero_receipts "  # noqa: S608 - all of it is ours
        "WHERE {where} GROUP BY 1 ORDER BY 1"
    )
    return [StepTotal(at=at * step * 60, requests=count) for at, count in found]


def _load_slices(rows: Rows, step: int) -> list[UsageSlice]:
    found = rows(
        f"SELECT minute / {step}, {_MODEL}, sent, count(*), sum(thinking), sum(output), "  # noqa: S608 - all of it is ours
        "sum(cost) FROM pondero_receipts WHERE {where} AND model IS NOT NULL "
        "GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    return [
        UsageSlice(
            at=at * step * 60,
            model=model,
            level=level_bucket(sent),
            requests=count,
            thinking=int(thinking or 0),
            answer=int(answer or 0),
            cost=round_dollars(cost),
        )
        for at, model, sent, count, thinking, answer, cost in found
    ]


def _load_rule_hits(rows: Rows) -> list[RuleHit]:
    rules = ", ".join(f"'{rule}'" for rule in RULES)
    applied = rows(
        "SELECT why, key, said, asked, sent, count(*), max(at) FROM pondero_receipts "  # noqa: S608 - all of it is ours
        "WHERE {where} "
        f"AND (why IN ({rules}) OR substr(why, 1, {len(RULE)}) = '{RULE}') "
        f"GROUP BY why, key, said, asked, sent ORDER BY 6 DESC, 7 DESC LIMIT {_MOST}"
    )
    rejected = rows(
        "SELECT CASE status WHEN 429 THEN 'limit' ELSE 'model' END, key, said, asked, NULL, "  # noqa: S608 - all of it is ours
        "count(*), max(at) FROM pondero_receipts "
        "WHERE {where} AND ended = 'refused' AND status IN (403, 429) AND said <> '' "
        f"GROUP BY 1, key, said, asked ORDER BY 6 DESC, 7 DESC LIMIT {_MOST}"
    )
    return [_make_rule_hit(each) for each in (*applied, *rejected)]


def _make_rule_hit(columns: Sequence[Any]) -> RuleHit:
    why, key, said, asked, sent, times, last = columns
    level = read_sent(sent)
    return RuleHit(why=why, key=key, said=said, asked=asked, sent=level, times=times, last=last)


def _count_adjustments(rows: Rows) -> dict[str, int]:
    """Return how often each adjustment occurred, the most frequent first."""
    counts: Counter[str] = Counter()
    found = rows(
        "SELECT adjustments, count(*) FROM pondero_receipts "
        "WHERE {where} AND adjustments <> '' GROUP BY adjustments"
    )
    for codes, times in found:
        for code in codes.split():
            counts[code] += times
    return dict(counts.most_common())
