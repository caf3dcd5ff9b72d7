"""Long requests give way to others between their steps: none holds the event loop for long."""

from asyncio import sleep
from typing import TypeVar

from ...exchange import WorkSteps

_LONG = 32 << 10  # bytes: what takes less than a millisecond

T = TypeVar("T")


async def give_way(body: bytes) -> None:
    """Let other requests go on, if the steps of one with this body take long."""
    if len(body) > _LONG:
        await sleep(0)


async def give_way_between(steps: WorkSteps[T], body: bytes) -> T:
    """Return what steps lead to; a request with a long body gives way between them."""
    is_long = len(body) > _LONG
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        if is_long:
            await sleep(0)
