"""Awaits a hook's coroutine so that nothing it does can keep the gateway waiting."""

from asyncio import CancelledError, Task, create_task, current_task
from collections.abc import Awaitable, Coroutine, Generator
from time import monotonic
from typing import Any

from .threads import Outcome


def begin_await(value: Awaitable[Any]) -> Task[Outcome]:
    """Await a value in a task of its own; whatever it raises is a value of the task.

    The first cancellation is the coroutine's to handle, as with any task. At the second it is left
    where it waits: a bare ``except`` in a loop would swallow all of them.
    """
    return create_task(_await(value))


async def _await(value: Awaitable[Any]) -> Outcome:
    return await _Steps(_make_coroutine(value))


async def _make_coroutine(value: Awaitable[Any]) -> Any:
    return await value


class _Steps:
    """The steps of a coroutine, as those of an awaitable."""

    def __init__(self, inner: Coroutine[Any, Any, Any]) -> None:
        self._inner = inner

    def __await__(self) -> Generator[Any, Any, Outcome]:
        inner, thrown, held = self._inner, None, 0.0
        while True:
            begun = monotonic()
            try:
                waits_for = inner.send(None) if thrown is None else inner.throw(thrown)
            except StopIteration as end:
                return Outcome(end.value, held=max(held, monotonic() - begun))
            except BaseException as error:
                if isinstance(error, CancelledError) and _count_cancels():
                    raise
                return Outcome(error=error, held=max(held, monotonic() - begun))
            held, thrown = max(held, monotonic() - begun), None
            try:
                yield waits_for
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as error:
                if isinstance(error, CancelledError) and _count_cancels() > 1:
                    _keep(inner)
                    raise
                thrown = error


def _keep(inner: Coroutine[Any, Any, Any]) -> None:
    """Keep a coroutine that swallows its end for good: Python would end it once more.

    Without an event loop every ``await`` in it raises an error, so that its loop would never end,
    and neither would the process.
    """
    from ctypes import py_object, pythonapi  # noqa: PLC0415 - few programs need it

    pythonapi.Py_IncRef(py_object(inner))


def _count_cancels() -> int:
    task = current_task()
    return task.cancelling() if task is not None else 0
