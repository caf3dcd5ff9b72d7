"""What this process knows of an account: requests on their way, and what its service has left."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from ...dialects import LimitUnit, RateLimit

NEARLY_FULL = 0.75
"""The share of a limit from which on new conversations go elsewhere, if they can."""
_MARGIN = 0.01  # seconds: services round the time until a reset
MANY = 1024.0
"""Placed conversations after which earlier ones count half."""


class _SeenLimit(Struct):
    """A limit as the last answer reported it, less what was sent since."""

    unit: LimitUnit
    left: int
    most: int | None
    until: float


class AccountLoad:
    """The load of one account; times are in seconds of ``clock``."""

    __slots__ = ("_clock", "_full_until", "_limits", "in_flight", "placed")

    def __init__(self, clock: Callable[[], float], placed: float = 0.0) -> None:
        self._clock = clock
        self._limits: dict[tuple[LimitUnit, int], _SeenLimit] = {}
        self._full_until = 0.0
        self.in_flight: int = 0
        self.placed: float = placed

    def begin(self, tokens: int) -> None:
        """Count a request that is sent now, with at most this number of tokens."""
        self.in_flight += 1
        for seen in self._limits.values():
            seen.left -= 1 if seen.unit == "requests" else tokens

    def end(self) -> None:
        """Count the end of a request; what it did not use may be free again."""
        self.in_flight -= 1
        self._full_until = 0.0

    def note_limits(self, limits: Iterable[RateLimit]) -> None:
        """Take over what an answer says; requests on their way may not be in it yet."""
        now = self._clock()
        for number, each in enumerate(limits):
            others = self.in_flight - 1 if each.unit == "requests" else 0
            left = each.left - max(0, others)
            until = now + each.wait + _MARGIN
            self._limits[each.unit, number] = _SeenLimit(each.unit, left, each.most, until)

    def note_full(self, seconds: float) -> None:
        """Remember that our own count has no room, for at most a second: others may end."""
        self._full_until = self._clock() + min(seconds, 1.0)

    def find_rest(self) -> float:
        """Return the seconds for which our own count has no room, as it seems; 0: it has."""
        return max(0.0, self._full_until - self._clock())

    def find_wait(self, tokens: int = 0) -> float:
        """Return the seconds until a request fits, as far as the service said; 0: now."""
        now = self._clock()
        waits = [0.0]
        for seen in self._limits.values():
            need = 1 if seen.unit == "requests" else max(1, tokens)
            if seen.most is not None:
                need = min(need, seen.most)
            if seen.left < need:
                waits.append(seen.until - now)
        return max(waits)

    def find_use(self) -> float:
        """Return the used share of the service's limits, from 0 to 1."""
        now = self._clock()
        shares = [
            1 - seen.left / seen.most
            for seen in self._limits.values()
            if seen.most and seen.until > now
        ]
        return max(shares, default=0.0)
