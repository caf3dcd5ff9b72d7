"""Breakers and run-time keys of all replicas, in Redis."""

import asyncio
import logging
from collections.abc import Generator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from ...canon import load_json
from ...errors import StoreError
from ..config.model import GatewayKey
from ..quotas.usage_counter import now_ms
from .breakers import FAILURES, PAUSED, PROBE, REST, WITHIN, Breakers, find_rest
from .key_file import KeyFile, SavedKeys
from .keys import EditConflict, KeysUnreadable, Rows, dump_key, load_key
from .redis_link import EPOCH, PREFIX, SECRETS, RedisLink, SharedStateLost
from .redis_protocol import pair_fields

LOG = logging.getLogger("pondero.gateway")

_BREAKERS = "breakers"
_KEYS = "keys"
_NO_KEY = "-"  # in place of the row that a new key replaces
_CHANGES = "keys:changed"
_VERSION = "keys:version"
_TRIES = 5  # to read data whose epoch does not change meanwhile
_LOOK = (
    ("MGET", PREFIX + EPOCH, PREFIX + _VERSION),
    ("HGETALL", PREFIX + _BREAKERS),
    ("HLEN", PREFIX + SECRETS),
)
_FETCH = (
    ("MULTI",),
    ("MGET", PREFIX + EPOCH, PREFIX + _VERSION),
    ("HGETALL", PREFIX + _KEYS),
    ("HGETALL", PREFIX + _CHANGES),
    ("EXEC",),
)


class RedisSnapshot:
    """What a replica reads from Redis at the start of each request, in one round trip.

    ``version`` counts the changes of run-time keys, ``secrets`` the secrets of envelopes.
    ``troubled`` has the deployments with recent failures: the others need no further request.
    """

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._queued: asyncio.Future[list[Any]] | None = None
        self.version: bytes | None = None
        self.secrets: int | None = None
        self.troubled: Mapping[str, Any] = {}

    def begin(self) -> "_Look":
        """Begin to read it; requests of one step share an answer. Awaiting raises SharedStateLost.

        It is no older than the requests: what another replica had changed before is in it.
        """
        if self._queued is None:
            self._queued = self._link.send_all(_LOOK)
            asyncio.get_running_loop().call_soon(self._forget)
        return _Look(self, self._queued)

    def _forget(self) -> None:
        self._queued = None

    async def look(self) -> None:
        """Read it; raises SharedStateLost."""
        await self.begin()

    async def take(self, answer: "asyncio.Future[list[Any]]") -> None:
        """Take over what was read."""
        found = await asyncio.shield(answer)  # others wait for it too
        for _ in range(_TRIES):
            (epoch, version), troubled, secrets = found
            if epoch is not None and epoch.decode() == self._link.epoch:
                break
            await self._link.adopt()
            found = await self._link.send_all(_LOOK)
        else:
            raise self._link.make_lost()
        self.version, self.secrets = version, secrets
        if troubled or self.troubled:
            rows = pair_fields(troubled)
            self.troubled = {name.decode(): load_json(row, dict) for name, row in rows.items()}


class _Look:
    """A snapshot that is being read."""

    __slots__ = ("_answer", "_snapshot")

    def __init__(self, snapshot: RedisSnapshot, answer: "asyncio.Future[list[Any]]") -> None:
        self._snapshot = snapshot
        self._answer = answer

    def __await__(self) -> Generator[Any, None, None]:
        return self._snapshot.take(self._answer).__await__()


