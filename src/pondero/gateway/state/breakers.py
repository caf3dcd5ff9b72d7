"""Circuit breakers: a deployment that keeps failing is paused, then probed by one request."""

from collections import deque
from collections.abc import Callable
from time import monotonic

FAILURES = 5
WITHIN = 30.0
REST = 15.0


class Breaker:
    """The state of one deployment."""

    __slots__ = ("failures", "opened", "probing")

    def __init__(self) -> None:
        self.failures: deque[float] = deque(maxlen=FAILURES)
        self.opened: float | None = None
        self.probing: bool = False


class Breakers:
    """The breakers of all deployments, by ``provider:model``."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._all: dict[str, Breaker] = {}

    async def is_open(self, name: str) -> bool:
        """Return whether a deployment is paused; False once after the pause, for the probe."""
        breaker = self._all.get(name)
        if breaker is None or breaker.opened is None:
            return False
        if breaker.probing or self._clock() - breaker.opened < REST:
            return True
        breaker.probing = True
        return False

    async def record_success(self, name: str) -> None:
        """Clear its failures."""
        self._all.pop(name, None)

    async def record_failure(self, name: str) -> None:
        """Record a failure; the fifth within 30 seconds opens the breaker, as does a probe's."""
        breaker = self._all.setdefault(name, Breaker())
        now = self._clock()
        breaker.failures.append(now)
        often = len(breaker.failures) == FAILURES and now - breaker.failures[0] <= WITHIN
        if breaker.probing or often:
            breaker.opened, breaker.probing = now, False

    async def cancel_probe(self, name: str) -> None:
        """End a probe that the client cut short, so that another can follow."""
        if (breaker := self._all.get(name)) is not None:
            breaker.probing = False

    def states(self) -> dict[str, str]:
        """Return the state of every deployment with recent failures."""
        return {name: self._state(breaker) for name, breaker in self._all.items()}

    def _state(self, breaker: Breaker) -> str:
        if breaker.opened is None:
            return "closed"
        return "probing" if breaker.probing else "open"
