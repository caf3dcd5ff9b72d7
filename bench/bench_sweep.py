"""Sweep: emulated questions a second in one process, and what a question costs over the client."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from lab import Lab, Row, ratio


def measure(lab: Lab) -> Iterator[Row]:
    """Ask the emulator the same questions by the client alone, and by a run on disk."""
    found = lab.json([lab.python, Path(__file__).with_name("sweeps.py"), str(lab.rounds)])
    client, sweep = found["client"], found["sweep"]
    yield Row("client: CPU of an emulated question", 1e6 * median(client), "us")
    yield Row("sweep: CPU of an emulated question, kept and judged", 1e6 * median(sweep), "us")
    yield Row("sweep: questions in a second of CPU", 1 / median(sweep), "")
    yield Row("sweep: questions in a second, by the clock", 1 / median(found["wall"]), "")
    yield Row("sweep: a question / the client alone", ratio(sweep, client), "x", 1.6)
    yield Row("sweep: results of a run of 1,000 questions", 1e3 * median(found["results"]), "ms")
