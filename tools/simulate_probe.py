"""Simulate the error of a probe's verdict on services of known ratio and noise, as a table.

An answer's thinking is what its question needs, times the ratio of its level, times noise. A
verdict is wrong if it says deaf of a ratio of 1.5 or more, or live of a ratio of 1.2 or less; the
highest share allowed is 5 %, within the error of the simulation. ``make simulate`` runs it; RUNS=4
runs four times as many.
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from statistics import median
from typing import NamedTuple

from pondero.probe import ALPHA, DEAF, LIVE, QUESTIONS, Probe, ProbeAnswer

RATIOS = (1.0, 1.1, LIVE, 1.35, DEAF, 2.0, 3.0, 4.0)
NOISES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
ALLOWED = 4.0  # standard errors; some 300 cases are looked at together
RUNS = 1_000
_USUAL = 600.0  # thinking tokens of the lowest level on a usual question
_FAR = 50.0  # on the log scale: farther than any count

Noise = Callable[[Random, float], float]
"""Draws the noise of one answer, on the log scale, of this size."""


def draw_normal(source: Random, size: float) -> float:
    """Return noise as it is in theory."""
    return source.gauss(0, size)


def draw_heavy(source: Random, size: float) -> float:
    """Return noise with heavy tails: Student's t with two degrees of freedom."""
    return size * source.gauss(0, 1) / math.sqrt(source.expovariate(1))


def draw_skewed(source: Random, size: float) -> float:
    """Return noise that is never far below, and often far above."""
    return size * (source.expovariate(1) - math.log(2))


class Service(NamedTuple):
    """A service to probe. ``ratio`` is that of a level to the one below it.

    ``difficulty`` is how much questions differ on the log scale. ``step`` rounds counts, so that
    many are the same. ``cap`` cuts answers.
    """

    ratio: float
    size: float
    noise: Noise = draw_normal
    difficulty: float = 1.0
    step: int = 1
    cap: float = math.inf


class Tally(NamedTuple):
    """How many verdicts of each kind there were, and the asks of all runs."""

    runs: int
    live: int
    deaf: int
    partly: int
    asks: int

    @property
    def undecided(self) -> float:
        """Return the share without a verdict."""
        return (self.runs - self.live - self.deaf - self.partly) / self.runs


def probe_once(service: Service, source: Random, levels: Sequence[str]) -> tuple[str, int]:
    """Return the verdict on a service, and the asks that it took."""
    probe = Probe(levels, questions=len(QUESTIONS))
    hard = [math.exp(source.gauss(0, service.difficulty)) for _ in QUESTIONS]
    deep = dict(zip(levels, accumulate([1.0, *[service.ratio] * 9], _times), strict=False))
    while (ask := probe.next_ask()) is not None:
        whole = _USUAL * hard[ask.question] * deep[ask.level]
        noise = service.noise(source, service.size)
        whole *= math.exp(max(-_FAR, min(_FAR, noise)))
        count = service.step * round(min(whole, service.cap) / service.step)
        probe.see(ask, ProbeAnswer(0.0, count, count, is_cut=whole > service.cap))
    return probe.verdict, probe.asks


def _times(before: float, ratio: float) -> float:
    return before * ratio


def simulate(service: Service, runs: int, levels: Sequence[str] = ("low", "high")) -> Tally:
    """Probe a service many times."""
    source = Random(f"{service.ratio} {service.size} {service.step} {service.cap}")  # noqa: S311 - a simulation
    found = [probe_once(service, source, levels) for _ in range(runs)]
    verdicts = [verdict for verdict, _ in found]
    live, deaf, partly = (verdicts.count(name) for name in ("live", "deaf", "partly"))
    return Tally(runs, live, deaf, partly, sum(asks for _, asks in found))


def true_ratio(service: Service) -> float:
    """Return the median ratio of the counts, which is what a verdict is about.

    Counts that are rounded to large steps have another one than the thinking behind them.
    """
    if service.step == 1:
        return service.ratio
    source = Random(1)  # noqa: S311 - a simulation

    def count(whole: float) -> int:
        seen = whole * math.exp(service.noise(source, service.size))
        return service.step * round(seen / service.step)

    usual = [_USUAL * math.exp(source.gauss(0, service.difficulty)) for _ in range(20_000)]
    return median((count(each * service.ratio) + 1) / (count(each) + 1) for each in usual)


def count_errors(service: Service, tally: Tally) -> int:
    """Return how many verdicts are wrong; with three levels, partly is wrong on equal steps."""
    ratio = true_ratio(service)
    if ratio >= DEAF:
        return tally.deaf + tally.partly
    return tally.live + tally.partly if ratio <= LIVE else 0


PARTS: dict[str, tuple[Service, tuple[str, ...]]] = {
    "normal noise": (Service(1, 0), ("low", "high")),
    "heavy tails": (Service(1, 0, noise=draw_heavy), ("low", "high")),
    "skewed noise": (Service(1, 0, noise=draw_skewed), ("low", "high")),
    "very different questions": (Service(1, 0, difficulty=2.5), ("low", "high")),
    "counts in steps of 64, with ties": (Service(1, 0, step=64), ("low", "high")),
    "answers cut at 2,000": (Service(1, 0, cap=2_000), ("low", "high")),
    "three levels": (Service(1, 0), ("low", "medium", "high")),
}


def main() -> int:
    """Run all parts; return 1 if an error is too high."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all")
    parser.add_argument("--runs", type=float, default=1.0, help="times as many runs")
    given = parser.parse_args()
    runs = int(RUNS * given.runs)
    limit = ALPHA + ALLOWED * math.sqrt(ALPHA * (1 - ALPHA) / runs)
    worst = 0.0
    for name in given.parts or PARTS:
        usual, levels = PARTS[name]
        print(f"\n{name}: wrong %, undecided %, mean asks, by ratio (down) and noise (across)")
        print("       " + "".join(f"{size:>20}" for size in NOISES))
        for ratio in RATIOS if len(levels) == 2 else (1.0, 1.5, 2.0, 4.0):
            cells = []
            for size in NOISES:
                service = usual._replace(ratio=ratio, size=size)
                tally = simulate(service, runs, levels)
                wrong = count_errors(service, tally) / runs
                worst = max(worst, wrong)
                flag, asks = "!" if wrong > limit else " ", tally.asks / runs
                cells.append(f"{100 * wrong:6.1f}{flag}{100 * tally.undecided:6.0f} {asks:5.1f} ")
            print(f"{ratio:6.2f} " + "".join(cells), flush=True)
    print(f"\nhighest {100 * worst:.2f} %; allowed {100 * limit:.2f} % with {runs} runs a case")
    return 1 if worst > limit else 0


if __name__ == "__main__":
    sys.exit(main())
