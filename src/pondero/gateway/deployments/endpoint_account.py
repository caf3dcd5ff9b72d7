"""The account that answers a request to an endpoint: its limit, its pauses and its failures.

The rate-limit headers of a service are not shared with conversations: it counts other models apart.
"""

from collections.abc import AsyncIterator

from msgspec import Struct

from ...canon import ResponseHead, Usage
from ...catalog import ModelEntry
from ...dialects import get_dialect
from ...errors import PonderoError
from ...exchange import is_deployment_fault, is_fallback_error
from ..quotas.endpoint_use import EndpointCall
from ..quotas.quota import QuotaUse
from ..server.context import GatewayContext
from .accounts import LAST_PATIENCE, AccountFull, name_breaker


class EndpointAccount:
    """One request with an account; ``settle`` after its answer. Without a deployment it is free."""

    def __init__(self, gateway: GatewayContext, entry: ModelEntry | None, id: str) -> None:
        self._gateway = gateway
        self._entry = entry
        self._id = id
        self._quotas = gateway.accounts.quotas(entry.deployment) if entry is not None else ()
        self._is_reserved = False
        self.call: EndpointCall | None = None

    async def reserve(self, most: Usage | None, *, is_last: bool) -> None:
        """Reserve the most that a request can use; raises AccountFull if there is no room.

        The last account that can be asked is waited for.
        """
        left = LAST_PATIENCE if is_last else 0.0
        while (wait := await self._find_lack(most)) > 0:
            if wait > left:
                name = self._entry.deployment if self._entry is not None else ""
                message = f"{name} has no room for this request now; ask again in {wait:.0f} s"
                raise AccountFull(message, status=429, retry_after=wait)
            left -= wait
            await self._gateway.sleep(wait)

    async def _find_lack(self, most: Usage | None) -> float:
        """Reserve if there is room; return the seconds for which there is none."""
        if self._entry is None:
            return 0.0
        if (pause := self._gateway.accounts.find_pause(self._entry)) > 0:
            return pause
        if not self._quotas:
            return 0.0
        amounts = {"requests": 1, "tokens": most.known_total if most is not None else 0}
        uses = [QuotaUse(each, min(amounts[each.unit], each.most)) for each in self._quotas]
        full = await self._gateway.state.reserve(self._id, uses)
        self._is_reserved = full is None
        return 0.0 if full is None else max(full.wait, 0.001)

    def settle(self) -> None:
        """Count what the request took."""
        if self._is_reserved:
            self._is_reserved = False
            tokens = self.call.find_usage()[0].known_total if self.call is not None else 0
            taken = {"requests": int(self.call is not None), "tokens": tokens}
            uses = [QuotaUse(each, taken[each.unit]) for each in self._quotas]
            self._gateway.state.settle(self._id, uses)

    async def note_error(self, error: PonderoError) -> bool:
        """Note a failure; return whether another account might answer."""
        if self._entry is not None:
            breakers, name = self._gateway.breakers, name_breaker(self._entry)
            is_fault = is_deployment_fault(error)
            await (breakers.record_failure if is_fault else breakers.record_success)(name)
            await self._gateway.accounts.note_failure(self._entry.deployment, self._entry, error)
        return is_fallback_error(error)

    async def note_rejection(self, head: ResponseHead, body: bytes) -> bool:
        """Note an answer that is an error; return whether another account might answer."""
        if self._entry is None:
            return False
        caller = get_dialect(self._entry.provider.dialect).caller()
        return await self.note_error(caller.error(head, body))


class ReadAnswer(Struct, frozen=True):
    """An answer whose body was read, in the shape of one that was not."""

    head: ResponseHead
    body: bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield its body."""
        yield self.body

    async def aclose(self) -> None:
        """Nothing is open."""
