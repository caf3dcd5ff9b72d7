"""A transport that keeps what a service sends, for an answer whose bytes pass."""

from collections.abc import AsyncIterator
from typing import ClassVar

from msgspec import Struct

from ...canon import HttpRequest, ResponseHead
from ...exchange import AsyncResponse, AsyncTransport, Timeouts

_NO_HEAD = ResponseHead(200)


class CapturingTransport(Struct, eq=False):
    """A transport that keeps a stream's bytes until ``take``; decoding is for the record.

    Without ``keeps`` it keeps only the head: an answer in one piece is kept by who reads it.
    """

    needs_key: ClassVar[bool] = True

    _transport: AsyncTransport
    keeps: bool = True
    head: ResponseHead = _NO_HEAD
    _kept: list[bytes] = []
    _answer: "_CapturedResponse | None" = None

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Send a request; return the response once its head has arrived."""
        answer = await self._transport.send(request, timeouts)
        self.head = answer.head
        if not self.keeps:
            return answer
        self._kept.clear()
        self._answer = captured = _CapturedResponse(answer, self._kept)
        return captured

    async def aclose(self) -> None:
        """Leave the connections open: other requests share them."""

    def take(self) -> bytes:
        """Return the bytes that arrived since the last call."""
        kept = b"".join(self._kept)
        self._kept.clear()
        return kept

    async def rest(self) -> bytes:
        """Read to the end and return the bytes after the answer, such as ``data: [DONE]``."""
        if self._answer is not None and not self._answer.has_ended:
            async for _ in self._answer:
                pass
        return self.take()


class _CapturedResponse:
    """A response whose bytes are kept while it is read."""

    def __init__(self, answer: AsyncResponse, kept: list[bytes]) -> None:
        self.head = answer.head
        self.has_ended = False
        self._answer = answer
        self._pieces = aiter(answer)
        self._keep = kept.append

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await anext(self._pieces)
        except StopAsyncIteration:
            self.has_ended = True
            raise
        self._keep(piece)
        return piece

    async def aclose(self) -> None:
        """Close the connection at once, read to the end or not."""
        await self._answer.aclose()
