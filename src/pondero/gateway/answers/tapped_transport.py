"""A transport whose responses are read a second time, for the answers after the first."""

from collections.abc import AsyncIterator

from ...canon import HttpRequest
from ...exchange import AsyncResponse, AsyncTransport, FurtherAnswers, Timeouts


class TappedTransport:
    """A transport that also gives the bytes of a response to its further answers."""

    needs_key = True

    def __init__(self, transport: AsyncTransport, further: FurtherAnswers) -> None:
        self._transport = transport
        self._further = further

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Send a request; return the response once its head has arrived."""
        response = await self._transport.send(request, timeouts)
        if not 200 <= response.head.status < 300:
            return response
        self._further.begin(response.head)
        return _TappedResponse(response, self._further)

    async def aclose(self) -> None:
        """Leave the connections open: other requests share them."""


class _TappedResponse:
    """A response whose bytes go to its further answers first, so that these are never behind."""

    def __init__(self, response: AsyncResponse, further: FurtherAnswers) -> None:
        self.head = response.head
        self._response = response
        self._pieces = aiter(response)
        self._further = further

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await anext(self._pieces)
        except StopAsyncIteration:
            self._further.eof()
            raise
        self._further.feed(piece)
        return piece

    async def aclose(self) -> None:
        """Close the connection at once, read to the end or not."""
        await self._response.aclose()
