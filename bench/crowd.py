"""Clients that cost a gateway as much as they can without asking it anything: crowd.py HOST PORT.

It keeps connections that send nothing, heads that arrive a line a second, and bodies that arrive a
byte a second; where the gateway ends one, the next begins. It prints a line when all are there, and
ends with its standard input.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

IDLE, HEADS, BODIES = 1_000, 200, 200
_PAUSE = 1.0  # seconds between two pieces

Pieces = Callable[[], AsyncIterator[bytes]]


async def _nothing() -> AsyncIterator[bytes]:
    yield b""


async def _head() -> AsyncIterator[bytes]:
    yield b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    while True:
        await asyncio.sleep(_PAUSE)
        yield b"x-slow: 1\r\n"


async def _body() -> AsyncIterator[bytes]:
    yield b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000000\r\n\r\n{"
    while True:
        await asyncio.sleep(_PAUSE)
        yield b" "


async def _stay(host: str, port: int, pieces: Pieces, begun: asyncio.Semaphore) -> None:
    """Connect again and again, and send these pieces each time until the other side closes."""
    is_first = True
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, port)
            sending = asyncio.ensure_future(_send(writer, pieces))
            if is_first:
                begun.release()
            is_first = False
            while await reader.read(1 << 16):
                pass
            sending.cancel()
            writer.close()
        await asyncio.sleep(0.1)


async def _send(writer: asyncio.StreamWriter, pieces: Pieces) -> None:
    with suppress(OSError):
        async for piece in pieces():
            writer.write(piece)
            await writer.drain()


async def _run(host: str, port: int) -> None:
    begun = asyncio.Semaphore(0)
    kinds = [_nothing] * IDLE + [_head] * HEADS + [_body] * BODIES
    tasks = [asyncio.ensure_future(_stay(host, port, kind, begun)) for kind in kinds]
    for _ in tasks:
        await begun.acquire()
    print("there", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1], int(sys.argv[2])))
