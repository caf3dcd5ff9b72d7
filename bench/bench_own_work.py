"""The gateway's own work without HTTP: CPU of a request, a conversation's turns, long streams.

With `BENCH_BASE` naming the `src` of another tree, both trees take turns and each figure has the
base's beside it. A figure is the mean of the least disturbed third of the rounds.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from subprocess import PIPE, Popen
from typing import Any

from lab import ROOT, Lab, Row, surroundings

FRONTS = ("messages", "chat", "responses", "gemini")
PAIRS = (*FRONTS, "chat->messages", "messages->chat")
_COUNTS = {"short": 40, "stream": 1, "agent": 4, "cold": 3}
QUOTAS = 25.0  # us that four quotas may take
HELD = 1.0  # ms that an agent's request may hold the event loop


class _Tree:
    """A program that measures one tree."""

    def __init__(self, process: "Popen[str]") -> None:
        self._process = process

    def ask(self, work: str, what: object) -> Any:
        """Return what it measured."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(f"{work} {what}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def _running(lab: Lab, source: Path) -> Iterator[_Tree]:
    here = Path(__file__).parent
    environment = {**surroundings(), "PYTHONPATH": f"{source}:{here}", "BENCH_KEY": "sk-bench"}
    words = [str(lab.python), str(here / "own_work.py")]
    with Popen(words, env=environment, stdin=PIPE, stdout=PIPE, text=True) as process:
        yield _Tree(process)
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.close()


def measure(lab: Lab) -> Iterator[Row]:
    """Put one tree or two to all works in turns."""
    sources = {"": ROOT / "src"}
    if base := os.environ.get("BENCH_BASE"):
        sources[", base"] = Path(base)
    only = os.environ.get("BENCH_ONLY", "")
    with ExitStack() as stack:
        trees = {name: stack.enter_context(_running(lab, at)) for name, at in sources.items()}
        works = [f"{kind} {pair}" for kind in _COUNTS for pair in PAIRS]
        works += ["short messages, key", "short messages, quotas", "agent messages, quotas"]
        yield from _costs(trees, [each for each in works if only in each], lab.rounds)
        if not only:
            yield from _turns(trees, lab.rounds)


def _costs(trees: dict[str, _Tree], works: list[str], rounds: int) -> Iterator[Row]:
    spent: dict[tuple[str, str], list[float]] = {}
    shuffled = Random(0)  # noqa: S311 - an order of turns, the same in every run
    for _ in range(rounds):
        for work in works:
            for name, tree in shuffled.sample(list(trees.items()), len(trees)):
                found = tree.ask(work, _COUNTS[work.split()[0]])
                spent.setdefault((work, name), []).append(found)
    low = {each: _low_third(values) for each, values in spent.items()}
    for work in works:
        for name, tree in trees.items():
            what, value = f"{work}{name}", low[work, name]
            kind = work.split()[0]
            if kind == "short":
                yield Row(f"{what}: CPU", 1e6 * value, "us")
            else:
                yield Row(f"{what}: CPU", 1e3 * value, "ms")
            yield Row(f"{what}: function calls", tree.ask(work, "calls"), "")
            if kind in ("short", "stream"):
                hooks = tree.ask(work, "hooks")
                yield Row(f"{what}: function calls for hooks, without any", hooks, "", 0)
            if kind in ("agent", "cold"):
                longest = 1e3 * tree.ask(work, "longest")
                yield Row(f"{what}: longest on the loop", longest, "ms", None if name else HELD)
    for name in trees if ("short messages, quotas", "") in low else ():
        more = low["short messages, quotas", name] - low["short messages, key", name]
        yield Row(f"four quotas{name}: CPU more", 1e6 * more, "us", None if name else QUOTAS)


def _turns(trees: dict[str, _Tree], rounds: int) -> Iterator[Row]:
    """Measure a conversation turn by turn."""
    for pair in PAIRS:
        found: dict[str, list[list[float]]] = {name: [] for name in trees}
        for _ in range(max(2, rounds // 3)):
            for name, tree in trees.items():
                found[name].append(tree.ask(f"conversation {pair}", "turns"))
        for name, several in found.items():
            turns = [1e3 * _low_third(list(each)) for each in zip(*several, strict=True)]
            for first, last in ((1, 5), (16, 20), (36, 40)):
                mean = sum(turns[first - 1 : last]) / 5
                yield Row(f"conversation {pair}{name}: turns {first} to {last}", mean, "ms")


def _low_third(values: list[float]) -> float:
    kept = sorted(values)[: max(1, len(values) // 3)]
    return sum(kept) / len(kept)
