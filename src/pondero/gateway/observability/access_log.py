"""The access log: one JSON line per request; opened for each batch, so it may be rotated."""

import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ...canon import Usage
from ...store import redact_secrets
from .background_queue import BackgroundQueue
from .receipt import Receipt

LOG = logging.getLogger("pondero.gateway")
_ENCODER = msgspec.json.Encoder(decimal_format="string")
_LEFT_OUT = frozenset(("at", "provider", "usage", "trace"))
_LONGEST = 200


class AccessLog:
    """Writes lines to standard error, or to the end of a file."""

    def __init__(self, where: str) -> None:
        self._path = None if where == "stderr" else Path(where).expanduser()
        self._failing = False
        self._batches: BackgroundQueue[Receipt] = BackgroundQueue("the access log", self._write)

    def note(self, receipt: Receipt) -> None:
        """Queue a receipt; never waits."""
        self._batches.put(receipt)

    def close(self) -> None:
        """Write all queued receipts."""
        self._batches.close()

    def _write(self, receipts: list[Receipt]) -> None:
        if not receipts:
            return
        data = redact_secrets("".join(f"{format_line(receipt)}\n" for receipt in receipts)).encode()
        try:
            self._append(data)
        except OSError as error:
            if not self._failing:
                LOG.error("the access log cannot be written: %s", error)  # noqa: TRY400
            self._failing = True
        else:
            self._failing = False

    def _append(self, data: bytes) -> None:
        if self._path is None:
            sys.stderr.buffer.write(data)
            sys.stderr.buffer.flush()
            return
        # One write to a file that is open for appending is not mixed with another process's.
        file = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            while data:
                data = data[os.write(file, data) :]
        finally:
            os.close(file)


def format_line(receipt: Receipt) -> str:
    """Return a request as one line; unknown fields are omitted."""
    fields = msgspec.structs.asdict(receipt)
    made = {
        "time": datetime.fromtimestamp(receipt.at, UTC).isoformat(timespec="milliseconds"),
        **{name: _plain(value) for name, value in fields.items() if name not in _LEFT_OUT},
        "model": receipt.answered_by,
        "tokens": _count_known(receipt.usage),
    }
    return _ENCODER.encode({k: v for k, v in made.items() if v not in (None, (), {}, "")}).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, str):
        return value[:_LONGEST].encode("utf-8", "replace").decode()
    return value


def _count_known(usage: Usage) -> dict[str, int]:
    counts = msgspec.structs.asdict(usage)
    return {name: count for name, count in counts.items() if count is not None}
