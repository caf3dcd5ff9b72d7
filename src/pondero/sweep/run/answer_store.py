"""Answers of all runs on this disk, so that a later run need not pay for the same request again.

An answer belongs to a request, its address and the model that the service says has answered. The
emulator's answers are not kept.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from ...canon import dump_json, load_json
from ...store import Credentials, Database, Schema, load_catalog, redact_secrets
from ..engines.engine import TrialResult
from .store import runs_folder

_SCHEMA = Schema(
    (
        (
            """CREATE TABLE answers (
                key TEXT NOT NULL, address TEXT NOT NULL, served TEXT NOT NULL, asked TEXT NOT NULL,
                at REAL NOT NULL, body TEXT NOT NULL, PRIMARY KEY (key, address, served)
            ) WITHOUT ROWID""",
            "CREATE INDEX answers_by_model ON answers (asked, address, at)",
        ),
    ),
    "SELECT key FROM answers LIMIT 1",
)


class AnswerStore:
    """The file of answers; open it for one run, and close it."""

    def __init__(self, path: Path | None = None) -> None:
        place = path or runs_folder().parent / "sweep-answers.db"
        place.parent.mkdir(parents=True, exist_ok=True)
        self._database = Database(place, _SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def keep(self, model: str, settled: TrialResult) -> None:
        """Save an answer of a model; errors are not kept, nor what was reused itself."""
        if settled.error is None and not settled.reused:
            row = (
                settled.key,
                address_of(model),
                settled.model or "",
                model,
                settled.at,
                redact_secrets(dump_json(settled)),
            )
            self._database.rows("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", row)

    def find(self, model: str, keys: Iterable[str]) -> dict[str, TrialResult]:
        """Return answers by key, those of the model that has answered last at this address."""
        address = address_of(model)
        newest = self._database.rows(
            "SELECT served FROM answers WHERE asked = ? AND address = ? ORDER BY at DESC LIMIT 1",
            (model, address),
        )
        if not newest:
            return {}
        found = {}
        sql = "SELECT body FROM answers WHERE key = ? AND address = ? AND served = ?"
        for key in keys:
            for (body,) in self._database.rows(sql, (key, address, newest[0][0])):
                found[key] = replace(load_json(body, TrialResult), reused=True)
        return found


def address_of(model: str) -> str:
    """Return the address that a model is asked at."""
    provider = load_catalog().entry(model).provider
    return str(Credentials().url(provider, needed=False))
