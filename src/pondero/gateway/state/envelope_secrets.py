"""The secrets of envelopes that the gateway makes itself, and the envelopes of each client.

The newest secret makes envelopes, all of them open. They are stored in the data folder, and with a
Redis there too, so that replicas share them and neither loss makes envelopes unreadable.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from secrets import token_urlsafe
from time import monotonic
from typing import Protocol

from ...errors import StoreError
from ...store import Database, Schema, data_folder, register_secret
from ..config.model import ServerConfig
from ..config.secrets import read_envelope_secrets
from ..signatures.envelope import ClientEnvelopes, EnvelopeCipher
from .redis_link import PREFIX, SECRETS, RedisLink, SharedStateLost
from .redis_protocol import pair_fields

LOG = logging.getLogger("pondero.gateway")

FILE = "gateway-envelopes.db"
LOCAL = "local"
"""The id of a client without a key."""

_FRESH = 1.0  # seconds until stored secrets are read again
_SCHEMA = Schema(
    (("CREATE TABLE secrets (number INTEGER PRIMARY KEY, secret TEXT NOT NULL UNIQUE)",),),
    "SELECT number FROM secrets LIMIT 1",
)


def make_secret() -> str:
    """Return a new secret of 256 random bits."""
    return token_urlsafe(32)


# For a gateway that stores none. Made before workers fork, so that they share it.
_OF_THIS_PROCESS = make_secret()


class SecretStore(Protocol):
    """A store of secrets."""

    async def load(self) -> tuple[str, ...]:
        """Return all secrets, the newest first; may be empty."""
        ...

    async def create(self) -> tuple[str, ...]:
        """Store a secret if there is none, and return all."""
        ...

    async def add(self, secret: str) -> None:
        """Store a newer secret."""
        ...

    def is_current(self) -> bool:
        """Return whether there is no other secret than those loaded last; False if unknown."""
        ...


class LocalSecrets:
    """A store in this process's memory, shared with the processes that it forks."""

    def __init__(self) -> None:
        self._secrets: tuple[str, ...] = ()

    async def load(self) -> tuple[str, ...]:
        """Return all secrets."""
        return self._secrets

    async def create(self) -> tuple[str, ...]:
        """Return all secrets, at least one."""
        self._secrets = self._secrets or (_OF_THIS_PROCESS,)
        return self._secrets

    def is_current(self) -> bool:
        """Return False: looking costs nothing."""
        return False

    async def add(self, secret: str) -> None:
        """Store a newer secret."""
        self._secrets = (secret, *(each for each in self._secrets if each != secret))


