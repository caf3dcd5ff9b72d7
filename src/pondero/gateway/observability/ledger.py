"""The ledger: one row per request, without content, written in the background.

A record waits in the journal, on disk, until the database has it, however long that takes and
whatever happens to this process. Rows have ids, so writing one twice is harmless.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import compress, repeat
from operator import is_not, itemgetter
from pathlib import Path
from threading import Event
from time import monotonic, time
from typing import Any

from msgspec.structs import replace

from ...canon import encode_json, load_json
from ...errors import StoreError
from ...store import SecretRedactor, UsageTotal, assume_media, data_folder, price_usage
from .audit_log import AuditEntry, log_entry, write_entries
from .background_work import BackgroundWork
from .journal import Journal, JournalFile
from .ledger_database import FILE, LedgerDatabase, ledger_database
from .receipt import KILLED, LONGEST_REASON, NO_LEVELS, Observer, Receipt, redact_receipt

LOG = logging.getLogger("pondero.gateway")

REST = 5.0
"""Seconds before an unreachable database is tried again, and between looks for left records."""
PATIENCE = 2.0
"""Seconds for the last rows when the process ends."""
ASIDE = "gateway-aside"
"""The folder in the data folder for records that wait for the database."""
_ROWS = 1_000  # in one transaction
_MANY = 1024 * 1024  # bytes of records: as many may have come while they were written

COLUMNS = (
    *("id", "at", "minute", "key", "front", "said", "provider", "model", "road", "asked", "sent"),
    *("why", "adjustments", "status", "ended", "finish", "verdict", "input", "cache_read"),
    *("cache_write", "output", "thinking", "cost", "tries", "stream", "first", "seconds"),
    *("offline", "estimated", "reason", "purpose", "route"),
    *("first_try", "last_try", "first_answer", "endpoint", "units", "deployment", "key_group"),
)
"""The columns of a row, in the order of ``make_rows``."""


@lru_cache(maxsize=64)
def _write_insert(has: tuple[bool, ...]) -> str:
    """Return the statement for rows that have only these of the columns; the others are NULL."""
    columns = list(compress(COLUMNS, has))
    return (
        f"INSERT INTO pondero_receipts ({', '.join(columns)}) "  # noqa: S608 - all of it is ours
        f"VALUES ({', '.join('?' for _ in columns)}) ON CONFLICT (id) DO UPDATE SET "
        + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS[1:])
        # Two files of a killed process may be brought in at once: the end of a request wins.
        + f" WHERE substr(pondero_receipts.reason, 1, {len(KILLED)}) = '{KILLED}'"
    )


_INSERT = _write_insert((True,) * len(COLUMNS))
_ALIKE = 64  # rows with the same columns that are worth a transaction of their own
_BEGUN = b"?"  # the first byte of a line about a request that has only begun
_AUDIT = b"!"  # the first byte of a line of the audit log
_BILLIONTHS = 1_000_000_000
_BIGGEST = 2**53  # larger counts are a service's mistake, and their sum would overflow
_LONGEST = 200  # characters of a name that a client made up


class Ledger:
    """Writes receipts. ``away``: whether the last write failed.

    ``notice_killed`` is called with the receipt of a request whose process was killed.
    """

    def __init__(self, database: LedgerDatabase, aside: Path | None = None) -> None:
        self.database = database
        self.away: bool = False
        self._aside = aside or Path(data_folder()) / ASIDE
        self._journal = Journal(self._aside)
        self._redactor = SecretRedactor()
        self._again = 0.0
        self._look = 0.0
        self._rows = _ROWS
        self._begun: dict[str, bytes] = {}
        self._unsaved: list[bytes] = []  # of these; for one thread
        self.notice_killed: Observer | None = None
        self.recovered: Event = Event()
        """Set when records that earlier processes left behind are in the database."""
        self._work = BackgroundWork("the ledger", self._write)

    @property
    def held(self) -> int:
        """Return how many records are in memory only, because the disk is full."""
        return self._journal.held

    @property
    def lost(self) -> int:
        """Return how many records found no room, on disk or in memory."""
        return self._journal.lost

    def save_begun(self, receipt: Receipt) -> None:
        """Save the receipt that a request has if this process does not end it."""
        self.add_begun(receipt)
        self.flush_begun()

    def add_begun(self, receipt: Receipt) -> None:
        """Save it with the next ``flush_begun``, which must come before the service is asked."""
        line = b"%b%b\n" % (_BEGUN, encode_json(redact_receipt(receipt, self._redactor)))
        self._begun[receipt.id] = line
        self._unsaved.append(line)

    def flush_begun(self) -> None:
        """Save all that were added, in one write: the system takes longer for it than we do."""
        if self._unsaved:
            lines, self._unsaved = self._unsaved, []
            # In memory they would end with this process.
            self._journal.append(b"".join(lines), is_needed=False)

    def note(self, receipt: Receipt) -> None:
        """Save a receipt on disk, from where it is written later."""
        self.note_all([receipt])

    def note_all(self, receipts: Sequence[Receipt]) -> None:
        """Save receipts on disk at once, from where they are written later."""
        self.flush_begun()
        clean: list[Receipt] = []
        lines: list[bytes] = []
        for receipt in receipts:
            self._begun.pop(receipt.id, None)
            # Only what went wrong can quote a secret that was learned in the last half second.
            redactor = self._redactor if receipt.end == "done" else SecretRedactor()
            clean.append(redact_receipt(receipt, redactor))
            lines.append(encode_json(clean[-1]))
        self._journal.append(b"\n".join([*lines, b""]), clean)

    def note_audit(self, entry: AuditEntry) -> None:
        """Save an entry of the audit log on disk, from where it is written later."""
        self._journal.append(_AUDIT + encode_json(entry) + b"\n", [entry])

    def close(self) -> None:
        """Write what can be written in time; the rest is on disk, for the next process."""
        if self._work.close(PATIENCE):
            self.database.close()
        self._journal.save(self._journal.take_held())
        if self._journal.held:
            LOG.error("%s requests are lost: no disk had room", self._journal.held)
        self._journal.close()

    def _write(self) -> None:
        self._redactor = SecretRedactor()
        self._journal.open()
        if monotonic() < self._again and not self._work.closing:
            return
        try:
            self._bring_in()
            while (file := self._journal.find_full()) is not None:
                few = file.size < _MANY
                ended = self._insert_file(file)
                for line in list(self._begun.values()):
                    self._journal.append(line, is_needed=False)  # to the other file
                file.clear()
                if not ended:
                    break  # the other file has no more than this one
                if few and not self.away and not self._work.closing:
                    break  # what came meanwhile is the next batch
            self._insert_held()
        except StoreError as error:
            self._again, self._rows = monotonic() + REST, 1
            if not self.away:
                LOG.error("the ledger is away; requests wait on disk: %s", error)  # noqa: TRY400
            self.away = True
            self._journal.save(self._journal.take_held())
        else:
            if self.away:
                LOG.warning("the ledger is back; what waited is in it")
            self.away = False

    def _insert_held(self) -> None:
        """Write what the disk had no room for."""
        lines = self._journal.take_held()
        try:
            self._insert(lines)
        except BaseException:
            self._journal.save(lines)
            raise

    def _insert_file(self, file: JournalFile) -> int:
        """Write what is in a file of this process; return how many requests ended."""
        if file.records is None:
            return sum(len(self._insert(lines)) for lines in file.chunks())
        write_entries(self.database, (r for r in file.records if isinstance(r, AuditEntry)))
        ended = [record for record in file.records if isinstance(record, Receipt)]
        self._insert_ended(ended)
        return len(ended)

    def _insert(self, lines: Iterable[bytes]) -> list[str]:
        """Write the requests that ended and return their ids."""
        lines = list(lines)
        write_entries(self.database, _parse_entries(lines))
        ended = (_parse(line) for line in lines if not line.startswith((_BEGUN, _AUDIT)))
        receipts = [receipt for receipt in ended if receipt is not None]
        self._insert_ended(receipts)
        return [receipt.id for receipt in receipts]

    def _insert_ended(self, receipts: Sequence[Receipt]) -> None:
        """Write receipts; after a failure it writes a few at first, for the deadline."""
        wrote = 0
        while wrote < len(receipts):
            some = receipts[wrote : wrote + self._rows]
            for sql, rows in _group_rows(make_rows(some)):
                self.database.write(sql, rows)
            wrote += len(some)
            self._rows = min(2 * self._rows, _ROWS)

    def _bring_in(self) -> None:
        """Write records that processes left behind, however they ended."""
        if monotonic() < self._look:
            return
        for path in sorted(self._aside.glob("*.json")):  # of pondero 0.2
            self._bring_in_list(path)
        files = list(self._journal.find_abandoned())
        begun: dict[str, Receipt] = {}  # what was said last about requests that did not end
        whole = False
        try:
            for file in files:
                for lines in file.chunks():
                    said = (_parse(line[1:]) for line in lines if line.startswith(_BEGUN))
                    begun |= {receipt.id: receipt for receipt in said if receipt is not None}
                    for id in self._insert(lines):
                        begun.pop(id, None)
            self._insert_killed(begun)
            whole = True
        finally:
            for file in files:
                file.close(delete=whole)
        self._look = monotonic() + REST
        self.recovered.set()

    def _insert_killed(self, killed: Mapping[str, Receipt]) -> None:
        """Write the requests that killed processes had begun; a row of their end replaces these."""
        receipts = [_price(killed[id]) for id in self._find_missing(list(killed))]
        if receipts:
            self.database.write(_INSERT, make_rows(receipts))
        if self.notice_killed is not None:
            for receipt in receipts:
                self.notice_killed(receipt)

    def _find_missing(self, ids: Sequence[str]) -> list[str]:
        found: set[str] = set()
        for start in range(0, len(ids), _ROWS // 2):
            some = ids[start : start + _ROWS // 2]
            sql = f"SELECT id FROM pondero_receipts WHERE id IN ({', '.join('?' for _ in some)})"  # noqa: S608 - our own
            found |= {id for (id,) in self.database.rows(sql, some)}
        return [id for id in ids if id not in found]

    def _bring_in_list(self, path: Path) -> None:
        try:
            receipts = load_json(path.read_bytes(), list[Receipt])
        except FileNotFoundError:
            return  # another worker was quicker
        except (OSError, ValueError) as error:
            LOG.error("%s cannot be brought into the ledger: %s", path, error)  # noqa: TRY400
            path.replace(path.with_suffix(".unreadable"))
            return
        self.database.write(_INSERT, make_rows(receipts))
        path.unlink(missing_ok=True)


def _price(receipt: Receipt) -> Receipt:
    provider, model, usage = receipt.provider or "", receipt.model or "", receipt.usage
    if usage.media is None:  # nothing says it, and it is never less than what was served
        usage = assume_media(provider, model, usage)
    return replace(receipt, cost=price_usage(provider, model, usage))


def _parse(line: bytes) -> Receipt | None:
    """Return the receipt in a line of a journal; None, and a word in the log, if there is none."""
    try:
        return load_json(line, Receipt)
    except ValueError as error:
        LOG.error("a record in the journal cannot be read: %s: %r", error, line[:_LONGEST])  # noqa: TRY400
        return None


def _parse_entries(lines: Iterable[bytes]) -> Iterator[AuditEntry]:
    for line in lines:
        if line.startswith(_AUDIT):
            try:
                yield load_json(line[1:], AuditEntry)
            except ValueError as error:
                LOG.error("an entry in the journal cannot be read: %s", error)  # noqa: TRY400


def save_entry(entry: AuditEntry, aside: Path | None = None) -> None:
    """Leave an entry of the audit log on disk, for the next gateway on this machine."""
    journal = Journal(aside or Path(data_folder()) / ASIDE)
    journal.append(_AUDIT + encode_json(entry) + b"\n")
    if journal.held:
        log_entry(entry)
    journal.close()


def make_rows(receipts: Iterable[Receipt]) -> list[tuple[Any, ...]]:
    """Return receipts as rows for either database, without this process's secrets."""
    texts = _RowTexts()
    return [_row(receipt, texts) for receipt in receipts]


