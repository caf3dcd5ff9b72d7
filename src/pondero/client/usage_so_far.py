"""What an answer that is not over, or was cut off, has used at least."""

from msgspec import Struct

from ..canon import Cost, Usage
from ..store import TokenBill


class UsageSoFar(Struct, frozen=True):
    """What a service has reported of an answer that is not over: it used at least this."""

    usage: Usage
    bill: TokenBill | None = None

    @property
    def cost(self) -> Cost | None:
        """Return what this much costs; None if that is unknown."""
        found = None if self.bill is None else self.bill.total()
        return found if isinstance(found, Cost) else None
