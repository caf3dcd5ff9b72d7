"""The works that every client is put to, and how they are measured: CPU seconds, taken in turns.

Needs nothing that is installed, so that it runs in the peers' environments as well.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from statistics import median

CONCURRENT, SHORTS, FIRSTS, LONGS = 64, 24, 24, 4
QUESTION = "What is the weather like?"


@dataclass(frozen=True)
class Caller:
    """One client put to work; what is None it is not asked for.

    ``stream`` returns how many deltas it read of a long stream, ``short`` asks for one sentence,
    ``first`` returns when, in CPU seconds, the first delta was there, ``long`` sends a long thread.
    """

    stream: Callable[[], Awaitable[int]] | None = None
    short: Callable[[], Awaitable[object]] | None = None
    first: Callable[[], Awaitable[float]] | None = None
    long: Callable[[], Awaitable[object]] | None = None
    alone: bool = False  # it waits, and so cannot be many at once


Figures = dict[str, list[float]]


async def measured(
    callers: Mapping[str, Caller], *, rounds: int, events: int = 0
) -> dict[str, Figures]:
    """Return the figures of each caller and work, one a round; the first round is not counted."""
    figures: dict[str, Figures] = {name: {} for name in callers}
    for turn in range(rounds + 1):
        for work in WORKS.values():
            for name, caller in callers.items():
                found = await work(caller, events)
                for what, value in found.items():
                    figures[name].setdefault(what, [])
                    figures[name][what] += [value] * bool(turn)
    return figures


async def _stream(caller: Caller, events: int) -> dict[str, float]:
    if caller.stream is None:
        return {}
    start = time.process_time()
    seen = await caller.stream()
    spent = time.process_time() - start
    if seen < events:
        message = f"read {seen} of {events} deltas"
        raise AssertionError(message)
    return {"stream": spent}


async def _one(caller: Caller, _: int) -> dict[str, float]:
    if caller.short is None:
        return {}
    start = time.process_time()
    for _ in range(SHORTS):
        await caller.short()
    return {"short": (time.process_time() - start) / SHORTS}


async def _many(caller: Caller, _: int) -> dict[str, float]:
    """Return the CPU of a request among many, and its share of the time on the wall."""
    if caller.short is None or caller.alone:
        return {}
    short, each = caller.short, 3

    async def several() -> None:
        for _ in range(each):
            await short()

    wall, start = time.perf_counter(), time.process_time()
    await asyncio.gather(*(several() for _ in range(CONCURRENT)))
    asked = CONCURRENT * each
    return {
        "many": (time.process_time() - start) / asked,
        "wall": (time.perf_counter() - wall) / asked,
    }


async def _first(caller: Caller, _: int) -> dict[str, float]:
    if caller.first is None:
        return {}
    spent = []
    for _ in range(FIRSTS):
        start = time.process_time()
        spent.append(await caller.first() - start)
    return {"first": median(spent)}


async def _long(caller: Caller, _: int) -> dict[str, float]:
    if caller.long is None:
        return {}
    start = time.process_time()
    for _ in range(LONGS):
        await caller.long()
    return {"long": (time.process_time() - start) / LONGS}


WORKS = {"stream": _stream, "one": _one, "many": _many, "first": _first, "long": _long}
