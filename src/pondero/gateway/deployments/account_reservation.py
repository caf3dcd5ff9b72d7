"""What a request holds of the limits of its account, counted from the moment when it is sent.

A service counts a request when it arrives. Between the reservation and that moment, a connection
may have to be opened, or the process has other work: then the count moves to the later time.
"""

from collections.abc import Mapping, Sequence
from itertools import count

from ..quotas.quota import Quota, QuotaUse, Unit, find_length
from ..quotas.usage_counter import QuotaShortfall
from ..server.context import GatewayContext

_LATE = 0.1  # seconds from a reservation to its request; the rest of its margin is for the network
_HELD = 0.75  # the share of a period in which a reservation is certainly still counted

NOTHING: Mapping[Unit, int] = {"requests": 0, "tokens": 0}
"""What a request takes that is not sent."""


class AccountReservation:
    """The reservations of one request, one after the other; ``settle`` after each answer."""

    __slots__ = ("_gateway", "_id", "_name", "_quotas", "_since", "_tries")

    def __init__(self, gateway: GatewayContext, name: str, quotas: Sequence[Quota]) -> None:
        self._gateway = gateway
        self._name = name  # no other request may have it
        self._quotas = quotas
        self._tries = count()
        self._id: str | None = None
        self._since: float = 0.0  # no later than the moment from which it counts

    @property
    def is_held(self) -> bool:
        """Return whether something is held."""
        return self._id is not None

    async def reserve(self, amounts: Mapping[Unit, int]) -> QuotaShortfall | None:
        """Reserve these amounts of all limits, or none; what may take a whole one goes alone."""
        id = f"{self._name}.{next(self._tries)}"
        uses = [QuotaUse(each, min(amounts[each.unit], each.most)) for each in self._quotas]
        since = self._gateway.steady()
        full = await self._gateway.state.reserve(id, uses)
        if full is None:
            self._id, self._since = id, since
        return full

    def may_end_early(self, full: QuotaShortfall, running: int) -> bool:
        """Return whether there may be room sooner: running requests may take less than they hold.

        ``running``: those of this process; other replicas may have some too.
        """
        is_shared = self._gateway.shared.link is not None
        return full.bound.unit == "tokens" and (running > 0 or is_shared)

    def find_age(self) -> float:
        """Return the seconds since what is held counts, at most; 0 if nothing is held."""
        return self._gateway.steady() - self._since if self._id is not None else 0.0

    def renew(self) -> bool:
        """Count what is held from now; return False if another may have taken its room."""
        age = self.find_age()
        if self._id is None or age <= _LATE:
            return True
        if age > _HELD * min(map(find_length, self._quotas)):
            return False
        self._since = self._gateway.steady()
        self._gateway.state.renew(self._id, self._quotas)
        return True

    def settle(self, taken: Mapping[Unit, int]) -> None:
        """Count these amounts in place of the reservation, once."""
        if (id := self._id) is not None:
            self._id = None
            uses = [QuotaUse(each, taken[each.unit]) for each in self._quotas]
            self._gateway.state.settle(id, uses)
