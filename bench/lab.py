"""The bench's instruments: CPU time of whole processes, taken in turns, and rows with a verdict.

A file `bench_<noun>.py` beside this one joins the bench by having `measure(lab) -> Iterable[Row]`;
its docstring is its heading. Machines differ and are busy, so goals are ratios within one run
wherever they can be, and every figure is a median over rounds in which all contenders took turns.
"""

import json
import os
import resource
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Protocol

ROOT = Path(__file__).parents[1]
SCRATCH = ROOT / ".bench"


@dataclass(frozen=True)
class Row:
    """One figure and its goal. No limit: the figure is for comparison; no value: not measured."""

    what: str
    value: float | None
    unit: str
    limit: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the goal is met, in one word."""
        if self.value is None:
            return "not measured"
        if self.limit is None:
            return ""
        return "met" if self.value <= self.limit else "missed"


class Bench(Protocol):
    """What a file `bench_<noun>.py` has to offer."""

    def measure(self, lab: "Lab") -> Iterable[Row]:
        """Return the rows of this bench, in the order they are read."""


@dataclass(frozen=True)
class Lab:
    """What a bench may use: our interpreter, the peers' interpreters, and how often to repeat."""

    python: Path
    peers: Mapping[str, Path]
    rounds: int
    parts: Sequence[str] = ()  # only these parts of a bench that has some; none: all
    rows: str = ""  # only the contenders whose names match this regular expression

    def wants(self, part: str) -> bool:
        """Return whether a part of a bench is asked for."""
        return not self.parts or part in self.parts

    @property
    def command(self) -> Path:
        """Our console script."""
        return self.python.with_name("pondero")

    def cpu(self, commands: Mapping[str, Sequence[str | Path]]) -> dict[str, list[float]]:
        """Return the CPU seconds of each command, one figure per round, taken in turns."""
        spent: dict[str, list[float]] = {name: [] for name in commands}
        for each in commands.values():  # unmeasured: bytecode and disk caches fill here
            self.run(each)
        shuffled = Random(0)  # noqa: S311 - an order of turns, the same in every run
        for _ in range(self.rounds):
            # Whoever runs after a large process finds the caches cold: nobody may do so always.
            for name, command in shuffled.sample(list(commands.items()), len(commands)):
                before = _children()
                self.run(command)
                spent[name].append(_children() - before)
        return spent

    def json(self, command: Sequence[str | Path]) -> Any:
        """Return what a command printed, decoded."""
        return json.loads(self.run(command))

    def run(self, command: Sequence[str | Path]) -> str:
        """Run a command with nothing of the caller's environment but the search path."""
        done = subprocess.run(
            [str(word) for word in command], env=surroundings(), stdout=subprocess.PIPE, check=True
        )
        return done.stdout.decode()


def surroundings() -> dict[str, str]:
    """Return the environment that everything measured runs in."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(SCRATCH),
        "PONDERO_CONFIG_DIR": str(SCRATCH / "no-config"),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else its import waits for the network
    }


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return how many times theirs ours costs: the median of the rounds' own ratios."""
    return median(one / other for one, other in zip(ours, theirs, strict=True))


def low(values: Sequence[float]) -> float:
    """Return the low third: the mean of the rounds that the machine disturbed least."""
    least = sorted(values)[: max(1, round(len(values) / 3))]
    return sum(least) / len(least)


def over(whole: Sequence[float], part: Sequence[float]) -> float:
    """Return what the whole costs over the part: the median of the rounds' own differences."""
    return median(one - other for one, other in zip(whole, part, strict=True))


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
