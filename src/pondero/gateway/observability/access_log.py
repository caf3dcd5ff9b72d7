"""The access log: one JSON line per request; opened for each batch, so it may be rotated."""

import logging
import os
import sys
from collections import deque
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from ...canon import Usage
from ...store import SecretRedactor
from .background_work import MOST, BackgroundWork
from .receipt import Receipt, redact_receipt

LOG = logging.getLogger("pondero.gateway")
_ENCODER = msgspec.json.Encoder(decimal_format="string")
_LEFT_OUT = frozenset(("at", "provider", "usage", "trace"))
_LONGEST = 200
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
    at = datetime.fromtimestamp(receipt.at, UTC).isoformat(timespec="milliseconds")
    made: dict[str, Any] = {"time": at}
    for name, value in zip(_SHOWN, _get_shown(receipt), strict=True):
        if value is None or (type(value) in _EMPTY and not value):
            continue
        made[name] = _plain(value) if type(value) in _LIMITED else value
    if receipt.answered_by is not None:
        made["model"] = _plain(receipt.answered_by)
    if tokens := _count_known(receipt.usage):
        made["tokens"] = tokens
    return _ENCODER.encode(made).decode()


_SHOWN = tuple(name for name in Receipt.__struct_fields__ if name not in _LEFT_OUT)
_get_shown = attrgetter(*_SHOWN)
_EMPTY = frozenset((str, tuple))  # which are omitted if there is nothing in them
_LIMITED = frozenset((str, float))
_COUNTS = Usage.__struct_fields__
_get_counts = attrgetter(*_COUNTS)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, str) and (len(value) > _LONGEST or not value.isascii()):
        return value[:_LONGEST].encode("utf-8", "replace").decode()
    return value


def _count_known(usage: Usage) -> dict[str, int]:
    counts = zip(_COUNTS, _get_counts(usage), strict=True)
    return {name: count for name, count in counts if count is not None}