class RedisBreakers:
    """The breakers of all replicas; while Redis is unreachable, each has its own."""

    def __init__(self, link: RedisLink, snapshot: RedisSnapshot) -> None:
        self._link = link
        self._snapshot = snapshot
        self._local = Breakers()

    async def is_open(self, name: str) -> bool:
        """Return whether a deployment is paused; False once after the pause, for the probe."""
        if not self._link.is_away and name not in self._snapshot.troubled:
            return False
        try:
            return bool(await self._step("ask", name))
        except SharedStateLost:
            return await self._local.is_open(name)

    async def record_success(self, name: str) -> None:
        """Clear its failures."""
        await self._local.record_success(name)
        if name in self._snapshot.troubled:
            with suppress(SharedStateLost):
                await self._step("well", name)

    async def record_failure(self, name: str) -> None:
        """Record a failure."""
        try:
            await self._step("failed", name)
        except SharedStateLost:
            await self._local.record_failure(name)

    async def cancel_probe(self, name: str) -> None:
        """End a probe that tells nothing about the deployment."""
        await self._local.cancel_probe(name)
        if name in self._snapshot.troubled:
            with suppress(SharedStateLost):
                await self._step("left", name)

    async def pause(self, name: str, seconds: float) -> None:
        """Pause an account, for all replicas."""
        try:
            until = await self._step("pause", name, seconds=seconds)
        except SharedStateLost:
            await self._local.pause(name, seconds)
        else:
            self._note(name, paused=int(until))

    async def end_pause(self, name: str) -> None:
        """End the pause of an account that answers again, for all replicas."""
        await self._local.end_pause(name)
        with suppress(SharedStateLost):
            await self._step("resume", name)
            self._note(name, paused=0)

    async def share_full(self, name: str, seconds: float) -> None:
        """Tell all replicas that a service has nothing left for this time; 0: it has."""
        with suppress(SharedStateLost):
            self._note(name, full=int(await self._step("full", name, seconds=seconds)))

    def _note(self, name: str, **fields: int) -> None:
        """Note what was sent: this replica need not look again to know it."""
        row = {**self._snapshot.troubled.get(name, {}), **fields}
        self._snapshot.troubled = {**self._snapshot.troubled, name: row}

    def find_pause(self, name: str) -> float:
        """Return the seconds for which an account is paused: by this replica, or by another."""
        own = self._local.find_pause(name)
        row = self._snapshot.troubled.get(name)
        if row is None or not row.get("paused") or self._link.is_away:
            return own
        return max(own, (float(row["paused"]) - self._now()) / 1000)

    def find_full(self, name: str) -> float:
        """Return the seconds for which a service has nothing left, as a replica told."""
        row = self._snapshot.troubled.get(name)
        if row is None or not row.get("full") or self._link.is_away:
            return 0.0
        return max(0.0, (float(row["full"]) - self._now()) / 1000)

    def is_resting(self, name: str) -> bool:
        """Return whether a deployment is paused, as this replica last saw it; asks for no probe."""
        return self.find_rest(name) > 0

    def find_rest(self, name: str) -> float:
        """Return the seconds for which a deployment is paused, as this replica last saw it."""
        if self._link.is_away:
            return self._local.find_rest(name)
        if (row := self._snapshot.troubled.get(name)) is None:
            return 0.0
        opened, probing, rest = (
            _read_seconds(row.get(each)) for each in ("opened", "probing", "rest")
        )
        return find_rest(opened, probing, self._now() / 1000, rest=rest)

    def is_guess(self, name: str) -> bool:
        """Return whether the pause of a deployment is our own guess, not its service's word."""
        if self._link.is_away:
            return self._local.is_guess(name)
        return not self._snapshot.troubled.get(name, {}).get("rest")

    def _now(self) -> int:
        return int(self._link.now) if self._link.now != "" else now_ms()

    async def open(self, name: str, seconds: float) -> None:
        """Pause a deployment now, for all replicas."""
        try:
            await self._step("open", name, seconds=seconds)
        except SharedStateLost:
            await self._local.open(name, seconds)

    def states(self) -> dict[str, str]:
        """Return every deployment with recent failures, as this replica last saw it."""
        if self._link.is_away:
            return self._local.states()
        return {name: self._describe(name, row) for name, row in self._snapshot.troubled.items()}

    def _describe(self, name: str, row: Mapping[str, Any]) -> str:
        if self.find_pause(name) > 0:
            return PAUSED
        if not row.get("opened"):
            return "closed"
        return "probing" if row.get("probing") else "open"

    async def _step(self, step: str, name: str, *, seconds: float = 0) -> Any:
        times = [int(each * 1000) for each in (WITHIN, REST, PROBE, seconds)]
        return await self._link.run("breaker", [_BREAKERS], [step, name, FAILURES, *times])


def _read_seconds(milliseconds: Any) -> float | None:
    return milliseconds / 1000 if isinstance(milliseconds, int | float) else None


