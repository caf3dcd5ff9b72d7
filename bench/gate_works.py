"""The works that a gateway is put to; each leaves its figures under its own name, one a round."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from gates import STARTS, Command, Gate, running
from lab import Lab, surroundings
from load import Load
from loopback import CROWDED, EVENTS
from roads import OWN, Road

Json = Any
Figures = dict[str, dict[str, list[float]]]
AT_ONCE, CROWD, FEW, TALKS = 16, 1_000, 50, 32
EARLY, LATE = (1, 4), (37, 40)  # the turns after the first until the second of each pair


@dataclass(frozen=True)
class Bench:
    """All gateways and the loopback, while they run."""

    lab: Lab
    upstream: str
    core: set[int]
    gates: dict[str, Gate] = field(default_factory=dict)

    def command(self, name: str, port: int) -> Command:
        """Return how a gateway starts."""
        return STARTS[name](self.lab, f"{self.upstream}/asked", port)

    def load(self, road: Road, gate: Gate | None, ask: str, **how: Any) -> Load:
        """Return a load on a gateway, or on the upstream itself."""
        url = f"{self.upstream}/asked" if gate is None else gate.url
        headers = {}
        if road.gate == "portkey":
            host = f"{self.upstream}/asked/v1"
            headers = {"x-portkey-provider": "anthropic", "x-portkey-custom-host": host}
        return Load(url, road.front, road.model, ask, headers=headers, **how)

    def put(self, road: Road, gate: Gate | None, ask: str, **how: Any) -> Json:
        """Put a load on a gateway, or on the upstream itself, and return what the load saw."""
        program = Path(__file__).with_name("load.py")
        argument = self.load(road, gate, ask, **how).argument()
        found = self.lab.json([self.lab.python, program, argument])
        if not found["pieces"]:
            message = f"{road} answered {found['said']!r}"
            raise AssertionError(message)
        return found


Work = Callable[[Bench, Road, dict[str, list[float]]], None]


def _asked(
    bench: Bench, road: Road, figures: dict[str, list[float]], *, work: str, size: str = "small"
) -> None:
    gate = bench.gates[road.gate]
    count = road.requests if size == "small" else road.big_requests
    before = gate.settled()
    found = bench.put(road, gate, "short", at_once=AT_ONCE, count=count, size=size)
    figures.setdefault(work, []).append(1e6 * (gate.settled() - before) / count)
    figures.setdefault(f"{work}, wall", []).append(found["wall"] / count)
    figures.setdefault("wrong", []).append(found["wrong"])


def _agent(bench: Bench, road: Road, figures: dict[str, list[float]]) -> None:
    # The conversation is under way, whatever else came since: none of its requests is its first.
    bench.put(road, bench.gates[road.gate], "short", at_once=1, count=2, size="agent")
    _asked(bench, road, figures, work="agent", size="agent")
    if road.gate == "pondero":
        _asked(bench, road, figures, work="unseen", size="unseen")
        _asked(bench, road, figures, work="long", size="long")


def _stream(bench: Bench, road: Road, figures: dict[str, list[float]]) -> None:
    gate, count = bench.gates[road.gate], max(1, road.requests // 64)
    before = gate.settled()
    found = bench.put(road, gate, "stream", at_once=1, count=count)
    figures.setdefault("stream", []).append(1e3 * (gate.settled() - before) / count)
    figures.setdefault("wrong", []).append(found["wrong"] + (found["pieces"] < EVENTS))


def _first(bench: Bench, road: Road, figures: dict[str, list[float]]) -> None:
    gate, count = bench.gates[road.gate], max(10, road.requests // 32)
    for ask in ("first", "slow"):
        for name, via in ((ask, gate), (f"{ask}, direct", None)):
            seen = bench.put(road, via, ask, at_once=1, count=count)["firsts"]
            figures.setdefault(name, []).append(1e3 * median(seen))


def _talk(bench: Bench, road: Road, figures: dict[str, list[float]]) -> None:
    """Hold conversations side by side, and measure their first turns and their last ones."""
    gate = bench.gates[road.gate]
    load = bench.load(road, gate, "turn", at_once=AT_ONCE, count=TALKS)
    program = [str(bench.lab.python), str(Path(__file__).with_name("talk.py")), load.argument()]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        program, env=surroundings(), stdin=pipe, stdout=pipe, text=True
    ) as process:

        def go_on(turn: int) -> int:
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            print(turn, file=process.stdin, flush=True)
            if not (line := process.stdout.readline()):
                message = f"{road} ended a conversation"
                raise AssertionError(message)
            return int(line)

        for name, (start, end) in (("early", EARLY), ("late", LATE)):
            go_on(start)
            before = gate.settled()
            sent = go_on(end)
            spent = gate.settled() - before
            figures.setdefault(name, []).append(1e6 * spent / (TALKS * (end - start)))
            figures.setdefault(f"{name}, KiB", []).append(sent / 1024)


WORKS: dict[str, Work] = {
    "small": partial(_asked, work="small"),
    "state": partial(_asked, work="small"),
    "agent": _agent,
    "stream": _stream,
    "first": _first,
    "talk": _talk,
}


def crowd_of(road: Road) -> int:
    """Return how many streams are opened at once."""
    return CROWD if road.gate in OWN else FEW


def crowd(bench: Bench, road: Road) -> tuple[float, int]:
    """Open many streams at once through a new process; return KiB each, and how many were lost.

    A process that has served before has room already, and would seem to need none.
    """
    count = crowd_of(road)
    with running(partial(bench.command, road.gate), bench.core) as gate:
        bench.put(road, gate, "short", at_once=AT_ONCE, count=2 * AT_ONCE)
        alone = bench.put(road, gate, "crowd 1", at_once=1, count=1)
        before = gate.resident()
        found = bench.put(road, gate, f"crowd {count}", at_once=count, count=count)
        short = max(alone["pieces"], CROWDED) - found["pieces"]
        return (gate.peak() - before) / count, found["wrong"] + (count if short > 0 else 0)
