"""What a socket uses of the quotas of its key, its group and its route, while it is open."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count

from msgspec import Struct

from ..server.context import GatewayContext
from .endpoint_use import EndpointCall, EndpointMeter
from .quota import Quota, QuotaUse, Unit
from .usage_meter import Figures


class _Reservation(Struct):
    """What is reserved for one open answer; without ``id`` it shares that of another one.

    ``rest``: the names of the quotas of which it holds all that was left.
    """

    kind: str
    id: str | None
    uses: Sequence[QuotaUse] = ()
    rest: frozenset[str] = frozenset()


class SocketQuota:
    """Reservations of one socket: the most of each open answer, and what it used at its end.

    An answer may begin if anything is left, and holds all that is left if that is less than the
    most: then no other begins, and the quota is exceeded by no more than the answers under way.
    An answer that the service begins by itself meanwhile on the same socket (to a speech that it
    still transcribes) shares that rest. ``kind``: answers and transcriptions are held apart.
    ``counted``: what is settled, by unit.
    """

    def __init__(self, gateway: GatewayContext, id: str, quotas: Sequence[Quota]) -> None:
        self._gateway = gateway
        self._id = id
        self._quotas = [quota for quota in quotas if quota.unit != "requests"]
        self._numbers = count(1)
        self._open: list[_Reservation] = []
        self._beside: list[str] = []
        self.counted: Counter[Unit] = Counter()

    @property
    def counts(self) -> bool:
        """Return whether a quota depends on what answers use."""
        return bool(self._quotas)

    async def begin(self, most: Figures, kind: str = "", *, shares: bool = False) -> bool:
        """Reserve the most of an answer, or what is left; return whether anything is.

        ``shares``: the service has begun it by itself.
        """
        if not self._quotas:
            return True
        amounts = most.amounts()
        uses = [QuotaUse(quota, max(1, amounts[quota.unit])) for quota in self._quotas]
        rest: set[str] = set()
        id = f"{self._id}.a{next(self._numbers)}"
        for _ in range(2 * len(uses) + 1):  # others may take some of it meanwhile
            full = await self._gateway.state.reserve(id, uses)
            if full is None:
                self._open.append(_Reservation(kind, id, uses, frozenset(rest)))
                return True
            left = full.bound.most - full.taken
            if left <= 0:
                holds_rest = any(full.bound.name in each.rest for each in self._open)
                if shares and holds_rest:
                    self._open.append(_Reservation(kind, None))
                return shares and holds_rest
            rest.add(full.bound.name)
            uses = [
                QuotaUse(each.bound, min(each.amount, left)) if each.bound == full.bound else each
                for each in uses
            ]
        return False

    async def release(self, kind: str = "") -> None:
        """Give back what was reserved for an answer that there will not be."""
        held = self._take(kind)
        if held is not None:
            await self._close(held, {})

    async def end(self, used: Figures, kind: str = "") -> bool:
        """Count an answer; return whether all quotas had room for it."""
        if not self._quotas:
            return True
        held = self._take(kind)
        if held is None:
            return await self.add(used)
        amounts = used.amounts()
        reserved = await self._close(held, amounts)
        if reserved is None:
            return await self.add(used)
        self.counted.update({unit: amounts[unit] for unit in amounts if unit != "requests"})
        return all(amounts[each.bound.unit] <= each.amount for each in reserved)

    def _take(self, kind: str) -> _Reservation | None:
        found = next((each for each in self._open if each.kind == kind), None)
        if found is not None:
            self._open.remove(found)
        return found

    async def _close(
        self, held: _Reservation, amounts: Mapping[Unit, int]
    ) -> Sequence[QuotaUse] | None:
        """Settle the reservation of an answer, and return it; None if it had none.

        An answer that shares it keeps what is not used of it.
        """
        is_shared = held.id is None
        wanted = (each for each in self._open if (bool(each.rest) if is_shared else not each.id))
        other = next(wanted, None)
        owner = other if is_shared else held
        if owner is None or owner.id is None:
            return None
        uses, rest = owner.uses, owner.rest
        self._settle(owner.id, amounts)
        if other is not None and rest:
            left = [
                QuotaUse(each.bound, max(1, each.amount - amounts.get(each.bound.unit, 0)))
                for each in uses
            ]
            id = f"{self._id}.a{next(self._numbers)}"
            is_held = await self._gateway.state.reserve(id, left) is None
            other.id, other.uses = (id, left) if is_held else (None, ())
            other.rest = rest if is_held else frozenset()
        return uses

    async def add(self, used: Figures) -> bool:
        """Reserve what was used besides the answers that were asked for, as ``end`` does."""
        if not self._quotas:
            return True
        amounts = used.amounts()
        uses = [QuotaUse(quota, amounts[quota.unit]) for quota in self._quotas]
        id = f"{self._id}.s{next(self._numbers)}"
        if await self._gateway.state.reserve(id, uses) is not None:
            return False
        self._beside.append(id)
        return True

    def settle(self) -> None:
        """Give back what was only reserved: the socket's record has it."""
        for id in (*(each.id for each in self._open), *self._beside):
            if id is not None:
                self._settle(id, {})

    def _settle(self, id: str, amounts: Mapping[Unit, int]) -> None:
        uses = [QuotaUse(quota, amounts.get(quota.unit, 0)) for quota in self._quotas]
        self._gateway.state.settle(id, uses)


class SocketFigures(Figures, frozen=True, kw_only=True):
    """What a socket took; ``counted`` of it is settled already."""

    counted: Mapping[Unit, int] = {}

    def amounts(self) -> dict[Unit, int]:
        """Return the amount of each unit that is not settled."""
        return {
            unit: max(0, amount - self.counted.get(unit, 0))
            for unit, amount in super().amounts().items()
        }


class SocketMeter(EndpointMeter):
    """Counts one socket."""

    def __init__(self) -> None:
        super().__init__()
        self.quota: SocketQuota | None = None

    def begin_socket(self, call: EndpointCall) -> None:
        """Begin to count a socket."""
        self.made.append(call)
        if self.begun is not None:
            self.begun()

    def find_figures(self) -> Figures:
        """Return what its answers took, with the most of those that are not complete."""
        found = super().find_figures()
        return SocketFigures(
            usage=found.usage,
            estimated=found.estimated,
            cost=found.cost,
            calls=found.calls,
            counted=self.quota.counted if self.quota is not None else {},
        )
