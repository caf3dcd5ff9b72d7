"""Tells the sender of a request when it leaves: to open a connection for it may take long.

The sender calls ``watch_departure``; each transport awaits ``announce_departure`` when it has a
connection, before it writes anything.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OnDeparture = Callable[[], Awaitable[None]]
"""May raise: then nothing is sent."""
DEPARTURE: ContextVar[OnDeparture | None] = ContextVar("departure", default=None)
"""What the transport of this task awaits before it writes a request."""


@contextmanager
def watch_departure(on_departure: OnDeparture) -> Iterator[None]:
    """Have ``on_departure`` awaited before each request that is sent in this block leaves."""
    token = DEPARTURE.set(on_departure)
    try:
        yield
    finally:
        DEPARTURE.reset(token)


async def announce_departure() -> None:
    """Wait for the sender of a request, if it watches: a connection is there."""
    if (on_departure := DEPARTURE.get()) is not None:
        await on_departure()
