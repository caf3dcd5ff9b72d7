"""The one connection of a process to Redis.

Commands that are sent in the same step of the event loop leave in one write, and Redis executes the
commands of a connection in order. A connection that breaks is opened again once, and commands
without an answer are sent again: all of ours may arrive twice. One that hangs is given up.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from ssl import SSLContext
from time import monotonic
from typing import Any

from ...errors import MissingExtra, PonderoError
from ...extras import install_hint
from .redis_protocol import Argument, Reply, ReplyError, ReplyReader, pack_command

PATIENCE = 1.0
"""Seconds for a connection, and for an answer."""
_GRACE = 0.05  # seconds in which answers that have arrived are read, after a pause of our own
_PORT = 6379

Words = Sequence[Argument]


class RedisCommand:
    """A command, or so many, and the answer: of ``count`` commands, the list of their answers.

    ``whole`` returns a script with its text, for a Redis that does not know its digest.
    ``is_checked``: an error is a failure of the state; else it is the answer.
    """

    __slots__ = ("_replies", "answer", "count", "data", "is_checked", "tries", "whole")

    def __init__(
        self,
        data: bytes,
        answer: "asyncio.Future[Reply] | None",
        *,
        count: int | None = None,
        whole: Callable[[], Words] | None = None,
        is_checked: bool = True,
    ) -> None:
        self.data: bytes = data
        self.answer: asyncio.Future[Reply] | None = answer
        self.count: int | None = count
        self.whole: Callable[[], Words] | None = whole
        self.is_checked: bool = is_checked
        self.tries: int = 0
        self._replies: list[Reply] = []

    def take(self, reply: Reply) -> bool:
        """Take an answer; return whether it is the last."""
        if self.count is None:
            self.finish(reply)
            return True
        self._replies.append(reply)
        if len(self._replies) < self.count:
            return False
        self.finish(self._replies)
        return True

    def finish(self, reply: Reply) -> None:
        """Give the answer to the request that waits for it."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(reply)

    def fail(self, error: Exception) -> None:
        """Tell the request that waits that there is no answer."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)

    def begin_again(self) -> None:
        """Forget answers of a connection that broke."""
        self._replies = []
        self.tries += 1


class RedisConnection:
    """Sends commands to one Redis.

    ``greet`` returns the commands of a new connection; their errors are ignored. ``report`` is told
    every failure, and returns the error for those who wait.
    """

    def __init__(
        self,
        url: str,
        *,
        greet: Callable[[], Sequence[Words]],
        report: Callable[[Exception], Exception],
    ) -> None:
        self._address = _read_address(url)
        self._greet = greet
        self._report = report
        self._queue: list[RedisCommand] = []
        self._waiting: deque[RedisCommand] = deque()
        self._line: _Line | None = None
        self._opening: asyncio.Task[None] | None = None
        self._is_planned = False
        self._timer: asyncio.TimerHandle | None = None
        self._moved = 0.0  # when something was last sent into silence, or came

    def send(self, command: RedisCommand) -> None:
        """Send a command with all others of this step."""
        self._queue.append(command)
        if not self._is_planned:
            self._is_planned = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Write the commands of this step now."""
        self._is_planned = False
        if not self._queue:
            return
        if self._line is None or not self._line.is_ready:
            if self._opening is None:
                self._opening = asyncio.ensure_future(self._open())
            return
        self._write()

    def _write(self) -> None:
        if self._line is None or not self._queue:
            return
        commands, self._queue = self._queue, []
        if not self._waiting:
            self._moved = monotonic()
        self._waiting.extend(commands)
        self._line.write(b"".join([each.data for each in commands]))
        self._set_timer(PATIENCE)

    # -- opening -----------------------------------------------------------------------------------

    async def _open(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                line = await self._address.connect(lambda: _Line(self._take, self._lose))
                self._line = line
                await self._shake_hands(line)
        except asyncio.CancelledError:
            self._drop()
            raise
        except ValueError as error:
            self._fail_all(ConnectionError(str(error)))
        except TimeoutError:
            self._fail_all(TimeoutError("Redis does not answer"))
        except OSError as error:
            self._fail_all(ConnectionError(str(error)))
        except ReplyError as error:
            self._fail_all(error)
        else:
            line.is_ready = True
            self._write()
        finally:
            self._opening = None

    async def _shake_hands(self, line: "_Line") -> None:
        """Log in and choose the database, or raise; then send the greeting."""
        needed = self._address.list_login()
        words = [*needed, *self._greet()]
        answer, data = _make_future(), b"".join(map(pack_command, words))
        command = RedisCommand(data, answer, count=len(words), is_checked=False)
        command.tries = 1
        self._waiting.append(command)
        line.write(data)
        replies = await answer
        for reply in replies[: len(needed)]:
            if isinstance(reply, ReplyError):
                raise reply

    # -- answers -----------------------------------------------------------------------------------

    def _take(self, replies: Sequence[Reply]) -> None:
        self._moved = monotonic()
        for reply in replies:
            if not self._waiting:
                self._fail_all(ConnectionError("Redis answers what was not asked"))
                return
            command = self._waiting[0]
            is_error = isinstance(reply, ReplyError)
            if is_error and reply.code == "NOSCRIPT" and command.whole is not None:
                self._waiting.popleft()
                command.data, command.whole = pack_command(command.whole()), None
                self.send(command)
                continue
            if is_error and command.is_checked:
                command.fail(self._report(reply))
            if command.take(reply) and self._waiting:  # a report may have ended all
                self._waiting.popleft()

    def _lose(self) -> None:
        """Send what is not answered over another connection, once."""
        self._drop()
        waiting, self._waiting = list(self._waiting), deque()
        again = [each for each in waiting if not each.tries]
        lost = [each for each in waiting if each.tries]
        for each in again:
            each.begin_again()
        self._queue = [*again, *self._queue]
        if lost:
            error = ConnectionError("the connection to Redis broke")
            if self._opening is not None:  # it reports for all
                for each in lost:
                    each.fail(error)
            else:
                failure = self._report(error)
                for each in lost:
                    each.fail(failure)
        if self._queue and self._opening is None:
            self.flush()

    def _fail_all(self, error: Exception) -> None:
        self._drop()
        commands = [*self._waiting, *self._queue]
        self._waiting, self._queue = deque(), []
        failure = self._report(error)
        for each in commands:
            each.fail(failure)

    def _drop(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.abort()

    # -- deadlines ---------------------------------------------------------------------------------

    def _set_timer(self, seconds: float) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(seconds, self._look_at_clock, self._moved)

    def _look_at_clock(self, moved: float, *, is_last: bool = False) -> None:
        self._timer = None
        if not self._waiting or self._line is None or not self._line.is_ready:
            return
        silent = monotonic() - self._moved
        if moved != self._moved or silent < PATIENCE:
            self._set_timer(max(0.0, PATIENCE - silent))
        elif is_last:
            self._fail_all(TimeoutError("Redis does not answer"))
        else:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(
                _GRACE, lambda: self._look_at_clock(self._moved, is_last=True)
            )

    async def aclose(self) -> None:
        """Close the connection after its answers; a Redis that hangs is not waited for."""
        self.flush()
        if self._opening is not None or self._waiting:
            answer = _make_future()
            self.send(RedisCommand(pack_command(("PING",)), answer, is_checked=False))
            with suppress(TimeoutError, PonderoError):
                async with asyncio.timeout(PATIENCE):
                    await answer
        if self._opening is not None:
            self._opening.cancel()
            with suppress(asyncio.CancelledError):
                await self._opening
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._drop()


def _make_future() -> "asyncio.Future[Reply]":
    return asyncio.get_running_loop().create_future()


class _Line(asyncio.Protocol):
    """A socket; ``is_ready`` after the handshake."""

    def __init__(self, take: Callable[[list[Reply]], None], lose: Callable[[], None]) -> None:
        self._take = take
        self._lose = lose
        self._reader = ReplyReader()
        self._transport: Any = None
        self._is_open = False
        self.is_ready: bool = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the socket."""
        self._transport = transport
        self._is_open = True

    def data_received(self, data: bytes) -> None:
        """Read replies."""
        try:
            replies = self._reader.feed(data)
        except ValueError:
            self._transport.abort()
            return
        if replies and self._is_open:
            self._take(replies)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's own
        """Report that Redis has gone, unless we have."""
        if self._is_open:
            self._is_open = False
            self._lose()

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._transport.write(data)

    def abort(self) -> None:
        """Close the socket at once, without a report."""
        if self._is_open:
            self._is_open = False
            self._transport.abort()


class _Address:
    """Where Redis is, and how to log in there."""

    def __init__(self, options: dict[str, Any], tls: SSLContext | None) -> None:
        self._options = options
        self._tls = tls

    async def connect(self, make_line: Callable[[], _Line]) -> _Line:
        """Open a socket."""
        loop, options = asyncio.get_running_loop(), self._options
        if (path := options.get("path")) is not None:
            _, line = await loop.create_unix_connection(make_line, path)
            return line
        host, port = options.get("host", "localhost"), options.get("port", _PORT)
        _, line = await loop.create_connection(make_line, host, int(port), ssl=self._tls)
        return line

    def list_login(self) -> list[Words]:
        """Return the commands without whose success nothing else is sent."""
        options = self._options
        words: list[Words] = []
        if password := options.get("password"):
            user = options.get("username")
            words.append(("AUTH", user, password) if user else ("AUTH", password))
        if name := options.get("client_name"):
            words.append(("CLIENT", "SETNAME", name))
        if number := int(options.get("db") or 0):
            words.append(("SELECT", number))
        return words


def _read_address(url: str) -> _Address:
    try:
        from redis.asyncio.connection import (  # noqa: PLC0415 - an extra
            SSLConnection,
            parse_url,
        )
    except ImportError:
        message = f"a shared state needs redis; {install_hint('gateway')}"
        raise MissingExtra(message) from None
    options: dict[str, Any] = dict(parse_url(url))
    tls = None
    if options.get("connection_class") is SSLConnection:
        settings = {name: value for name, value in options.items() if name.startswith("ssl_")}
        tls = SSLConnection(host=options.get("host", "localhost"), **settings).ssl_context.get()
    return _Address(options, tls)
