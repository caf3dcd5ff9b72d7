"""Sends requests with an account: only while it has room, and it learns from every answer."""

from itertools import count

from msgspec import Struct

from ...canon import HttpRequest
from ...catalog import ModelEntry
from ...dialects import get_dialect
from ...exchange import AsyncResponse, Timeouts
from ...thinking import Plan
from ...transport import watch_departure
from ..quotas.output_bound import find_output_bound
from ..quotas.prompt_bound import find_prompt_bound
from ..quotas.usage_meter import MeteredTransport, ServiceCall
from ..requests.routed_request import RoutedRequest
from ..server.context import GatewayContext
from .account_reservation import NOTHING, AccountReservation
from .accounts import AccountFull, AccountRejection, ModelTurn

_BYTES = 4  # of a token, where only the service's own count is guessed
_LOOK = 0.25  # seconds between looks whether a running request took less than its most
_numbers = count()


class _Lack(Struct, frozen=True):
    """How long there is no room; ``may_end_early``: a running request may take less."""

    seconds: float
    may_end_early: bool = False


class AccountTransport:
    """A transport that keeps the limits of one account; ``release`` after the last answer.

    Before each request its most is reserved, in the state that all replicas share. Afterwards the
    actual use replaces it. ``turn`` says how long to wait for room.
    """

    needs_key = True

    def __init__(
        self,
        gateway: GatewayContext,
        transport: MeteredTransport,
        routed: RoutedRequest,
        entry: ModelEntry,
        plan: Plan,
        *,
        turn: ModelTurn,
    ) -> None:
        self._gateway = gateway
        self._transport = transport
        self._routed = routed
        self._entry = entry
        self._plan = plan
        self._patience = turn.patience
        self._left = turn.patience  # of it, for the latest request
        self._is_forced = turn.is_forced
        self._account = turn.account
        self._load = gateway.accounts.load(turn.account)
        self._quotas = gateway.accounts.quotas(turn.account)
        self._limits = get_dialect(entry.provider.dialect).caller().rate_limits
        name = f"{routed.call.id}@{next(_numbers)}"
        self._reservation = AccountReservation(gateway, name, self._quotas)
        self._tokens = 0  # of the latest request, about
        self._number: int | None = None  # of the latest request, while it is on its way
        self._most: int | None = None

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Send a request when the account has room; raises AccountFull if that takes too long."""
        self.release()  # an earlier try
        self._tokens = len(request.body) // _BYTES
        self._left = self._patience
        number = self._number = await self._reserve()
        if self._quotas:
            with watch_departure(self._depart):
                answer = await self._transport.send(request, timeouts)
            number = self._number
        else:
            answer = await self._transport.send(request, timeouts)
        if self._limits.limits:
            said = self._limits.read(answer.head.headers, self._gateway.now())
            is_served = answer.head.status == 200
            taken = self._load.note_limits(self._entry.limits, number, said, is_served=is_served)
            try:
                await self._gateway.accounts.share_limits(self._account, self._entry.limits, taken)
            except BaseException:
                await answer.aclose()
                raise
        return answer

    async def aclose(self) -> None:
        """Leave the connections open: other requests share them."""

    def release(self) -> None:
        """Count what the latest request took, once."""
        if (number := self._number) is not None:
            self._number = None
            self._load.end(number)
        if self._reservation.is_held:
            tokens = _count_tokens(self._transport.call)
            self._reservation.settle({"requests": 1, "tokens": tokens})

    async def _depart(self) -> None:
        """Count the request from now, when it leaves; raises AccountFull if its room is gone."""
        while not self._reservation.renew():
            self._left = max(0.0, self._left - self._reservation.find_age())
            self._reservation.settle(NOTHING)
            if (number := self._number) is not None:
                self._number = None
                self._load.cancel(number)
            self._number = await self._reserve()

    async def _reserve(self) -> int:
        """Reserve the most that a request may take, once there is room; return its number."""
        rejected = 0.0 if self._is_forced else self._gateway.accounts.find_rejection(self._account)
        if rejected > self._left:
            message = f"the key or the credit of {self._account} was rejected a short while ago"
            raise AccountRejection(message, status=503, retry_after=rejected)
        while isinstance(lack := await self._try_to_reserve(), _Lack):
            wait = lack.seconds
            if lack.may_end_early:
                wait = min(wait, _LOOK)
            if wait > self._left:
                message = (
                    f"{self._account} has no room for this request now; "
                    f"there is room again in {lack.seconds:.0f} s"
                )
                full = AccountFull(message, status=429, retry_after=lack.seconds)
                full.left, full.may_end_early = self._left, lack.may_end_early
                raise full
            self._left -= wait
            await self._gateway.sleep(wait)
        return lack

    async def _try_to_reserve(self) -> int | _Lack:
        """Reserve if there is room, and return its number; else return how long there is none.

        The service's own headers come first: what it would reject is not even counted.
        """
        model, tokens = self._entry.limits, self._tokens
        accounts = self._gateway.accounts
        find_hold = accounts.find_told_hold if self._is_forced else accounts.find_hold
        hold = find_hold(self._account, model)
        if (wait := max(self._load.find_wait(model, tokens), hold)) > 0:
            return _Lack(wait)
        number = self._load.begin(model, tokens)
        if not self._quotas:
            return number
        try:
            full = await self._reservation.reserve({"requests": 1, "tokens": self._find_most()})
        except BaseException:
            self._load.cancel(number)
            raise
        if full is None:
            return number
        self._load.cancel(number)
        self._load.note_full(full.wait)
        return _Lack(full.wait, self._reservation.may_end_early(full, self._load.in_flight))

    def _find_most(self) -> int:
        if self._most is None:
            self._most = 0
            if any(each.unit == "tokens" for each in self._quotas):
                bound = find_output_bound(self._routed, self._entry, self._plan)
                self._most = find_prompt_bound(self._routed, self._entry) + bound.output
        return self._most


def _count_tokens(call: ServiceCall | None) -> int:
    if call is None:
        return 0
    return sum(usage.known_total for _, usage in call.find_usages()[0])
