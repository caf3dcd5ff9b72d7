"""Plan: CPU time of later plan() calls in one process."""

import json
import time
from collections.abc import Callable, Iterator
from itertools import count, product
from statistics import median
from typing import TYPE_CHECKING

from lab import Lab, Row

if TYPE_CHECKING:
    from pondero.thinking import ThinkingLike

MODELS = (
    "claude-sonnet-4-5",
    "claude-opus-5",
    "gpt-5",
    "o3",
    "gemini-2.5-pro",
    "gemini-3-flash-preview",
    "openrouter:anthropic/claude-opus-5",
    "groq:openai/gpt-oss-120b",
    "ollama:qwen3:8b",
)
LEVELS: "tuple[ThinkingLike, ...]" = (
    None,
    "off",
    "minimal",
    "low",
    "medium",
    "high",
    "xhigh",
    "max",
    8000,
)
WISHES = tuple(product(MODELS, LEVELS))


def measure(lab: Lab) -> Iterator[Row]:
    """Time plan() over many models and levels, asked before and never asked before."""
    microseconds = lab.json([lab.python, __file__, str(lab.rounds)])
    mix = f"{len(MODELS)} models x {len(LEVELS)} levels"
    yield Row(f"plan() asked before, {mix}", microseconds["again"], "us", 30)
    yield Row(
        "plan() never asked before (a new max_tokens each time)", microseconds["new"], "us", 30
    )


def main(rounds: int) -> None:
    """Print the microseconds of one call, as medians of rounds taken in turns."""
    import pondero

    sizes = count(20_000)

    def again() -> None:
        for model, level in WISHES:
            pondero.plan(model, level)

    def new() -> None:
        for model, level in WISHES:
            pondero.plan(model, level, max_tokens=next(sizes))

    ways: dict[str, Callable[[], None]] = {"again": again, "new": new}
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
    for _ in range(rounds):
        for name, way in ways.items():
            spent[name].append(_per_call(way))
    print(json.dumps({name: 1e6 * median(figures) for name, figures in spent.items()}))


def _per_call(way: Callable[[], None], *, passes: int = 30) -> float:
    start = time.process_time()
    for _ in range(passes):
        way()
    return (time.process_time() - start) / (passes * len(WISHES))


if __name__ == "__main__":
    import sys

    main(int(sys.argv[1]))
