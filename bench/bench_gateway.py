"""Gateways: ours, a bare pass-through and others, each on one core before one loopback.

Its parts, for ``--only``: small, agent, talk, stream, first, state, crowd, workers. A figure is the
low third of its rounds, the mean of those that were least disturbed; a ratio is one of two such.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from random import Random

from gate_rows import (
    agent_rows,
    crowd_rows,
    first_rows,
    request_rows,
    state_rows,
    stream_rows,
    talk_rows,
    wrong_rows,
)
from gate_works import AT_ONCE, WORKS, Bench, Figures, crowd
from gates import STARTS, Command, pinned, pondero, redis, running
from lab import Lab, Row
from loopback import serving
from roads import OWN, ROADS, Road

PEERS = ("litellm-proxy", "portkey", "smg", "tensorzero", "envoy")
_PEER_ROUNDS = 3  # of the slow ones, through which a stream takes many seconds
_SLOW = ("litellm-proxy", "portkey")
_PACKAGES = {"smg, OpenAI's": "smg"}  # where the gate has another name


def measure(lab: Lab) -> Iterator[Row]:
    """Put all gateways to the same works in turns; then crowds of streams, and several workers."""
    if sys.platform != "linux":
        print("  a gateway is kept on one core, and its CPU read, as only Linux can")
        return
    roads = {name: road for name, road in ROADS.items() if _is_wanted(lab, name, road)}
    with pinned() as core, serving() as upstream, ExitStack() as stack:
        bench = Bench(lab, upstream, core)
        _start(bench, {road.gate for road in roads.values()}, stack)
        figures = _in_turns(bench, roads, lab)
        crowds = {
            name: crowd(bench, road)
            for name, road in roads.items()
            if "crowd" in road.works and lab.wants("crowd") and name in figures
        }
        workers = {}
        if lab.wants("workers") and "Messages" in roads:
            workers = {count: _workers(bench, lab, upstream, count) for count in (1, 2)}
    if lab.wants("small"):
        yield from request_rows(figures, "small", "a request")
    yield from agent_rows(figures)
    yield from talk_rows(figures)
    yield from stream_rows(figures)
    yield from first_rows(figures)
    yield from state_rows(figures)
    yield from wrong_rows(figures)
    yield from crowd_rows(crowds)
    for count, (seconds, cost) in workers.items():
        yield Row(f"Messages, {count} worker(s) on all cores: requests in a second", seconds, "")
        yield Row(f"Messages, {count} worker(s) on all cores: CPU of a request", cost, "us")


def _is_wanted(lab: Lab, name: str, road: Road) -> bool:
    has_part = any(lab.wants(work) for work in road.works) or lab.wants("workers")
    is_there = road.gate in OWN or _package(road.gate) in lab.peers
    return has_part and is_there and re.search(lab.rows, name) is not None


def _package(gate: str) -> str:
    return _PACKAGES.get(gate, gate)


def _start(bench: Bench, wanted: set[str], stack: ExitStack) -> None:
    """Start all that are wanted; a peer that does not start is left out."""
    if any(name.startswith("redis") for name in wanted):
        stack.enter_context(redis())
    for name in STARTS:
        if name not in wanted:
            continue
        try:
            # A peer writes no ledger, so there is nothing to wait for.
            records = name in OWN - {"bare", "unrecorded"}
            made = running(partial(bench.command, name), bench.core, records=records)
            bench.gates[name] = stack.enter_context(made)
        except RuntimeError as error:
            if name in OWN:
                raise
            print(f"  without {name}: {error}", flush=True)


def _in_turns(bench: Bench, roads: dict[str, Road], lab: Lab) -> Figures:
    """Return the figures of each work, one a round; the first round fills what is remembered."""
    figures: Figures = {name: {} for name, road in roads.items() if road.gate in bench.gates}
    shuffled = Random(0)  # noqa: S311 - an order of turns, the same in every run
    for turn in range(lab.rounds + 1):
        # Whoever runs after a large one finds the caches cold: nobody may do so always.
        for name in shuffled.sample(list(figures), len(figures)):
            road = roads[name]
            if road.gate in _SLOW and turn > _PEER_ROUNDS:
                continue
            found: dict[str, list[float]] = {}
            for work in WORKS:
                if work in road.works and lab.wants(work):
                    try:
                        WORKS[work](bench, road, found)
                    except AssertionError as error:
                        if road.gate in OWN:
                            raise
                        if not turn:
                            print(f"  without {work} of {name}: {error}", flush=True)
            for what, values in found.items() if turn else ():
                figures[name].setdefault(what, []).extend(values)
    return figures


def _workers(bench: Bench, lab: Lab, upstream: str, count: int) -> tuple[float, float]:
    """Return requests in a second on the wall, and the CPU of one, with so many processes."""
    cores = set(range(os.cpu_count() or 1))
    road, requests = ROADS["Messages"], 1_280

    def command(port: int) -> Command:
        return pondero(lab, f"{upstream}/asked", port, workers=count)

    with running(command, cores) as gate:
        bench.put(road, gate, "short", at_once=AT_ONCE, count=requests // 4)
        before = gate.settled()
        wall = bench.put(road, gate, "short", at_once=AT_ONCE, count=requests)["wall"]
        return requests / wall, 1e6 * (gate.settled() - before) / requests
