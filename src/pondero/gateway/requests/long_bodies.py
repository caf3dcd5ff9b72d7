"""Long requests give way to others between their steps: none holds the event loop for long."""

from asyncio import sleep
from typing import TypeVar

from ...exchange import WorkSteps

LONG = 32 << 10
"""Bytes of a body whose steps take a millisecond together."""

T = TypeVar("T")


async def give_way() -> None:
    """Let other requests go on; a step of a body that is ``LONG`` has been done."""
    await sleep(0)


async def give_way_after(body: bytes) -> None:
    """Let other requests go on if a step of a long body has been done."""
    if len(body) > LONG:
        await sleep(0)


async def give_way_between(steps: WorkSteps[T], body: bytes) -> T:
    """Return what steps lead to; a request with a long body gives way between them."""
    is_long = len(body) > LONG
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        if is_long:
            await sleep(0)
