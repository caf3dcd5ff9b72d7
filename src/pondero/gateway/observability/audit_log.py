"""The audit log: who did what in the admin API, what was before and after, and how it ended.

Entries go into the ledger's database through its journal, so that none is lost with a process or a
database; without a ledger, into the log. They are added and never changed. No key and no secret is
in one: of a key's hash only its beginning.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from time import time
from typing import Any, Literal

from msgspec import Struct, json, to_builtins
from msgspec.structs import replace

from ...canon import Json
from ...store import SecretRedactor
from ..admin.actor import Actor
from ..config.model import HASH, GatewayKey
from .ledger_database import LedgerDatabase
from .receipt import make_id

LOG = logging.getLogger("pondero.gateway")

ACTIONS = (
    *("key.create", "key.change", "key.block", "key.unblock", "key.remove"),
    *("config.reload", "secret.rotate", "sign_in", "sign_out", "read"),
)
"""What an entry can be about; ``read``: only an attempt to read that was rejected."""
OUTCOMES = ("done", "rejected", "failed")
Outcome = Literal["done", "rejected", "failed"]
"""``rejected``: it was not allowed or not valid; ``failed``: a store did not take it."""
KEPT = 200
"""The latest entries that a process remembers, for the console."""
COLUMNS = (
    *("id", "at", "actor", "role", "how", "address", "action", "subject", "before", "after"),
    *("outcome", "reason"),
)
"""The columns of a row, in the order of ``make_audit_rows``."""
_INSERT = (
    f"INSERT INTO pondero_audit ({', '.join(COLUMNS)}) "  # noqa: S608 - all of it is ours
    f"VALUES ({', '.join('?' for _ in COLUMNS)}) ON CONFLICT (id) DO NOTHING"
)
_LONGEST = 500  # characters of a name or a reason
_LARGEST = 100_000  # bytes of ``before``, and of ``after``
_SHOWN = len(HASH) + 8  # characters of a hash: enough to tell two keys apart


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One action of an actor; ``how`` and ``role`` are empty for an unknown client.

    ``subject``: the key or file that was changed. ``address``: of the client, empty for this
    machine's own commands and signals.
    """

    id: str
    at: float
    actor: str
    role: str
    how: str
    address: str
    action: str
    subject: str
    before: Json = None
    after: Json = None
    outcome: Outcome = "done"
    reason: str | None = None


class AuditLog:
    """Records actions; ``write`` takes each entry, and must not wait."""

    def __init__(self, write: Callable[[AuditEntry], None] | None = None) -> None:
        self._write = write
        self._latest: deque[AuditEntry] = deque(maxlen=KEPT)

    def record(
        self,
        actor: Actor | str | None,
        action: str,
        *,
        subject: str = "",
        address: str = "",
        before: Json = None,
        after: Json = None,
        outcome: Outcome = "done",
        reason: str | None = None,
        id: str | None = None,
        logs: bool = True,
    ) -> None:
        """Record an action; without an actor, that of an unknown client.

        A text names a key that is no actor. ``id``: of what several processes record, which is one
        action. ``logs``: without a ledger, write it to the log, unless another process does.
        """
        at = time()
        if isinstance(actor, str):
            name, role, how = actor, "", "key"
        else:
            name, role, how = (actor.name, actor.role, actor.how) if actor else ("", "", "")
        entry = AuditEntry(
            id=id or make_id(at),
            at=at,
            actor=name,
            role=role,
            how=how,
            address=address,
            action=action,
            subject=subject,
            before=before,
            after=after,
            outcome=outcome,
            reason=reason,
        )
        entry = _clean(entry)
        self._latest.append(entry)
        if self._write is None:
            if logs:
                log_entry(entry)
            return
        try:
            self._write(entry)
        except Exception:
            LOG.exception("the audit log could not be written")
            log_entry(entry)

    def latest(self) -> list[AuditEntry]:
        """Return the latest entries of this process, newest first."""
        return sorted(self._latest, key=lambda each: (each.at, each.id), reverse=True)


def describe_key(key: GatewayKey | None) -> Json:
    """Return a key with the beginning of its hash alone; None if there is no key."""
    if key is None:
        return None
    return {**to_builtins(key), "hash": key.hash[:_SHOWN]}


def log_entry(entry: AuditEntry) -> None:
    """Write an entry to the log, in one line."""
    LOG.warning("audit: %s", json.encode(entry).decode())


def write_entries(database: LedgerDatabase, entries: Iterable[AuditEntry]) -> None:
    """Add entries to the database, each once; raises StoreError."""
    rows = [_make_row(entry) for entry in entries]
    if rows:
        database.write(_INSERT, rows)


def read_entry(columns: Iterable[Any]) -> AuditEntry:
    """Return the entry of a row, whose columns are ``COLUMNS``."""
    found = dict(zip(COLUMNS, columns, strict=True))
    for name in ("before", "after"):
        found[name] = None if found[name] is None else json.decode(found[name])
    return AuditEntry(**found)


def _make_row(entry: AuditEntry) -> tuple[Any, ...]:
    values = {name: getattr(entry, name) for name in COLUMNS}
    for name in ("before", "after"):
        if values[name] is not None:
            values[name] = json.encode(values[name]).decode()
    return tuple(values.values())


def _clean(entry: AuditEntry) -> AuditEntry:
    """Return an entry without secrets, of a bounded size, in texts that every database takes."""
    redactor = SecretRedactor()

    def clean_text(text: str) -> str:
        whole = text.encode("utf-8", "replace").decode().replace("\0", "")
        return redactor.text(whole)[:_LONGEST]

    def clean_value(value: Json) -> Json:
        if isinstance(value, str):
            return clean_text(value)
        if isinstance(value, Mapping):
            return {clean_text(str(name)): clean_value(each) for name, each in value.items()}
        return [clean_value(each) for each in value] if isinstance(value, list | tuple) else value

    def clean_whole(value: Json) -> Json:
        cleaned = clean_value(value)
        size = len(json.encode(cleaned))
        return cleaned if size <= _LARGEST else {"omitted": f"{size:,} bytes"}

    texts = {name: clean_text(getattr(entry, name)) for name in ("actor", "address", "subject")}
    reason = None if entry.reason is None else clean_text(entry.reason)
    before, after = clean_whole(entry.before), clean_whole(entry.after)
    return replace(entry, **texts, before=before, after=after, reason=reason)
