"""Records in the audit log what a command or a signal on this machine did, outside of a request."""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from msgspec import json

from ...canon import Json
from ...errors import PonderoError, StoreError
from ..config.changes import describe_waiting, find_changes
from ..config.model import GatewayConfig, GatewayKey
from ..observability.audit_log import (
    AuditEntry,
    AuditLog,
    Outcome,
    describe_key,
    log_entry,
    write_entries,
)
from ..observability.ledger import save_entry
from ..observability.ledger_database import ledger_database
from .actor import Actor


def find_operator() -> Actor:
    """Return who runs this process, as the system names them."""
    import getpass  # noqa: PLC0415 - takes a while

    name = ""
    with suppress(OSError, KeyError, ImportError):  # a container may have no such user
        name = getpass.getuser()
    user = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    return Actor(name or f"user {user}", "admin", "local")


def record_command(
    config: GatewayConfig,
    action: str,
    subject: str,
    *,
    before: GatewayKey | None = None,
    after: GatewayKey | None = None,
    error: PonderoError | None = None,
) -> None:
    """Record what a command did to a key, or tried to; never raises for a ledger that is away.

    Then the entry waits on disk, for the next gateway on this machine.
    """
    outcome: Outcome = "done"
    if error is not None:
        outcome = "failed" if isinstance(error, StoreError) else "rejected"
    record_local(
        AuditLog(lambda entry: _write(config, entry)),
        action,
        subject,
        before=describe_key(before),
        after=describe_key(after),
        outcome=outcome,
        reason=None if error is None else str(error),
    )


def record_local(
    audit: AuditLog,
    action: str,
    subject: str,
    *,
    before: Json = None,
    after: Json = None,
    outcome: Outcome = "done",
    reason: str | None = None,
    id: str | None = None,
    logs: bool = True,
) -> None:
    """Record an action of the user who runs this process."""
    audit.record(
        find_operator(),
        action,
        subject=subject,
        before=before,
        after=after,
        outcome=outcome,
        reason=reason,
        id=id,
        logs=logs,
    )


def record_reload(
    audit: AuditLog,
    before: GatewayConfig,
    after: GatewayConfig,
    *,
    problem: str | None,
    logs: bool = True,
) -> None:
    """Record that the configuration was read again: what changed, or why it was not taken.

    The reason of one that was taken is what needs a restart.

    All workers read it at once: their entries have one id, so that the database has one. ``logs``:
    without a ledger, the entry goes into the log.
    """
    change = find_changes(before, after)
    id = None
    if before.server.workers > 1:
        changed_at = _find_time(before.path) if before.path is not None else 0
        text = json.encode((os.getppid(), changed_at, problem, change, after.waiting))
        id = sha256(text).hexdigest()[:24]
    record_local(
        audit,
        "config.reload",
        str(before.path or ""),
        before=change.before or None,
        after=change.after or None,
        outcome="done" if problem is None else "rejected",
        reason=describe_waiting(after) if problem is None else problem,
        id=id,
        logs=logs,
    )


def _find_time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _write(config: GatewayConfig, entry: AuditEntry) -> None:
    try:
        database = ledger_database(config.server.ledger)
    except PonderoError:  # its address is a reference to nothing here
        save_entry(entry)
        return
    if database is None:
        log_entry(entry)
        return
    try:
        write_entries(database, [entry])
    except StoreError:
        save_entry(entry)
    finally:
        database.close()
