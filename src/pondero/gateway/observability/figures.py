"""Reads the ledger for the console, in a thread, because a database can be slow."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from ...store import SecretRedactor
from ...thinking import FIGURES, LEVELS
from ..levels.level_rules import RULE
from .ledger import round_dollars
from .ledger_database import LedgerDatabase
from .receipt import Receipt

SPANS = {"hour": (60, 1), "day": (1_440, 30), "week": (10_080, 180), "month": (43_200, 720)}
"""Minutes in a span, and minutes in one step of its chart."""
RULES = ("cap", "floor", "force")
_MOST = 200
_COLUMNS = (
    "id, at, key, front, said, provider, model, road, asked, sent, why, adjustments, status, "
    "ended, verdict, input, cache_read, output, thinking, cost, first, seconds, offline, "
    "estimated, reason, purpose"
)


class RequestRow(Struct, frozen=True, kw_only=True):
    """One request as the console lists it; ``cost`` is in dollars, see ``Receipt`` for the rest."""

    id: str
    at: float
    key: str
    client_api: str
    requested_model: str
    model: str | None
    path: str
    asked: str | None
    sent: str | None
    level: str | None
    why: str | None
    adjustments: tuple[str, ...]
    status: int
    end: str
    verdict: str | None
    input: int | None
    cached: int | None
    answer: int | None
    thinking: int | None
    cost: str | None
    first: float | None
    seconds: float
    offline: bool
    estimated: bool
    reason: str | None
    purpose: str | None


class UsageSlice(Struct, frozen=True, kw_only=True):
    """The use of one model at one level in one time step, which begins at ``at``."""

    at: int
    model: str
    level: str | None
    requests: int
    thinking: int
    answer: int
    cost: str | None


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
    slices: list[UsageSlice]
    bites: list[RuleHit]
    adjustments: dict[str, int]
    ends: dict[str, int]
    purposes: list[PurposeTotal]
    watch: list[WatchTotal]


def load_requests(receipts: Iterable[Receipt]) -> list[RequestRow]:
    """Return receipts as the console lists them, without this process's secrets."""
    redactor = SecretRedactor()
    return [_row_of(receipt, redactor) for receipt in receipts]


def _row_of(receipt: Receipt, redactor: SecretRedactor) -> RequestRow:
    usage, model = receipt.usage, receipt.answered_by
    return RequestRow(
        id=receipt.id,
        at=receipt.at,
        key=redactor.text(receipt.key),
        client_api=receipt.front,
        requested_model=redactor.text(receipt.said)[:_MOST],
        model=None if model is None else redactor.text(model)[:_MOST],
        path=receipt.road,
        asked=receipt.asked,
        sent=receipt.sent,
        level=level_bucket(receipt.sent),
        why=receipt.why,
        adjustments=receipt.adjustments,
        status=receipt.status,
        end=receipt.end,
        verdict=receipt.verdict,
        input=usage.input,
        cached=usage.cache_read,
        answer=usage.output,
        thinking=usage.thinking,
        cost=None if receipt.cost is None else f"{receipt.cost:f}",
        first=receipt.first,
        seconds=receipt.seconds,
        offline=receipt.offline,
        estimated=receipt.estimated,
        reason=None if receipt.reason is None else redactor.text(receipt.reason)[:_MOST],
        purpose=receipt.purpose,
    )


def latest(database: LedgerDatabase, *, count: int = _MOST) -> list[RequestRow]:
    """Return the latest requests, newest first; raises StoreError."""
    sql = f"SELECT {_COLUMNS} FROM pondero_receipts ORDER BY minute DESC, at DESC LIMIT ?"  # noqa: S608 - our own columns
    return [_row(*each) for each in database.rows(sql, (count,))]


def _row(*columns: Any) -> RequestRow:
    id, at, key, front, said, provider, model, road, asked, sent, why, notes = columns[:12]
    status, end, verdict, input, cached, answer, thinking, cost = columns[12:20]
    first, seconds, offline, estimated, reason, purpose = columns[20:]
    return RequestRow(
        id=id,
        at=at,
        key=key,
        client_api=front,
        requested_model=said,
        model=None if model is None else f"{provider}:{model}",
        path=road,
        asked=asked,
        sent=sent,
        level=level_bucket(sent),
        why=why,
        adjustments=tuple(notes.split()),
        status=status,
        end=end,
        verdict=verdict,
        input=input,
        cached=cached,
        answer=answer,
        thinking=thinking,
        cost=round_dollars(cost),
        first=first,
        seconds=seconds,
        offline=bool(offline),
        estimated=bool(estimated),
        reason=reason,
        purpose=purpose,
    )


