"""Interactions against generateContent: the same models of one vendor by two APIs, in one run."""

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from lab import Lab, Row, ratio
from loopback import EVENTS, serving

Json = Any
NEW, OLD = "google-interactions", "google"
_DIALECTS = {NEW: "interactions", OLD: "gemini"}
_FIRST = """
import pondero
client = pondero.Client(keys={{"{name}": "k"}}, urls={{"{name}": "{base}/short"}})
client.ask("{name}:gemini-3-flash-preview", "Hello", "low", stream=False)
"""


def measure(lab: Lab) -> Iterator[Row]:
    """Compare the first request of a process, and a stream by the client and by its decoder."""
    with serving() as base:
        first = lab.cpu(
            {name: [lab.python, "-c", _FIRST.format(name=name, base=base)] for name in (OLD, NEW)}
        )
        found = lab.json([lab.python, __file__, base, str(lab.rounds)])
    for name in (OLD, NEW):
        yield Row(f"{name}: first request of a process", 1e3 * median(first[name]), "ms")
    yield Row(f"first request: {NEW} / {OLD}", ratio(first[NEW], first[OLD]), "x", 1)
    for work in ("client", "decoder"):
        spent = {name: found[f"{work} {name}"] for name in (OLD, NEW)}
        for name in (OLD, NEW):
            what = f"{name}: a stream of {EVENTS:,} events, {work}"
            yield Row(what, 1e3 * median(spent[name]), "ms")
        yield Row(f"a stream, {work}: {NEW} / {OLD}", ratio(spent[NEW], spent[OLD]), "x", 1.2)


# -- what runs in a process of its own -------------------------------------------------------


def main(base: str, rounds: int) -> None:
    """Print the CPU seconds of a stream, one figure a round, taken in turns."""
    ways: dict[str, Callable[[], object]] = {}
    for name in (OLD, NEW):
        ways[f"client {name}"] = _make_client_run(name, base)
        ways[f"decoder {name}"] = _make_decoder_run(name)
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for run in ways.values():
        run()
    for _ in range(rounds):
        for way, run in ways.items():
            start = time.process_time()
            run()
            spent[way].append(time.process_time() - start)
    print(json.dumps(spent))


def _make_client_run(name: str, base: str) -> Callable[[], object]:
    import pondero

    client = pondero.Client(keys={name: "k"}, urls={name: f"{base}/stream"})
    model = f"{name}:gemini-3-flash-preview"

    def run() -> int:
        with client.stream(model, "Hello", "low") as stream:
            return sum(1 for _ in stream)

    return run


def _make_decoder_run(name: str) -> Callable[[], object]:
    from bench_decode import decode_pieces
    from streams import STREAMS

    dialect = _DIALECTS[name]
    return partial(decode_pieces, dialect, STREAMS[dialect](EVENTS))


if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(Path(__file__).parent))
    main(sys.argv[1], int(sys.argv[2]))
