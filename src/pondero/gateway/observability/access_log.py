"""The access log: one JSON line per request; opened for each batch, so it may be rotated."""

import logging
import os
import sys
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from ...canon import Usage
from ...store import SecretRedactor
from .background_work import MOST, BackgroundWork
from .receipt import LONGEST_REASON, Receipt, redact_receipt

LOG = logging.getLogger("pondero.gateway")
_ENCODER = msgspec.json.Encoder()
_LONGEST = 200
_REMEMBERED = 1_024  # requests with the same texts
_EMPTY = ("", ())
_PATIENCE = 1.0  # seconds for the last lines when the process ends


class AccessLog:
    """Writes lines to standard error, or to the end of a file; ``lost``: lines without room."""

    def __init__(self, where: str) -> None:
        self._path = None if where == "stderr" else Path(where).expanduser()
        self._failing = False
        self._waiting: deque[Receipt] = deque()
        self._rest = b""  # lines that could not be written
        self.lost: int = 0
        self._work = BackgroundWork("the access log", self._write)

    def note(self, receipt: Receipt) -> None:
        """Queue a receipt; never waits."""
        if len(self._waiting) < MOST:
            self._waiting.append(receipt)
        else:
            self.lost += 1

    def close(self) -> None:
        """Write all queued receipts, unless that takes too long."""
        self._work.close(_PATIENCE)

    def _write(self) -> None:
        """Write what could not be written before, then the rest."""
        if self._rest and not self._append(self._rest):
            return
        receipts = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if receipts:
            try:
                redactor = SecretRedactor()
                clean = [redact_receipt(receipt, redactor) for receipt in receipts]
                lines = "".join([f"{format_line(receipt)}\n" for receipt in clean])
            except BaseException:  # such as a module that no descriptor is left to load
                self._waiting.extendleft(reversed(receipts))
                raise
            self._append(lines.encode())

    def _append(self, data: bytes) -> bool:
        """Write these lines; return whether they are written, else they wait for the next call."""
        wrote, file = 0, -1
        if self._path is not None and _ends_inside_line(self._path):
            data = b"\n" + data
        try:
            file = self._open()
            while wrote < len(data):
                wrote += os.write(file, data[wrote:])
        except OSError as error:
            if not self._failing:
                LOG.error("the access log cannot be written: %s", error)  # noqa: TRY400
            self._failing = True
            self._rest = _find_rest(data, wrote)
        else:
            self._failing, self._rest = False, b""
        finally:
            if self._path is not None and file >= 0:
                os.close(file)
        return not self._failing

    def _open(self) -> int:
        if self._path is None:
            # Not its buffer: a write that hangs there would hold a lock that ending needs.
            return sys.stderr.fileno()
        # One write to a file that is open for appending is not mixed with another process's.
        return os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)


def _ends_inside_line(path: Path) -> bool:
    """Return whether a full disk cut the last line, of this process or of another worker."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return False
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except OSError:
        return False


def _find_rest(data: bytes, wrote: int) -> bytes:
    """Return the lines to write after a failure; one that was cut is written again, whole."""
    if wrote and data.startswith(b"\n", wrote):
        return data[wrote + 1 :]  # only its end is missing
    return data[data.rfind(b"\n", 0, wrote) + 1 :].lstrip(b"\n")


def format_line(receipt: Receipt) -> str:
    """Return a request as one line; unknown fields are omitted."""
    begins, goes_on, ends = _encode_shared(_get_shared(receipt))
    # One by one: a loop over names takes three times as long.
    first = "" if receipt.first is None else f',"first":{receipt.first:.4f}'
    first_try = "" if receipt.first_try is None else f',"first_try":{receipt.first_try:.4f}'
    last_try = "" if receipt.last_try is None else f',"last_try":{receipt.last_try:.4f}'
    answer = "" if receipt.first_answer is None else f',"first_answer":{receipt.first_answer:.4f}'
    cost = "" if receipt.cost is None else f',"cost":"{receipt.cost}"'
    return (
        f'{{"time":"{format_log_time(receipt.at)}","id":"{receipt.id}"{begins}'
        f'{first},"seconds":{receipt.seconds:.4f}{cost}{goes_on}'
        f"{first_try}{last_try}{answer}{ends}{_format_counts(receipt.usage)}}}"
    )


# What many requests have in common, in the order of a line; between the groups are its numbers.
_GROUPS = (
    (
        *("key", "front", "said", "answered_by", "road", "asked", "sent", "why", "adjustments"),
        *("status", "end", "finish", "verdict", "reason", "estimated", "tries", "stream"),
    ),
    ("offline", "purpose", "route"),
    ("endpoint", "units", "deployment", "group"),
)
# The admin API and its CSV have these names.
_NAMES = {
    "answered_by": "model",
    "front": "client_api",
    "said": "requested_model",
    "road": "path",
}
_get_shared = attrgetter(*(name for names in _GROUPS for name in names))


@lru_cache(maxsize=_REMEMBERED)
def _encode_shared(values: tuple[Any, ...]) -> tuple[str, ...]:
    """Return each group as the inside of an object after a comma."""
    rest = iter(values)
    return tuple(_encode_group(names, rest) for names in _GROUPS)


def _encode_group(names: tuple[str, ...], values: Iterator[Any]) -> str:
    known = {
        _NAMES.get(name, name): _shorten(value, LONGEST_REASON if name == "reason" else _LONGEST)
        for name, value in zip(names, values, strict=False)  # the next group has the rest
        if value is not None and value not in _EMPTY
    }
    return f",{_ENCODER.encode(known).decode()[1:-1]}" if known else ""


def _shorten(value: Any, longest: int) -> Any:
    if isinstance(value, str) and (len(value) > longest or not value.isascii()):
        return value[:longest].encode("utf-8", "replace").decode()
    return value


def format_log_time(at: float) -> str:
    """Return a time in UTC with milliseconds, as every line of the log has it."""
    second, microseconds = divmod(round(at * 1_000_000), 1_000_000)
    return f"{_format_second(second)}.{microseconds // 1000:03}+00:00"


@lru_cache(maxsize=2)
def _format_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _format_counts(usage: Usage) -> str:
    given = "" if usage.input is None else f',"input":{usage.input}'
    read = "" if usage.cache_read is None else f',"cache_read":{usage.cache_read}'
    written = "" if usage.cache_write is None else f',"cache_write":{usage.cache_write}'
    output = "" if usage.output is None else f',"output":{usage.output}'
    thinking = "" if usage.thinking is None else f',"thinking":{usage.thinking}'
    total = "" if usage.total is None else f',"total":{usage.total}'
    known = f"{given}{read}{written}{output}{thinking}{total}"
    return f',"tokens":{{{known[1:]}}}' if known else ""
