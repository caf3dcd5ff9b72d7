"""The chat: a long thread on the screen, and a fast stream. CPU time; the screen is not real."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from lab import Lab, Row

ROUNDS = 5


def measure(lab: Lab) -> Iterator[Row]:
    """Compare a thread of 10,000 messages with one of 20, and draw 1,000 deltas a second."""
    program = Path(__file__).with_name("screens.py")
    rounds = min(lab.rounds, ROUNDS)

    def figures(what: str) -> list[dict[str, Any]]:
        return [lab.json([lab.python, program, what]) for _ in range(rounds)]

    long, short = figures("long"), figures("short")
    cpu, base = (median(each["cpu"] for each in found) for found in (long, short))
    yield Row("open a thread of 10,000 messages", 1000 * cpu, "ms", 1000)
    yield Row("open a thread of 20 messages", 1000 * base, "ms")
    yield Row("10,000 messages / 20 messages", cpu / base, "x", 1.3)
    memory = median(each["megabytes"] for each in long) - median(e["megabytes"] for e in short)
    yield Row("memory for 10,000 messages over 20, writing them too", memory, "MB", 64)
    yield Row("widgets on the page, just opened", long[0]["widgets"], "")
    scrolled = lab.json([lab.python, program, "scroll"])
    yield Row("widgets on the page, 12 pages further up", scrolled["widgets"], "", 1500)
    stream = [lab.json([lab.python, program, "stream"]) for _ in range(rounds)]
    share = median(each["share"] for each in stream)
    yield Row("1,000 deltas a second, share of a core", 100 * share, "%", 100)
