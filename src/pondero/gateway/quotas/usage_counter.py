"""Counts use: the most is reserved before, so parallel requests cannot exceed a quota together."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from .quota import SLOTS, Quota, QuotaUse, Unit, Window, window

_KEPT = 2 * SLOTS  # slots of a counter: a clock that jumps forward may jump back to old ones


class QuotaShortfall(Struct, frozen=True):
    """The quota that has no room for a request; ``wait``: seconds until it has."""

    bound: Quota
    taken: int
    amount: int
    wait: float


class UnreadAnswers(Struct, frozen=True):
    """Cached answers that a request continues, of which this process knows only the keys.

    ``rates``: how much more of each unit the request takes for each of their bytes.
    """

    keys: tuple[str, ...]
    rates: Mapping[Unit, float]


class UsageCounter(Protocol):
    """Counts use against quotas."""

    async def reserve(
        self, id: str, uses: Sequence[QuotaUse], *, unread: UnreadAnswers | None = None
    ) -> QuotaShortfall | None:
        """Reserve all of these, or none and return the quota with the longest wait."""
        ...

    def find_reserved(self, id: str) -> Mapping[str, int]:
        """Return what is reserved for a request, by the names of the counters."""
        ...

    def settle(self, id: str, uses: Sequence[QuotaUse]) -> None:
        """Replace a reservation by actual use, without waiting: the request may be cancelled."""
        ...

    async def wait_until_counted(self) -> None:
        """Wait until all settled use is counted."""
        ...

    async def current_use(self, quotas: Sequence[Quota]) -> list[int]:
        """Return the current use of each quota, reservations included."""
        ...

    def recent_use(self, quotas: Sequence[Quota]) -> list[int]:
        """Return the use of each quota as this process last saw it, without asking anybody."""
        ...

    async def aclose(self) -> None:
        """Release resources."""
        ...


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return int(time.time() * 1000)


class LocalUsageCounter:
    """Counts in this process's memory."""

    def __init__(self, clock: Callable[[], int] = now_ms) -> None:
        self._clock = clock
        self._counts: dict[str, dict[int, int]] = {}
        self._reserved: dict[str, dict[str, tuple[int, int]]] = {}  # by request and bound

    async def reserve(
        self, id: str, uses: Sequence[QuotaUse], *, unread: UnreadAnswers | None = None
    ) -> QuotaShortfall | None:
        """Reserve all of these, or none."""
        del unread  # this process has all answers
        now = self._clock()
        counted = [(each, each.bound.name, find_window(each.bound, now)) for each in uses]
        full = [
            found
            for each, name, span in counted
            if (found := self._find_exceeded(each, name, span, now)) is not None
        ]
        if full:
            return max(full, key=lambda each: each.wait)
        reserved = self._reserved[id] = {}
        for each, name, span in counted:
            self._add(name, span, span.slot, each.amount)
            reserved[name] = (span.slot, each.amount)
        return None

    def find_reserved(self, id: str) -> Mapping[str, int]:
        """Return what is reserved for a request."""
        return {name: amount for name, (_, amount) in self._reserved.get(id, {}).items()}

    def settle(self, id: str, uses: Sequence[QuotaUse]) -> None:
        """Correct a reservation, once; one whose slot is forgotten counts no more."""
        reserved = self._reserved.pop(id, None)
        if reserved is None:
            return
        now = self._clock()
        for each in uses:
            name, span = each.bound.name, find_window(each.bound, now)
            slot, before = reserved.get(name, (span.slot, 0))
            if each.amount == before:
                continue
            if span.since <= slot <= span.last or slot in self._counts.get(name, {}):
                self._add(name, span, slot, each.amount - before)

    async def current_use(self, quotas: Sequence[Quota]) -> list[int]:
        """Return the current use of each quota."""
        return self.recent_use(quotas)

    def recent_use(self, quotas: Sequence[Quota]) -> list[int]:
        """Return the same: this process has seen all of it."""
        now = self._clock()
        return [
            sum(self._current_slots(each.name, find_window(each, now)).values()) for each in quotas
        ]

    async def wait_until_counted(self) -> None:
        """Return at once: use is counted immediately."""

    async def aclose(self) -> None:
        """Do nothing."""

    def _add(self, name: str, span: Window, slot: int, amount: int) -> None:
        slots = self._counts.setdefault(name, {})
        slots[slot] = slots.get(slot, 0) + amount
        if len(slots) > _KEPT:
            del slots[max(slots, key=lambda each: abs(each - span.slot))]

    def _current_slots(self, name: str, span: Window) -> dict[int, int]:
        """Return the slots that count."""
        slots = self._counts.get(name, {})
        since, last = span.since, span.last
        return {slot: count for slot, count in slots.items() if since <= slot <= last}

    def _find_exceeded(
        self, use: QuotaUse, name: str, span: Window, now: int
    ) -> QuotaShortfall | None:
        slots = self._current_slots(name, span)
        taken = sum(slots.values())
        over = taken + use.amount - use.bound.most
        if over <= 0 or use.amount == 0:
            return None
        until = span.ends(span.slot)
        for slot in sorted(slots):
            over -= slots[slot]
            if over <= 0:
                until = span.ends(slot)
                break
        return QuotaShortfall(use.bound, taken, use.amount, (until - now) / 1000)


def find_window(bound: Quota, now: int) -> Window:
    """Return the window of a quota at a moment."""
    return window(bound.per, now, rolling=bound.rolling)
