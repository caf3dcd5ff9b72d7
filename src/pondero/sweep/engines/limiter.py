"""The limiter: how many requests may be in flight to one model with one key, and when the next.

Within what headers allow: a twentieth more after a round without a rejection, a fifth less else.
"""

import math
from collections.abc import Iterable

from ...exchange import RateLimit

START = 16
MOST = 512
_LESS = 0.8
_MORE = 1.05
_COOLDOWN = 15.0
"""Seconds in which rejections count as one: the requests were in flight together."""


class Limiter:
    """The limit of one lane: one provider, key and model."""

    def __init__(self, start: float = START, most: float = MOST) -> None:
        self.limit: float = float(start)
        self.flying: int = 0
        self._most = float(most)
        self._clean = 0
        self._slowed = -math.inf
        self._until = -math.inf
        self._left: dict[str, tuple[RateLimit, float]] = {}
        self._tokens = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until the next may begin; infinity: when one has ended."""
        if self.flying >= max(1, int(self.limit)):
            return math.inf
        return max(self.pause(now), *self._empty(now), 0.0)

    def pause(self, now: float) -> float:
        """Return how many more seconds the service wants no request."""
        return max(0.0, self._until - now)

    def begin(self) -> None:
        """Count one that begins."""
        self.flying += 1
        for what, (allowance, until) in self._left.items():
            used = self._tokens if allowance.counts_tokens else 1.0
            less = RateLimit(what, allowance.left - used, allowance.seconds)
            self._left[what] = (less, until)

    def end(self, tokens: int | None = None) -> None:
        """Count one that was answered, with its tokens if known."""
        self.flying -= 1
        if tokens is not None:
            self._tokens += (tokens - self._tokens) / 8 if self._tokens else tokens
        self._clean += 1
        if self._clean >= self.limit:
            self._clean = 0
            self.limit = min(self._most, self.limit * _MORE)

    def fail(self) -> None:
        """Count one that ended otherwise."""
        self.flying -= 1

    def slow(self, now: float, seconds: float | None) -> None:
        """Slow down after too many requests; ``seconds`` is the wait that the service wants."""
        self._clean = 0
        if seconds is not None:
            self._until = max(self._until, now + seconds)
        if now - self._slowed >= _COOLDOWN:
            self._slowed = now
            self.limit = max(1.0, self.limit * _LESS)

    def hint(self, allowances: Iterable[RateLimit], now: float) -> None:
        """Use the rate limits in the headers of an answer."""
        for each in allowances:
            known = self._left.get(each.what)
            if known is not None and known[1] > now:
                # Answers overtake each other: of two about one window, the lower count is later.
                each = RateLimit(each.what, min(each.left, known[0].left), each.seconds)  # noqa: PLW2901
            self._left[each.what] = (each, now + each.seconds)

    def _empty(self, now: float) -> Iterable[float]:
        for allowance, until in self._left.values():
            needed = max(1.0, self._tokens) if allowance.counts_tokens else 1.0
            if allowance.left < needed and until > now:
                yield until - now
