"""The connection to Redis; after an error it is not asked for a second, so no request waits."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from hashlib import sha1
from importlib.resources import files
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ...errors import MissingExtra, Overloaded

LOG = logging.getLogger("pondero.gateway")

PREFIX = "pondero:"
AWAY = 1.0
"""Seconds without commands after Redis failed."""
_PATIENCE = 1.0
_CONNECTIONS = 32

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
    """Commands to one Redis; tests pass a ``clock`` in milliseconds."""

    def __init__(self, url: str, *, clock: Callable[[], int] | None = None) -> None:
        self._url = url
        self._clock = clock
        self._away_until: float | None = None
        self.on_return: list[Callable[[], Awaitable[None]]] = []
        """Called when Redis is reachable again, before anything else."""

    @cached_property
    def _redis(self) -> Any:
        try:
            from redis.asyncio import BlockingConnectionPool, Redis  # noqa: PLC0415 - an extra
            from redis.asyncio.retry import Retry  # noqa: PLC0415 - an extra
            from redis.backoff import NoBackoff  # noqa: PLC0415 - an extra
        except ImportError:
            message = "a shared state needs redis; pip install 'pondero[gateway]'"
            raise MissingExtra(message) from None
        # Retry once: open connections are dead after a restart of Redis.
        pool = BlockingConnectionPool.from_url(
            self._url,
            max_connections=_CONNECTIONS,
            timeout=5,
            socket_timeout=_PATIENCE,
            socket_connect_timeout=_PATIENCE,
            retry=Retry(NoBackoff(), 1),
        )
        return Redis(connection_pool=pool)

    @property
    def now(self) -> Argument:
        """Return a test's time for a script; empty means Redis's own."""
        return "" if self._clock is None else self._clock()

    @property
    def is_away(self) -> bool:
        """Return whether the last command failed."""
        return self._away_until is not None

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

    async def ask(self, command: Callable[[Any], Awaitable[Value]]) -> Value:
        """Return the result of a command; raises SharedStateLost."""
        from redis.exceptions import RedisError  # noqa: PLC0415 - an extra

        if self._away_until is not None and monotonic() < self._away_until:
            raise self._make_lost()
        try:
            answer = await command(self._redis)
        except (RedisError, OSError, TimeoutError) as error:
            if self._away_until is None:
                LOG.error("the shared state at %s is gone: %s", self._where, type(error).__name__)  # noqa: TRY400 - no traceback
            self._away_until = monotonic() + AWAY
            raise self._make_lost() from None
        if self._away_until is not None:
            self._away_until = None
            LOG.warning("the shared state at %s is back", self._where)
            for each in self.on_return:
                with suppress(SharedStateLost):
                    await each()
        return answer

    async def aclose(self) -> None:
        """Close the connections."""
        if "_redis" in self.__dict__:
            await self._redis.aclose()
            await self._redis.connection_pool.disconnect()

    @property
    def _where(self) -> str:
        """Return the address without a password."""
        parts = urlsplit(self._url)
        return f"{parts.hostname or parts.path}{f':{parts.port}' if parts.port else ''}"

    @staticmethod
    def _make_lost() -> SharedStateLost:
        message = "the gateway's shared state is unreachable; try again in a moment"
        return SharedStateLost(message, status=503, retry_after=AWAY)
