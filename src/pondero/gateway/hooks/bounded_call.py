"""Calls one hook: in its time, and whatever it raises.

A hook that is too slow for the requests of one client is paused for that client, as a deployment
is: they do not wait for it then. What one client sends has no effect on the requests of others.
"""

import logging
from asyncio import CancelledError, Future, get_running_loop, wait
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cached_property
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from time import monotonic
from typing import Any, NoReturn, TypeVar

from ...errors import BadRequest
from ..config.model import HookConfig
from ..state.breakers import Breakers
from .cancellable import AwaitedCall
from .interface import Hook
from .threads import HookThreads, Outcome, TooManyLost, run_function

LOG = logging.getLogger("pondero.gateway")

T = TypeVar("T")

FAILED = "hook_failed"
"""The adjustment of a request that went on without a hook that failed."""
_HELD_UP = 0.1  # seconds by which a timer is late if something blocks the event loop
_EXTENSIONS = 2


class HookRejection(BadRequest):
    """A request that a hook rejected, or could not handle; no other model is asked then.

    ``hook``: the name of the one that decided; None if it failed, which the message says.
    """

    hook: str | None = None


class HookFailure(Exception):
    """A hook raised an error or took too long; the text has nothing of the conversation."""


class _TooSlow(Exception):
    """A call did not end in its time."""


class _Deadline:
    """Until when the call that runs now may take; of calls in a row each has the whole time."""

    __slots__ = ("_seconds", "end")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.end: float = 0.0
        self.begin_call()

    def begin_call(self) -> None:
        """Begin the time of a call, in any thread: the time of an event loop is its own."""
        self.end = monotonic() + self._seconds

    def each(self, values: Sequence[T]) -> Iterator[T]:
        """Yield what is called or awaited in a row; the first has what is left of the time."""
        for number, value in enumerate(values):
            if number:
                self.begin_call()
            yield value


