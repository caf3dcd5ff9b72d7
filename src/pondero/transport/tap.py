"""A transport that lets somebody see what last went over it, without the keys."""

from ..canon import HttpRequest
from ..exchange import AsyncAnswer, AsyncTransport, Timeouts
from .answers import AsyncTaken
from .cassette import Recorded
from .recorder import Take
from .redact import presentable


class AsyncTap:
    """Passes everything on to another transport and remembers the last exchange."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._take: Take | None = None

    @property
    def needs_key(self) -> bool:
        """Return whether the transport behind it needs one."""
        return self._transport.needs_key

    @property
    def last(self) -> Recorded | None:
        """Return the last exchange as it may be shown: every key is taken out."""
        return None if self._take is None else presentable(self._take.exchange())

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncAnswer:
        """Send it through the transport behind."""
        take = self._take = Take(request)
        try:
            answer = await self._transport.send(request, timeouts)
        except Exception as error:
            take.fail(error)
            raise
        return AsyncTaken(answer, take)

    async def aclose(self) -> None:
        """Close the transport behind."""
        await self._transport.aclose()
