"""The load on a gateway, from a process of its own: load.py LOAD, where LOAD is a `Load` as JSON.

Connections stay open and are read by hand, so that the load costs little beside what it loads.
"""

import asyncio
import json
import re
import sys
import time
from asyncio.transports import BaseTransport, Transport
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

from agent_requests import agent_body, long_body, path_of, small_body

Json = Any
_WORDS = re.compile(rb'"(?:text|thinking|content|reasoning_content|delta)": ?"((?:[^"\\]|\\.)*)"')
_LAST = b"0\r\n\r\n"  # only the last chunk is followed by an empty line


@dataclass(frozen=True)
class Load:
    """So many requests, so many at once; ``ask`` is the word to the service of what to answer.

    ``size``: ``small`` is one sentence; ``agent`` is a conversation of an agent, whose last message
    alone is new; ``unseen`` is one that is new from its beginning; ``long`` is one long message.
    """

    url: str
    front: str
    model: str
    ask: str
    at_once: int
    count: int
    headers: dict[str, str] = field(default_factory=dict)
    size: str = "small"

    def argument(self) -> str:
        """Return it as the program reads it."""
        return json.dumps(asdict(self))

    def place(self) -> tuple[str, int]:
        """Return the host and the port."""
        host, _, rest = self.url.partition("//")[2].partition(":")
        return host, int(rest.partition("/")[0])

    def requests(self) -> list[bytes]:
        """Return all requests; no two are the same."""
        if self.size == "unseen":  # in no earlier round either
            now = time.time_ns() % 10**9
            return [self.framed(self._body(0, f"{now + each}")) for each in range(self.count)]
        body, number = self._body(777_777), b"777777"
        return [self.framed(body.replace(number, b"%06d" % each)) for each in range(self.count)]

    def framed(self, data: bytes) -> bytes:
        """Return a request with this body."""
        streamed = not self.ask.startswith(("short", "turn"))
        base = "".join(self.url.partition("//")[2].partition("/")[1:])
        path = base + path_of(self.front, self.model, streamed=streamed)
        headers = {
            "host": "127.0.0.1",
            "content-type": "application/json",
            "content-length": str(len(data)),
            "anthropic-version": "2023-06-01",
            "x-api-key": "sk-bench",
            "authorization": "Bearer sk-bench",
            **self.headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + data

    def _body(self, number: int, first: str = "") -> bytes:
        ask = f"bench {self.ask} ; question {number} of many"
        if self.size == "long":
            return long_body(self.front, self.model, ask, size=195 * 1024)
        if self.size != "small":
            return agent_body(self.front, self.model, ask, first=first)
        streamed = not self.ask.startswith("short")
        return small_body(self.front, self.model, ask, streamed=streamed)


class Answer:
    """One answer as it came."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.first: float | None = None  # seconds until the first event, or the first of a body
        self.data = bytearray()
        self.body = 0  # where the body begins
        self._length: int | None = None  # None: in chunks

    def feed(self, data: bytes) -> bool:
        """Take what has come, and say whether it was the last."""
        self.data += data
        if not self.body:
            end = self.data.find(b"\r\n\r\n")
            if end < 0:
                return False
            self.body = end + 4
            head = bytes(self.data[:end]).lower()
            _, said, length = head.partition(b"content-length:")
            self._length = int(length.partition(b"\r\n")[0]) if said else None
        if self.first is None and len(self.data) > self.body:
            self.first = time.perf_counter() - self.start
        if self._length is None:
            return self.data.endswith(_LAST, self.body)
        return len(self.data) >= self.body + self._length

    @property
    def status(self) -> int:
        """Return the status."""
        return int(self.data[9:12])

    def words(self) -> list[bytes]:
        """Return all pieces of text in it."""
        return _WORDS.findall(self.content())

    def content(self) -> bytes:
        """Return the body."""
        body = bytes(self.data[self.body :])
        return body if self._length is not None else _unchunked(body)


def _unchunked(body: bytes) -> bytes:
    pieces: list[bytes] = []
    at = 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end].partition(b";")[0], 16)
        if not size:
            return b"".join(pieces)
        pieces.append(body[end + 2 : end + 2 + size])
        at = end + 4 + size


class _Connection(asyncio.Protocol):
    """Asks one request after the other while there are any."""

    def __init__(self, waiting: deque[bytes], answers: list[Answer]) -> None:
        self._waiting = waiting
        self._answers = answers
        self.over = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: BaseTransport) -> None:
        assert isinstance(transport, Transport)  # noqa: S101 - a stream's is
        self._transport = transport

    def ask(self) -> None:
        if not self._waiting:
            self.over.set_result(None)
            return
        self._answer = Answer()
        self._answers.append(self._answer)
        self._transport.write(self._waiting.popleft())

    def data_received(self, data: bytes) -> None:
        if self._answer.feed(data):
            self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_exception(exc or ConnectionError("closed before the end of an answer"))


class One(asyncio.Protocol):
    """A connection for one request after the other."""

    def connection_made(self, transport: BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, Transport)  # noqa: S101 - a stream's is
        self._transport = transport

    async def answer(self, request: bytes) -> Answer:
        """Return the answer to a request."""
        self._answer = Answer()
        self._over = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        await self._over
        return self._answer

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        if self._answer.feed(data):
            self._over.set_result(None)

    def close(self) -> None:
        """Hang up."""
        self._transport.close()


async def connected(load: Load) -> One:
    """Return a connection to what is loaded."""
    host, port = load.place()
    return (await asyncio.get_running_loop().create_connection(One, host, port))[1]


async def loaded(load: Load) -> Json:
    """Put the load on, and return how long it took and what came."""
    host, port = load.place()
    waiting = deque(load.requests())
    answers: list[Answer] = []
    loop = asyncio.get_running_loop()
    connections = [
        (await loop.create_connection(lambda: _Connection(waiting, answers), host, port))[1]
        for _ in range(load.at_once)
    ]
    start = time.perf_counter()
    for each in connections:
        each.ask()
    ends = await asyncio.gather(*(each.over for each in connections), return_exceptions=True)
    wall = time.perf_counter() - start
    found = [answer.words() if answer.status == 200 else [] for answer in answers]
    return {
        "wall": wall,
        "firsts": [answer.first for answer in answers],
        "pieces": len(found[0]),
        "wrong": sum(b"".join(each) != b"".join(found[0]) for each in found)
        + sum(end is not None for end in ends)
        + (not any(found[0])),
        "said": "" if any(found[0]) else bytes(answers[0].data[:600]).decode("latin-1"),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(loaded(Load(**json.loads(sys.argv[1]))))))
