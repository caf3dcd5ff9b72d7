"""Clients' keys, of gateway.toml and of run time; only hashes are stored."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from sqlite3 import Connection
from time import monotonic, time
from typing import Protocol

import msgspec
from msgspec import to_builtins
from msgspec.structs import replace

from ...canon import Json, convert_json, dump_json
from ...errors import BadParameter, BadThinking, StoreError
from ...store import (
    Database,
    Schema,
    check_auto,
    data_folder,
    holds_secret,
    write_atomic,
)
from ...thinking import parse_intent
from ..config.endpoint_section import find_endpoint_problem
from ..config.level_order import find_order_problem
from ..config.model import MOST_COST, GatewayKey, find_name_problem, parse_expiry
from ..config.secrets import hash_key, make_key
from .redis_link import AWAY, SharedStateLost

LOG = logging.getLogger("pondero.gateway")

FILE = "gateway-keys.db"
_TICK = 2.0  # seconds; more than a tick of any file system's clock
_LOOK = 1.0  # second; a link to a file elsewhere changes without its folder
_FIXED = frozenset(("name", "hash"))  # of a key
_TRIES = 5  # others may change the key between reading and writing
_ALL_MODELS: Json = []  # in a stored key
_NO_MODEL: Json = [""]
_REVISION = 16  # hexadecimal digits

Rows = Mapping[str, GatewayKey]
_NONE: Rows = {}
_SCHEMA = Schema(
    (("CREATE TABLE keys (name TEXT PRIMARY KEY, key TEXT NOT NULL)",),),
    "SELECT name FROM keys LIMIT 1",
)
# A file that exists is made whole, with its table: one without it lost its keys.
_EXISTING = Schema(((), *_SCHEMA.migrations[1:]), _SCHEMA.probe)


class KeysUnreadable(SharedStateLost):
    """Stored keys exist and cannot be read; the log says why, the client does not learn it."""

    def __init__(self, place: object, error: object) -> None:
        super().__init__(
            "the gateway cannot read its keys; its log says why", status=503, retry_after=AWAY
        )
        LOG.error("the keys in %s cannot be read, so no request is answered: %s", place, error)


class UnknownKey(BadParameter):
    """There is no key of this name."""


class KeyConflict(BadParameter):
    """The name is taken, or the key is in gateway.toml and changed only there."""


class EditConflict(KeyConflict):
    """The key is not any more as it was when it was read."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the key {name!r} was changed meanwhile; read it again, and send the change with its "
            "new revision"
        )


class KeyStore(Protocol):
    """A store of keys created or blocked at run time, by name."""

    async def rows(self) -> Rows:
        """Return the current keys, the same mapping until one changes; raises SharedStateLost.

        A store that cannot read its keys raises: without keys, every client would have access.
        """
        ...

    async def put(self, key: GatewayKey, *, before: GatewayKey | None = None) -> None:
        """Store a key, in place of one with the same name.

        ``before``: the key that it replaces; raises EditConflict if another is stored.
        """
        ...

    async def add(self, key: GatewayKey) -> None:
        """Store a new key; raises EditConflict if there is one of its name."""
        ...

    async def remove(self, name: str) -> None:
        """Delete a key."""
        ...


class LocalKeys:
    """A store in this process's memory."""

    def __init__(self) -> None:
        self._rows: Rows = _NONE

    async def rows(self) -> Rows:
        """Return the current keys."""
        return self._rows

    async def put(self, key: GatewayKey, *, before: GatewayKey | None = None) -> None:
        """Store a key; raises EditConflict."""
        if before is not None and self._rows.get(key.name) != before:
            raise EditConflict(key.name)
        self._rows = {**self._rows, key.name: key}

    async def add(self, key: GatewayKey) -> None:
        """Store a new key; raises EditConflict."""
        if key.name in self._rows:
            raise EditConflict(key.name)
        self._rows = {**self._rows, key.name: key}

    async def remove(self, name: str) -> None:
        """Delete a key."""
        self._rows = {other: key for other, key in self._rows.items() if other != name}


