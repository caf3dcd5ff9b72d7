"""Rests a deployment that keeps failing: what failed often is not asked again for a while.

``answers`` asks ``is_open`` before each deployment and reports how it went. After the rest, one
request is let through to probe; how that one goes decides.
"""

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
        """Return whether to leave this deployment alone; False once, for the probe after a rest."""
        breaker = self._all.get(name)
        if breaker is None or breaker.opened is None:
            return False
        if breaker.probing or self._clock() - breaker.opened < REST:
            return True
        breaker.probing = True
        return False

    async def record_success(self, name: str) -> None:
        """Forget what failed."""
        self._all.pop(name, None)

    async def record_failure(self, name: str) -> None:
        """Note a failure; the fifth within half a minute opens the breaker, as does a probe's."""
        breaker = self._all.setdefault(name, Breaker())
        now = self._clock()
        breaker.failures.append(now)
        often = len(breaker.failures) == FAILURES and now - breaker.failures[0] <= WITHIN
        if breaker.probing or often:
            breaker.opened, breaker.probing = now, False

    async def cancel_probe(self, name: str) -> None:
        """End a probe that was cut short by the client, so that another may be made."""
        if (breaker := self._all.get(name)) is not None:
            breaker.probing = False

    def states(self) -> dict[str, str]:
        """Return every deployment that failed lately, and whether it is open, probing or closed."""
        return {name: self._state(breaker) for name, breaker in self._all.items()}

    def _state(self, breaker: Breaker) -> str:
        if breaker.opened is None:
            return "closed"
        return "probing" if breaker.probing else "open"
