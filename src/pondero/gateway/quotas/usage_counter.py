"""Counts use: the most is reserved before, so parallel requests cannot exceed a quota together."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from msgspec import Struct

from .quota import SLOTS, Quota, QuotaUse, Unit, Window, find_carried_slot, find_window

_KEPT = 2 * SLOTS  # slots of a counter: a clock that jumps forward may jump back to old ones
_FOLLOWED = 60_000
"""Milliseconds after a reload in which requests may still name the quota before it."""


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

    def renew(self, id: str, quotas: Sequence[Quota]) -> None:
        """Count a reservation under rolling quotas from now, without waiting."""
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

    def carry(self, before: Quota, after: Quota) -> None:
        """Count the use of one rolling quota under another from now on, without waiting.

        Requests that have begun, and replicas that have yet to reload, ask for the one before; for
        a minute, that is the other one too.
        """
        ...

    async def aclose(self) -> None:
        """Release resources."""
        ...


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return int(time.time() * 1000)


def steady_ms() -> int:
    """Return the same as it was when this process began, and since by a clock that never jumps."""
    return _BEGAN + int(_read_steady() * 1000)


_read_steady: Callable[[], float] = (  # the first goes on while the machine sleeps
    partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_BOOTTIME")
    else time.monotonic
)
_BEGAN = now_ms() - int(_read_steady() * 1000)


class LocalUsageCounter:
    """Counts in this process's memory.

    ``clock`` has the calendar of budgets, and ``steady`` the time of rate limits: one that jumps
    would free them. A ``clock`` alone is both.
    """

    def __init__(
        self, clock: Callable[[], int] | None = None, steady: Callable[[], int] | None = None
    ) -> None:
        self._clock: Callable[[], int] = clock or now_ms
        self._steady: Callable[[], int] = steady or clock or steady_ms
        self._slots: dict[str, _Slots] = {}  # by the name of the counter
        self._reserved: dict[str, dict[str, tuple[int, int]]] = {}  # by request and counter
        self._after: dict[str, tuple[Quota, int]] = {}  # of carried counts, and when that was

    async def reserve(
        self, id: str, uses: Sequence[QuotaUse], *, unread: UnreadAnswers | None = None
    ) -> QuotaShortfall | None:
        """Reserve all of these, or none."""
        del unread  # this process has all answers
        asked = uses
        known, today, steady = self._slots, self._clock(), self._steady()
        counted: list[_Slots] = []
        full: list[QuotaShortfall] = []
        if self._after:
            uses = [self._follow_use(each, steady) for each in uses]
        for use in uses:
            quota, amount = use.bound, use.amount
            now = steady if quota.rolling else today
            slots = known.get(quota.name)
            if slots is None or not slots.begins <= now < slots.turns:
                slots = self._find_slots(quota, now)
            if amount and slots.total + amount > quota.most:
                full.append(_describe_shortfall(use, slots, now))
            counted.append(slots)
        if full:
            return max(full, key=lambda each: each.wait)
        reserved = self._reserved[id] = {}
        for at, slots in enumerate(counted):
            amount, slot, counts = uses[at].amount, slots.slot, slots.counts
            if slot in counts:  # else there may be too many
                counts[slot] += amount
                slots.total += amount
            else:
                slots.add(slot, amount)
            reserved[asked[at].bound.name] = (slot, amount)
        return None

    def find_reserved(self, id: str) -> Mapping[str, int]:
        """Return what is reserved for a request."""
        return {name: amount for name, (_, amount) in self._reserved.get(id, {}).items()}

    def renew(self, id: str, quotas: Sequence[Quota]) -> None:
        """Count a reservation from now; ``lua/renew.lua`` does the same."""
        reserved, now = self._reserved.get(id) or {}, self._steady()
        for each in quotas:
            slots = self._find_slots(self._follow(each, now), now)
            slot, amount = reserved.get(each.name) or (slots.slot, 0)
            if slot < slots.slot and slot in slots.counts:  # else the clock has jumped
                slots.add(slot, -amount)
                slots.add(slots.slot, amount)
                reserved[each.name] = (slots.slot, amount)

    def settle(self, id: str, uses: Sequence[QuotaUse]) -> None:
        """Correct a reservation, once; one whose slot is forgotten counts no more."""
        reserved = self._reserved.pop(id, None)
        if reserved is None:
            return
        known, today, steady = self._slots, self._clock(), self._steady()
        for each in uses:
            quota, amount = each.bound, each.amount
            now = steady if quota.rolling else today
            if self._after:
                quota = self._follow(quota, steady)
            slots = known.get(quota.name)
            if slots is None or not slots.begins <= now < slots.turns:
                slots = self._find_slots(quota, now)
            slot, before = reserved.get(each.bound.name) or (slots.slot, 0)
            if amount == before:
                continue
            counts = slots.counts
            if slot == slots.slot and slot in counts:  # nearly always
                counts[slot] += amount - before
                slots.total += amount - before
            elif slots.has(slot):
                slots.add(slot, amount - before)

    def add_earlier(self, quota: Quota, at: int, amount: int) -> None:
        """Count what another process used at a moment, in milliseconds since 1970."""
        slots = self._find_slots(quota, self._find_time(quota))
        slots.add(find_window(quota, at).slot, amount)

    def carry(self, before: Quota, after: Quota) -> None:
        """Count the use of one rolling quota under another from now on."""
        now = self._steady()
        counts, self._slots[before.name].counts = self._find_slots(before, now).counts, {}
        self._slots[before.name].total = 0
        slots = self._find_slots(after, now)
        for slot, count in counts.items():
            then = find_carried_slot(slot, before, after, now=now)
            if then is not None:
                slots.add(then, count)
        for held in self._reserved.values():
            if (place := held.get(before.name)) is not None:
                then = find_carried_slot(place[0], before, after, now=now)
                held[before.name] = (-1 if then is None else then, place[1])
        self._after[before.name] = (after, now)
        self._after.pop(after.name, None)

    def _follow(self, quota: Quota, now: int) -> Quota:
        """Return what counts for a quota since a reload; ``lua/windows.lua`` does the same."""
        for _ in range(len(self._after)):
            after, since = self._after.get(quota.name, (quota, now))
            if after is quota:
                break
            if abs(now - since) > _FOLLOWED:
                del self._after[quota.name]
                break
            quota = after
        return quota

    def _follow_use(self, use: QuotaUse, now: int) -> QuotaUse:
        quota = self._follow(use.bound, now)
        return use if quota is use.bound else QuotaUse(quota, min(use.amount, quota.most))

    async def current_use(self, quotas: Sequence[Quota]) -> list[int]:
        """Return the current use of each quota."""
        return self.recent_use(quotas)

    def recent_use(self, quotas: Sequence[Quota]) -> list[int]:
        """Return the same: this process has seen all of it."""
        return [self._find_slots(each, self._find_time(each)).total for each in quotas]

    def _find_time(self, quota: Quota) -> int:
        return self._steady() if quota.rolling else self._clock()

    def _find_slots(self, quota: Quota, now: int) -> "_Slots":
        """Return the counts of a quota, with the sum of those that count now."""
        slots = self._slots.get(quota.name)
        if slots is None:
            slots = self._slots[quota.name] = _Slots(find_window(quota, now))
        elif not slots.begins <= now < slots.turns:
            slots.move_to(find_window(quota, now))
        return slots

    async def wait_until_counted(self) -> None:
        """Return at once: use is counted immediately."""

    async def aclose(self) -> None:
        """Do nothing."""


class _Slots:
    """The counts of one quota by slot; ``total``: the sum of those that count in its ``span``.

    ``begins``, ``turns`` and ``slot`` are those of the span.
    """

    __slots__ = ("begins", "counts", "slot", "span", "total", "turns")

    def __init__(self, span: Window) -> None:
        self.counts: dict[int, int] = {}
        self.move_to(span)

    def move_to(self, span: Window) -> None:
        """Sum up the slots that count in another window."""
        self.span, self.slot = span, span.slot
        self.begins, self.turns = span.begins, span.turns
        self.total = sum(self.find_current().values())

    def has(self, slot: int) -> bool:
        """Return whether a slot counts, or something was counted in it that is not forgotten."""
        return self.span.since <= slot <= self.span.last or slot in self.counts

    def find_current(self) -> dict[int, int]:
        """Return the slots that count."""
        since, last = self.span.since, self.span.last
        return {slot: count for slot, count in self.counts.items() if since <= slot <= last}

    def add(self, slot: int, amount: int) -> None:
        """Count an amount; the slot that is furthest from now is forgotten if there are many."""
        counts, span = self.counts, self.span
        counts[slot] = counts.get(slot, 0) + amount
        if span.since <= slot <= span.last:
            self.total += amount
        if len(counts) > _KEPT:
            del counts[max(counts, key=lambda each: abs(each - span.slot))]
            self.total = sum(self.find_current().values())


def _describe_shortfall(use: QuotaUse, slots: _Slots, now: int) -> QuotaShortfall:
    """Return a quota that has no room for a use, and when it will have."""
    span, current = slots.span, slots.find_current()
    over = slots.total + use.amount - use.bound.most
    until = span.ends(span.slot)
    for slot in sorted(current):
        over -= current[slot]
        if over <= 0:
            until = span.ends(slot)
            break
    return QuotaShortfall(use.bound, slots.total, use.amount, (until - now) / 1000)
