"""The course of a probe: which level gets which question next, and when the answer is known.

It sends nothing. A caller asks what ``next_ask`` says, and gives the answer to ``see``.
"""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from ..errors import UsageError
from .measure import LevelPair, ProbeAnswer, ProbeUnit, compare_answers, find_unit
from .median_test import ALPHA
from .result import OffVerdict, ProbeResult, ProbeVerdict, make_ratio

OFF = "off"
OFF_ANSWERS = 3
"""So many answers without thinking show that off is off; one with thinking shows that it is not."""
OFF_MOST = 8
"""The most questions to off, if answers do not show whether they thought."""


class ProbeAsk(Struct, frozen=True):
    """A question to one level, by its number."""

    level: str
    question: int


class Probe:
    """Compares levels, the weakest first, on the same questions.

    ``off`` among them is tested for thinking; it is compared like a level if there is only one
    other, or if no answer shows whether it thought.
    """

    def __init__(self, levels: Sequence[str], *, questions: int, can_be_off: bool = True) -> None:
        self.asks: int = 0
        self.notes: list[str] = []
        self._levels = tuple(levels)
        self._questions = questions
        self._can_be_off = can_be_off
        self._answers: dict[tuple[str, int], ProbeAnswer] = {}
        self._queue: list[ProbeAsk] = []
        self._asked = 0
        self._is_rejected = False
        self._unit: ProbeUnit | None = None
        self._begin_pairs()

    def _begin_pairs(self) -> None:
        self._pairs = _make_pairs(self._levels)
        self._off_pair = _make_off_pair(self._levels)

    def next_ask(self) -> ProbeAsk | None:
        """Return what to ask next; None if the answer is known, or no question is left."""
        if not self._queue and self._asked < self._questions:
            wanted = self._find_wanted(self._questions - self._asked)
            # Every other question goes down the levels, so that the order has no effect.
            ordered = wanted[:: -1 if self._asked % 2 else 1]
            self._queue = [ProbeAsk(level, self._asked) for level in ordered]
            self._asked += 1
        return self._queue[0] if self._queue else None

    def see(self, ask: ProbeAsk, answer: ProbeAnswer) -> None:
        """Take the answer to the last ask."""
        self._queue.remove(ask)
        self._answers[ask.level, ask.question] = answer
        self.asks += 1
        if not self._queue:
            self._look()

    def drop(self, ask: ProbeAsk, why: str) -> None:
        """Leave out a level that the service rejects; raise UsageError if too few are left."""
        self.asks += 1
        left = tuple(level for level in self._levels if level != ask.level)
        self.notes.append(f"{ask.level} was rejected: {why}")
        if ask.level == OFF:
            self._is_rejected = True
        if len(left) < (2 if ask.level != OFF or len(self._levels) == 2 else 1):
            message = f"the service rejects {ask.level}, and one level alone is no dial: {why}"
            raise UsageError(message)
        self._levels = left
        self._begin_pairs()
        self._queue = [each for each in self._queue if each.level != ask.level]
        self._look()

    @property
    def unit(self) -> ProbeUnit:
        """Return what is compared: the finest unit that all answers have."""
        return find_unit(self._answers.values())

    @property
    def verdict(self) -> ProbeVerdict:
        """Return whether the levels differ; undecided unless every pair that matters is decided."""
        steps = {each.verdict for each in self._steps()}
        found = {each.verdict for each in self._pairs}
        if steps == {"live"}:
            return "live"
        if found == {"deaf"}:
            return "deaf"
        return "partly" if found >= {"live", "deaf"} else "undecided"

    @property
    def off(self) -> OffVerdict:
        """Return whether off is off."""
        if not self._can_be_off or self._is_rejected:
            return "cannot"
        if OFF not in self._levels:
            return "untested"
        thought = [self._has_thought(each) for each in self._answers_at(OFF)]
        if True in thought:
            return "not_off"
        if len(thought) >= OFF_ANSWERS and None not in thought:
            return "off"
        pair = self._off_pair
        if pair is None or pair.verdict == "undecided":
            return "untested"
        if pair.verdict == "live":
            return "off"
        return "not_off" if pair.bounds.high < 0 else "untested"  # the least may think very little

    def result(self, model: str, cost: float | None) -> ProbeResult:
        """Return what is known now."""
        tokens = [each.thinking_tokens for each in self._answers_at(OFF) if self._has_thought(each)]
        known = [count for count in tokens if count]
        return ProbeResult(
            model=model,
            verdict=self.verdict,
            off=self.off,
            ratios=tuple(make_ratio(each) for each in self._pairs),
            asks=self.asks,
            cost=cost,
            unit=self.unit,
            off_tokens=max(known, default=None),
            notes=tuple(self.notes),
        )

    def _steps(self) -> list[LevelPair]:
        """Return the pairs of neighbours; with more than two levels the last pair is the ends."""
        return self._pairs[:-1] if len(self._pairs) > 1 else self._pairs

    def _find_wanted(self, left: int) -> tuple[str, ...]:
        """Return the levels whose answers can still change the result."""
        wanted: set[str] = set()
        if self.verdict == "undecided" and any(each.is_open(left) for each in self._pairs):
            wanted |= {
                level
                for each in self._pairs
                if each.is_open(left)
                for level in (each.lower, each.higher)
            }
        if OFF in self._levels and self.off == "untested":
            answers = self._answers_at(OFF)
            if len(answers) < OFF_ANSWERS:
                wanted.add(OFF)
            elif self._off_pair is not None and self._off_pair.is_open(
                min(left, OFF_MOST - len(answers))
            ):
                wanted |= {self._off_pair.lower, self._off_pair.higher}
        return tuple(level for level in self._levels if level in wanted)

    def _look(self) -> None:
        if (unit := self.unit) != self._unit:  # bounds of another unit say nothing in this one
            self._unit = unit
            self._begin_pairs()
        for pair in (*self._pairs, *((self._off_pair,) if self._off_pair else ())):
            both = [
                (self._answers[pair.lower, number], self._answers[pair.higher, number])
                for number in range(self._questions)
                if {(pair.lower, number), (pair.higher, number)} <= self._answers.keys()
            ]
            logs = [compare_answers(lower, higher, unit) for lower, higher in both]
            if logs:
                pair.look(logs)

    def _answers_at(self, level: str) -> list[ProbeAnswer]:
        return [answer for (own, _), answer in self._answers.items() if own == level]

    def _has_thought(self, answer: ProbeAnswer) -> bool | None:
        """Return whether an answer thought; None if this service shows neither text nor count."""
        if answer.shows_thinking or answer.thinking_tokens:
            return True
        others = (each for (level, _), each in self._answers.items() if level != OFF)
        shown = answer.thinking_tokens is not None or any(each.shows_thinking for each in others)
        return False if shown else None


def _make_pairs(levels: Sequence[str]) -> list[LevelPair]:
    """Return neighbours, then the ends: the error of all of them together is what is allowed."""
    thinking = [level for level in levels if level != OFF]
    compared = thinking if len(thinking) > 1 else list(levels)
    names = list(pairwise(compared))
    if len(names) > 1:
        names.append((compared[0], compared[-1]))
    return [LevelPair(lower, higher, ALPHA / len(names)) for lower, higher in names]


def _make_off_pair(levels: Sequence[str]) -> LevelPair | None:
    least = next((level for level in levels if level != OFF), None)
    return LevelPair(OFF, least) if OFF in levels and least is not None else None
