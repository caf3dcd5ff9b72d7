"""Ends a long answer of the admin API when the one who asked for it has no access any more."""

from asyncio import Timeout, ensure_future, get_running_loop, sleep, timeout
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ...errors import PonderoError
from ..requests.requester import AccessDenied
from .actor import Actor

LOOK = 5.0
"""Seconds between two looks whether it still has."""

FindActor = Callable[[], Awaitable[Actor]]


class AccessEnd(Exception):
    """Its session has ended, or its key is not valid any more."""


@asynccontextmanager
async def hold(find_actor: FindActor) -> AsyncIterator[None]:
    """Give a long answer while ``find_actor`` finds who asked for it; raises AccessEnd."""
    try:
        async with timeout(None) as deadline:
            watching = ensure_future(_watch(find_actor, deadline))
            try:
                yield
            finally:
                watching.cancel()
    except TimeoutError:
        raise AccessEnd from None


async def _watch(find_actor: FindActor, deadline: Timeout) -> None:
    while True:
        await sleep(LOOK)
        try:
            await find_actor()
        except (PonderoError, AccessDenied):  # or it is not known
            deadline.reschedule(get_running_loop().time())
            return
