"""Simulate the error of a sweep's decision in every kind of case, and print it as a table.

Every case has a truth that lies exactly on the margin, so calling the arm enough is an error; the
highest allowed is 5 %, within the error of the simulation. ``make simulate`` takes minutes; RUNS=4
runs four times as many. ``Bets`` computes single arms for all runs at once, and must agree with
``EProcess``; several arms are played by ``Contest`` itself.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

import numpy as np
from scipy.special import erfc, ndtri

from pondero.sweep.statistics.comparison import Comparison, Pool
from pondero.sweep.statistics.contest import ContestRule
from pondero.sweep.statistics.e_process import EProcess
from pondero.sweep.statistics.exact_test import exact_probability, tango_score
from pondero.sweep.statistics.units import corrected_margin, corrected_unit

ALPHA = 0.05
ALLOWED = 4.0  # standard errors; some 400 cases are looked at together
PILOT = 20

Draw = Callable[[np.random.Generator, int], np.ndarray]
"""Draws one unit of so many runs."""


class Case(NamedTuple):
    """One simulated case: how many runs, and in how many the arm was called enough."""

    name: str
    runs: int
    errors: int
    allowed: float = ALPHA

    @property
    def share(self) -> float:
        """Return the share of runs with an error."""
        return self.errors / self.runs

    @property
    def is_good(self) -> bool:
        """Return whether the share agrees with what is allowed."""
        spread = math.sqrt(self.allowed * (1 - self.allowed) / self.runs)
        return self.share <= self.allowed + ALLOWED * spread


class Bets:
    """The e-processes of many runs at once; each line follows ``EProcess``."""

    def __init__(self, runs: int, margin: float, *, share: float = 1.0, alpha: float = ALPHA,
                 gap: float | None = None) -> None:  # fmt: skip
        self.margin, self.target = margin, 1 / alpha
        self.gap = abs(margin) if gap is None else gap
        self.main = np.full(runs, 0.9 * share)
        self.spare = np.full(runs, 0.1 * share)
        self.prior = np.ones(runs)
        self.n = 0
        self.total, self.squares, self.cubes = np.zeros(runs), np.zeros(runs), np.zeros(runs)
        self.won = np.zeros(runs, bool)

    def see(self, units: np.ndarray, left: int) -> None:
        """Bet on the next unit of every run."""
        v = (self.prior + self.squares) / (10 + self.n)
        drift = np.maximum(self.margin + self.total / (self.n + 100), self.gap / 4)
        goal = np.maximum(self.target - self.spare, self.main)
        away = -ndtri(np.clip(self.main / goal / 2, 1e-100, 0.5))
        need = np.maximum((away + 2) ** 2 * v / drift**2, self.n / 2)
        spread = np.sqrt(v * np.maximum(1.0, np.minimum(left, need)))
        lump = np.clip((self.prior**1.5 + self.cubes) / (self.prior + self.squares), 0.02, 1) / 2
        beyond = erfc((away + lump / spread) / math.sqrt(2)) / erfc(away / math.sqrt(2))
        bet = np.minimum((1 - beyond) / lump, 0.95 / (1 - self.margin))
        if self.margin > 0:
            bet = np.minimum(bet, (goal / np.maximum(self.main, 1e-100) - 1) / self.margin)
        slow = np.minimum(drift / v / 2, 0.5 / (1 - self.margin))
        y = units + self.margin
        going = ~self.won
        self.main[going] = np.maximum(self.main * (1 + bet * y), 1e-100)[going]
        self.spare[going] = (self.spare * (1 + slow * y))[going]
        self.learn(units)
        self.won |= self.main + self.spare >= self.target * (1 - 1e-9)

    def learn(self, units: np.ndarray) -> None:
        """Take a unit of every run without a bet."""
        y = units + self.margin
        self.n += 1
        self.total += units
        self.squares += y * y
        self.cubes += np.abs(y) ** 3

    def settle(self) -> None:
        """Set the prior by the pilot."""
        self.prior = np.clip(10 * self.squares / self.n, 0.01, 1)

    def extend(self) -> None:
        """Divide the capital of every run again."""
        going = ~self.won
        whole = self.main + self.spare
        self.main[going], self.spare[going] = 0.9 * whole[going], 0.1 * whole[going]


def check_twin() -> None:
    """Exit unless ``Bets`` and ``EProcess`` agree on drawn units."""
    draw = np.random.default_rng(1)
    bets = Bets(50, 0.05)
    processes = [EProcess(margin=0.05) for _ in range(50)]
    for at in range(200):
        units = draw.choice([-1.0, 0.0, 1.0], 50, p=[0.06, 0.88, 0.06])
        if at == 120:
            bets.extend()
            for each in processes:
                each.extend()
        left = (120 if at < 120 else 200) - at
        bets.see(units, left)
        for each, unit in zip(processes, units, strict=True):
            each.see(float(unit), left)
    found = np.array([each.capital for each in processes])
    if not np.allclose(bets.main + bets.spare, found, rtol=1e-9):
        sys.exit("Bets and EProcess differ")


def right_or_wrong(discordance: float, difference: float) -> Draw:
    """Return units of answers that are right or wrong."""
    gain, loss = (discordance + difference) / 2, (discordance - difference) / 2

    def draw(source: np.random.Generator, runs: int) -> np.ndarray:
        chance = source.random(runs)
        return np.where(chance < gain, 1.0, np.where(chance < gain + loss, -1.0, 0.0))

    return draw


def play(
    name: str, draw: Draw, n: int, *, margin: float, runs: int, pilot: int = 0,
    settles: bool = False, share: float = 1.0, alpha: float = ALPHA, allowed: float = ALPHA,
) -> Case:  # fmt: skip
    """Play one arm against the margin in many runs at once."""
    source = np.random.default_rng(abs(hash((n, margin, runs))) % 2**32)
    bets = Bets(runs, margin, share=share, alpha=alpha)
    for at in range(n):
        units = draw(source, runs)
        if at < pilot:
            bets.learn(units)
            continue
        if at == pilot and settles:
            bets.settle()
        bets.see(units, n - at)
    return Case(name, runs, int(bets.won.sum()), allowed)


# -- the cases -------------------------------------------------------------------------------------


def one_candidate(scale: float) -> Iterator[Case]:
    """Right or wrong answers, pools of 20 to 5,000, margins of 1 to 10 points."""
    for n in (20, 35, 52, 60, 100, 150, 300, 600, 1000, 2000):
        runs = int(scale * min(10_000, 2_000_000 / n))
        for margin in (0.01, 0.02, 0.05, 0.1):
            many = (margin, 1.2 * margin, 1.5 * margin, 2 * margin, 0.11, 0.2, 0.4)
            for discordance in many if n < 1000 else (margin, 2 * margin, 0.11, 0.2, 0.4):
                name = f"n {n:5} margin {margin:.2f} discordance {discordance:.3f}"
                draw = right_or_wrong(discordance, -margin)
                yield play(name, draw, n, margin=margin, runs=runs)
    for margin, discordance in ((0.05, 0.05), (0.05, 0.2), (0.02, 0.02), (0.01, 0.05)):
        name = f"n  5000 margin {margin:.2f} discordance {discordance:.3f}"
        runs = int(scale * 1_000)
        yield play(name, right_or_wrong(discordance, -margin), 5000, margin=margin, runs=runs)


def graded(scale: float) -> Iterator[Case]:
    """Scores between 0 and 1, and means of repeats; the prior is set by the pilot."""

    def rare(source: np.random.Generator, runs: int) -> np.ndarray:
        return np.where(source.random(runs) < 0.0625, -0.8, source.normal(0, 0.02, runs))

    def normal(spread: float) -> Draw:
        return lambda source, runs: np.clip(source.normal(-0.05, spread, runs), -1, 1)

    def repeated(source: np.random.Generator, runs: int) -> np.ndarray:
        hard = source.random(runs) < 0.2
        low, high = np.where(hard, 0.35, 0.97), np.where(hard, 0.6, 0.97)
        return (source.binomial(3, low) - source.binomial(3, high)) / 3

    for n in (40, 80, 150, 300, 600, 2000):
        runs = int(scale * min(4_000, 1_200_000 / n))
        for name, draw in (
            ("rare losses of .8", rare), ("normal .1", normal(0.1)), ("normal .3", normal(0.3)),
            ("three repeats", repeated),
        ):  # fmt: skip
            yield play(
                f"n {n:5} {name}", draw, n, margin=0.05, runs=runs, pilot=min(PILOT, n // 4),
                settles=True,
            )  # fmt: skip


def clusters(scale: float) -> Iterator[Case]:
    """Clusters of very different sizes, each counting once."""

    def together(source: np.random.Generator, runs: int) -> np.ndarray:
        return -(source.random(runs) < 0.05).astype(float)  # a whole cluster is lost

    def skewed(source: np.random.Generator, runs: int) -> np.ndarray:
        size = np.minimum(40, 1 + source.geometric(0.15, runs))
        share = source.beta(0.4, 4.6, runs)  # of losses in the cluster, 8 % on average
        losses, gains = source.binomial(size, share), source.binomial(size, 0.03)
        return np.clip((gains - losses) / size, -1, 1)

    for count in (30, 60, 100, 150, 300):
        runs = int(scale * 3_000)
        for name, draw in (("whole clusters lost", together), ("skewed sizes", skewed)):
            yield play(
                f"{count:4} clusters, {name}", draw, count, margin=0.05, runs=runs,
                pilot=min(PILOT, count // 4), settles=True,
            )  # fmt: skip


def missing(scale: float) -> Iterator[Case]:
    """Answers of the reference that are lost where only it is right: they count against the arm."""
    for n, margin, lost in ((1000, 0.02, 0.0), (2000, 0.02, 0.015), (600, 0.05, 0.015)):

        def draw(
            source: np.random.Generator, runs: int, margin: float = margin, lost: float = lost
        ) -> np.ndarray:
            loss, gain = margin + lost + 0.02, 0.02
            chance, gone = source.random(runs), source.random(runs) < lost / (margin + lost + 0.02)
            unit = np.where(chance < gain, 1.0, np.where(chance < gain + loss, -1.0, 0.0))
            return np.where((unit == -1) & gone, -1.0, unit)

        name = f"n {n:5} margin {margin:.2f} lost {lost:.3f}"
        yield play(name, draw, n, margin=margin, runs=int(scale * 1_000))


def extension(scale: float) -> Iterator[Case]:
    """A pool of 150 that is doubled whenever nothing is decided, and one that chases its losses."""
    for discordance in (0.05, 0.08, 0.11, 0.2):
        runs = int(scale * 2_000)
        source, draw = np.random.default_rng(7), right_or_wrong(discordance, -0.05)
        bets = Bets(runs, 0.05)
        for at in range(1200):
            end = next(end for end in (150, 300, 600, 1200) if at < end)
            if at in (150, 300, 600):
                bets.extend()
            bets.see(draw(source, runs), end - at)
        yield Case(f"150 to 1200, discordance {discordance:.2f}", runs, int(bets.won.sum()))
    for discordance in (0.05, 0.1, 0.3):
        yield _chase(discordance, int(scale * 500))


def _chase(discordance: float, runs: int) -> Case:
    """Double the plan if the capital is below a half, else plan 20 more, up to 1,200 units."""
    draw, gain, errors = Random(11), (discordance - 0.05) / 2, 0  # noqa: S311 - a simulation
    for _ in range(runs):
        process, at, end = EProcess(margin=0.05), 0, 60
        while at < 1200 and not process.is_won:
            if at == end:
                end = min(1200, end * 2 if process.capital < 0.5 else end + 20)
                process.extend()
            chance = draw.random()
            unit = 1.0 if chance < gain else -1.0 if chance < discordance else 0.0
            process.see(unit, end - at)
            at += 1
        errors += process.is_won
    return Case(f"chased, discordance {discordance:.2f}", runs, errors)


def mirrored(scale: float) -> Iterator[Case]:
    """Arms on the margin that the mirror calls worse."""
    for discordance in (0.05, 0.2):
        runs = int(scale * 1_000)
        source, draw = np.random.default_rng(5), right_or_wrong(discordance, -0.05)
        bets = Bets(runs, -0.05, gap=0.3)
        for at in range(2000):
            bets.see(-draw(source, runs), 2000 - at)
        yield Case(f"called worse, discordance {discordance:.2f}", runs, int(bets.won.sum()))


def exact(_scale: float) -> Iterator[Case]:
    """The exact error of ``once``, at the least favourable discordance: nothing is drawn."""
    for n, margin in ((60, 0.05), (100, 0.05), (150, 0.05), (100, 0.1), (150, 0.02)):
        level = 0.9 / (20 - 0.1)
        orders = sorted(
            ((tango_score(won, lost, n, margin), won, lost)
             for won in range(12) for lost in range(n // 4)),
            reverse=True,
        )  # fmt: skip
        worst = 0.0
        for _, gains, losses in orders:
            found = exact_probability(gains, losses, n, margin)
            if found > level:
                break
            worst = found
        yield Case(f"once, n {n} margin {margin:.2f}", 1_000_000, int(worst * 1_000_000))


def several_arms(scale: float) -> Iterator[Case]:
    """Five candidates and a reference, played by the contest itself."""
    worlds = (
        ("five on the margin", (0.85,) * 5), ("mixed", (0.6, 0.7, 0.85, 0.85, 0.85)),
        ("three cheap ones on the margin", (0.85, 0.85, 0.85, 0.9, 0.9)),
    )  # fmt: skip
    for pool, runs in ((60, 1_000), (150, 600), (300, 400), (600, 200)):
        for name, rights in worlds:
            count = max(40, int(scale * runs))
            errors = sum(_recommends_bad(rights, pool, seed) for seed in range(count))
            yield Case(f"pool {pool:4} {name}", count, errors)


def _recommends_bad(rights: tuple[float, ...], pool: int, seed: int) -> bool:
    draw, last = Random(seed), len(rights)  # noqa: S311 - a simulation
    scores: dict[tuple[int, int], float] = {}
    ease: dict[int, float] = {}

    def score(arm: int, at: int) -> list[float]:
        if (arm, at) not in scores:
            hard = ease.setdefault(at, draw.random())
            right = 0.9 if arm == last else rights[arm]
            mixed = draw.random() if draw.random() < 0.5 else hard
            scores[arm, at] = float(mixed < right)
        return [scores[arm, at]]

    rule = ContestRule(
        order=tuple(range(last)),
        rivals=dict.fromkeys(range(last), (last,)),
        pilot=min(PILOT, pool // 4),
    )
    units = tuple((at,) for at in range(pool))
    found = Comparison(rule, Pool(units=units, first=pool), score).advance()
    return any(rights[arm] <= 0.85 for arm in found.winners)


def kinds(scale: float) -> Iterator[Case]:
    """Two kinds with half of the capital each; one is worse than the margin there."""
    for size, difference in ((60, -0.1), (120, -0.05), (300, -0.05)):
        runs = int(scale * 4_000)
        draw = right_or_wrong(max(0.1, -difference), difference)
        name = f"kind of {size}, true {100 * difference:+.0f}"
        yield play(name, draw, size, margin=0.05, runs=runs, pilot=10, share=0.5)


def judges(scale: float) -> Iterator[Case]:
    """A judge that favours the cheaper arm, corrected by people on a share of the questions."""
    for share in (0.2, 0.5):

        def draw(source: np.random.Generator, runs: int, share: float = share) -> np.ndarray:
            high = (source.random(runs) < 0.8).astype(float)
            lost = (source.random(runs) < 0.0625 + 0.02) & (high == 1)
            gained = (source.random(runs) < 0.09) & (high == 0)
            low = np.where(lost, 0.0, np.where(gained, 1.0, high))
            mild = np.where((low == 0) & (source.random(runs) < 0.1), 1.0, low)
            strict = np.where((high == 0) & (source.random(runs) < 0.02), 1.0, high)
            seen = source.random(runs) < share
            units = [
                corrected_unit(judged, float(true) if known else None, share)
                for judged, true, known in zip(mild - strict, low - high, seen, strict=True)
            ]
            return np.array(units)

        name = f"corrected, {share:.0%} labelled"
        margin = corrected_margin(0.05, share)
        runs = int(scale * 400)
        yield play(name, draw, 600, margin=margin, runs=runs, pilot=PILOT, settles=True)


PARTS: dict[str, Callable[[float], Iterator[Case]]] = {
    "one": one_candidate, "graded": graded, "clusters": clusters, "missing": missing,
    "extension": extension, "worse": mirrored, "once": exact, "arms": several_arms,
    "kinds": kinds, "judges": judges,
}  # fmt: skip


def main() -> int:
    """Run all parts or those that are named; return 1 if an error is too high."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all")
    parser.add_argument("--runs", type=float, default=1.0, help="times as many runs")
    given = parser.parse_args()
    check_twin()
    bad, worst = 0, Case("", 1, 0)
    for part in given.parts or PARTS:
        print(f"\n{part}: {PARTS[part].__doc__}")
        for case in PARTS[part](given.runs):
            spread = 100 * math.sqrt(case.share * (1 - case.share) / case.runs)
            flag = "" if case.is_good else "  TOO HIGH"
            print(f"  {case.name:48} {100 * case.share:6.2f} %  ± {spread:.2f}{flag}", flush=True)
            bad += not case.is_good
            worst = max(worst, case, key=lambda each: each.share)
    print(f"\nhighest {100 * worst.share:.2f} % ({worst.name.strip()}); {bad} above 5 %")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