class RedisKeys:
    """Run-time keys of all replicas, checked at each request.

    A copy in ``file`` holds while Redis is lost, and is given back to a Redis that lost its data,
    all or the keys alone. A replica that knows the keys neither from Redis nor from its copy
    rejects every request.
    """

    def __init__(
        self,
        link: RedisLink,
        snapshot: RedisSnapshot | None = None,
        file: KeyFile | None = None,
    ) -> None:
        self._link = link
        self._snapshot = snapshot
        self._file = file
        self._saved: SavedKeys | None = None
        self._rows: Rows | None = None
        self._version: bytes | None = None
        link.before_epoch.append(self._load)
        link.on_epoch.append(self._merge)

    async def rows(self) -> Rows:
        """Return the current keys; raises SharedStateLost if they are unknown or unreadable."""
        if self._rows is not None and self._link.is_away:
            self._use_later()
        elif (
            self._rows is None or self._snapshot is None or self._snapshot.version != self._version
        ):
            try:
                await self._read()
            except KeysUnreadable:
                raise
            except SharedStateLost:
                if self._rows is None:
                    self._use(self._load())
        if self._rows is None:
            raise self._link.make_lost()
        return self._rows

    async def refresh(self) -> None:
        """Look whether Redis lost its keys, and give them back; raises SharedStateLost."""
        await self._read()

    async def put(self, key: GatewayKey, *, before: GatewayKey | None = None) -> None:
        """Store a key; raises SharedStateLost and EditConflict."""
        stored = "" if before is None else self._find_row(before)
        await self._change(key.name, dump_key(key), stored)

    async def add(self, key: GatewayKey) -> None:
        """Store a new key; raises SharedStateLost and EditConflict."""
        text = dump_key(key)
        try:
            await self._change(key.name, text, _NO_KEY)
        except EditConflict:
            rows = self._saved.rows if self._saved is not None else {}
            if rows.get(key.name) != text:  # else it was asked twice, since an answer was lost
                raise

    def _find_row(self, key: GatewayKey) -> str:
        """Return the row of a key as Redis has it; raises EditConflict if that is another key."""
        row = self._saved.rows.get(key.name) if self._saved is not None else None
        if row is None or load_key(row) != key:
            raise EditConflict(key.name)
        return row

    async def remove(self, name: str) -> None:
        """Delete a key; raises SharedStateLost."""
        await self._change(name, "")

    async def _change(self, name: str, text: str, before: str = "") -> None:
        keys = [_KEYS, _CHANGES, _VERSION]
        _, version = await self._link.run_in_epoch("change_key", keys, lambda: [name, text, before])
        await self._read()
        if not version:
            raise EditConflict(name)

    async def _read(self) -> None:
        """Take over the keys of Redis, after giving it back those that it lost."""
        saved, version = await self._fetch()
        known = self._find_known(needed=not saved.changed)
        if not _is_whole(saved, version, known):
            LOG.error("the shared state lost keys; it is given back what this replica knows")
            await self._give(known)
            saved, version = await self._fetch()
            if not _is_whole(saved, version, known):
                lost = sorted({*saved.changed} - {*saved.rows})
                message = (
                    f"it lost {', '.join(map(repr, lost))}; restore its data, or remove each with "
                    f"redis-cli HSET {PREFIX}{_KEYS} NAME ''"
                )
                raise KeysUnreadable("the shared state", message)
        saved = SavedKeys({name: row for name, row in saved.rows.items() if row}, saved.changed)
        self._use(saved)
        self._version = version
        if self._snapshot is not None:
            self._snapshot.version = version
        self._save(saved)

    async def _fetch(self) -> tuple[SavedKeys, bytes | None]:
        """Return what Redis has, where a removed key is an empty row, and its version."""
        for _ in range(_TRIES):
            *_, ((epoch, version), rows, changed) = await self._link.send_all(_FETCH)
            if epoch is not None and epoch.decode() == self._link.epoch:
                break
            await self._link.adopt()
        else:
            raise self._link.make_lost()
        saved = SavedKeys(
            {name.decode(): row.decode() for name, row in pair_fields(rows).items()},
            {name.decode(): int(number) for name, number in pair_fields(changed).items()},
        )
        return saved, version

    def _use(self, saved: SavedKeys | None) -> None:
        if saved is None or saved == self._saved:
            return
        try:
            self._rows = {name: load_key(row) for name, row in saved.rows.items()}
        except (msgspec.MsgspecError, ValueError, AttributeError) as error:
            raise KeysUnreadable("the shared state", error) from None
        self._saved = saved

    def _use_later(self) -> None:
        """Take over what other processes of this machine, which may reach Redis, have learnt."""
        known = self._find_known(needed=False)
        rows = {name: row for name, row in known.rows.items() if row}
        self._use(SavedKeys(rows, known.changed))

    def _load(self) -> SavedKeys | None:
        return self._file.load() if self._file is not None else None

    def _save(self, saved: SavedKeys) -> None:
        if self._file is not None:
            try:
                self._file.save(saved)
            except StoreError as error:
                LOG.error("the keys are not saved on this machine: %s", error)  # noqa: TRY400 - no traceback

    async def _merge(self, _epoch: str) -> None:
        """Give Redis the keys that this replica knows and Redis does not."""
        # Redis has data: ``before_epoch`` checks the other case.
        await self._give(self._find_known(needed=False))

    def _find_known(self, *, needed: bool) -> SavedKeys:
        """Return the keys that this replica has seen; raises KeysUnreadable if they are needed."""
        copy: SavedKeys | None = None
        try:
            copy = self._load()
        except KeysUnreadable:
            if needed and self._saved is None:
                raise
        known = [each for each in (copy, self._saved) if each is not None]
        rows: dict[str, str] = {}
        changed: dict[str, int] = {}
        for each in known:
            for name in {**each.changed, **each.rows}:
                version = each.changed.get(name, 0)
                if version >= changed.get(name, -1):
                    changed[name] = version
                    rows[name] = each.rows.get(name, "")
        return SavedKeys(rows, changed)

    async def _give(self, known: SavedKeys) -> None:
        arguments: list[str | int] = []
        for name, version in known.changed.items():
            arguments += (name, version, known.rows[name])
        await self._link.run("merge_keys", [_KEYS, _CHANGES, _VERSION], arguments)


def _is_whole(found: SavedKeys, version: bytes | None, known: SavedKeys) -> bool:
    """Return whether Redis has every key it ever had: a removed one leaves an empty row.

    A Redis that evicts, or a hand that deletes, may take one of its entries and leave the others.
    """
    latest = max(found.changed.values(), default=0)
    return (
        found.changed.keys() <= found.rows.keys()
        and known.changed.keys() <= found.rows.keys()
        and int(version or 0) >= latest
    )
