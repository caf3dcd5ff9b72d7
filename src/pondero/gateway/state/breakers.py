"""Circuit breakers: a deployment that keeps failing is paused, then probed by one request.

``lua/breaker.lua`` takes the same steps for all replicas. A moment in the future is one that the
clock has left behind by jumping back: it neither pauses nor probes.
"""

from collections import deque
from collections.abc import Callable
from time import monotonic

FAILURES = 5
WITHIN = 30.0
REST = 15.0
PAUSED = "paused"
"""The state of an account whose service asked for a pause."""
PROBE = 60.0
"""Seconds before a probe without a result is given up."""


class Breaker:
    """The state of one deployment; ``opened`` and ``probing`` say since when.

    ``rest``: seconds of the pause; None for the usual ones.
    """

    __slots__ = ("failures", "opened", "probing", "rest")

    def __init__(self) -> None:
        self.failures: deque[float] = deque(maxlen=FAILURES)
        self.opened: float | None = None
        self.probing: float | None = None
        self.rest: float | None = None


class Breakers:
    """The breakers of all deployments, by ``provider:model``."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._all: dict[str, Breaker] = {}
        self._paused: dict[str, tuple[float, float]] = {}  # since when, and how long

    async def pause(self, name: str, seconds: float) -> None:
        """Pause an account for as long as its service asks; a longer pause stays."""
        if seconds > self.find_pause(name):
            self._paused[name] = (self._clock(), seconds)

    def find_pause(self, name: str) -> float:
        """Return the seconds for which an account is paused."""
        if (paused := self._paused.get(name)) is None:
            return 0.0
        since, seconds = paused
        now = self._clock()
        if not _is_within(since, seconds, now):
            del self._paused[name]
            return 0.0
        return since + seconds - now

    async def end_pause(self, name: str) -> None:
        """End the pause of an account that answers again."""
        self._paused.pop(name, None)

    async def share_full(self, name: str, seconds: float) -> None:
        """Do nothing: this process knows what its services have left."""

    def find_full(self, name: str) -> float:  # noqa: ARG002 - no other process tells
        """Return 0."""
        return 0.0

    async def is_open(self, name: str) -> bool:
        """Return whether a deployment is paused; False once after the pause, for the probe."""
        breaker = self._all.get(name)
        if breaker is None or breaker.opened is None:
            return False
        if self.is_resting(name):
            return True
        breaker.probing = self._clock()
        return False

    def is_resting(self, name: str) -> bool:
        """Return whether a deployment is paused, and no probe is due; asks for no probe."""
        return self.find_rest(name) > 0

    def find_rest(self, name: str) -> float:
        """Return the seconds for which a deployment is paused; asks for no probe."""
        if (breaker := self._all.get(name)) is None:
            return 0.0
        return find_rest(breaker.opened, breaker.probing, self._clock(), rest=breaker.rest)

    def is_guess(self, name: str) -> bool:
        """Return whether the pause of a deployment is our own guess, not its service's word."""
        breaker = self._all.get(name)
        return breaker is None or breaker.rest is None

    async def open(self, name: str, seconds: float) -> None:
        """Pause a deployment now, for as long as its service asks; a longer pause stays."""
        breaker = self._all.setdefault(name, Breaker())
        now = self._clock()
        length = REST if breaker.rest is None else breaker.rest
        if breaker.opened is None or now + seconds > breaker.opened + length:
            breaker.opened, breaker.probing, breaker.rest = now, None, seconds

    async def record_success(self, name: str) -> None:
        """Clear its failures."""
        self._all.pop(name, None)

    async def record_failure(self, name: str) -> None:
        """Record a failure; the fifth within 30 seconds opens the breaker, as does a probe's."""
        breaker = self._all.setdefault(name, Breaker())
        now = self._clock()
        past = [each for each in breaker.failures if each <= now]
        breaker.failures = deque((*past, now), maxlen=FAILURES)
        often = len(breaker.failures) == FAILURES and now - breaker.failures[0] <= WITHIN
        if often or _is_within(breaker.probing, PROBE, now):
            breaker.opened, breaker.probing, breaker.rest = now, None, None

    async def cancel_probe(self, name: str) -> None:
        """End a probe that tells nothing about the deployment, so that another can follow."""
        if (breaker := self._all.get(name)) is not None:
            breaker.probing = None

    def states(self) -> dict[str, str]:
        """Return the state of every deployment with recent failures."""
        found = {name: self._state(breaker) for name, breaker in self._all.items()}
        paused = [name for name in list(self._paused) if self.find_pause(name)]
        return {**found, **dict.fromkeys(paused, PAUSED)}

    def _state(self, breaker: Breaker) -> str:
        if breaker.opened is None:
            return "closed"
        return "probing" if _is_within(breaker.probing, PROBE, self._clock()) else "open"


def find_rest(
    opened: float | None, probing: float | None, now: float, *, rest: float | None = None
) -> float:
    """Return the seconds for which a breaker that opened lets no request pass.

    While it is probed, that is not known: a usual pause, or what is left of the probe's time.
    """
    length = REST if rest is None else rest
    if opened is None:
        return 0.0
    left = opened + length - now if _is_within(opened, length, now) else 0.0
    if probing is not None and _is_within(probing, PROBE, now):
        left = max(left, min(probing + PROBE - now, REST or PROBE))
    return left


def _is_within(since: float | None, seconds: float, now: float) -> bool:
    return since is not None and 0 <= now - since < seconds
