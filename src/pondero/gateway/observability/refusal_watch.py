"""Knows when a budget last had no room for a request.

Records of requests say so in their reason: those of this process, and those that the ledger has of
others and of earlier ones.
"""

from threading import Lock

from ..quotas.quota import ALONE, HAS_LEFT, Quota, describe_quota, find_window
from .ledger_database import LedgerDatabase
from .receipt import Receipt

_STATUS = 429
_LATE = 10  # minutes: rows of other processes are written later than their time
_DAY = 1_440  # minutes
_MINUTE = 60_000  # milliseconds
_PERIODS = ("hour", "day", "week", "month")
_SQL = (
    "SELECT reason, max(at) FROM pondero_receipts WHERE minute >= ? AND minute < ? "
    "AND ended = 'refused' AND status = ? AND offline = ? AND reason IS NOT NULL GROUP BY reason"
)


class RefusalWatch:
    """The last rejection for each budget, by the sentence that describes it.

    A budget that was changed has another sentence, so an earlier rejection is not about it.
    """

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._read: int | None = None  # the minute up to which the ledger was read
        self._reading = Lock()

    def note(self, receipt: Receipt) -> None:
        """Note a request of this process if a budget had no room for it."""
        if receipt.status == _STATUS and receipt.end == "refused" and receipt.reason:
            self._add(receipt.reason, receipt.at)

    def read(self, database: LedgerDatabase, now: float, *, offline: bool) -> None:
        """Learn what the ledger has since the last reading; raises StoreError.

        The first reading begins where the oldest open period does. ``offline``: only rows of
        emulated answers count, or else only the others.
        """
        with self._reading:
            last = int(now // 60) + 1
            first = _find_first(now) if self._read is None else self._read - _LATE
            for begin in range(first, last, _DAY):  # a query has a deadline
                values = (begin, min(begin + _DAY, last), _STATUS, int(offline))
                for reason, at in database.rows(_SQL, values):
                    self._add(reason, at)
            self._read = last

    def read_again(self) -> None:
        """Let the next reading begin where the first did."""
        self._read = None

    def has_refused(self, quota: Quota, now: float) -> bool:
        """Return whether this budget had no room for a request since its period began."""
        at = self._last.get(_flatten(describe_quota(quota)))
        if at is None:
            return False
        return find_window(quota, int(at * 1000)).slot == find_window(quota, int(now * 1000)).slot

    def _add(self, reason: str, at: float) -> None:
        for follows in (HAS_LEFT, *ALONE):
            sentence, found, _ = reason.partition(follows)
            if found:
                self._last[sentence] = max(at, self._last.get(sentence, 0))


def _flatten(text: str) -> str:
    return " ".join(text.split())  # as records have it


def _find_first(now: float) -> int:
    """Return the minute in which the oldest period of a budget began that is still open."""
    moment = int(now * 1000)
    quotas = (Quota("", "tokens", 1, per, rolling=False) for per in _PERIODS)
    return min(find_window(quota, moment).since for quota in quotas) // _MINUTE
