"""Simulate how often the gateway's watch suspects a route, as a table.

Two neighbouring levels are in equal use. A live dial of at least 1.15x may be suspected in 5 % of
the runs at most, although the watch looks after every request; a deaf one should be. ``make
simulate`` runs it; RUNS=4 runs four times as many.
"""

import argparse
import sys
from math import exp, log
from random import Random
from statistics import median

from pondero.gateway.observability.level_test import ALPHA, SAME, LevelWatch

RATIOS = (1.0, SAME, 1.3, 1.5, 2.0, 4.0)
NOISES = (0.1, 0.3, 0.6, 1.0)
REQUESTS = 10_000
RUNS = 200
_USUAL = 800.0  # thinking tokens of the lower level


def find_alarm(ratio: float, noise: float, source: Random, requests: int = REQUESTS) -> int | None:
    """Return after how many requests a route is suspected; None if it never is."""
    watch = LevelWatch()
    deep = {"low": 1.0, "medium": ratio}
    for number in range(1, requests + 1):
        level = source.choice(("low", "medium"))
        thought = round(_USUAL * deep[level] * exp(source.gauss(0, noise)))
        found = watch.add(level, log(1 + thought))
        if found is not None and found[1].is_deaf:
            return number
    return None


def main() -> int:
    """Print the table; return 1 if a live dial is suspected too often."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=float, default=1.0, help="times as many runs")
    runs = int(RUNS * parser.parse_args().runs)
    print(f"\nthe watch: suspected %, and after how many of {REQUESTS:,} requests (median)")
    print("       " + "".join(f"{noise:>16}" for noise in NOISES))
    worst = 0.0
    for ratio in RATIOS:
        cells = []
        for noise in NOISES:
            source = Random(f"{ratio} {noise}")  # noqa: S311 - a simulation
            alarms = [find_alarm(ratio, noise, source) for _ in range(runs)]
            found = [each for each in alarms if each is not None]
            share = len(found) / runs
            worst = max(worst, share if ratio >= SAME else 0.0)
            after = f"{median(found):,.0f}" if found else "-"
            cells.append(f"{100 * share:8.1f} {after:>7}")
        print(f"{ratio:6.2f} " + "".join(cells), flush=True)
    print(f"\na live dial: at most {100 * worst:.1f} %; allowed {100 * ALPHA:.0f} %")
    return 1 if worst > ALPHA else 0


if __name__ == "__main__":
    sys.exit(main())
