"""A proxy in front of a Redis that counts round trips and commands."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from pondero.gateway.state.redis_protocol import ReplyReader


class RedisProxy:
    """Passes bytes on in both directions; ``trips`` has the commands of each write to Redis.

    ``size`` has the bytes in both directions.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self._came = asyncio.Event()
        self.trips: list[list[str]] = []
        self.size = 0
        self.url = ""

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"

    async def stop(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def wait_for(self, count: int) -> None:
        """Wait until so many writes were seen."""
        async with asyncio.timeout(20):
            while len(self.trips) < count:
                self._came.clear()
                await self._came.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back_reader, back_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers += (writer, back_writer)
        for pump in (self._pump_in(reader, back_writer), self._pump_out(back_reader, writer)):
            task = asyncio.ensure_future(pump)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        commands = ReplyReader()  # a command has the form of a reply
        while data := await reader.read(1 << 20):
            self.size += len(data)
            self.trips.append([each[0].decode() for each in commands.feed(data)])
            self._came.set()
            writer.write(data)
        writer.close()

    async def _pump_out(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 20):
            self.size += len(data)
            writer.write(data)
        writer.close()


@asynccontextmanager
async def redis_proxy(port: int) -> AsyncIterator[RedisProxy]:
    """Run a proxy in front of the Redis on a port."""
    proxy = RedisProxy(port)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
