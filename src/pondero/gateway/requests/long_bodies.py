"""Long requests give way to others between their steps: none holds the event loop for long."""

from asyncio import sleep

_LONG = 32 << 10  # bytes: what takes less than a millisecond


async def give_way(body: bytes) -> None:
    """Let other requests go on, if the steps of one with this body take long."""
    if len(body) > _LONG:
        await sleep(0)
