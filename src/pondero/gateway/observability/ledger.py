"""The ledger: one row per request, without content, written in the background.

While the database is unreachable, batches wait as files in the data folder; rows have ids, so
writing one twice is harmless.
"""

import logging
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from secrets import token_hex
from time import monotonic, time
from typing import Any

from ...canon import dump_json, load_json
from ...errors import StoreError
from ...store import SecretRedactor, UsageTotal, data_folder, redact_secrets, write_atomic
from .background_queue import MOST, BackgroundQueue
from .ledger_database import FILE, LedgerDatabase, ledger_database
from .receipt import Receipt

LOG = logging.getLogger("pondero.gateway")

REST = 5.0
"""Seconds before an unreachable database is tried again."""
ASIDE = "gateway-aside"
"""The folder in the data folder for receipts that wait for the database."""

_COLUMNS = (
    *("id", "at", "minute", "key", "front", "said", "provider", "model", "road", "asked", "sent"),
    *("why", "adjustments", "status", "ended", "finish", "verdict", "input", "cache_read"),
    *("cache_write", "output", "thinking", "cost", "tries", "stream", "first", "seconds"),
    *("offline", "estimated", "reason"),
)
_INSERT = (
    f"INSERT INTO pondero_receipts ({', '.join(_COLUMNS)}) "  # noqa: S608 - all of it is ours
    f"VALUES ({', '.join('?' for _ in _COLUMNS)}) ON CONFLICT (id) DO NOTHING"
)
_BILLIONTHS = 1_000_000_000
_BIGGEST = 2**53  # larger counts are a service's mistake, and their sum would overflow
_LONGEST = 200  # characters of a name that a client made up


class Ledger:
    """Writes receipts. ``away``: whether the last write failed."""

    def __init__(self, database: LedgerDatabase, aside: Path | None = None) -> None:
        self.database = database
        self.away: bool = False
        self._aside = aside or Path(data_folder()) / ASIDE
        self._again = 0.0
        self._looked = False
        self._kept: list[Receipt] = []
        self._batches: BackgroundQueue[Receipt] = BackgroundQueue("the ledger", self._write)

    def note(self, receipt: Receipt) -> None:
        """Queue a receipt; never waits."""
        self._batches.put(receipt)

    def close(self) -> None:
        """Write or save all queued receipts, and close the database."""
        self._batches.close()
        self.database.close()

    def _write(self, receipts: list[Receipt]) -> None:
        self._kept += receipts
        if not self._kept and not self.away and self._looked:
            return
        if monotonic() < self._again:
            self._put_aside()
            return
        try:
            self._bring_in()
            if self._kept:
                self.database.write(_INSERT, make_rows(self._kept))
        except StoreError as error:
            self._again = monotonic() + REST
            if not self.away:
                LOG.error("the ledger is away; requests are put aside: %s", error)  # noqa: TRY400
            self.away = True
            self._put_aside()
        else:
            self._kept = []
            if self.away:
                LOG.warning("the ledger is back; what was put aside is in it")
            self.away, self._looked = False, True

    def _put_aside(self) -> None:
        """Save unwritten receipts in a file; if that fails too, keep the latest in memory."""
        if not self._kept:
            return
        path = self._aside / f"{token_hex(8)}.json"
        try:
            write_atomic(path, redact_secrets(dump_json(self._kept)))
        except StoreError as error:
            LOG.error("requests cannot be put aside: %s", error)  # noqa: TRY400 - no traceback
            self._kept = self._kept[-MOST:]
        else:
            self._kept = []

    def _bring_in(self) -> None:
        """Write receipts saved earlier, by this process or by one that has ended."""
        if self._looked and not self.away:
            return
        for path in sorted(self._aside.glob("*.json")):
            try:
                receipts = load_json(path.read_bytes(), list[Receipt])
            except FileNotFoundError:
                continue  # another worker was quicker
            except (OSError, ValueError) as error:
                LOG.error("%s cannot be brought into the ledger: %s", path, error)  # noqa: TRY400
                continue
            self.database.write(_INSERT, make_rows(receipts))
            path.unlink(missing_ok=True)