def load_figures(database: LedgerDatabase, span: str, *, now: float) -> ConsoleFigures:
    """Return the usage in a time span up to now; raises StoreError."""
    minutes, step = SPANS[span]
    last = int(now // 60) // step
    since = last * step - minutes + step
    return ConsoleFigures(
        since=since * 60,
        until=(last + 1) * step * 60,
        step=step * 60,
        slices=_load_slices(database, since, step),
        bites=_load_rule_hits(database, since),
        adjustments=_count_adjustments(database, since),
        ends=dict(
            database.rows(
                "SELECT ended, count(*) FROM pondero_receipts WHERE minute >= ? GROUP BY ended",
                (since,),
            )
        ),
        purposes=_load_purposes(database, since),
        watch=_load_watch(database, since),
    )


def _load_watch(database: LedgerDatabase, since: int) -> list[WatchTotal]:
    """Return where answers were all thinking, or thought though off; the most such first."""
    cut, odd = "verdict = 'exhausted'", "verdict = 'thought_though_off'"
    found = database.rows(
        "SELECT route, provider || ':' || model, sent, key, count(*), "  # noqa: S608 - all of it is ours
        f"sum(CASE WHEN {cut} THEN 1 ELSE 0 END), "
        f"sum(CASE WHEN {cut} THEN coalesce(thinking, 0) ELSE 0 END), "
        f"sum(CASE WHEN {odd} THEN 1 ELSE 0 END) FROM pondero_receipts "
        "WHERE minute >= ? AND model IS NOT NULL AND ended = 'done' "
        "GROUP BY route, provider, model, sent, key "
        f"HAVING sum(CASE WHEN {cut} OR {odd} THEN 1 ELSE 0 END) > 0 "
        "ORDER BY 6 DESC, 8 DESC, 2, 3, 4 LIMIT 50",
        (since,),
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


def _load_purposes(database: LedgerDatabase, since: int) -> list[PurposeTotal]:
    """Return the use by purpose, the most frequent first."""
    found = database.rows(
        "SELECT purpose, count(*), sum(thinking), sum(output), sum(cost) FROM pondero_receipts "
        "WHERE minute >= ? AND purpose IS NOT NULL GROUP BY purpose ORDER BY 2 DESC, 1",
        (since,),
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


def _load_slices(database: LedgerDatabase, since: int, step: int) -> list[UsageSlice]:
    found = database.rows(
        "SELECT minute / ?, provider || ':' || model, sent, count(*), sum(thinking), sum(output), "
        "sum(cost) FROM pondero_receipts WHERE minute >= ? AND model IS NOT NULL "
        "GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        (step, since),
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


def _load_rule_hits(database: LedgerDatabase, since: int) -> list[RuleHit]:
    rules = ", ".join("?" for _ in RULES)
    applied = database.rows(
        "SELECT why, key, said, asked, sent, count(*), max(at) FROM pondero_receipts "  # noqa: S608 - only question marks
        f"WHERE minute >= ? AND (why IN ({rules}) OR why LIKE ?) "
        "GROUP BY why, key, said, asked, sent ORDER BY 6 DESC, 7 DESC LIMIT 50",
        (since, *RULES, f"{RULE}%"),
    )
    rejected = database.rows(
        "SELECT CASE status WHEN 429 THEN 'limit' ELSE 'model' END, key, said, asked, NULL, "
        "count(*), max(at) FROM pondero_receipts "
        "WHERE minute >= ? AND ended = 'refused' AND status IN (403, 429) "
        "GROUP BY 1, key, said, asked ORDER BY 6 DESC, 7 DESC LIMIT 50",
        (since,),
    )
    return [_make_rule_hit(each) for each in (*applied, *rejected)]


def _make_rule_hit(columns: Sequence[Any]) -> RuleHit:
    why, key, said, asked, sent, times, last = columns
    return RuleHit(why=why, key=key, said=said, asked=asked, sent=sent, times=times, last=last)


def _count_adjustments(database: LedgerDatabase, since: int) -> dict[str, int]:
    """Return how often each adjustment occurred, the most frequent first."""
    counts: Counter[str] = Counter()
    found = database.rows(
        "SELECT adjustments, count(*) FROM pondero_receipts "
        "WHERE minute >= ? AND adjustments <> '' GROUP BY adjustments",
        (since,),
    )
    for codes, times in found:
        for code in codes.split():
            counts[code] += times
    return dict(counts.most_common())


def level_bucket(sent: str | None) -> str | None:
    """Return the level of a sent value; a number of tokens has its nearest."""
    if sent is None or not sent.isdecimal():
        return sent if sent in LEVELS else None
    tokens = int(sent)
    return "off" if tokens == 0 else min(FIGURES, key=lambda each: abs(FIGURES[each] - tokens))