class FileSecrets:
    """A private file in the data folder, for all gateways of this user; made at the first start.

    Without one (a read-only folder), the secret lasts as long as the process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or Path(data_folder()) / FILE
        self._database: Database | None = None
        self._instead: LocalSecrets | None = None

    async def load(self) -> tuple[str, ...]:
        """Return all secrets."""
        if self._instead is not None:
            return await self._instead.load()
        if self._database is None and not self._path.exists():
            return ()
        try:
            return _read(self._open())
        except StoreError as error:
            return await self._do_without(error).load()

    async def create(self) -> tuple[str, ...]:
        """Store a secret if there is none, and return all."""
        if self._instead is not None:
            return await self._instead.create()
        try:
            with self._open().transaction() as connection:
                empty = "NOT EXISTS (SELECT 1 FROM secrets)"
                connection.execute(
                    f"INSERT INTO secrets (secret) SELECT ? WHERE {empty}",
                    (make_secret(),),
                )
            return _read(self._open())
        except StoreError as error:
            return await self._do_without(error).create()

    def is_current(self) -> bool:
        """Return False: the file has to be read."""
        return False

    async def add(self, secret: str) -> None:
        """Store a newer secret; raises StoreError."""
        with self._open().transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO secrets (secret) VALUES (?)", (secret,))

    def _open(self) -> Database:
        if self._database is None:
            self._database = Database(self._path, _SCHEMA)
        return self._database

    def _do_without(self, error: StoreError) -> LocalSecrets:
        LOG.warning("envelopes can be opened until this process ends: %s", error)
        self._instead = LocalSecrets()
        return self._instead


def _read(database: Database) -> tuple[str, ...]:
    rows = database.rows("SELECT secret FROM secrets ORDER BY number DESC")
    return tuple(secret for (secret,) in rows)


class RedisSecrets:
    """Secrets of all replicas, by number: the highest is the newest. ``copy`` is this machine's.

    ``count`` returns how many Redis had at the last look. An emptied Redis gets the copies back. A
    secret that was made while Redis was unreachable becomes an old one.
    """

    def __init__(
        self, link: RedisLink, copy: SecretStore, count: Callable[[], int | None] | None = None
    ) -> None:
        self._link = link
        self._copy = copy
        self._count = count
        self._read: int | None = None

    def is_current(self) -> bool:
        """Return whether Redis had no others at the last request: secrets are only added."""
        if self._count is None or self._read is None or self._link.is_away:
            return False
        return self._count() == self._read

    async def load(self) -> tuple[str, ...]:
        """Return all secrets; those of the copy while Redis is unreachable."""
        known = await self._copy.load()
        try:
            shared = await self._read_rows()
            for secret in known:
                if secret not in shared.values():
                    shared = await self._put(secret, newest=False)
        except SharedStateLost:
            return known
        return await self._keep(shared)

    async def create(self) -> tuple[str, ...]:
        """Store a secret if there is none, and return all; of all replicas, one succeeds."""
        known = await self.load()
        if known:
            return known
        try:
            await self._link.send("HSETNX", PREFIX + SECRETS, 0, make_secret())
            return await self._keep(await self._read_rows())
        except SharedStateLost:
            return await self._copy.create()

    async def add(self, secret: str) -> None:
        """Store a newer secret; raises SharedStateLost."""
        await self.create()  # the old ones, if this machine has them alone
        await self._keep(await self._put(secret, newest=True))

    async def _put(self, secret: str, *, newest: bool) -> dict[int, str]:
        """Store a secret after or before all others, and return all."""
        rows = await self._read_rows()
        while secret not in rows.values():
            number = max(rows, default=-1) + 1 if newest else min(rows, default=1) - 1
            await self._link.send("HSETNX", PREFIX + SECRETS, number, secret)
            rows = await self._read_rows()  # another replica may have taken that number
        return rows

    async def _read_rows(self) -> dict[int, str]:
        rows = pair_fields(await self._link.send("HGETALL", PREFIX + SECRETS))
        self._read = len(rows)
        return {int(number): secret.decode() for number, secret in rows.items()}

    async def _keep(self, shared: dict[int, str]) -> tuple[str, ...]:
        """Copy secrets to this machine and return them, the newest first."""
        secrets = tuple(dict.fromkeys(shared[number] for number in sorted(shared, reverse=True)))
        known = await self._copy.load()
        if known[:1] != secrets[:1] or not set(secrets) <= set(known):
            try:
                for secret in reversed(secrets):
                    await self._copy.add(secret)
            except StoreError as error:
                LOG.warning("the secrets of envelopes are in Redis alone: %s", error)
        return secrets


class EnvelopeSecrets:
    """The secrets of a gateway: those configured, else of the store; all stored ones open too."""

    def __init__(self, server: Callable[[], ServerConfig], store: SecretStore) -> None:
        self._server = server
        self._store = store
        self._configured: tuple[ServerConfig | None, tuple[str, ...]] = (None, ())
        self._made: tuple[tuple[str, ...], EnvelopeCipher | None] = ((), None)
        self._until = 0.0

    def forget(self) -> None:
        """Read the configured secrets again at the next request."""
        self._configured = (None, ())
        self._until = 0.0

    async def make_envelopes(self, client: str, body: bytes) -> ClientEnvelopes:
        """Return the envelopes of a client who sends this body; raises MissingKey."""
        cipher = self._made[1]
        if cipher is None or not self._is_fresh() or not cipher.knows_secrets(body):
            cipher = await self._load_cipher()
        accepts = self._server().accept_plain_envelopes
        plain = accepts == "always" or (accepts == "local" and client == LOCAL)
        return ClientEnvelopes(cipher, client, accepts_plain=plain)

    def _is_fresh(self) -> bool:
        if monotonic() < self._until:
            return True
        if not self._until or not self._store.is_current():
            return False
        self._until = monotonic() + _FRESH
        return True

    async def _load_cipher(self) -> EnvelopeCipher:
        server = self._server()
        if self._configured[0] is not server:
            self._configured = (server, read_envelope_secrets(server))
        configured = self._configured[1]
        stored = await (self._store.load() if configured else self._store.create())
        secrets = tuple(dict.fromkeys((*configured, *stored)))
        known, cipher = self._made
        if cipher is None or known != secrets:
            cipher = EnvelopeCipher(secrets)
            self._made = (secrets, cipher)
            for secret in secrets:
                register_secret(secret)
        self._until = monotonic() + _FRESH
        return cipher
