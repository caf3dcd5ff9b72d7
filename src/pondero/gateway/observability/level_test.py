"""Tests whether two levels of a route differ, looking after every answer.

An answer at the lower level and one at the higher are a pair. The claim "the typical ratio is below
``SAME``" bets on every pair. If it is false, each bet loses at least as often as it wins, so its
capital reaches ``1 / alpha`` with a probability of at most ``alpha``, however often one looks
(Ville 1939). Nothing is assumed about the noise. Tests of a route follow each other, so that a dial
that breaks later is found too: their alphas together are ``ALPHA``.
"""

from collections import deque
from math import exp, log, pi
from statistics import median

from ...thinking import LEVELS

ENOUGH = 50
"""Pairs, and answers at each of two levels, before any word on them."""
SAME = 1.15
"""Levels whose typical ratio is shown to be below this are suspected to be deaf."""
ALPHA = 0.05
"""How often a route whose levels differ by ``SAME`` or more may ever be suspected."""

_STAKES = ((0.3, 0.25), (0.15, 0.4), (0.07, 0.35))
"""The fraction of its capital that each part of a claim bets, and the part."""
_EPOCH = 500  # pairs, before a test that showed a live dial makes room for the next one
_LONGEST = 20_000  # pairs of a test that shows nothing
_KEPT = 600  # answers and ratios
_FORGET = 4_000  # answers, after which all counts are halved: a level may go out of use
_OFTEN = 0.1  # of the answers
_EDGE = log(SAME)

LevelPair = tuple[str, str]
"""The lower level and the higher one."""


class _Claim:
    """A claim that bets on pairs; its parts bet different fractions of their capital."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts = [part for _, part in _STAKES]

    def bet(self, *, won: bool) -> None:
        sign = 1 if won else -1
        stakes = (stake for stake, _ in _STAKES)
        self._parts = [
            part * (1 + sign * stake) for part, stake in zip(self._parts, stakes, strict=True)
        ]

    def is_shown(self, alpha: float) -> bool:
        return sum(self._parts) * alpha >= 1


class LevelTest:
    """One test of two levels: ``is_deaf`` or ``is_live`` once that is shown, from enough pairs.

    ``number``: how many tests of its route there were with this one.
    """

    def __init__(self, number: int) -> None:
        self.count: int = 0
        self.is_deaf: bool = False
        self.is_live: bool = False
        self.alpha: float = ALPHA * 6 / (pi * number) ** 2  # the sum over all numbers is ALPHA
        self._waiting: tuple[deque[float], deque[float]] = (
            deque(maxlen=_KEPT),
            deque(maxlen=_KEPT),
        )
        self._deaf, self._live = _Claim(), _Claim()
        self._ratios: deque[float] = deque(maxlen=_KEPT)

    def add(self, depth: float, *, is_higher: bool) -> None:
        """Take the thinking of an answer, on the log scale; two without any say nothing."""
        own, others = self._waiting[is_higher], self._waiting[not is_higher]
        if not others:
            own.append(depth)
            return
        partner = others.pop()
        if depth == partner == 0:
            return
        ratio = depth - partner if is_higher else partner - depth
        self._ratios.append(ratio)
        self.count += 1
        self._deaf.bet(won=ratio < _EDGE)
        self._live.bet(won=ratio > _EDGE)
        if self.count >= ENOUGH:
            self.is_deaf = self.is_deaf or self._deaf.is_shown(self.alpha)
            self.is_live = self.is_live or self._live.is_shown(ALPHA)

    @property
    def ratio(self) -> float:
        """Return the typical ratio of the latest pairs."""
        return exp(median(self._ratios))

    @property
    def is_over(self) -> bool:
        """Return whether another test should follow."""
        is_old = self.count >= (_EPOCH if self.is_live else _LONGEST)
        return self.is_deaf or is_old


class LevelWatch:
    """Compares the lowest and the highest level in use of one model on one route."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._latest: dict[str, deque[float]] = {}
        self._tests: dict[LevelPair, LevelTest] = {}
        self._number = 0

    def add(self, level: str, depth: float) -> tuple[LevelPair, LevelTest] | None:
        """Take the thinking of an answer, on the log scale; return the test that it was for."""
        pair = self._find_pair(level)
        self._latest.setdefault(level, deque(maxlen=ENOUGH)).append(depth)
        if pair is None or level not in pair:
            return None
        test = self._tests.get(pair)
        if test is None:  # which levels are in use does not depend on what they thought
            test = self._begin(pair)
            for low, high in zip(*(self._latest[each] for each in pair), strict=False):
                test.add(low, is_higher=False)
                test.add(high, is_higher=True)
            return pair, test
        if test.is_over:
            test = self._begin(pair)
        test.add(depth, is_higher=level == pair[1])
        return pair, test

    def _begin(self, pair: LevelPair) -> LevelTest:
        self._number += 1
        test = self._tests[pair] = LevelTest(self._number)
        return test

    def _find_pair(self, level: str) -> LevelPair | None:
        """Count an answer; return the lowest and the highest level in use, if they are two.

        None also while a lower or higher one is used often, and will soon have enough answers.
        """
        counts = self._counts
        counts[level] = counts.get(level, 0) + 1
        if sum(counts.values()) > _FORGET:
            counts = self._counts = {each: count // 2 for each, count in counts.items()}
        often = _OFTEN * sum(counts.values())
        enough = [each for each in LEVELS if counts.get(each, 0) >= ENOUGH]
        used = [each for each in LEVELS if counts.get(each, 0) >= min(ENOUGH, often)]
        ends = used[:1] + used[-1:]
        if len(used) < 2 or not set(ends) <= set(enough):
            return None
        return used[0], used[-1]