def _group_rows(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Yield rows by the columns that they have, and the statement that writes them.

    Python's SQLite takes longer for a None than for a text.
    """
    groups: dict[tuple[bool, ...], list[tuple[Any, ...]]] = {}
    for row in rows:
        groups.setdefault(tuple(map(is_not, row, repeat(None))), []).append(row)
    few: list[tuple[Any, ...]] = []
    for has, group in groups.items():
        if len(group) < _ALIKE:
            few += group
        else:
            known = itemgetter(*compress(range(len(has)), has))
            yield _write_insert(has), list(map(known, group))
    if few:
        yield _INSERT, few


def _row(receipt: Receipt, texts: "_RowTexts") -> tuple[Any, ...]:
    usage = receipt.usage
    counts = (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.thinking)
    return (
        receipt.id,
        receipt.at,
        int(receipt.at // 60),
        texts[receipt.key],
        receipt.front,
        texts[receipt.said],
        receipt.provider,
        texts[receipt.model],
        receipt.road,
        receipt.asked,
        receipt.sent,
        receipt.why,
        " ".join(receipt.adjustments),
        receipt.status,
        receipt.end,
        receipt.finish,
        receipt.verdict,
        *[count if count is None or abs(count) <= _BIGGEST else None for count in counts],
        None if receipt.cost is None else _billionths(receipt.cost),
        receipt.tries,
        int(receipt.stream),
        receipt.first,
        receipt.seconds,
        int(receipt.offline),
        int(receipt.estimated),
        texts.clean(receipt.reason, LONGEST_REASON),
        receipt.purpose,
        receipt.route,
        receipt.first_try,
        receipt.last_try,
        receipt.first_answer,
        receipt.endpoint,
        receipt.units,
        receipt.deployment,
        texts[receipt.group],
    )


def _billionths(cost: Decimal) -> int:
    """Return a cost as the databases take it: one row that they reject would stop all others."""
    return min(int((cost * _BILLIONTHS).to_integral_value()), _BIGGEST)


class _RowTexts(dict[str | None, str | None]):
    """Texts of some rows, as PostgreSQL and UTF-8 accept them, without secrets.

    Rows that are written together have the same few names.
    """

    def __init__(self) -> None:
        super().__init__()
        self._redactor = SecretRedactor()

    def __missing__(self, text: str | None) -> str | None:
        found = self[text] = self.clean(text, _LONGEST)
        return found

    def clean(self, text: str | None, longest: int) -> str | None:
        """Return a text that need not be that of many rows."""
        if text is None:
            return None
        if not text.isascii() or "\0" in text:
            text = text.encode("utf-8", "replace").decode().replace("\0", "")
        return self._redactor.text(text)[:longest]


def load_usage(ledger: str, *, days: float | None = None) -> list[UsageTotal]:
    """Return usage by key, group, model and level from the ledger that a configuration names."""
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
    """Return usage by key, group, model and level, in the last ``days`` or ever.

    Also of answers that failed or whose client left: services charge for them.
    """
    since = 0 if days is None else int((time() - days * 86_400) // 60)
    rows = database.rows(
        "SELECT key, provider || ':' || model, sent, offline, count(*), sum(input), "
        "sum(coalesce(cache_read, 0) + coalesce(cache_write, 0)), sum(thinking), sum(output), "
        "sum(cost), count(cost), sum(seconds), key_group FROM pondero_receipts "
        "WHERE (ended = 'done' OR input IS NOT NULL) AND model IS NOT NULL AND minute >= ? "
        "GROUP BY key, key_group, provider, model, sent, offline ORDER BY 1, 2, 3, 4",
        (since,),
    )
    return [_make_total(row) for row in rows]


def _make_total(row: Sequence[Any]) -> UsageTotal:
    key, model, level, offline, requests, *counts, cost, priced, seconds, group = row
    read, cached, thought, wrote = (None if count is None else int(count) for count in counts)
    return UsageTotal(
        model=model,
        level=None if level in NO_LEVELS else level,
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
        group=group,
    )


def round_dollars(billionths: int | Decimal | None) -> str | None:
    """Return a cost of the ledger in dollars, as a decimal number."""
    if billionths is None:
        return None
    return f"{(Decimal(billionths) / _BILLIONTHS).normalize():f}"
