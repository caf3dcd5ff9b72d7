"""The connection to the Redis that replicas share; every command has a deadline.

After a failure no command is sent: a task in the background tries every second whether Redis can be
read and written, gives it back all that this replica knows, and only then uses it again. So a
request waits at most once, and a Redis that is full or read-only counts as lost.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from hashlib import sha1
from importlib.resources import files
from secrets import token_hex
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ...errors import MissingExtra, Overloaded
from ...extras import install_hint

LOG = logging.getLogger("pondero.gateway")

PREFIX = "pondero:"
AWAY = 1.0
"""Seconds between attempts to reach a Redis that failed."""
EPOCH = "epoch"
"""The name under which Redis keeps the id of its data; without it, its data was lost."""
REPLICAS = "replicas"
"""The name under which Redis keeps the epoch that each replica knows."""
_PROCESS = "process"  # the process of Redis that has the epoch
_COUNTERS = (f"{PREFIX}budget:*", f"{PREFIX}limit:*")
_PATIENCE = 1.0  # for a connection, and for an answer
_LONGEST = 3 * _PATIENCE  # for a command with all its answers and a retry
_CONNECTIONS = 32
_POLICY = "maxmemory-policy"
_TRIES = 5  # to find an epoch that does not change meanwhile

Value = TypeVar("Value")
Argument = str | int | bytes


class SharedStateLost(Overloaded):
    """The shared state is unreachable."""


class LuaScript:
    """A Lua script, sent by its digest, and whole if Redis does not know it yet."""

    def __init__(self, name: str) -> None:
        parts = ("windows", name)
        self.text: str = "\n".join(_text(part) for part in parts)
        self.digest: str = sha1(self.text.encode()).hexdigest()  # noqa: S324 - Redis's own naming


def _text(name: str) -> str:
    return (files(__package__) / "lua" / f"{name}.lua").read_text("utf-8")


@lru_cache
def _script(name: str) -> LuaScript:
    return LuaScript(name)


class RedisLink:
    """Commands to one Redis; tests pass a ``clock`` in milliseconds.

    ``epoch`` is the id of the data that this replica has seen. If Redis has another, it lost its
    data: ``adopt`` gives it back what this replica knows of it.
    """

    def __init__(self, url: str, *, clock: Callable[[], int] | None = None) -> None:
        self._url = url
        self._clock = clock
        self._is_lost = False
        self._returning: asyncio.Task[Any] | None = None
        self._adopting = asyncio.Lock()
        # Waiting for our own other requests says nothing about Redis, so it has no deadline.
        self._free = asyncio.Semaphore(_CONNECTIONS)
        self.epoch: str = ""
        self.before_epoch: list[Callable[[], object]] = []
        """Called before this replica declares that Redis begins with no data."""
        self.on_epoch: list[Callable[[str], Awaitable[None]]] = []
        """Called with the epoch of data that this replica has not seen, before it is used."""
        self.on_return: list[Callable[[], Awaitable[None]]] = []
        """Called when Redis is reachable again, or its data is new, before anything else."""

    @cached_property
    def _redis(self) -> Any:
        try:
            from redis.asyncio import BlockingConnectionPool, Redis  # noqa: PLC0415 - an extra
            from redis.asyncio.retry import Retry  # noqa: PLC0415 - an extra
            from redis.backoff import NoBackoff  # noqa: PLC0415 - an extra
            from redis.exceptions import ConnectionError  # noqa: A004, PLC0415 - an extra
        except ImportError:
            message = f"a shared state needs redis; {install_hint('gateway')}"
            raise MissingExtra(message) from None
        # Retry once: open connections are dead after a restart of Redis. A Redis that hangs has had
        # its time.
        pool = BlockingConnectionPool.from_url(
            self._url,
            max_connections=_CONNECTIONS,
            timeout=_PATIENCE,
            socket_timeout=_PATIENCE,
            socket_connect_timeout=_PATIENCE,
            retry=Retry(NoBackoff(), 1, (ConnectionError,)),
            redis_connect_func=self._greet,
        )
        return Redis(connection_pool=pool)

    async def _greet(self, connection: Any) -> None:
        """Look, before a new connection is used, whether another process of Redis has the data."""
        from redis.exceptions import ResponseError  # noqa: PLC0415 - an extra

        await connection.on_connect()
        keys, arguments = self._begin()
        await connection.send_command(
            "EVAL", _script("begin").text, len(keys), *(PREFIX + key for key in keys), *arguments
        )
        with suppress(ResponseError):  # it is full or read-only; ``_return`` looks again
            await connection.read_response()

    def _begin(self) -> tuple[Sequence[str], Sequence[Argument]]:
        return (EPOCH, _PROCESS), (self.now, token_hex(8), *_COUNTERS)

    @property
    def now(self) -> Argument:
        """Return a test's time for a script; empty means Redis's own."""
        return "" if self._clock is None else self._clock()

    @property
    def is_away(self) -> bool:
        """Return whether Redis could not be read or written, and has not returned."""
        return self._is_lost

    async def run(self, name: str, keys: Sequence[str], arguments: Sequence[Argument] = ()) -> Any:
        """Run a script, with the time as its first argument; raises SharedStateLost."""
        script = _script(name)
        values = (len(keys), *(PREFIX + key for key in keys), self.now, *arguments)

        async def run_script(redis: Any) -> Any:
            from redis.exceptions import NoScriptError  # noqa: PLC0415 - an extra

            try:
                return await redis.evalsha(script.digest, *values)
            except NoScriptError:
                return await redis.eval(script.text, *values)

        return await self.ask(run_script)

    async def run_in_epoch(
        self, name: str, keys: Sequence[str], list_arguments: Callable[[], Sequence[Argument]]
    ) -> tuple[str, Any]:
        """Run a script that rejects data this replica has not seen; raises SharedStateLost.

        Return the epoch it ran in, and its answer. Its arguments are listed for each attempt,
        because what this replica gives back in between may change them.
        """
        for _ in range(_TRIES):
            if epoch := self.epoch:
                answer = await self.run(name, [EPOCH, *keys], [epoch, *list_arguments()])
                if answer is not None:
                    return epoch, answer
            await self.adopt()
        raise self.make_lost()

    async def ask(self, command: Callable[[Any], Awaitable[Value]]) -> Value:
        """Return the result of a command; raises SharedStateLost."""
        from redis.exceptions import RedisError  # noqa: PLC0415 - an extra

        self._check()
        try:
            async with self._free:
                self._check()  # a loss is not waited for once more by each request in the queue
                async with asyncio.timeout(_LONGEST):
                    return await command(self._redis)
        except (RedisError, OSError, TimeoutError) as error:
            self._lose(error)
            raise self.make_lost() from None

    async def read_policy(self) -> str | None:
        """Return what Redis does when its memory is full; None if it does not say."""
        from redis.exceptions import RedisError  # noqa: PLC0415 - an extra

        with suppress(RedisError, OSError, TimeoutError):  # the question may be forbidden
            async with asyncio.timeout(_LONGEST):
                found: dict[str, str] = await self._redis.config_get(_POLICY)
                return found.get(_POLICY)
        return None

    def _check(self) -> None:
        if self._is_lost and asyncio.current_task() is not self._returning:
            raise self.make_lost()

    async def adopt(self) -> None:
        """Take over the data of Redis, after giving it back what it lost."""
        async with self._adopting:
            epoch = await self._read_epoch()
            if epoch == self.epoch:
                return
            if self.epoch:
                LOG.error("the shared state lost data; this replica gives back what it saw")
            for _ in range(_TRIES):
                for each in self.on_epoch:
                    await each(epoch)
                before, epoch = epoch, await self._read_epoch()
                if epoch == before:
                    break
            else:
                raise self.make_lost()
            self.epoch = epoch
        for report in self.on_return:
            await report()

    async def _read_epoch(self) -> str:
        found = await self.ask(lambda redis: redis.get(PREFIX + EPOCH))
        if found is None:
            for check in self.before_epoch:
                check()
            found = await self.run("epoch", [EPOCH, _PROCESS, REPLICAS], [token_hex(8)])
        return str(found.decode())

    def _lose(self, error: Exception) -> None:
        if not self._is_lost:
            self._is_lost = True
            LOG.error("the shared state at %s is gone: %s", self._where, type(error).__name__)
        if self._returning is None or self._returning.done():
            self._returning = asyncio.ensure_future(self._await_return())

    async def _await_return(self) -> None:
        while self._is_lost:
            await asyncio.sleep(AWAY)
            try:
                await self._return()
            except SharedStateLost:
                continue
            except Exception:
                LOG.exception("the shared state at %s cannot be used", self._where)

    async def _return(self) -> None:
        # A write, because a Redis that is full or a replica can still be read.
        await self.ask(lambda redis: redis.set(f"{PREFIX}probe", 1, px=1000))
        keys, (_, *arguments) = self._begin()
        await self.run("begin", keys, arguments)
        await self.adopt()
        for each in self.on_return:
            await each()
        self._is_lost = False
        LOG.warning("the shared state at %s is back", self._where)

    async def retry_now(self) -> None:
        """Try once whether a lost Redis is back, at the end; raises SharedStateLost."""
        await self._stop_returning()
        self._returning = asyncio.current_task()
        await self._return()

    async def _stop_returning(self) -> None:
        task, self._returning = self._returning, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def aclose(self) -> None:
        """Close the connections; a Redis that hangs is not waited for."""
        await self._stop_returning()
        if "_redis" in self.__dict__:
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(_PATIENCE):
                    await self._redis.aclose()
                    await self._redis.connection_pool.disconnect()

    @property
    def _where(self) -> str:
        """Return the address without a password."""
        parts = urlsplit(self._url)
        return f"{parts.hostname or parts.path}{f':{parts.port}' if parts.port else ''}"

    @staticmethod
    def make_lost() -> SharedStateLost:
        """Return the error for a client."""
        message = "the gateway's shared state is unreachable; try again in a moment"
        return SharedStateLost(message, status=503, retry_after=AWAY)