class BoundedHook:
    """One hook of the configuration and its state in this process."""

    def __init__(self, config: HookConfig, hook: Hook) -> None:
        self.config = config
        self.hook = hook
        self.name: str = config.name
        self.breakers: Breakers = Breakers()
        """By client."""
        self._left: set[AwaitedCall] = set()  # those that were cancelled and go on
        self.reads_requests: bool = _has(hook, "on_request")
        self.reads_events: bool = _has(hook, "on_event")
        self.reads_replies: bool = _has(hook, "on_reply")

    @property
    def reads_answers(self) -> bool:
        """Return whether it sees answers."""
        return self.reads_events or self.reads_replies

    @property
    def holds_streams(self) -> bool:
        """Return whether a stream waits until the hook has seen all of it."""
        return self.hook.changes_answers and not self.reads_events

    @cached_property
    def _threads(self) -> HookThreads:
        return HookThreads(self.name)

    async def call(self, client: str, name: str, *arguments: tuple[Any, ...]) -> list[Any]:
        """Return the results of a method for these arguments, in order; raises HookFailure.

        ``client``: whose request it is. Only calls that are too slow pause the hook, and for this
        client alone: any client can send a request that a hook fails at.
        """
        if await self.breakers.is_open(client):
            message = f"the hook {self.name!r} is paused after failures of this client's requests"
            raise HookFailure(message)
        seconds = self.config.seconds
        try:
            outcome = await self._run(client, name, arguments)
        except _TooSlow:
            await self._fail_late(client, f"took longer than {seconds:g} s")
        except TooManyLost:
            await self._fail_late(client, "has too many calls that never ended")
        except BaseException:  # the client left: no word on the hook
            await self.breakers.cancel_probe(client)
            raise
        if outcome.held > seconds:  # it blocked the loop, so no time limit could end it
            late = f"took longer than {seconds:g} s, and held up all other requests"
            await self._fail_late(client, late)
        await self.breakers.record_success(client)
        if outcome.error is not None:
            self.fail(_describe(outcome.error))
        results: list[Any] = outcome.value
        return results

    async def _run(self, client: str, name: str, arguments: Sequence[tuple[Any, ...]]) -> Outcome:
        """Return the results, or what was raised; raises _TooSlow and TooManyLost."""
        method = getattr(self.hook, name)
        deadline = _Deadline(self.config.seconds)

        async def run() -> list[Any]:
            return [await method(*each) for each in deadline.each(arguments)]

        if iscoroutinefunction(method):
            return await self._await(run(), deadline)
        awaitable: list[Any] = []

        def run_here() -> list[Any]:
            results = [method(*each) for each in deadline.each(arguments)]
            awaitable.extend(filter(isawaitable, results))
            return results

        outcome = await self._run_in_thread(client, run_here, deadline)
        if awaitable and outcome.error is None:  # an ``async def`` in a decorator is plain
            return await self._await(_await_each(outcome.value, deadline), deadline)
        return outcome

    async def _run_in_thread(
        self, client: str, function: Callable[[], list[Any]], deadline: _Deadline
    ) -> Outcome:
        loop, threads = get_running_loop(), self._threads
        call = threads.begin(client, function)
        try:
            return await self._wait_until(call.outcome, deadline)
        except _TooSlow:
            threads.give_up(call)
            raise
        except BaseException:  # the client left; the call has its time nevertheless
            loop.call_later(deadline.end - monotonic(), threads.give_up, call)
            raise

    async def _await(self, value: Awaitable[list[Any]], deadline: _Deadline) -> Outcome:
        call = AwaitedCall(value)
        try:
            return await self._wait_until(call.task, deadline)
        finally:
            if not call.task.done():
                self._left.add(call)
                call.task.add_done_callback(lambda _: self._left.discard(call))
                call.cancel()
                # It may tidy up as long as it may run; then it is left where it is.
                get_running_loop().call_later(self.config.seconds, call.cancel)

    async def _wait_until(self, future: Future[Outcome], deadline: _Deadline) -> Outcome:
        """Return the outcome of calls in a row; raises _TooSlow if one is not there in time."""
        extensions = 0
        while True:
            end = deadline.end
            await wait({future}, timeout=max(0.0, end - monotonic()))
            if future.done():
                return Outcome(error=CancelledError()) if future.cancelled() else future.result()
            if deadline.end != end:
                continue  # the next call has begun meanwhile
            if extensions == _EXTENSIONS or monotonic() - end < _HELD_UP:
                raise _TooSlow
            extensions += 1
            deadline.begin_call()  # another call held up the loop all the while

    async def _fail_late(self, client: str, problem: str) -> NoReturn:
        await self.breakers.record_failure(client)
        self.fail(problem)

    def fail(self, problem: str) -> NoReturn:
        """Write a failure to the log, and raise HookFailure."""
        LOG.error("the hook %r %s", self.name, problem)
        message = f"the hook {self.name!r} {problem}"
        raise HookFailure(message) from None

    def close(self) -> None:
        """End the hook; calls that still run in threads are left alone."""
        for call in tuple(self._left):
            call.cancel()
        if "_threads" in self.__dict__:
            self._threads.close()
        if (error := run_function(self.hook.close).error) is not None:
            LOG.error("the hook %r %s at its end", self.name, _describe(error))


def _has(hook: Hook, name: str) -> bool:
    return getattr(type(hook), name) is not getattr(Hook, name)


async def _await_each(results: Sequence[Any], deadline: _Deadline) -> list[Any]:
    """Return results in place of those that have to be awaited."""
    found: list[Any] = []
    try:
        for each in deadline.each(results):
            found.append(await each if isawaitable(each) else each)  # noqa: PERF401 - the others are closed below
    finally:
        for each in results[len(found) :]:
            if iscoroutine(each):
                each.close()
    return found


def _describe(error: BaseException) -> str:
    """Return an error's kind and place, without its words: they may quote a conversation."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f" in line {last.tb_lineno} of {last.tb_frame.f_code.co_name}" if last else ""
    return f"failed: {type(error).__name__}{where}"
