"""Calls one hook: in its time, and counting its failures.

A hook that keeps failing is paused, as a deployment is: a request does not wait for it then.
"""

import logging
from asyncio import get_running_loop, timeout
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from inspect import iscoroutinefunction
from time import monotonic
from typing import Any, NoReturn

from ...errors import BadRequest
from ..config.model import HookConfig
from ..state.breakers import Breakers
from .interface import Hook

LOG = logging.getLogger("pondero.gateway")

FAILED = "hook_failed"
"""The adjustment of a request that went on without a hook that failed."""
_THREADS = 16  # of one hook; a further call waits for one, within its time


class HookRejection(BadRequest):
    """A request that a hook rejected, or could not handle; no other model is asked then.

    ``hook``: the name of the one that decided; None if it failed, which the message says.
    """

    hook: str | None = None


class HookFailure(Exception):
    """A hook raised an error or took too long; the text has nothing of the conversation."""


class BoundedHook:
    """One hook of the configuration and its state in this process."""

    def __init__(self, config: HookConfig, hook: Hook) -> None:
        self.config = config
        self.hook = hook
        self.name: str = config.name
        self.breakers: Breakers = Breakers()
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
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_THREADS, thread_name_prefix=f"hook {self.name}")

    async def call(self, name: str, *arguments: tuple[Any, ...]) -> list[Any]:
        """Return the results of a method for these arguments, in order; raises HookFailure."""
        if await self.breakers.is_open(self.name):
            message = f"the hook {self.name!r} is paused after failures"
            raise HookFailure(message)
        method = getattr(self.hook, name)
        begun, seconds = monotonic(), self.config.seconds
        limit = timeout(seconds)
        try:
            async with limit:
                results = await self._run(method, arguments)
        except Exception as error:  # noqa: BLE001 - it is the operator's code, and may raise anything
            slow = limit.expired()
            await self.fail(f"took longer than {seconds:g} s" if slow else _describe(error))
        except BaseException:  # the client left: no word on the hook
            await self.breakers.cancel_probe(self.name)
            raise
        if monotonic() - begun > seconds:  # it blocked the loop, so no time limit could end it
            await self.fail(f"took longer than {seconds:g} s, and held up all other requests")
        await self.breakers.record_success(self.name)
        return results

    async def _run(
        self, method: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        if iscoroutinefunction(method):
            return [await method(*each) for each in arguments]

        def run() -> list[Any]:
            return [method(*each) for each in arguments]

        return await get_running_loop().run_in_executor(self._threads, run)

    async def fail(self, problem: str) -> NoReturn:
        """Record a failure, and raise HookFailure."""
        await self.breakers.record_failure(self.name)
        LOG.error("the hook %r %s", self.name, problem)
        message = f"the hook {self.name!r} {problem}"
        raise HookFailure(message) from None

    def close(self) -> None:
        """End the hook; calls that still run in threads are left alone."""
        if "_threads" in self.__dict__:
            self._threads.shutdown(wait=False, cancel_futures=True)
        try:
            self.hook.close()
        except Exception as error:  # noqa: BLE001 - as above
            LOG.error("the hook %r %s at its end", self.name, _describe(error))  # noqa: TRY400 - its words may quote a conversation


def _has(hook: Hook, name: str) -> bool:
    return getattr(type(hook), name) is not getattr(Hook, name)


def _describe(error: Exception) -> str:
    """Return an error's kind and place, without its words: they may quote a conversation."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f" in line {last.tb_lineno} of {last.tb_frame.f_code.co_name}" if last else ""
    return f"failed: {type(error).__name__}{where}"
