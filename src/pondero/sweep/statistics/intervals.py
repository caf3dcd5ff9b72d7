"""Intervals around what was measured, one accuracy or a ratio of sums; they never decide."""

import math
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from random import Random
from statistics import NormalDist

from msgspec import Struct

NORMAL = NormalDist()
RESAMPLES = 10_000


class Interval(Struct, frozen=True):
    """A figure and the bounds around it."""

    value: float
    low: float
    high: float


def wilson(right: float, count: int, *, level: float = 0.95) -> Interval:
    """Return the share of right answers with Wilson's interval."""
    if not count:
        return Interval(math.nan, 0.0, 1.0)
    z = NORMAL.inv_cdf((1 + level) / 2)
    share, more = right / count, z * z / count
    centre = (share + more / 2) / (1 + more)
    half = z * math.sqrt(share * (1 - share) / count + more / (4 * count)) / (1 + more)
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


def accuracy(
    scores: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    repeats: int = 1,
    level: float = 0.95,
) -> Interval:
    """Return the mean score: Wilson's interval of single answers or no spread, else clustered t."""
    count = len(scores)
    right = math.fsum(scores)
    plain = repeats == 1 and clusters is None and all(score in (0, 1) for score in scores)
    groups = len(set(clusters)) if clusters is not None else count
    if plain or groups < 2:
        return wilson(right, count, level=level)
    mean = right / count
    error = math.sqrt(_spread(scores, clusters)) / count
    if not error:
        return wilson(right, count, level=level)
    half = student((1 + level) / 2, groups - 1) * error
    return Interval(mean, max(0.0, mean - half), min(1.0, mean + half))


def _spread(values: Sequence[float], clusters: Sequence[Hashable] | None) -> float:
    mean = math.fsum(values) / max(1, len(values))
    sums: dict[Hashable, float] = {}
    for number, value in enumerate(values):
        cluster = number if clusters is None else clusters[number]
        sums[cluster] = sums.get(cluster, 0.0) + value - mean
    groups = len(sums)
    if groups < 2:
        return math.inf  # one cluster says nothing about the next
    return groups / (groups - 1) * math.fsum(each * each for each in sums.values())


def bootstrap_ratio(
    above: Sequence[float],
    below: Sequence[float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """Return the ratio of two sums; never to decide: at small counts it accepts too often."""
    total = math.fsum(below)
    if not total:
        return Interval(math.nan, math.nan, math.nan)
    draw, count = Random(seed), len(above)  # noqa: S311 - the same interval every time
    pairs = list(zip(above, below, strict=True))
    ratios = []
    for _ in range(resamples):
        one = other = 0.0
        for a, b in draw.choices(pairs, k=count):
            one += a
            other += b
        ratios.append(one / other if other else math.inf)
    ratios.sort()
    tail = round((1 - level) / 2 * resamples)
    return Interval(math.fsum(above) / total, ratios[tail], ratios[-1 - tail])


@lru_cache(maxsize=4096)
def student(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t at this many degrees of freedom."""
    if probability < 0.5:
        return -student(1 - probability, freedom)
    low, high = 0.0, 1.0
    while student_cdf(high, freedom) < probability and high < 1e12:
        low, high = high, 2 * high
    return _root(lambda t: student_cdf(t, freedom) - probability, low, high)


def student_cdf(t: float, freedom: float) -> float:
    """Return the probability of a value of at most ``t``."""
    tail = 0.5 * _beta(freedom / 2, 0.5, freedom / (freedom + t * t))
    return 1 - tail if t > 0 else tail


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2


def _beta(a: float, b: float, x: float) -> float:
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        + a * math.log(x) + b * math.log1p(-x)
    )  # fmt: skip
    least = 1e-300
    upper, lower = 1.0, 1 / _away(1 - (a + b) * x / (a + 1), least)
    fraction = lower
    for m in range(1, 500):
        before = fraction
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            lower = 1 / _away(1 + term * lower, least)
            upper = _away(1 + term / upper, least)
            fraction *= lower * upper
        if abs(fraction - before) < 1e-16 * abs(fraction):
            break
    return front * fraction / a


def _away(value: float, least: float) -> float:
    return value if abs(value) > least else least
