"""The gateway's own work in one process, without HTTP: it is called, and services are canned.

Run as a program it reads a line `work count` at a time and prints the CPU seconds of one request,
the longest time that the event loop was held by one, and the function calls of one. Whichever tree
is on the path is measured, so that two of them can take turns.
"""

import asyncio
import cProfile
import gc
import json
import pstats
import sys
import time
from asyncio import Event, sleep
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from agent_requests import TURNS, Conversation, answer, path_of, result, small_body
from loopback import write_short
from streams import STREAMS

from pondero.canon import HttpRequest, ResponseHead
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    ProviderOverride,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.metrics import Metrics
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

Json = Any
EVENTS = 6_000
_PIECE = 64 << 10  # bytes of a stream that arrive at once: what a socket gives
_KEY = "sk-bench"
MODELS = {
    "anthropic": ("anthropic:claude-opus-5", "messages"),
    "openai_chat": ("openai-chat:gpt-5.4", "chat"),
    "openai_responses": ("openai:gpt-5.4", "responses"),
    "gemini": ("google:gemini-3-flash-preview", "gemini"),
}
_PLAIN = GatewayKey("plain", hash_key(_KEY))
_LIMITED = GatewayKey(
    "limited",
    hash_key(_KEY),
    limit=RateLimitRule(requests=10**9, tokens=10**15),
    budget=SpendBudget(cost=10**6, tokens=10**15),
)


class Canned:
    """A service that answers with the same bytes; calls and items get ids of their own."""

    needs_key = True

    def __init__(self, wire: str, kind: str) -> None:
        self._wire = wire
        self._stream = kind == "stream"
        self._calls_tools = kind == "agent"
        self._pieces: list[bytes] = []
        self._number = 0
        if self._stream:
            data = b"".join(STREAMS[wire](EVENTS))
            self._pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]

    async def send(self, _request: HttpRequest, _timeouts: object) -> "_Answer":
        """Answer in the next step of the loop, as a network does at the soonest."""
        await sleep(0)
        if self._stream:
            return _Answer("text/event-stream", self._pieces)
        self._number += 1
        wire, number = self._wire, self._number
        said = answer(wire, str(number)) if self._calls_tools else write_short(wire)
        if wire == "openai_chat":
            said["choices"][0]["message"].pop("reasoning_content", None)  # this model shows none
        return _Answer("application/json", [json.dumps(said).encode()])

    async def aclose(self) -> None:
        """Do nothing."""


