"""Our clients and bare HTTP libraries, side by side in one process: callers.py HOW ADDRESS COUNT.

Bare is a library, a loop that splits frames and msgspec: the least a client can cost on it.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from typing import Any, Final

import aiohttp
import httpx2
import msgspec
from floors import DECODERS
from loopback import CROWDED, EVENTS
from threads import thread
from works import QUESTION, Caller, measured

from pondero import AsyncClient, Client
from pondero.canon import Event, Message, TextDelta, ThinkingDelta
from pondero.transport import FastTransport

Json = Any
MODEL = "anthropic:claude-opus-5"
LEVEL: Final = "high"
HEADERS = {
    "x-api-key": "k",
    "anthropic-version": "2023-06-01",
    "content-type": "application/json",
}


class Split:
    """The bare loop: frames to structs, and how many deltas were among them."""

    def __init__(self) -> None:
        self.deltas = 0
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        """Read what has come."""
        decode = DECODERS["anthropic"].decode
        *frames, self._rest = (self._rest + piece if self._rest else piece).split(b"\n\n")
        for frame in frames:
            if decode(frame[frame.find(b"data: ") + 6 :]).delta is not None:
                self.deltas += 1


def _asked(messages: Json = None, **more: Json) -> bytes:
    """Return the same body that our client sends, encoded anew as a caller would have to."""
    return msgspec.json.encode(
        {
            "model": "claude-opus-5",
            "max_tokens": 128_000,
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": LEVEL},
            "messages": messages or [{"role": "user", "content": QUESTION}],
            **more,
        }
    )


# -- bare ------------------------------------------------------------------------------------


def bare_sync(base: str, client: httpx2.Client) -> Caller:
    """Return httpx2 that waits."""

    def pieces(kind: str) -> Iterator[bytes]:
        body = _asked(stream=True)
        url = f"{base}/{kind}/v1/messages"
        with client.stream("POST", url, content=body, headers=HEADERS) as response:
            yield from response.iter_bytes()

    async def stream() -> int:
        split = Split()
        for piece in pieces("stream"):
            split.feed(piece)
        return split.deltas

    async def short() -> object:
        url = f"{base}/short/v1/messages"
        response = client.post(url, content=_asked(), headers=HEADERS)
        return msgspec.json.decode(response.content)

    return Caller(stream, short, alone=True)


def bare(pieces: Callable[[str, bytes], AsyncIterator[bytes]], history: Json) -> Caller:
    """Return a library that awaits, given how it posts and reads."""

    async def stream() -> int:
        split = Split()
        async for piece in pieces("stream", _asked(stream=True)):
            split.feed(piece)
        return split.deltas

    async def first() -> float:
        split, there = Split(), 0.0
        async for piece in pieces("first", _asked(stream=True)):
            split.feed(piece)
            if split.deltas and not there:
                there = time.process_time()
        return there

    async def whole(body: bytes) -> object:
        return msgspec.json.decode(b"".join([piece async for piece in pieces("short", body)]))

    return Caller(
        stream, lambda: whole(_asked()), first, lambda: whole(msgspec.json.encode(history))
    )


def bare_httpx2(base: str, client: httpx2.AsyncClient, history: Json) -> Caller:
    """Return httpx2."""

    async def pieces(kind: str, body: bytes) -> AsyncIterator[bytes]:
        url = f"{base}/{kind}/v1/messages"
        if kind == "short":
            yield (await client.post(url, content=body, headers=HEADERS)).content
            return
        async with client.stream("POST", url, content=body, headers=HEADERS) as response:
            async for piece in response.aiter_bytes():
                yield piece

    return bare(pieces, history)


def bare_aiohttp(base: str, client: aiohttp.ClientSession, history: Json) -> Caller:
    """Return aiohttp."""

    async def pieces(kind: str, body: bytes) -> AsyncIterator[bytes]:
        url = f"{base}/{kind}/v1/messages"
        async with client.post(url, data=body, headers=HEADERS) as response:
            if kind == "short":
                yield await response.read()
                return
            async for piece in response.content.iter_any():
                yield piece

    return bare(pieces, history)


DELTAS = (TextDelta, ThinkingDelta)

# -- ours ------------------------------------------------------------------------------------


def _deltas(events: Iterable[Event]) -> int:
    return sum(1 for event in events if isinstance(event, DELTAS))


def ours_sync(made: Callable[[str], Client]) -> Caller:
    """Return our client that waits."""
    clients = {kind: made(kind) for kind in ("stream", "short")}

    async def stream() -> int:
        with clients["stream"].stream(MODEL, QUESTION, LEVEL) as events:
            return _deltas(events)

    async def short() -> object:
        return clients["short"].ask(MODEL, QUESTION, LEVEL, stream=False)

    return Caller(stream, short, alone=True)


def ours(made: Callable[[str], AsyncClient], history: tuple[Message, ...]) -> Caller:
    """Return our client that awaits."""
    clients = {kind: made(kind) for kind in ("stream", "short", "first")}

    async def stream() -> int:
        seen = 0
        async with clients["stream"].stream(MODEL, QUESTION, LEVEL) as events:
            async for event in events:
                if isinstance(event, DELTAS):
                    seen += 1
        return seen

    async def first() -> float:
        there = 0.0
        async with clients["first"].stream(MODEL, QUESTION, LEVEL) as events:
            async for event in events:
                if isinstance(event, ThinkingDelta) and not there:
                    there = time.process_time()
        return there

    client = clients["short"]
    return Caller(
        stream,
        lambda: client.ask(MODEL, QUESTION, LEVEL, stream=False),
        first,
        lambda: client.ask(MODEL, history, LEVEL, stream=False),
    )


# -- what runs in a process of its own -------------------------------------------------------


async def _compared(base: str, rounds: int) -> Json:
    """Return the figures of all, each on connections that stay open."""
    history = thread(
        "anthropic", 1000, model="claude-opus-5"
    ).messages  # its own, so all of it goes
    keys = {"anthropic": "k"}

    def urls(kind: str) -> dict[str, str]:
        return {"anthropic": f"{base}/{kind}"}

    async with AsyncExitStack() as stack:
        waits = stack.enter_context(httpx2.Client())
        awaits = await stack.enter_async_context(httpx2.AsyncClient())
        session = await stack.enter_async_context(aiohttp.ClientSession())
        fast = FastTransport()
        stack.push_async_callback(fast.aclose)
        body = _sent(history)
        callers = {
            "bare httpx2, waiting": bare_sync(base, waits),
            "Client": ours_sync(lambda kind: Client(keys=keys, urls=urls(kind))),
            "bare httpx2": bare_httpx2(base, awaits, body),
            "AsyncClient": ours(lambda kind: AsyncClient(keys=keys, urls=urls(kind)), history),
            "bare aiohttp": bare_aiohttp(base, session, body),
            "fast": ours(
                lambda kind: AsyncClient(keys=keys, urls=urls(kind), transport=fast), history
            ),
        }
        return await measured(callers, rounds=rounds, events=EVENTS)


async def _fast(base: str, rounds: int) -> Json:
    """Return the figures of our fast client alone."""
    transport = FastTransport()

    def made(kind: str) -> AsyncClient:
        urls = {"anthropic": f"{base}/{kind}"}
        return AsyncClient(keys={"anthropic": "k"}, urls=urls, transport=transport)

    callers = {"fast": ours(made, thread("anthropic", 4).messages)}
    figures = await measured(callers, rounds=rounds, events=EVENTS)
    await transport.aclose()
    return figures["fast"]


def _sent(history: tuple[Message, ...]) -> Json:
    """Return the body our client sends for a long thread, decoded."""
    from pondero import Client
    from pondero.emulator import Emulator

    prepared = Client(transport=Emulator()).prepare(MODEL, history, LEVEL, stream=False)
    return msgspec.json.decode(prepared.request.body)


async def _crowd(base: str, count: int) -> Json:
    """Read so many streams at once; return their peak of memory, and what was not as sent."""
    urls = {"anthropic": f"{base}/crowd/{count}"}
    client = AsyncClient(keys={"anthropic": "k"}, urls=urls, transport=FastTransport())
    alone = AsyncClient(
        keys={"anthropic": "k"}, urls={"anthropic": f"{base}/crowd/1"}, transport=FastTransport()
    )

    async def read(by: AsyncClient) -> tuple[int, str, str]:
        seen = 0
        async with by.stream(MODEL, QUESTION, LEVEL) as events:
            async for event in events:
                seen += isinstance(event, DELTAS)
        return seen, events.reply.thinking, events.reply.text

    expected = await read(alone)
    before, start = _peak(), time.process_time()
    found = await asyncio.gather(*(read(client) for _ in range(count)))
    spent, peak = time.process_time() - start, _peak() - before
    await client.aclose()
    await alone.aclose()
    wrong = sum(one != expected for one in found) + (expected[0] != CROWDED)
    return {"wrong": wrong, "KiB": peak / count, "us": 1e6 * spent / (count * CROWDED)}


def _peak() -> int:
    """Return the most memory this process ever held, in KiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


def main(how: str, base: str, count: int) -> None:
    """Print the figures."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    ways = {"compared": _compared, "fast": _fast, "crowd": _crowd}
    print(json.dumps(asyncio.run(ways[how](base, count))))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
