"""Sends requests with an account: only while it has room, and it learns from every answer."""

from itertools import count

from msgspec import Struct

from ...canon import HttpRequest
from ...catalog import ModelEntry
from ...dialects import get_dialect
from ...exchange import AsyncResponse, Timeouts
from ...thinking import Plan
from ..quotas.output_bound import find_output_bound
from ..quotas.prompt_bound import find_prompt_bound
from ..quotas.quota import QuotaUse
from ..quotas.usage_meter import MeteredTransport, ServiceCall
from ..requests.routed_request import RoutedRequest
from ..server.context import GatewayContext
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
        self._is_forced = turn.is_forced
        self._account = turn.account
        self._load = gateway.accounts.load(turn.account)
        self._quotas = gateway.accounts.quotas(turn.account)
        self._limits = get_dialect(entry.provider.dialect).caller().rate_limits
        self._reserved: str | None = None
        self._number: int | None = None  # of the latest request, while it is on its way
        self._most: int | None = None

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Send a request when the account has room; raises AccountFull if that takes too long."""
        self.release()  # an earlier try
        tokens = len(request.body) // _BYTES
        number = await self._reserve(tokens)
        answer = await self._transport.send(request, timeouts)
        if self._limits.limits:
            said = self._limits.read(answer.head.headers, self._gateway.now())
            is_served = answer.head.status == 200
            model = self._entry.model
            taken = self._load.note_limits(model, number, said, is_served=is_served)
            try:
                await self._gateway.accounts.share_limits(self._account, model, taken)
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
        if (id := self._reserved) is not None:
            self._reserved = None
            taken = {"requests": 1, "tokens": _count_tokens(self._transport.call)}
            uses = [QuotaUse(each, taken[each.unit]) for each in self._quotas]
            self._gateway.state.settle(id, uses)

    async def _reserve(self, tokens: int) -> int:
        """Reserve the most that a request may take, once there is room; return its number."""
        left = self._patience
        rejected = 0.0 if self._is_forced else self._gateway.accounts.find_rejection(self._account)
        if rejected > left:
            message = f"the key or the credit of {self._account} was rejected a short while ago"
            raise AccountRejection(message, status=503, retry_after=rejected)
        while isinstance(lack := await self._try_to_reserve(tokens), _Lack):
            wait = lack.seconds
            if lack.may_end_early:
                wait = min(wait, _LOOK)
            if wait > left:
                message = (
                    f"{self._account} has no room for this request now; "
                    f"there is room again in {lack.seconds:.0f} s"
                )
                raise AccountFull(message, status=429, retry_after=lack.seconds)
            left -= wait
            await self._gateway.sleep(wait)
        self._number = lack
        return lack

    async def _try_to_reserve(self, tokens: int) -> int | _Lack:
        """Reserve if there is room, and return its number; else return how long there is none.

        The service's own headers come first: what it would reject is not even counted.
        """
        model = self._entry.model
        accounts = self._gateway.accounts
        find_hold = accounts.find_told_hold if self._is_forced else accounts.find_hold
        hold = find_hold(self._account, model)
        if (wait := max(self._load.find_wait(model, tokens), hold)) > 0:
            return _Lack(wait)
        number = self._load.begin(model, tokens)
        if not self._quotas:
            return number
        id = f"{self._routed.call.id}@{next(_numbers)}"
        amounts = {"requests": 1, "tokens": self._find_most()}
        # A request that may take more than the account has in all goes alone.
        uses = [QuotaUse(each, min(amounts[each.unit], each.most)) for each in self._quotas]
        try:
            full = await self._gateway.state.reserve(id, uses)
        except BaseException:
            self._load.cancel(number)
            raise
        if full is None:
            self._reserved = id
            return number
        self._load.cancel(number)
        self._load.note_full(full.wait)
        return _Lack(full.wait, full.bound.unit == "tokens" and self._load.in_flight > 0)

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
