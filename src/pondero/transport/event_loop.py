"""The running event loop, asyncio's or trio's, and the few calls that differ between them.

Only what a program loaded is imported: trio's users have it, and anyio comes with httpx2.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from ..errors import UsageError

R = TypeVar("R")


def in_trio() -> bool:
    """Return whether the caller is a task of trio."""
    trio: Any = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_task())


def current_loop() -> Any:
    """Return what identifies the running event loop; raises UsageError if none is running."""
    modules = sys.modules  # an import costs more than all else here
    trio: Any = modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        return trio.lowlevel.current_trio_token()
    asyncio: Any = modules.get("asyncio")
    try:
        return asyncio.get_running_loop()
    except (AttributeError, RuntimeError):  # without asyncio, none is running either
        message = "no event loop is running; use asyncio.run(...) or trio.run(...), or a Client"
        raise UsageError(message) from None


def need_asyncio(name: str, instead: str) -> None:
    """Raise UsageError inside trio, for what works with asyncio only."""
    if in_trio():
        raise UsageError(f"{name} needs asyncio and does not work inside trio; {instead}")


async def asleep(seconds: float) -> None:
    """Wait."""
    if in_trio():
        import anyio  # noqa: PLC0415 - httpx2 has loaded it

        return await anyio.sleep(seconds)
    import asyncio  # noqa: PLC0415 - loaded already

    return await asyncio.sleep(seconds)


async def run_in_thread(work: Callable[..., R], *given: object) -> R:
    """Run a function that blocks in a thread of its own."""
    if in_trio():
        import anyio  # noqa: PLC0415 - httpx2 has loaded it

        return await anyio.to_thread.run_sync(work, *given)
    import asyncio  # noqa: PLC0415 - loaded already

    return await asyncio.to_thread(work, *given)


async def gather_results(works: Sequence[Awaitable[R]]) -> list[R]:
    """Await all of them at once; return their results in order."""
    if not in_trio():
        import asyncio  # noqa: PLC0415 - loaded already

        return await asyncio.gather(*works)
    import anyio  # noqa: PLC0415 - httpx2 has loaded it

    results: dict[int, R] = {}

    async def run_one(index: int, work: Awaitable[R]) -> None:
        results[index] = await work

    async with anyio.create_task_group() as tasks:
        for index, work in enumerate(works):
            tasks.start_soon(run_one, index, work)
    return [results[index] for index in range(len(works))]
