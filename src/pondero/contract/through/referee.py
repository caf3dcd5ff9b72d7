"""The referee: the strict emulator, which keeps what arrived and what it answered."""

from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

from ...canon import HttpRequest, Json, ResponseHead
from ...dialects import AcceptedRequest, Rejected
from ...emulator import Emulator, find_route
from ...exchange import Decoded, Timeouts, decode

_USUAL = Timeouts()


class Referee(Emulator):
    """An emulator that keeps every generation request and its answer, until ``reset``."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[HttpRequest] = []
        self.answers: list[bytearray] = []
        self.statuses: list[int] = []

    def send(self, request: HttpRequest, timeouts: Timeouts = _USUAL) -> Any:
        """Answer, and keep both."""
        if find_route(request.url) is None:
            return super().send(request, timeouts)
        kept = bytearray()
        self.requests.append(request)
        self.answers.append(kept)
        handle = super().send(request, timeouts)
        self.statuses.append(handle.head.status)
        return _KeptResponse(handle, kept)

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.requests.clear()
        self.answers.clear()
        self.statuses.clear()

    @property
    def bodies(self) -> list[bytes]:
        """Return the bodies that arrived."""
        return [request.body for request in self.requests]

    def decode_answer(self, number: int) -> Decoded:
        """Return an answer as it was sent."""
        return decode(bytes(self.answers[number]))

    def read(self, number: int = -1) -> AcceptedRequest[Json] | None:
        """Return a request as the service reads it; None if the service rejects it."""
        request = self.requests[number]
        route = find_route(request.url)
        if route is None:
            return None
        try:
            return route.wire.service().accept(request, route.provider)
        except Rejected:
            return None

    def rejections(self) -> list[Json]:
        """Return the errors that were answered."""
        return [entry.refusal for entry in self.log.entries if entry.refusal]


class _KeptResponse:
    def __init__(self, handle: Any, kept: bytearray) -> None:
        self._handle = handle
        self._kept = kept

    @property
    def head(self) -> ResponseHead:
        head: ResponseHead = self._handle.head
        return head

    def __await__(self) -> Generator[Any, Any, "_KeptResponse"]:
        yield from self._handle.__await__()
        return self

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._handle:
            self._kept.extend(piece)
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._handle:
            self._kept.extend(piece)
            yield piece

    def close(self) -> None:
        self._handle.close()

    async def aclose(self) -> None:
        await self._handle.aclose()
