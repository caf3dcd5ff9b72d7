"""Awaits a hook's coroutine so that nothing it does can keep the gateway waiting."""

from asyncio import CancelledError, Task, create_task
from collections.abc import Awaitable, Coroutine, Generator
from time import monotonic
from typing import Any

from .threads import Outcome


class AwaitedCall:
    """Awaits a value in a task of its own; whatever it raises is a value of the task.

    The first ``cancel`` is the coroutine's to handle, as with any task. At the second it is left
    where it waits: a bare ``except`` in a loop would swallow all of them. Other cancellations of
    the task are not counted: a hook's own libraries cancel it for a time limit, or a dozen times
    to open one connection, and handle that themselves.
    """

    def __init__(self, value: Awaitable[Any]) -> None:
        self.cancels: int = 0
        self.task: Task[Outcome] = create_task(self._await(value))

    def cancel(self) -> None:
        """Ask the coroutine to end; the second time, wait for it no longer."""
        self.cancels += 1
        self.task.cancel()

    async def _await(self, value: Awaitable[Any]) -> Outcome:
        return await _Steps(_make_coroutine(value), self)


async def _make_coroutine(value: Awaitable[Any]) -> Any:
    return await value


class _Steps:
    """The steps of a coroutine, as those of an awaitable."""

    def __init__(self, inner: Coroutine[Any, Any, Any], call: AwaitedCall) -> None:
        self._inner = inner
        self._call = call

    def __await__(self) -> Generator[Any, Any, Outcome]:
        inner, thrown, held = self._inner, None, 0.0
        while True:
            begun = monotonic()
            try:
                waits_for = inner.send(None) if thrown is None else inner.throw(thrown)
            except StopIteration as end:
                return Outcome(end.value, held=max(held, monotonic() - begun))
            except BaseException as error:
                if isinstance(error, CancelledError) and self._call.cancels:
                    raise
                return Outcome(error=error, held=max(held, monotonic() - begun))
            held, thrown = max(held, monotonic() - begun), None
            try:
                yield waits_for
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as error:
                if isinstance(error, CancelledError) and self._call.cancels > 1:
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
