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
from typing import Any
from urllib.parse import urlsplit

from ...errors import Overloaded
from .redis_connection import RedisCommand, RedisConnection, Words
from .redis_protocol import Argument, ReplyError, pack_command

LOG = logging.getLogger("pondero.gateway")

PREFIX = "pondero:"
AWAY = 1.0
"""Seconds between attempts to reach a Redis that failed."""
EPOCH = "epoch"
"""The name under which Redis keeps the id of its data; without it, its data was lost."""
REPLICAS = "replicas"
"""The name under which Redis keeps the epoch that each replica knows."""
SECRETS = "envelope-secrets"
"""The name under which Redis keeps the secrets of envelopes."""
_PROCESS = "process"  # the process of Redis that has the epoch
_COUNTERS = (f"{PREFIX}budget:*", f"{PREFIX}limit:*")
_POLICY = "maxmemory-policy"
_TRIES = 5  # to find an epoch that does not change meanwhile
_USUAL = ("reserve", "settle", "renew", "breaker")  # scripts that requests wait for


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


def _look_at_error(answer: asyncio.Future[Any]) -> None:
    """Keep asyncio from reporting an error without a waiter: the link has reported it."""
    if not answer.cancelled():
        answer.exception()


def _find_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


@lru_cache
def _script(name: str) -> LuaScript:
    return LuaScript(name)


