"""Who may come: the keys of gateway.toml, and those that are made and blocked while it runs.

``app`` asks for all keys at each request; the admin API and ``pondero keys`` change them. A change
holds from the next request on, in every process that shares the store. A key's text is in no
store: only its hash is.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec.structs import replace

from ...canon import Json, convert_json, dump_json
from ...errors import BadParameter, BadThinking
from ...store import Database, Schema, data_folder
from ...thinking import parse_intent
from ..config.model import GatewayKey
from ..config.secrets import hash_key, make_key

FILE = "gateway-keys.db"

Rows = Mapping[str, GatewayKey]
_NONE: Rows = {}
_SCHEMA = Schema(
    (("CREATE TABLE keys (name TEXT PRIMARY KEY, key TEXT NOT NULL)",),),
    "SELECT name FROM keys LIMIT 1",
)


class KeyStore(Protocol):
    """Where keys are kept that are made or blocked at run time, by name."""

    async def rows(self) -> Rows:
        """Return them as they are now: the same mapping, until one is changed."""
        ...

    async def put(self, key: GatewayKey) -> None:
        """Keep a key, in place of one of the same name."""
        ...

    async def remove(self, name: str) -> None:
        """Forget a key."""
        ...


class LocalKeys:
    """A store in this process, gone with it."""

    def __init__(self) -> None:
        self._rows: Rows = _NONE

    async def rows(self) -> Rows:
        """Return the keys as they are now."""
        return self._rows

    async def put(self, key: GatewayKey) -> None:
        """Keep a key."""
        self._rows = {**self._rows, key.name: key}

    async def remove(self, name: str) -> None:
        """Forget a key."""
        self._rows = {other: key for other, key in self._rows.items() if other != name}


class FileKeys:
    """A store in the data folder, which all gateways of this machine share.

    The file is made with the first key. Until then a look whether it is there costs next to
    nothing; from then on SQLite says whether anybody else has written to it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or Path(data_folder()) / FILE
        self._database: Database | None = None
        self._read: tuple[object, Rows] = (None, _NONE)

    async def rows(self) -> Rows:
        """Return the keys as they are now."""
        if self._database is None and not self._path.exists():
            return _NONE
        version = self._open().rows("PRAGMA data_version")[0][0]
        if self._read[0] != version:
            found = self._open().rows("SELECT name, key FROM keys ORDER BY rowid")
            self._read = (version, {name: load_key(key) for name, key in found})
        return self._read[1]

    async def put(self, key: GatewayKey) -> None:
        """Keep a key."""
        with self._open().transaction() as connection:
            connection.execute(
                "INSERT INTO keys VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET key = ?",
                (key.name, dump_json(key), dump_json(key)),
            )
        self._read = (None, _NONE)  # the version tells of the writes of others only

    async def remove(self, name: str) -> None:
        """Forget a key."""
        with self._open().transaction() as connection:
            connection.execute("DELETE FROM keys WHERE name = ?", (name,))
        self._read = (None, _NONE)

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()

    def _open(self) -> Database:
        if self._database is None:
            self._database = Database(self._path, _SCHEMA)
        return self._database


def load_key(text: str | bytes) -> GatewayKey:
    """Read a stored key; until 0.2 the ``cost`` of a budget was stored as ``money``."""
    row = msgspec.json.decode(text)
    budget = row.get("budget")
    if budget and "money" in budget:
        budget["cost"] = budget.pop("money")
    return convert_json(row, GatewayKey)


class KeyRing:
    """All keys of a gateway: those ``configured`` in its file, and those of the store.

    Of a configured key the store can only say that it is blocked; all else is the file's.
    """

    def __init__(self, configured: Callable[[], Sequence[GatewayKey]], store: KeyStore) -> None:
        self._configured = configured
        self._store = store
        self._merge: tuple[Sequence[GatewayKey], Rows, tuple[GatewayKey, ...]] = ((), _NONE, ())

    async def all(self) -> tuple[GatewayKey, ...]:
        """Return every key, those of the file first; none means that everybody may come."""
        configured, rows = self._configured(), await self._store.rows()
        if self._merge[0] is not configured or self._merge[1] is not rows:
            self._merge = (configured, rows, _merge(configured, rows))
        return self._merge[2]

    async def make(self, name: str, rules: Mapping[str, Json] | None = None) -> str:
        """Make a key and return it; nobody can see it again. Raises BadParameter.

        ``rules`` are what may stand under ``[[key]]`` beside its name and hash.
        """
        if any(key.name == name for key in await self.all()):
            message = f"there is a key called {name!r} already; choose another name"
            raise BadParameter(message)
        text = make_key()
        await self._store.put(_build_key({**(rules or {}), "name": name, "hash": hash_key(text)}))
        return text

    async def block(self, name: str, *, blocked: bool = True) -> None:
        """Block a key, or let it in again; raises BadParameter."""
        key = await self._find_key(name)
        configured_key = self._find_configured(name)
        if configured_key is not None and configured_key.blocked:
            message = f"the key {name!r} is blocked in gateway.toml; change it there"
            raise BadParameter(message)
        if configured_key is not None and not blocked:
            await self._store.remove(name)
        else:
            await self._store.put(replace(key, blocked=blocked))

    async def remove(self, name: str) -> None:
        """Forget a key; raises BadParameter for one of the file."""
        await self._find_key(name)
        if self._find_configured(name) is not None:
            message = f"the key {name!r} stands in gateway.toml; take it out there, or block it"
            raise BadParameter(message)
        await self._store.remove(name)

    def is_configured(self, name: str) -> bool:
        """Return whether a key stands in the file."""
        return self._find_configured(name) is not None

    def _find_configured(self, name: str) -> GatewayKey | None:
        return next((key for key in self._configured() if key.name == name), None)

    async def _find_key(self, name: str) -> GatewayKey:
        for key in await self.all():
            if key.name == name:
                return key
        message = f"there is no key called {name!r}; 'pondero keys list --gateway' has them all"
        raise BadParameter(message)


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
    try:
        key = convert_json(row, GatewayKey)
        for word in (key.thinking.default, key.thinking.force):
            parse_intent(word)
        for word in (key.thinking.floor, key.thinking.cap):
            if parse_intent(word).kind == "auto":
                message = f"{word!r} is no depth; use a level"
                raise BadThinking(message)  # noqa: TRY301 - told as any other
    except (msgspec.ValidationError, BadThinking) as error:
        message = f"no such key can be made: {str(error).replace('`', '')}"
        raise BadParameter(message) from None
    for bound in (key.budget, key.limit):
        if bound is not None and not bound.bounds:
            raise BadParameter("no such key can be made: a budget or a limit bounds nothing")
    return key
