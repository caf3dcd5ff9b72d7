"""Prints what an emulated question costs by the client, and by a sweep; for ``bench_sweep``."""

import asyncio
import json
import os
import sys
import tempfile
from time import perf_counter, process_time
from typing import Final

from pondero.client import AsyncClient
from pondero.emulator import Emulator, ErrorProneResponder
from pondero.sweep import (
    LiveEngine,
    Run,
    Runner,
    Spec,
    arms_of,
    compute_results,
    make_judge,
    questions_of,
)
from pondero.sweep.arms import sweep_policy

COUNT = 1_000
AT_ONCE = 64
MODEL = "claude-opus-5"
LEVEL: Final = "low"
ROWS = [{"id": str(n), "input": f"What is {n} * 23?", "target": str(n * 23)} for n in range(COUNT)]


async def by_client() -> None:
    """Ask every question, so many at once."""
    client = AsyncClient(transport=Emulator(responder=ErrorProneResponder()), policy=sweep_policy())
    slots = asyncio.Semaphore(AT_ONCE)

    async def ask(words: str) -> None:
        async with slots:
            await client.ask(MODEL, words, LEVEL, stream=False)

    async with asyncio.TaskGroup() as group:
        for row in ROWS:
            group.create_task(ask(row["input"]))


def begun() -> Run:
    """Return a run over the same questions."""
    spec = Spec(models=(MODEL,), levels=LEVEL, judge="numeric", offline=True)
    arms = arms_of(spec.models, spec.levels)
    return Run.create(spec, questions_of(ROWS), arms, reference=0)


async def by_sweep(run: Run) -> None:
    """Ask, judge and keep every question."""
    emulator = Emulator(responder=ErrorProneResponder())
    engine = LiveEngine(transport=lambda _: emulator, stream=False, start=AT_ONCE)
    await Runner(run, engine, make_judge("numeric")).finish()


def main(rounds: int) -> None:
    """Take turns, so that both meet the machine in the same mood."""
    found: dict[str, list[float]] = {"client": [], "sweep": [], "wall": [], "results": []}
    for turn in range(rounds + 1):
        before = process_time()
        asyncio.run(by_client())
        alone = process_time() - before
        with begun() as run:
            before, clock = process_time(), perf_counter()
            asyncio.run(by_sweep(run))
            whole, wall = process_time() - before, perf_counter() - clock
            before = process_time()
            compute_results(run)
            told = process_time() - before
        if turn:  # the first warms caches
            found["client"].append(alone / COUNT)
            found["sweep"].append(whole / COUNT)
            found["wall"].append(wall / COUNT)
            found["results"].append(told)
    print(json.dumps(found))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PONDERO_DATA_DIR"] = folder
        main(int(sys.argv[1]))
