"""The account that answers a request to an endpoint: its limit, its pauses and its failures."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext

from msgspec import Struct

from ...canon import ResponseHead, Usage
from ...catalog import Provider
from ...dialects import get_dialect
from ...errors import PonderoError
from ...exchange import is_deployment_fault, is_fallback_error
from ...transport import watch_departure
from ..quotas.endpoint_use import EndpointCall
from ..quotas.quota import Quota
from ..server.context import GatewayContext
from .account_reservation import NOTHING, AccountReservation
from .accounts import AccountFull

_BYTES = 4  # of a token, where only the service's own count is guessed
_LOOK = 0.25  # seconds between looks whether a running request took less than its most
_SHARE = 4  # of a limit: the part that a request takes of which only its answer tells the use


class EndpointAccount:
    """One request with an account; ``settle`` after its answer. Without an account it is free.

    ``id`` is that of the reservation. ``account``: as in a turn. ``is_told``: only the answer tells
    how many tokens it took, as for a picture.
    """

    def __init__(
        self,
        gateway: GatewayContext,
        id: str,
        account: str,
        *,
        provider: Provider,
        model: str,
        is_told: bool = False,
    ) -> None:
        self._gateway = gateway
        self._id = id
        self.name = account
        self._model = model
        self._limits = provider.name_limits(model)
        self._is_told = is_told
        self._caller = get_dialect(provider.dialect).caller()
        self._load = gateway.accounts.load(account)
        self._quotas = gateway.accounts.quotas(account) if account else ()
        self._number: int | None = None
        self._reservation = AccountReservation(gateway, id, self._quotas)
        self._is_forced = False
        self._has_left = False  # its service may have counted it
        self._left = 0.0  # seconds that it may yet wait for room
        self._most: Usage | None = None
        self._tokens = 0  # of the request, about
        self.call: EndpointCall | None = None

    async def reserve(
        self, most: Usage | None, *, size: int, is_last: bool, patience: float
    ) -> None:
        """Reserve the most that a request can use; raises AccountFull if there is no room.

        The last account that can be asked is asked although its key or its credit was rejected a
        short while ago. ``size``: bytes of the request. ``patience``: seconds to wait for room.
        """
        accounts = self._gateway.accounts
        self._is_forced = is_last and bool(self.name) and accounts.find_rejection(self.name) > 0
        self._left = patience
        self._most, self._tokens = most, size // _BYTES
        await self._wait_for_room()

    async def _wait_for_room(self) -> None:
        while (wait := await self._find_lack()) > 0:
            if wait > self._left:
                raise self.make_full(wait)
            self._left -= wait
            await self._gateway.sleep(wait)

    def watch_departure(self) -> AbstractContextManager[None]:
        """Count the request from the moment when it leaves, if it is sent in this block."""
        return watch_departure(self._depart) if self._quotas else nullcontext()

    async def _depart(self) -> None:
        """Count the request from now; raises AccountFull if its room is gone."""
        while not self._reservation.renew():
            self._left = max(0.0, self._left - self._reservation.find_age())
            self._reservation.settle(NOTHING)
            if (number := self._number) is not None:
                self._number = None
                self._load.cancel(number)
            await self._wait_for_room()
        self._has_left = True

    def make_full(self, wait: float) -> AccountFull:
        """Return the error that says when there is room."""
        message = f"{self.name} has no room for this request now; ask again in {wait:.0f} s"
        full = AccountFull(message, status=429, retry_after=wait)
        full.left = self._left
        return full

    async def _find_lack(self) -> float:
        """Reserve if there is room; return the seconds for which there is none."""
        if not self.name:
            return 0.0
        accounts, tokens = self._gateway.accounts, self._tokens
        find_hold = accounts.find_told_hold if self._is_forced else accounts.find_hold
        hold = find_hold(self.name, self._limits)
        if (wait := max(hold, self._load.find_wait(self._limits, tokens))) > 0:
            return wait
        number = self._load.begin(self._limits, tokens)
        if self._quotas:
            amounts = {each.unit: self._find_amount(each, self._most) for each in self._quotas}
            try:
                full = await self._reservation.reserve(amounts)
            except BaseException:
                self._load.cancel(number)
                raise
            if full is not None:
                self._load.cancel(number)
                self._load.note_full(full.wait)
                is_early = self._reservation.may_end_early(full, self._load.in_flight)
                return max(min(full.wait, _LOOK) if is_early else full.wait, 0.001)
        self._number = number
        return 0.0

    def _find_amount(self, quota: Quota, most: Usage | None) -> int:
        """Return how much of a limit a request may take; one that may take all goes alone."""
        if quota.unit == "requests":
            return 1
        if most is not None or not self._is_told:
            return min(most.known_total if most is not None else 0, quota.most)
        seen = self._load.largest.get(self._model)
        return quota.most if seen is None else min(max(seen, quota.most // _SHARE), quota.most)

    async def note_head(self, head: ResponseHead) -> None:
        """Take over what an answer says of the account and of the service's limits."""
        if self._is_forced and head.status < 400:
            await self._gateway.accounts.end_pause(self.name)
        if not self.name or self._number is None or not self._caller.rate_limits.limits:
            return
        said = self._caller.rate_limits.read(head.headers, self._gateway.now())
        is_served = head.status == 200
        taken = self._load.note_limits(self._limits, self._number, said, is_served=is_served)
        await self._gateway.accounts.share_limits(self.name, self._limits, taken)

    def settle(self) -> None:
        """Count what the request took."""
        if (number := self._number) is not None:
            self._number = None
            self._load.end(number)
        if self._reservation.is_held:
            tokens = self.call.find_usage()[0].known_total if self.call is not None else 0
            if tokens and self._is_told:
                self._load.note_largest(self._model, tokens)
            self._reservation.settle({"requests": int(self.call is not None), "tokens": tokens})

    async def note_error(self, error: PonderoError) -> bool:
        """Note a failure; return whether another account might answer."""
        if self.name:
            breakers, name = self._gateway.breakers, f"{self.name}:{self._model}"
            is_fault = is_deployment_fault(error)
            await (breakers.record_failure if is_fault else breakers.record_success)(name)
            accounts, limits = self._gateway.accounts, self._limits
            await accounts.note_failure(self.name, self._model, error, limits=limits)
        return is_fallback_error(error)

    async def note_rejection(self, head: ResponseHead, body: bytes) -> bool:
        """Note an answer that is an error; return whether another account might answer."""
        return bool(self.name) and await self.note_error(self._caller.error(head, body))


class ReadAnswer(Struct, frozen=True):
    """An answer whose body was read, in the shape of one that was not."""

    head: ResponseHead
    body: bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield its body."""
        yield self.body

    async def aclose(self) -> None:
        """Nothing is open."""
