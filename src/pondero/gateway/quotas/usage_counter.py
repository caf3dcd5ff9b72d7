"""Counts use: the most is reserved before, so parallel requests cannot exceed a quota together."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from .quota import SLOTS, Quota, QuotaUse, Unit, Window, find_window

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
        self._slots: defaultdict[str, _Slots] = defaultdict(_Slots)  # by the name of the counter
        self._reserved: dict[str, dict[str, tuple[int, int]]] = {}  # by request and bound

    async def reserve(
        self, id: str, uses: Sequence[QuotaUse], *, unread: UnreadAnswers | None = None
    ) -> QuotaShortfall | None:
        """Reserve all of these, or none."""
        del unread  # this process has all answers
        now = self._clock()
        counted: list[tuple[str, Window, _Slots]] = []
        full: list[QuotaShortfall] = []
        for use in uses:
            name, span = use.bound.name, find_window(use.bound, now)
            slots = self._slots[name]
            if use.amount and slots.sum_up(span) + use.amount > use.bound.most:
                full.append(_describe_shortfall(use, slots, span, now))
            counted.append((name, span, slots))
        if full:
            return max(full, key=lambda each: each.wait)
        reserved = self._reserved[id] = {}
        for use, (name, span, slots) in zip(uses, counted, strict=True):
            slots.add(span, span.slot, use.amount)
            reserved[name] = (span.slot, use.amount)
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
            slots = self._slots[name]
            if span.since <= slot <= span.last or slots.has(slot):
                slots.add(span, slot, each.amount - before)

    def add_earlier(self, quota: Quota, at: int, amount: int) -> None:
        """Count what another process used at a moment, in milliseconds since 1970."""
        span = find_window(quota, self._clock())
        self._slots[quota.name].add(span, find_window(quota, at).slot, amount)

    async def current_use(self, quotas: Sequence[Quota]) -> list[int]:
        """Return the current use of each quota."""
        return self.recent_use(quotas)

    def recent_use(self, quotas: Sequence[Quota]) -> list[int]:
        """Return the same: this process has seen all of it."""
        now = self._clock()
        return [self._slots[each.name].sum_up(find_window(each, now)) for each in quotas]

    async def wait_until_counted(self) -> None:
        """Return at once: use is counted immediately."""

    async def aclose(self) -> None:
        """Do nothing."""


class _Slots:
    """The counts of one quota by slot; the sum of a window is kept until the window moves on."""

    __slots__ = ("_span", "_total", "counts")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self._span: Window | None = None  # that ``_total`` is of
        self._total = 0

    def has(self, slot: int) -> bool:
        """Return whether something was counted in a slot that is not forgotten."""
        return slot in self.counts

    def set(self, slot: int, count: int) -> None:
        """Set what is counted in a slot."""
        self.counts[slot] = count
        self._span = None

    def find_current(self, span: Window) -> dict[int, int]:
        """Return the slots that count."""
        since, last = span.since, span.last
        return {slot: count for slot, count in self.counts.items() if since <= slot <= last}

    def sum_up(self, span: Window) -> int:
        """Return the sum of the slots that count."""
        if span is not self._span:
            self._total, self._span = sum(self.find_current(span).values()), span
        return self._total

    def add(self, span: Window, slot: int, amount: int) -> None:
        """Count an amount; the slot that is furthest from now is forgotten if there are many."""
        counts = self.counts
        counts[slot] = counts.get(slot, 0) + amount
        if span is self._span and span.since <= slot <= span.last:
            self._total += amount
        else:
            self._span = None
        if len(counts) > _KEPT:
            del counts[max(counts, key=lambda each: abs(each - span.slot))]
            self._span = None


def _describe_shortfall(use: QuotaUse, slots: _Slots, span: Window, now: int) -> QuotaShortfall:
    """Return a quota that has no room for a use, and when it will have."""
    taken, current = slots.sum_up(span), slots.find_current(span)
    over = taken + use.amount - use.bound.most
    until = span.ends(span.slot)
    for slot in sorted(current):
        over -= current[slot]
        if over <= 0:
            until = span.ends(slot)
            break
    return QuotaShortfall(use.bound, taken, use.amount, (until - now) / 1000)
