"""The account of a socket: it is held while the socket is open, and each request counts.

Tokens of answers are reserved with the quotas of the key (``SocketQuota``); what is left at the end
is settled here.
"""

from itertools import count

from ...canon import HttpResponse, ResponseHead, Usage
from ...errors import PonderoError
from ...transport import SocketRejection
from ..quotas.quota import Quota, QuotaUse
from .accounts import LAST_PATIENCE, AccountFull
from .endpoint_account import EndpointAccount

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
        await self.reserve(_ANYTHING, size=0, is_last=is_last)

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
        left = LAST_PATIENCE if limits else 0.0
        uses = [QuotaUse(each, 1) for each in limits]
        id = f"{self._id}.{next(self._numbers)}"
        while uses and (full := await self._gateway.state.reserve(id, uses)) is not None:
            if full.wait > left:
                return False
            left -= max(full.wait, 0.001)
            await self._gateway.sleep(full.wait)
        self._gateway.state.settle(id, uses)
        return True

    def close(self, tokens: int | None) -> None:
        """Give the account back; ``tokens``: what is not counted yet, None if none was opened."""
        if (number := self._number) is not None:
            self._number = None
            self._load.end(number)
        if self._is_reserved:
            self._is_reserved = False
            taken = {"requests": int(tokens is not None), "tokens": tokens or 0}
            uses = [QuotaUse(each, taken[each.unit]) for each in self._quotas]
            self._gateway.state.settle(self._id, uses)
