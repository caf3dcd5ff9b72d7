"""Gateways: ours, a bare pass-through and others, each on one core before one loopback."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from gates import STARTS, Gate, pinned, pondero, running
from lab import Lab, Row, ratio
from load import Load
from loopback import CROWDED, EVENTS, SLOW, serving

Json = Any
Figures = dict[str, dict[str, list[float]]]
AT_ONCE, CROWD, FEW = 16, 1_000, 50
_PEER_ROUNDS = 3  # a stream through some of them takes many seconds


@dataclass(frozen=True)
class Road:
    """A way through a gateway; ``requests`` are so many that a turn takes about half a second."""

    gate: str
    front: str
    model: str
    requests: int = 640
    streams: bool = True


ROADS = {
    "bare": Road("bare", "messages", "claude-opus-5"),
    "passing": Road("pondero", "messages", "claude-opus-5"),
    "passing, unrecorded": Road("unrecorded", "messages", "claude-opus-5"),
    "Messages to Chat": Road("pondero", "messages", "deepseek-reasoner"),
    "Messages to Responses": Road("pondero", "messages", "gpt-5.4"),
    "Chat to Messages": Road("pondero", "chat", "claude-opus-5"),
    "LiteLLM, passing": Road("litellm-proxy", "messages", "claude-opus-5", 64),
    "LiteLLM, Chat to Messages": Road("litellm-proxy", "chat", "claude-opus-5", 64),
    # Portkey 1.15.2 answers every stream with 500: on Node 20 it changes headers that are fixed.
    "Portkey, passing": Road("portkey", "messages", "claude-opus-5", 320, streams=False),
    "Portkey, Chat to Messages": Road("portkey", "chat", "claude-opus-5", 320, streams=False),
}
TRANSLATED = ("Messages to Chat", "Messages to Responses", "Chat to Messages")
OURS = ("passing", *TRANSLATED)
OWN = {"bare", "pondero", "unrecorded"}  # gates that are not peers
# The most a request may cost, us of CPU: a core does 2,000 of them in a second, or 1,500.
COSTS = {"passing": 1e6 / 2_000, **dict.fromkeys(TRANSLATED, 1e6 / 1_500)}
RIVALS = {"passing": "passing", "Chat to Messages": "Chat to Messages"}


class _Bench:
    """All gateways and the loopback, while they run."""

    def __init__(self, lab: Lab, upstream: str, core: set[int]) -> None:
        self._lab = lab
        self._upstream = upstream
        self._core = core
        self.gates: dict[str, Gate] = {}

    def command(self, name: str, port: int) -> list[str | Path]:
        return STARTS[name](self._lab, f"{self._upstream}/asked", port)

    def start(self, stack: ExitStack) -> None:
        """Start all that are installed; a peer that does not start is left out."""
        for name in STARTS:
            if name not in OWN | set(self._lab.peers):
                continue
            try:
                made = running(partial(self.command, name), self._core)
                self.gates[name] = stack.enter_context(made)
            except RuntimeError as error:
                if name not in self._lab.peers:
                    raise
                print(f"  without {name}: {error}", flush=True)

    def put(self, road: Road, gate: Gate | None, ask: str, *, at_once: int, count: int) -> Json:
        """Put a load on a gateway, or on the upstream itself, and return what the load saw."""
        url = f"{self._upstream}/asked" if gate is None else gate.url
        headers = {}
        if road.gate == "portkey":
            host = f"{self._upstream}/asked/v1"
            headers = {"x-portkey-provider": "anthropic", "x-portkey-custom-host": host}
        load = Load(url, road.front, road.model, ask, at_once, count, headers)
        program = Path(__file__).with_name("load.py")
        found = self._lab.json([self._lab.python, program, load.argument()])
        if not found["pieces"]:
            message = f"{road} answered {found['said']!r}"
            raise AssertionError(message)
        return found

    def turn(self, road: Road, figures: dict[str, list[float]]) -> None:
        """Take one turn of every work but the crowd."""
        gate = self.gates[road.gate]
        before = gate.settled()
        found = self.put(road, gate, "short", at_once=AT_ONCE, count=road.requests)
        figures.setdefault("short", []).append(1e6 * (gate.settled() - before) / road.requests)
        figures.setdefault("wall", []).append(found["wall"] / road.requests)
        if not road.streams:
            return
        streams, firsts = max(1, road.requests // 64), max(10, road.requests // 32)
        before = gate.settled()
        long = self.put(road, gate, "stream", at_once=1, count=streams)
        figures.setdefault("stream", []).append(1e3 * (gate.settled() - before) / streams)
        wrong = found["wrong"] + long["wrong"] + (long["pieces"] < EVENTS)
        figures.setdefault("wrong", []).append(wrong)
        for ask in ("first", "slow"):
            for name, via in ((ask, gate), (f"{ask}, direct", None)):
                seen = self.put(road, via, ask, at_once=1, count=firsts)["firsts"]
                figures.setdefault(name, []).append(1e3 * median(seen))

    def crowd(self, road: Road, count: int) -> tuple[float, int]:
        """Open so many streams at once through a new process; return KiB each, and how many lost.

        A process that has served before has room already, and would seem to need none.
        """
        with running(partial(self.command, road.gate), self._core) as gate:
            self.put(road, gate, "short", at_once=AT_ONCE, count=2 * AT_ONCE)
            alone = self.put(road, gate, "crowd 1", at_once=1, count=1)
            before = gate.resident()
            found = self.put(road, gate, f"crowd {count}", at_once=count, count=count)
            short = max(alone["pieces"], CROWDED) - found["pieces"]
            return (gate.peak() - before) / count, found["wrong"] + (count if short > 0 else 0)


def measure(lab: Lab) -> Iterator[Row]:
    """Put all gateways to the same works in turns; then crowds of streams, and several workers."""
    if sys.platform != "linux":
        print("  a gateway is kept on one core, and its CPU read, as only Linux can")
        return
    with pinned() as core, serving() as upstream, ExitStack() as stack:
        bench = _Bench(lab, upstream, core)
        bench.start(stack)
        figures = _in_turns(bench, lab.rounds)
        crowds = {
            name: bench.crowd(ROADS[name], _crowd_of(ROADS[name]))
            for name in figures
            if ROADS[name].streams
        }
        workers = {count: _workers(bench, lab, upstream, count) for count in (1, 2)}
    yield from _requests(figures)
    yield from _streams(figures)
    yield from _crowds(crowds)
    for count, (seconds, cost) in workers.items():
        yield Row(f"passing, {count} worker(s) on all cores: requests in a second", seconds, "")
        yield Row(f"passing, {count} worker(s) on all cores: CPU of a request", cost, "us")


def _in_turns(bench: _Bench, rounds: int) -> Figures:
    figures: Figures = {name: {} for name, road in ROADS.items() if road.gate in bench.gates}
    for turn in range(rounds + 1):
        for name in list(figures):
            if ROADS[name].gate not in OWN and turn > _PEER_ROUNDS:
                continue
            found: dict[str, list[float]] = {}
            try:
                bench.turn(ROADS[name], found)
            except AssertionError as error:
                print(f"  without {name}: {error}", flush=True)
                del figures[name]
                continue
            for what, values in found.items() if turn else ():  # the first fills what is remembered
                figures[name].setdefault(what, []).extend(values)
    return figures


def _workers(bench: _Bench, lab: Lab, upstream: str, count: int) -> tuple[float, float]:
    """Return requests in a second on the wall, and the CPU of one, with so many processes."""
    cores = set(range(os.cpu_count() or 1))
    road, requests = ROADS["passing"], 1_280

    def command(port: int) -> list[str | Path]:
        return pondero(lab, f"{upstream}/asked", port, workers=count)

    with running(command, cores) as gate:
        bench.put(road, gate, "short", at_once=AT_ONCE, count=requests // 4)
        before = gate.settled()
        wall = bench.put(road, gate, "short", at_once=AT_ONCE, count=requests)["wall"]
        return requests / wall, 1e6 * (gate.settled() - before) / requests


def _requests(figures: Figures) -> Iterator[Row]:
    for name, found in figures.items():
        yield Row(f"{name}: a request in CPU", median(found["short"]), "us", COSTS.get(name))
        yield Row(f"{name}: requests in a second", 1 / median(found["wall"]), "")
    for name in OURS:
        value = ratio(figures[name]["short"], figures["bare"]["short"])
        yield Row(f"{name}: CPU of a request / bare", value, "x")
    for peer, goal in (("LiteLLM", 1 / 25), ("Portkey", None)):
        for name, same in RIVALS.items():
            yield _rival(
                f"{name}: CPU of a request / {peer}", figures, name, f"{peer}, {same}", goal
            )


def _rival(what: str, figures: Figures, ours: str, theirs: str, goal: float | None) -> Row:
    if theirs not in figures:
        return Row(what, None, "x", goal)
    spent = figures[theirs]["short"]
    return Row(what, ratio(figures[ours]["short"][: len(spent)], spent), "x", goal)


def _streams(figures: Figures) -> Iterator[Row]:
    figures = {name: found for name, found in figures.items() if ROADS[name].streams}
    for name, found in figures.items():
        yield Row(f"{name}: CPU of a stream of {EVENTS:,}", median(found["stream"]), "ms")
    for name in OURS:
        value = ratio(figures[name]["stream"], figures["bare"]["stream"])
        yield Row(f"{name}: CPU of a stream of {EVENTS:,} / bare", value, "x", 3)
    for name in OURS:
        yield Row(f"{name}: answers not as sent", sum(figures[name]["wrong"]), "", 0)
    # A service that answers in no time is a tenth of a millisecond away, which every hop doubles:
    # the goal is for one that takes a moment, and what the hop itself adds is beside it.
    slow = f"{1e3 * SLOW:.0f} ms"
    for name, found in figures.items():
        value = ratio(found["slow"], found["slow, direct"])
        goal = 1.5 if name in OURS else None
        yield Row(f"{name}: first event / direct, of a service of {slow}", value, "x", goal)
    for name, found in figures.items():
        added = [
            one - other for one, other in zip(found["first"], found["first, direct"], strict=True)
        ]
        yield Row(f"{name}: first event, over direct", median(added), "ms")


def _crowd_of(road: Road) -> int:
    return CROWD if road.gate in OWN else FEW


def _crowds(crowds: Mapping[str, tuple[float, int]]) -> Iterator[Row]:
    for name, (each, lost) in crowds.items():
        count = _crowd_of(ROADS[name])
        goal = 100 if name in OURS else None
        yield Row(f"{name}: {count:,} streams at once: memory of one", each, "KiB", goal)
        yield Row(f"{name}: {count:,} streams at once: lost", lost, "", None if goal is None else 0)
