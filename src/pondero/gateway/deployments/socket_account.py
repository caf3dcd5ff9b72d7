"""The account of a socket: it is held while the socket is open, and each request counts.

Tokens of answers are reserved with the quotas of the key (``SocketQuota``); what is left at the end
is settled here.
"""

from collections.abc import Mapping
from itertools import count

from ...canon import HttpResponse, ResponseHead, Usage
from ...errors import PonderoError
from ...transport import SocketRejection
from ..quotas.quota import Quota, Unit
from .account_reservation import NOTHING, AccountReservation
from .accounts import LAST_PATIENCE, AccountFull
from .endpoint_account import EndpointAccount

_REQUEST: Mapping[Unit, int] = {"requests": 1}
_ANYTHING = Usage(1, output=0)  # a socket may open if anything is left


class SocketAccount(EndpointAccount):
    """The account of one socket; ``close`` at its end."""

    _numbers = count(1)

    @property
    def token_quotas(self) -> tuple[Quota, ...]:
        """Return the limits of the account that answers take of."""
        return tuple(each for each in self._quotas if each.unit == "tokens")

    async def open(self, *, is_last: bool) -> None:
        """Hold the account for a socket; raises AccountFull if nothing is left of a limit."""
        patience = LAST_PATIENCE if is_last else 0.0
        await self.reserve(_ANYTHING, size=0, is_last=is_last, patience=patience)

    async def note_failure(self, error: PonderoError) -> bool:
        """Note why no socket was opened; return whether another account might open one."""
        self.close(None)
        if isinstance(error, AccountFull):
            return True
        if isinstance(error, SocketRejection):
            error = self._read(error.response)
        return await self.note_error(error)

    def _read(self, response: HttpResponse) -> PonderoError:
        head = ResponseHead(response.status, response.headers)
        return self._caller.error(head, response.body)

    async def ask(self) -> bool:
        """Count a request for an answer; return False if the account takes no more for a while."""
        limits = [each for each in self._quotas if each.unit == "requests"]
        if not limits:
            return True
        request = AccountReservation(self._gateway, f"{self._id}.{next(self._numbers)}", limits)
        left = LAST_PATIENCE
        while (full := await request.reserve(_REQUEST)) is not None or not request.renew():
            wait = max(full.wait, 0.001) if full is not None else request.find_age()
            request.settle(NOTHING)
            if wait > left:
                return False
            left -= wait
            if full is not None:
                await self._gateway.sleep(wait)
        request.settle(_REQUEST)
        return True

    def close(self, tokens: int | None) -> None:
        """Give the account back; ``tokens``: what is not counted yet, None if none was opened.

        A request that its service rejected counts too.
        """
        if (number := self._number) is not None:
            self._number = None
            self._load.end(number)
        requests = int(tokens is not None or self._has_left)
        self._reservation.settle({"requests": requests, "tokens": tokens or 0})