class RedisLink:
    """Commands to one Redis; tests pass a ``clock`` in milliseconds.

    All commands of a process share one connection, and those that are sent in the same step of the
    event loop leave in one write: one round trip. So send everything first, and wait then:

    >>> first = link.send("GET", PREFIX + "one")  # a future; nothing is waited for
    >>> second = link.send_script("settle", ["epoch"], [1])
    >>> one, settled = await first, await second  # raises SharedStateLost

    A coroutine runs until it first waits, so the last of several may also be awaited as it is.
    ``post`` needs no answer. Commands arrive in the order in which they are sent, and
    may arrive twice if the connection breaks. What is sent before ``flush`` is on its way to Redis
    before anything that is written to a client after it.

    ``epoch`` is the id of the data that this replica has seen. If Redis has another, it lost its
    data: ``adopt`` gives it back what this replica knows of it.
    """

    def __init__(self, url: str, *, clock: Callable[[], int] | None = None) -> None:
        self._url = url
        self._clock = clock
        self._is_lost = False
        self._is_closed = False
        self._returning: asyncio.Task[Any] | None = None
        self._adopting = asyncio.Lock()
        self.epoch: str = ""
        self.before_epoch: list[Callable[[], object]] = []
        """Called before this replica declares that Redis begins with no data."""
        self.on_epoch: list[Callable[[str], Awaitable[None]]] = []
        """Called with the epoch of data that this replica has not seen, before it is used."""
        self.on_return: list[Callable[[], Awaitable[None]]] = []
        """Called when Redis is reachable again, or its data is new, before anything else."""
        self.on_back: list[Callable[[], None]] = []
        """Called when a Redis that was lost is used again."""

    @cached_property
    def _connection(self) -> RedisConnection:
        return RedisConnection(self._url, greet=self._list_greetings, report=self._report)

    def _list_greetings(self) -> list[Words]:
        """Look, before a new connection is used, whether another process of Redis has the data.

        It may be full or read-only: then ``_return`` looks again. The scripts are known from then.
        """
        keys, arguments = self._list_begin()
        names = (PREFIX + key for key in keys)
        begin: Words = ("EVAL", _script("begin").text, len(keys), *names, *arguments)
        return [begin, *(("SCRIPT", "LOAD", _script(each).text) for each in _USUAL)]

    def _list_begin(self) -> tuple[Sequence[str], Sequence[Argument]]:
        return (EPOCH, _PROCESS), (self.now, token_hex(8), *_COUNTERS)

    @property
    def now(self) -> Argument:
        """Return a test's time for a script; empty means Redis's own."""
        return "" if self._clock is None else self._clock()

    @property
    def is_away(self) -> bool:
        """Return whether Redis could not be read or written, and has not returned."""
        return self._is_lost

    def send(self, *words: Argument) -> asyncio.Future[Any]:
        """Send a command; awaiting its answer raises SharedStateLost."""
        return self._send(pack_command(words))

    def send_all(self, commands: Sequence[Words]) -> asyncio.Future[list[Any]]:
        """Send several commands, with one answer for all; nothing comes between them."""
        return self._send(b"".join(map(pack_command, commands)), count=len(commands))

    def post(self, *words: Argument) -> None:
        """Send a command without waiting for its answer; it is dropped while Redis is lost."""
        if self._may_send():
            self._connection.send(RedisCommand(pack_command(words), None))

    def send_script(
        self, name: str, keys: Sequence[str], arguments: Sequence[Argument] = ()
    ) -> asyncio.Future[Any]:
        """Send a script, with the time as its first argument."""
        script = _script(name)
        names = (PREFIX + key for key in keys)
        rest = (len(keys), *names, self.now, *arguments)
        data = pack_command(("EVALSHA", script.digest, *rest))
        return self._send(data, whole=lambda: ("EVAL", script.text, *rest))

    def send_rare_script(
        self, name: str, keys: Sequence[str], arguments: Sequence[Argument] = ()
    ) -> asyncio.Future[Any]:
        """Send a script whole: Redis runs it before all that is sent later, known to it or not."""
        names = (PREFIX + key for key in keys)
        return self.send("EVAL", _script(name).text, len(keys), *names, self.now, *arguments)

    def flush(self) -> None:
        """Write what was sent in this step now, not at its end."""
        if "_connection" in self.__dict__:
            self._connection.flush()

    def _send(
        self, data: bytes, *, count: int | None = None, whole: Callable[[], Words] | None = None
    ) -> asyncio.Future[Any]:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_look_at_error)
        if self._may_send():
            self._connection.send(RedisCommand(data, answer, count=count, whole=whole))
        else:
            answer.set_exception(self.make_lost())
        return answer

    async def run(self, name: str, keys: Sequence[str], arguments: Sequence[Argument] = ()) -> Any:
        """Run a script, with the time as its first argument; raises SharedStateLost."""
        return await self.send_script(name, keys, arguments)

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

    async def read_policy(self) -> str | None:
        """Return what Redis does when its memory is full; None if it does not say."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        data = pack_command(("CONFIG", "GET", _POLICY))
        self._connection.send(RedisCommand(data, answer, is_checked=False))
        with suppress(SharedStateLost):
            reply = await answer
            if isinstance(reply, list) and reply:  # the question may be forbidden
                return str(reply[-1].decode())
        return None

    def _may_send(self) -> bool:
        if self._is_closed:
            return False
        return not self._is_lost or _find_task() is self._returning

    def _report(self, error: Exception) -> SharedStateLost:
        self._lose(error)
        return self.make_lost()

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
        found = await self.send("GET", PREFIX + EPOCH)
        if found is None:
            for check in self.before_epoch:
                check()
            found = await self.run("epoch", [EPOCH, _PROCESS, REPLICAS], [token_hex(8)])
        return str(found.decode())

    def _lose(self, error: Exception) -> None:
        if not self._is_lost:
            self._is_lost = True
            kind = error.code if isinstance(error, ReplyError) else type(error).__name__
            LOG.error("the shared state at %s is gone: %s", self._where, kind)
        if not self._is_closed and (self._returning is None or self._returning.done()):
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
        await self.send("SET", f"{PREFIX}probe", 1, "PX", 1000)
        keys, (_, *arguments) = self._list_begin()
        await self.run("begin", keys, arguments)
        await self.adopt()
        for each in self.on_return:
            await each()
        self._is_lost = False
        for report in self.on_back:
            report()
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
        """Close the connection for good; a Redis that hangs is not waited for."""
        self._is_closed = True  # a late command, or a failure while closing, opens no other
        await self._stop_returning()
        if "_connection" in self.__dict__:
            await self._connection.aclose()

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
