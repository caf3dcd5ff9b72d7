"""One request as the console lists it, from its receipt or from its row in the ledger."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from ...thinking import FIGURES, LEVELS
from .ledger import COLUMNS, make_rows, round_dollars
from .receipt import Receipt, read_sent


class RequestRow(Struct, frozen=True, kw_only=True):
    """One request; ``cost`` is in dollars, see ``Receipt`` for the rest."""

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
    finish: str | None
    verdict: str | None
    input: int | None
    cached: int | None
    cache_write: int | None
    answer: int | None
    thinking: int | None
    cost: str | None
    tries: int
    stream: bool
    first: float | None
    seconds: float
    offline: bool
    estimated: bool
    reason: str | None
    purpose: str | None
    route: str | None
    first_try: float | None
    last_try: float | None
    first_answer: float | None
    endpoint: str | None
    units: str | None
    deployment: str | None
    group: str | None


class Phase(Struct, frozen=True):
    """A part of the time that a request took, in seconds."""

    name: str
    seconds: float


def load_requests(receipts: Iterable[Receipt]) -> list[RequestRow]:
    """Return receipts as the console lists them, without this process's secrets."""
    return [make_request_row(columns) for columns in make_rows(receipts)]


def make_request_row(columns: Iterable[Any]) -> RequestRow:
    """Return the request of a row of the ledger, whose columns are ``COLUMNS``."""
    found = dict(zip(COLUMNS, columns, strict=True))
    provider, model = found.pop("provider"), found.pop("model")
    del found["minute"]
    found["sent"] = read_sent(found["sent"])
    for name in ("stream", "offline", "estimated"):
        found[name] = bool(found[name])
    return RequestRow(
        client_api=found.pop("front"),
        requested_model=found.pop("said"),
        model=None if model is None else f"{provider}:{model}",
        path=found.pop("road"),
        level=level_bucket(found["sent"]),
        adjustments=tuple(found.pop("adjustments").split()),
        end=found.pop("ended"),
        cached=found.pop("cache_read"),
        answer=found.pop("output"),
        cost=round_dollars(found.pop("cost")),
        group=found.pop("key_group"),
        **found,
    )


def split_time(row: RequestRow) -> list[Phase]:
    """Return where the time of a request went; the phases add up to its seconds.

    An answer in one piece says nothing of how long the model thought.
    """
    marks = {
        "gateway": row.first_try,
        "retries": row.last_try,
        "wait": row.first if row.stream else None,
        "thinking": row.first_answer if row.stream else None,
    }
    last = "gateway" if row.first_try is None else "answer" if row.first_answer else "model"
    phases: list[Phase] = []
    since = 0.0
    for name, mark in marks.items():
        if mark is not None and (until := min(mark, row.seconds)) > since:
            phases.append(Phase(name, until - since))
            since = until
    if row.seconds > since:
        phases.append(Phase(last, row.seconds - since))
    return phases


def level_bucket(sent: str | None) -> str | None:
    """Return the level of a sent value; a number of tokens has its nearest."""
    if sent is None or not sent.isdecimal():
        return sent if sent in LEVELS else None
    tokens = int(sent)
    return "off" if tokens == 0 else min(FIGURES, key=lambda each: abs(FIGURES[each] - tokens))