class FileKeys:
    """A store in the data folder for all gateways of this machine, made with the first key.

    A second file says that there are keys, until the last is removed on purpose: if the store
    has none then, it lost them, and no request is answered. The write-ahead log is moved into the
    store after each change, so that a copy of the store alone is whole.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or Path(data_folder()) / FILE
        self._marker = self._path.with_name(f"{self._path.name}.in-use")
        self._database: Database | None = None
        self._inode: tuple[int, int] | None = None
        self._read: tuple[object, Rows] = (None, _NONE)
        self._folder = str(self._path.parent)
        self._without: tuple[int, int] | None = None  # the folder while it had neither file
        self._look = 0.0  # when both are looked for, whatever the folder says
        self._opened = _OpenFolder(self._folder)

    async def rows(self) -> Rows:
        """Return the current keys; raises KeysUnreadable."""
        now = monotonic()
        if now < self._look and self._opened.find_state() == self._without is not None:
            return _NONE  # two files that are missing cost more than the folder
        opened = _OpenFolder(self._folder)
        state, self._without = opened.find_state(), None
        try:
            if not self._exists():
                self._check_marker("the file is missing")
                self._without, self._look, self._opened = state, now + _LOOK, opened
                return _NONE
            database = self._open()
            version = database.rows("PRAGMA data_version")[0][0]
            if self._read[0] != version:
                found = database.rows("SELECT name, key FROM keys ORDER BY rowid")
                rows = {name: load_key(key) for name, key in found}
                if not rows:
                    self._check_marker("the file has none")
                elif self._read[0] is None and not self._marker.exists():
                    with suppress(StoreError):  # a file of an earlier version
                        write_atomic(self._marker, "")
                self._read = (version, rows)
        except (StoreError, OSError, msgspec.MsgspecError, ValueError, AttributeError) as error:
            raise KeysUnreadable(self._path, error) from None
        return self._read[1]

    def _exists(self) -> bool:
        """Return whether there is a file; raises OSError if that is unknown, or if it is empty.

        SQLite would take an empty file for a new database, and every client would have access. A
        file in place of the one that is open (a restored backup) is opened instead.
        """
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self.close()
            return False
        if not found.st_size:
            raise OSError("the file is empty; delete it if there were no keys")
        if self._inode != (inode := (found.st_dev, found.st_ino)):
            self.close()
            self._inode = inode
        return True

    def _check_marker(self, problem: str) -> None:
        """Raise OSError if there are keys."""
        if self._marker.exists():
            message = f"{problem}; restore it, or delete {self._marker} if there are no keys"
            raise OSError(message)

    async def put(self, key: GatewayKey, *, before: GatewayKey | None = None) -> None:
        """Store a key; raises EditConflict."""
        self._put(key, lambda stored: before is None or stored == [before])

    async def add(self, key: GatewayKey) -> None:
        """Store a new key; raises EditConflict."""
        self._put(key, lambda stored: not stored)

    def _put(self, key: GatewayKey, may: Callable[[Sequence[GatewayKey]], bool]) -> None:
        """Store a key if it may replace those of its name: none or one."""
        if not self._exists():
            self._create()
        marked = self._marker.exists()
        try:
            with self._open().transaction() as connection:
                _check_stored(connection, key.name, may)
                connection.execute(
                    "INSERT INTO keys VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET key = ?",
                    (key.name, dump_key(key), dump_key(key)),
                )
                if not marked:
                    write_atomic(self._marker, "")
        except BaseException:
            if not marked:
                self._marker.unlink(missing_ok=True)
            raise
        self._settle()

    async def remove(self, name: str) -> None:
        """Delete a key."""
        if not self._exists():
            return
        with self._open().transaction() as connection:
            connection.execute("DELETE FROM keys WHERE name = ?", (name,))
            is_last = not connection.execute("SELECT 1 FROM keys LIMIT 1").fetchall()
        if is_last:
            self._marker.unlink(missing_ok=True)
        self._settle()

    def _settle(self) -> None:
        self._read = (None, _NONE)  # data_version changes only with writes of other processes
        try:
            self._open().settle()
        except StoreError as error:
            LOG.warning("the keys are stored, in %s-wal: %s", self._path, error)

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
        self._database, self._inode, self._read = None, None, (None, _NONE)

    def _open(self) -> Database:
        if self._database is None:
            self._database = Database(self._path, _EXISTING)
        return self._database

    def _create(self) -> None:
        """Make the file whole or not at all; raises StoreError."""
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            made = Database(draft, _SCHEMA)
            made.settle()
            made.close()
            with suppress(FileExistsError):  # another process was faster
                os.link(draft, self._path)
        except OSError as error:
            message = f"{self._path} cannot be written: {error.strerror or error}"
            raise StoreError(message) from None
        finally:
            for tail in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):
                    draft.with_name(draft.name + tail).unlink(missing_ok=True)
        self._exists()


class _OpenFolder:
    """A folder that is open if it can be: looking at its path takes three times as long."""

    def __init__(self, path: str) -> None:
        self._place: int | str = path
        with suppress(OSError):  # Windows opens no folders
            self._place = os.open(path, os.O_RDONLY)

    def find_state(self) -> tuple[int, int] | None:
        """Return what changes with every new file in it; None if it changed just now.

        The clock of files ticks every few milliseconds: within a tick, another file can follow.
        """
        try:
            found = os.stat(self._place)  # noqa: PTH116 - it may be no path
        except OSError:
            return None
        is_new = abs(time() - found.st_mtime) < _TICK
        return None if is_new else (found.st_ino, found.st_mtime_ns)

    def __del__(self) -> None:
        if isinstance(self._place, int):
            os.close(self._place)


def _check_stored(
    connection: Connection, name: str, may: Callable[[Sequence[GatewayKey]], bool]
) -> None:
    """Raise EditConflict unless the stored keys of a name, none or one, may be replaced."""
    found = connection.execute("SELECT key FROM keys WHERE name = ?", (name,))
    if not may([load_key(row) for (row,) in found]):
        raise EditConflict(name)


def dump_key(key: GatewayKey) -> str:
    """Return a key as it is stored.

    A key without a group says nothing of groups: replicas of an earlier version can read it. To
    them an empty list of models means all, so a key without any has one name that no model has.
    """
    row: dict[str, Json] = to_builtins(key)
    if key.group is None:
        del row["group"]
    row["models"] = _ALL_MODELS if key.models is None else row["models"] or _NO_MODEL
    return dump_json(row)


def load_key(text: str | bytes) -> GatewayKey:
    """Read a stored key; until 0.2 ``cost`` in a budget was stored under another name."""
    row = msgspec.json.decode(text)
    budget = row.get("budget")
    if budget and "money" in budget:
        budget["cost"] = budget.pop("money")
    if budget and budget.get("cost"):  # until 0.2 it had no maximum
        budget["cost"] = min(budget["cost"], MOST_COST)
    if "models" in row:
        stored = row["models"]
        row["models"] = None if stored == _ALL_MODELS else [] if stored == _NO_MODEL else stored
    return convert_json(row, GatewayKey)


def find_revision(key: GatewayKey) -> str:
    """Return a text that is another one after each change of a key."""
    return sha256(dump_key(key).encode()).hexdigest()[:_REVISION]


class KeyEdit(msgspec.Struct, frozen=True):
    """A change of a key: how it was and how it is; None: it did not or does not exist."""

    before: GatewayKey | None
    after: GatewayKey | None

    @property
    def revision(self) -> str:
        """Return the revision of the key now; empty if it does not exist."""
        return "" if self.after is None else find_revision(self.after)


class KeyRing:
    """All keys of a gateway; of those ``configured``, the store only says which are blocked.

    ``has_group``: whether the configuration has a group of this name.
    """

    def __init__(
        self,
        configured: Callable[[], Sequence[GatewayKey]],
        store: KeyStore,
        *,
        has_group: Callable[[str], bool] = bool,
    ) -> None:
        self._configured = configured
        self._store = store
        self._has_group = has_group
        self._merge: tuple[Sequence[GatewayKey], Rows, tuple[GatewayKey, ...]] = ((), _NONE, ())

    async def all(self) -> tuple[GatewayKey, ...]:
        """Return every key, those of the file first; without any, all clients have access.

        Raises SharedStateLost if the stored keys are unknown.
        """
        configured, rows = self._configured(), await self._store.rows()
        if self._merge[0] is not configured or self._merge[1] is not rows:
            self._merge = (configured, rows, _merge(configured, rows))
        return self._merge[2]

    async def make(self, name: str, rules: Mapping[str, Json] | None = None) -> str:
        """Create a key and return its text, which cannot be read again; raises BadParameter.

        ``rules`` has the other settings of ``[[key]]``.
        """
        taken = KeyConflict(f"the key {name!r} exists already; choose another name")
        if any(key.name == name for key in await self.all()):
            raise taken
        text = make_key()
        key = self._build({**(rules or {}), "name": name, "hash": hash_key(text)})
        try:
            await self._store.add(key)
        except EditConflict:  # another process made one meanwhile
            raise taken from None
        return text

    async def change(
        self, name: str, rules: Mapping[str, Json], *, revision: str | None = None
    ) -> KeyEdit:
        """Set settings of a key, None for the default; raises BadParameter for one of the file.

        A change has the form of ``[[key]]``: what it does not name stays. ``revision``: that of
        the key that was seen; raises EditConflict if it has another.
        """

        def apply(key: GatewayKey) -> GatewayKey:
            if self._find_configured(name) is not None:
                message = f"the key {name!r} is in gateway.toml; change it there"
                raise KeyConflict(message)
            if fixed := _FIXED & set(rules):
                given = " and ".join(sorted(fixed))
                message = f"{given} of a key cannot be changed; create another"
                raise BadParameter(message)
            row = {**to_builtins(key, builtin_types=(datetime,)), **rules}
            return self._build({k: v for k, v in row.items() if v is not None})

        return await self._edit(name, apply, revision)

    async def block(
        self, name: str, *, blocked: bool = True, revision: str | None = None
    ) -> KeyEdit:
        """Block or unblock a key; raises BadParameter, and EditConflict as ``change`` does."""

        def apply(key: GatewayKey) -> GatewayKey:
            configured_key = self._find_configured(name)
            if configured_key is not None and configured_key.blocked:
                message = f"the key {name!r} is blocked in gateway.toml; change it there"
                raise KeyConflict(message)
            return replace(key, blocked=blocked)

        return await self._edit(name, apply, revision)

    async def _edit(
        self, name: str, apply: Callable[[GatewayKey], GatewayKey], revision: str | None
    ) -> KeyEdit:
        """Store what ``apply`` makes of a key; of one of the file, whether it is blocked."""
        for tries in range(1, _TRIES + 1):
            key = await self._find_key(name)
            if revision is not None and find_revision(key) != revision:
                raise EditConflict(name)
            after = apply(key)
            try:
                if self._find_configured(name) is None:
                    await self._store.put(after, before=key)
                elif after.blocked:
                    await self._store.put(after)
                else:
                    await self._store.remove(name)
            except EditConflict:
                if revision is not None or tries == _TRIES:
                    raise
            else:
                return KeyEdit(key, after)
        raise EditConflict(name)

    async def remove(self, name: str) -> KeyEdit:
        """Delete a key; raises BadParameter for one of the file."""
        key = await self._find_key(name)
        if self._find_configured(name) is not None:
            message = f"the key {name!r} is in gateway.toml; remove it there, or block it"
            raise KeyConflict(message)
        await self._store.remove(name)
        return KeyEdit(key, None)

    def _build(self, row: Mapping[str, Json]) -> GatewayKey:
        key = _build_key(row)
        text = dump_json({name: value for name, value in row.items() if name != "hash"})
        if holds_secret(text):
            raise BadParameter("invalid key: a name or a setting has the text of a key in it")
        if key.group is not None and not self._has_group(key.group):
            message = f"unknown group {key.group!r}; groups are in gateway.toml, as [[group]]"
            raise BadParameter(message)
        return key

    def is_configured(self, name: str) -> bool:
        """Return whether a key is in the file."""
        return self._find_configured(name) is not None

    def _find_configured(self, name: str) -> GatewayKey | None:
        return next((key for key in self._configured() if key.name == name), None)

    async def _find_key(self, name: str) -> GatewayKey:
        for key in await self.all():
            if key.name == name:
                return key
        message = f"unknown key {name!r}; 'pondero keys list --gateway' lists them"
        raise UnknownKey(message)


def _merge(configured: Sequence[GatewayKey], rows: Rows) -> tuple[GatewayKey, ...]:
    names = {key.name for key in configured}
    configured_key = (
        replace(key, blocked=True)
        if (row := rows.get(key.name)) and row.blocked and row.hash == key.hash
        else key
        for key in configured
    )
    return (*configured_key, *(key for key in rows.values() if key.name not in names))


def _build_key(row: Mapping[str, Json]) -> GatewayKey:
    if (problem := find_name_problem(str(row.get("name", "")))) is not None:
        raise BadParameter(problem)
    try:
        if row.get("expires") is not None:
            row = {**row, "expires": parse_expiry(row["expires"])}
        key = convert_json(row, GatewayKey)
        for word in (key.thinking.default, key.thinking.force):
            parse_intent(word)
            check_auto(word)
        for word in (key.thinking.floor, key.thinking.cap):
            if parse_intent(word).kind == "auto":
                message = f"invalid {word!r}; use a level"
                raise BadThinking(message)  # noqa: TRY301 - reported like any other
        problem = find_order_problem(key.thinking)
    except (msgspec.ValidationError, BadThinking, ValueError) as error:
        message = f"invalid key: {str(error).replace('`', '')}"
        raise BadParameter(message) from None
    if problem is not None:
        message = f"invalid key: {problem}; lower the floor, or raise the cap"
        raise BadParameter(message)
    if (wrong := find_endpoint_problem(key)) is not None:
        raise BadParameter(f"invalid key: {'; '.join(wrong)}")
    for bound in (key.budget, key.limit):
        if bound is not None and not bound.bounds:
            raise BadParameter("invalid key: a budget or limit has no maximum")
    return key
