"""A service that answers every request with the same bytes."""

from collections.abc import AsyncIterator, Awaitable, Callable

from pondero.canon import HttpRequest, ResponseHead


class Canned:
    """A service that sends these pieces; ``before`` is awaited when a request arrives."""

    needs_key = True

    def __init__(self, pieces: list[bytes], **headers: str) -> None:
        self._pieces = pieces
        self.requests: list[bytes] = []
        self.before: Callable[[], Awaitable[None]] | None = None
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}

    async def send(self, request: HttpRequest, _timeouts: object) -> "_Answer":
        self.requests.append(request.body)
        if self.before is not None:
            await self.before()
        return _Answer(ResponseHead(200, self._headers), self._pieces)

    async def aclose(self) -> None:
        pass


class _Answer:
    def __init__(self, head: ResponseHead, pieces: list[bytes]) -> None:
        self.head = head
        self._pieces = iter(pieces)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration

    async def aclose(self) -> None:
        pass