def make_rows(receipts: Iterable[Receipt]) -> list[tuple[Any, ...]]:
    """Return receipts as rows for either database, without this process's secrets."""
    redactor = SecretRedactor()
    return [_row(receipt, redactor) for receipt in receipts]


def _row(receipt: Receipt, redactor: SecretRedactor) -> tuple[Any, ...]:
    usage = receipt.usage
    counts = (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.thinking)
    return (
        receipt.id,
        receipt.at,
        int(receipt.at // 60),
        _text(receipt.key, redactor),
        receipt.front,
        _text(receipt.said, redactor),
        receipt.provider,
        None if receipt.model is None else _text(receipt.model, redactor),
        receipt.road,
        receipt.asked,
        receipt.sent,
        receipt.why,
        " ".join(receipt.adjustments),
        receipt.status,
        receipt.end,
        receipt.finish,
        receipt.verdict,
        *(count if count is None or abs(count) <= _BIGGEST else None for count in counts),
        None if receipt.cost is None else int((receipt.cost * _BILLIONTHS).to_integral_value()),
        receipt.tries,
        int(receipt.stream),
        receipt.first,
        receipt.seconds,
        int(receipt.offline),
        int(receipt.estimated),
        None if receipt.reason is None else _text(receipt.reason, redactor),
    )


def _text(value: str, redactor: SecretRedactor) -> str:
    """Return a text that PostgreSQL and UTF-8 accept, without secrets."""
    whole = value.encode("utf-8", "replace").decode().replace("\0", "")
    return redactor.text(whole)[:_LONGEST]


def load_usage(ledger: str, *, days: float | None = None) -> list[UsageTotal]:
    """Return usage by key, model and level from the ledger that a configuration names."""
    if ledger == "sqlite" and not (Path(data_folder()) / FILE).exists():
        return []  # reading must not create the file
    database = ledger_database(ledger)
    if database is None:
        return []
    try:
        return query_usage(database, days=days)
    finally:
        database.close()


def query_usage(database: LedgerDatabase, *, days: float | None = None) -> list[UsageTotal]:
    """Return usage by key, model and level, in the last ``days`` or ever.

    Also of answers that failed or whose client left: services charge for them.
    """
    since = 0 if days is None else int((time() - days * 86_400) // 60)
    rows = database.rows(
        "SELECT key, provider || ':' || model, sent, offline, count(*), sum(input), "
        "sum(coalesce(cache_read, 0) + coalesce(cache_write, 0)), sum(thinking), sum(output), "
        "sum(cost), count(cost), sum(seconds) FROM pondero_receipts "
        "WHERE (ended = 'done' OR input IS NOT NULL) AND model IS NOT NULL AND minute >= ? "
        "GROUP BY key, provider, model, sent, offline ORDER BY 1, 2, 3, 4",
        (since,),
    )
    return [_make_total(row) for row in rows]


def _make_total(row: Sequence[Any]) -> UsageTotal:
    key, model, level, offline, requests, *counts, cost, priced, seconds = row
    read, cached, thought, wrote = (None if count is None else int(count) for count in counts)
    return UsageTotal(
        model=model,
        level=level,
        turns=requests,
        replies=requests,
        input=read,
        cached=cached,
        thinking=thought,
        output=wrote,
        cost=round_dollars(cost),
        priced=priced,
        seconds=seconds,
        timed=requests,
        offline=bool(offline),
        key=key,
    )


def round_dollars(billionths: int | Decimal | None) -> str | None:
    """Return a cost of the ledger in dollars, as a decimal number."""
    if billionths is None:
        return None
    return f"{(Decimal(billionths) / _BILLIONTHS).normalize():f}"
