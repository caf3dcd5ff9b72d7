"""Keeps a requested level between a cap and a floor, in one model's own tokens or levels.

A level is a share of this model's tokens on one model and a word on another, so two levels are
compared by what would be sent for each. What the model decides by itself counts as the most it can
be for a cap, and as the least for a floor.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from .capability import Capability
from .decision import Decision, ParameterRanges, RequestParameters
from .intent import LEVELS, OFF, ON, Intent
from .policy import Policy
from .resolve import resolve
from .target_level import word_figure

Why = Literal["cap", "floor"]
_SWITCH = 1  # a bare "on" has no depth to limit: any cap but "off" allows it, any level asks for it
_PLAIN = RequestParameters()


class Range(Struct, frozen=True):
    """From the least to the most that something can mean."""

    least: float
    most: float


class Depth(Struct, frozen=True):
    """What a decision asks for: tokens, and the figure of a word; None if it has none."""

    tokens: Range | None = None
    word: Range | None = None

    @property
    def most(self) -> float:
        """Return the most it can mean, to order depths of one model."""
        return max(part.most for part in (self.tokens, self.word) if part is not None)

    def is_within(self, cap: "DepthLimit") -> bool:
        """Return whether it cannot be more than a cap."""
        return all(part.most <= bound for part, bound in self._pairs(cap))

    def reaches(self, floor: "DepthLimit") -> bool:
        """Return whether it cannot be less than a floor."""
        return all(part.least >= bound for part, bound in self._pairs(floor))

    def _pairs(self, bound: "DepthLimit") -> Iterator[tuple[Range, float]]:
        for part, limit in ((self.tokens, bound.tokens), (self.word, bound.word)):
            if part is not None:
                yield part, limit


class DepthLimit(Struct, frozen=True):
    """A cap or a floor on one model: its tokens if a budget is sent, its figure if a word is."""

    tokens: float
    word: float


_NONE = Depth(word=Range(0, 0))


class LevelBounds:
    """The caps and floors of one request to one model; ``clamp`` applies them."""

    def __init__(
        self,
        capability: Capability,
        *,
        caps: Sequence[Intent] = (),
        floors: Sequence[Intent] = (),
        policy: Policy,
        asked: RequestParameters,
        surface: ParameterRanges,
    ) -> None:
        self._capability = capability
        self._policy = policy
        self._asked = asked
        self._surface = surface
        self._named = (*caps, *floors)
        self._caps = tuple(self._make_limit(cap, beyond=math.inf) for cap in caps)
        self._floors = tuple(self._make_limit(floor, beyond=1) for floor in floors)

    def clamp(self, intent: Intent) -> tuple[Intent, Why | None]:
        """Return the intent, or the nearest one inside the bounds and which bound it is.

        If the model has nothing below a cap, it is switched off; one that always thinks gets its
        least level. A floor above its maximum is its maximum. A cap wins over a floor.
        """
        own = self._measure(intent)
        if not self._is_within(own):
            return self._lower(intent, own)
        if not self._reaches(own):
            return self._raise(intent, own)
        return intent, None

    def clamp_word(self, word: str) -> str | None:
        """Return a level that a conversation sets for itself, inside the bounds; None: no such."""
        words = self._capability.efforts or LEVELS[1:]
        figures = {each: word_figure(each, words) for each in (*words, word)}
        most = min((cap.word for cap in self._caps), default=math.inf)
        least = max((floor.word for floor in self._floors), default=0)
        if least <= figures[word] <= most:
            return word
        allowed = [each for each in words if figures[each] <= most]
        enough = [each for each in allowed if figures[each] >= least]
        if enough:
            return enough[-1] if figures[word] > most else enough[0]
        return allowed[-1] if allowed else None

    def clamp_tokens(self, tokens: int) -> int:
        """Return a number of tokens inside the bounds; a negative one means no limit."""
        most = min((cap.tokens for cap in self._caps), default=math.inf)
        least = max((floor.tokens for floor in self._floors), default=0)
        if tokens < 0:
            return tokens if most == math.inf else int(most)
        return int(min(max(tokens, least), most))

    def _lower(self, intent: Intent, own: Depth) -> tuple[Intent, Why | None]:
        above = DepthLimit(*(part.most if part else math.inf for part in (own.tokens, own.word)))
        within = [
            (self._reaches(depth), depth.most, candidate)
            for candidate, depth in self._candidates(intent)
            if self._is_within(depth) and depth.is_within(above)
        ]
        got = max(within, key=lambda each: each[:2])[2] if within else OFF
        return (intent, None) if self._is_same(got, intent) else (got, "cap")

    def _raise(self, intent: Intent, own: Depth) -> tuple[Intent, Why | None]:
        below = DepthLimit(*(part.least if part else 0 for part in (own.tokens, own.word)))
        within = [
            (candidate, depth)
            for candidate, depth in self._candidates(intent)
            if self._is_within(depth) and depth.reaches(below)
        ]
        enough = [each for each in within if self._reaches(each[1])]
        if enough:
            got = min(enough, key=lambda each: each[1].most)[0]
        elif within:  # the model's maximum, or the cap, is lower than the floor
            got = max(within, key=lambda each: each[1].most)[0]
        else:
            return intent, None
        return (intent, None) if self._is_same(got, intent) else (got, "floor")

    def _candidates(self, intent: Intent) -> Iterator[tuple[Intent, Depth]]:
        """Yield what the model could be asked for instead, the words of the rules first."""
        facts = self._capability
        words = facts.efforts or tuple(word for word in facts.levels if word != "on")
        found = [*self._named, *(Intent("level", word) for word in words), ON, OFF]
        if facts.by_number and facts.budget is not None:
            found.append(Intent("budget", tokens=facts.budget.max))
        if facts.by_number and facts.efforts:  # a budget goes with an effort of its own
            budgets = [each for each in (intent, *self._named) if each.kind == "budget"]
            found += [replace(each, level=word) for each in budgets for word in words]
        for each in found:
            yield each, self._measure(each)

    def _is_within(self, depth: Depth) -> bool:
        return all(depth.is_within(cap) for cap in self._caps)

    def _reaches(self, depth: Depth) -> bool:
        return all(depth.reaches(floor) for floor in self._floors)

    def _is_same(self, candidate: Intent, intent: Intent) -> bool:
        first, second = self._decide(candidate), self._decide(intent)
        return (first.mode, first.effort, first.budget) == (
            second.mode,
            second.effort,
            second.budget,
        ) and (first.mode != "unset" or self._capability.style is not None)

    # -- what an intent means on this model --------------------------------------------------

    def _decide(self, intent: Intent, asked: RequestParameters | None = None) -> Decision:
        return resolve(
            intent,
            self._capability,
            policy=self._policy,
            asked=self._asked if asked is None else asked,
            surface=self._surface,
        )

    def _make_limit(self, intent: Intent, *, beyond: float) -> DepthLimit:
        if intent.kind == "off":
            return DepthLimit(0, 0)
        if intent.kind == "budget":
            return DepthLimit(intent.tokens or 0, intent.tokens or 0)
        if intent.kind != "level":
            return DepthLimit(beyond, beyond)
        figure = word_figure(intent.level or "", self._capability.efforts)
        tokens = self._decide(intent, _PLAIN).budget if self._capability.by_budget else None
        return DepthLimit(figure if tokens is None else tokens, figure)

    def _measure(self, intent: Intent) -> Depth:
        facts = self._capability
        if facts.style is None and facts.thinks:
            return _nominal(intent)
        decision = self._decide(intent)
        if not facts.thinks or decision.mode == "off":
            return _NONE
        if decision.budget is not None:
            effort = decision.effort and word_figure(decision.effort, facts.efforts)
            word = Range(effort, effort) if effort else None
            return Depth(Range(decision.budget, decision.budget), word)
        if decision.mode == "level":
            figure = word_figure(decision.effort or "", facts.efforts)
            return Depth(word=Range(figure, figure))
        if decision.mode == "unset" and facts.default == "off":
            return _NONE
        if facts.default in LEVELS[1:]:
            return self._measure(Intent("level", facts.default))
        return self._unknown(sure=decision.mode == "on" or facts.thinks_unasked is True)

    def _unknown(self, *, sure: bool) -> Depth:
        """Return the depth that the model itself decides; ``sure``: it thinks for certain."""
        facts = self._capability
        if facts.by_budget and facts.budget is not None:
            return Depth(Range(facts.budget.min if sure else 0, facts.budget.max))
        if facts.efforts:
            least, most = (word_figure(facts.efforts[end], facts.efforts) for end in (0, -1))
            return Depth(word=Range(least if sure else 0, most))
        return Depth(word=Range(_SWITCH if sure else 0, _SWITCH))


def _nominal(intent: Intent) -> Depth:
    """Return the usual meaning of an intent, for a model that nothing is known of."""
    if intent.kind == "off":
        return _NONE
    if intent.kind == "budget":
        tokens = intent.tokens or 0
        return Depth(Range(tokens, tokens))
    if intent.kind == "level":
        figure = word_figure(intent.level or "", ())
        return Depth(word=Range(figure, figure))
    return Depth(word=Range(0, math.inf))
