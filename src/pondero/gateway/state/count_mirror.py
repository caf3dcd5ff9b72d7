"""What a replica knows of the counts in Redis, to count on alone while Redis is lost."""

from collections.abc import Iterable

from msgspec import Struct

from ..quotas.quota import Quota
from ..quotas.usage_counter import LocalUsageCounter
from .pending_use import SlotUse


class Reservation(Struct, frozen=True):
    """The reservation of a request that still runs.

    ``epoch``: of the data in Redis that has it; empty if Redis was asked and did not answer, None
    if it was not asked.
    """

    uses: tuple[SlotUse, ...]
    epoch: str | None


class CountMirror(LocalUsageCounter):
    """The counts of Redis as this replica last saw them, with its own use since."""

    def note_count(self, bound: Quota, slot: int, count: int) -> None:
        """Take over a count; of a rolling window, only the sum is known."""
        slots = self._find_slots(bound, self._clock())
        if bound.rolling:
            slots.counts.clear()
        slots.counts[slot] = count
        slots.move_to(slots.span)

    def note_reservation(self, id: str, uses: Iterable[SlotUse]) -> None:
        """Take over a reservation that the counts include."""
        self._reserved[id] = {each.bound.name: (each.slot, each.amount) for each in uses}

    def note_use(self, uses: Iterable[SlotUse]) -> None:
        """Add use that Redis does not have."""
        now = self._clock()
        for each in uses:
            self._find_slots(each.bound, now).add(each.slot, each.amount)

    def list_counts(self, bounds: Iterable[Quota]) -> list[SlotUse]:
        """Return all counts of these quotas; of a rolling window, the sum in its last slot."""
        now = self._clock()
        found: list[SlotUse] = []
        for bound in bounds:
            slots = self._find_slots(bound, now).counts
            if bound.rolling and slots:
                found.append(SlotUse(bound, max(slots), sum(slots.values())))
            else:
                found += (SlotUse(bound, slot, count) for slot, count in slots.items())
        return found