class _Answer:
    def __init__(self, content_type: str, pieces: list[bytes]) -> None:
        self.head = ResponseHead(200, {"content-type": content_type})
        self._pieces = iter(pieces)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Do nothing."""


def make_app(wire: str, kind: str, key: GatewayKey | None = None) -> App:
    """Return a gateway before a canned service, as it comes but for its records."""
    to = MODELS[wire][0]
    config = GatewayConfig(
        server=ServerConfig(ledger="off", log="off"),
        routes=(GatewayRoute(match="*", to=(to,)),),
        providers={to.partition(":")[0]: ProviderOverride(key="env:BENCH_KEY")},
        keys=() if key is None else (key,),
    )
    metrics = Metrics()
    return App(
        GatewayContext(
            config, Canned(wire, kind), observers=(metrics.note,), save_begun=lambda _: None
        )
    )


async def ask(app: App, path: str, body: bytes) -> bytes:
    """Return the answer to one request."""
    sent: list[Json] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    gone = Event()

    async def receive() -> Json:
        if waiting:
            return waiting.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Json) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path.partition("?")[0],
        "raw_path": path.partition("?")[0].encode(),
        "query_string": path.partition("?")[2].encode(),
        "headers": [
            (b"content-type", b"application/json"),
            (b"x-api-key", _KEY.encode()),
            (b"content-length", b"%d" % len(body)),
        ],
        "client": ("127.0.0.1", 1),
    }
    await app(scope, receive, send)
    start, *rest = sent
    came = b"".join(each["body"] for each in rest)
    if start["status"] != 200:
        message = f"{path} was answered with {start['status']}: {came[:500]!r}"
        raise AssertionError(message)
    return came


class Work:
    """One kind of request; ``step`` sends the next one and returns its CPU seconds."""

    def __init__(self, front: str, wire: str, kind: str, key: GatewayKey | None = None) -> None:
        self._front = front
        self._model = MODELS[wire][0].partition(":")[2]
        self._parts: tuple[str, str, GatewayKey | None] = (
            wire,
            "agent" if kind in _LONG else kind,
            key,
        )
        self._app = make_app(*self._parts)
        self._kind = kind
        self._number = 0
        self.turns: list[float] = []

    async def prepare(self) -> None:
        """Bring a conversation to its length, where the work is its next request."""
        self._begin()
        if self._kind in ("agent", "cold"):
            for _ in range(TURNS):
                await self._turn(self._app)

    def _begin(self) -> None:
        first = "Please find and mend the defect in my program."
        self._conversation = Conversation(self._front, self._model, first, thinks=True)

    def _path(self, *, streamed: bool = False) -> str:
        return path_of(self._front, self._model, streamed=streamed)

    def _short(self, *, streamed: bool) -> tuple[str, bytes]:
        body = small_body(self._front, self._model, "One question", streamed=streamed)
        return self._path(streamed=streamed), body

    async def _turn(self, app: App) -> float:
        body = self._conversation.request()
        begun = time.thread_time()
        came = await ask(app, self._path(), body)
        took = time.thread_time() - begun
        self._conversation.add(json.loads(came), result())
        return took

    async def next_request(self) -> tuple[App, str, bytes]:
        """Return the next request, and the gateway that it is for."""
        self._number += 1
        if self._kind not in ("agent", "cold"):
            return self._app, *self._short(streamed=self._kind == "stream")
        app = make_app(*self._parts) if self._kind == "cold" else self._app
        if self._kind == "cold":
            await ask(app, *self._short(streamed=False))
        return app, self._path(), self._conversation.request(f"question {self._number}")

    async def step(self) -> float:
        """Send one request, or a whole conversation; return its CPU seconds."""
        if self._kind == "conversation":
            self._begin()
            self.turns = [await self._turn(self._app) for _ in range(TURNS)]
            return sum(self.turns)
        app, path, body = await self.next_request()
        begun = time.thread_time()
        await ask(app, path, body)
        return time.thread_time() - begun


_LONG = ("agent", "cold", "conversation")
FRONTS = {
    "messages": "anthropic",
    "chat": "openai_chat",
    "responses": "openai_responses",
    "gemini": "gemini",
}


def _works() -> dict[str, Callable[[], Work]]:
    works: dict[str, Callable[[], Work]] = {}

    def add(name: str, *words: Any) -> None:
        works[name] = lambda: Work(*words)

    pairs = list(FRONTS.items())
    pairs += [("chat", "anthropic"), ("messages", "openai_chat")]
    for front, wire in pairs:
        name = front if FRONTS[front] == wire else f"{front}->{MODELS[wire][1]}"
        for kind in ("short", "stream", "agent", "cold", "conversation"):
            add(f"{kind} {name}", front, wire, kind)
    add("short messages, key", "messages", "anthropic", "short", _PLAIN)
    add("short messages, quotas", "messages", "anthropic", "short", _LIMITED)
    add("agent messages, quotas", "messages", "anthropic", "agent", _LIMITED)
    return works


WORKS = _works()


def _longest(work: Work, loop: asyncio.AbstractEventLoop) -> float:
    """Return the longest CPU time of one step of the loop while a request is answered."""
    longest = 0.0
    app, path, body = loop.run_until_complete(work.next_request())
    gc.collect()  # what the requests before have left, whose memory this one can take
    run = asyncio.events.Handle._run  # noqa: SLF001 - asyncio has no other place

    def timed(self: asyncio.Handle) -> None:
        nonlocal longest
        begun = time.thread_time()
        run(self)
        longest = max(longest, time.thread_time() - begun)

    # Only while it is measured.
    asyncio.events.Handle._run = timed  # type: ignore[method-assign]  # noqa: SLF001
    try:
        loop.run_until_complete(ask(app, path, body))
    finally:
        asyncio.events.Handle._run = run  # type: ignore[method-assign]  # noqa: SLF001
    return longest


def _profile(work: Work, loop: asyncio.AbstractEventLoop) -> pstats.Stats:
    app, path, body = loop.run_until_complete(work.next_request())
    profiler = cProfile.Profile()
    profiler.enable()
    loop.run_until_complete(ask(app, path, body))
    profiler.disable()
    return pstats.Stats(profiler)


def _calls(work: Work, loop: asyncio.AbstractEventLoop, profile: str | None = None) -> int:
    stats = _profile(work, loop)
    if profile:
        stats.sort_stats(profile).print_stats(45)
    return int(stats.total_calls)  # type: ignore[attr-defined]  # the library has no types


def _calls_of_hooks(work: Work, loop: asyncio.AbstractEventLoop) -> int:
    """Return how many functions of the hooks' package a request calls, though it has no hooks."""
    called = _profile(work, loop).stats  # type: ignore[attr-defined]  # the library has no types
    return sum(found[0] for place, found in called.items() if "/gateway/hooks/" in place[0])


def main() -> None:
    """Answer lines until there are no more."""
    loop = asyncio.SelectorEventLoop()
    asyncio.set_event_loop(loop)
    ready: dict[str, Work] = {}

    def find(name: str) -> Work:
        if name not in ready:
            ready[name] = WORKS[name]()
            loop.run_until_complete(ready[name].prepare())
            for _ in range(3):
                loop.run_until_complete(ready[name].step())
        return ready[name]

    if len(sys.argv) > 1:
        print(_calls(find(sys.argv[1]), loop, sys.argv[2] if len(sys.argv) > 2 else "tottime"))
        return
    gc.disable()
    for line in sys.stdin:
        name, _, what = line.strip().rpartition(" ")
        work = find(name)
        gc.collect()
        if what == "calls":
            print(_calls(work, loop), flush=True)
        elif what == "hooks":
            print(_calls_of_hooks(work, loop), flush=True)
        elif what == "longest":
            print(min(_longest(work, loop) for _ in range(5)), flush=True)
        elif what == "turns":
            loop.run_until_complete(work.step())
            print(json.dumps(work.turns), flush=True)
        else:
            spent = [loop.run_until_complete(work.step()) for _ in range(int(what))]
            print(sum(spent) / len(spent), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
