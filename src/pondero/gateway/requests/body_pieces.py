"""A body that passes in pieces, with the limits and deadlines of one that is read whole."""

from asyncio import get_running_loop, timeout_at
from collections.abc import AsyncIterator, Callable

from ...asgi import Receive
from .read_request import BODY_RATE, BODY_SILENCE, BodyProblem, ClientLeft


class BodyPieces:
    """The pieces of a body, after ``beginning``, which has been read already.

    ``check`` sees each piece first. ``failed`` is what ended the body before its end: a client of
    HTTP that is given these pieces may report another error for it.
    """

    def __init__(
        self, receive: Receive, limit: int, *, check: Callable[[bytes], None] | None = None
    ) -> None:
        self._receive = receive
        self._limit = limit
        self._check = check
        self._begun = get_running_loop().time()
        self.size: int = 0
        self.is_whole: bool = False
        self.failed: Exception | None = None
        self.beginning: bytes = b""

    async def read(self) -> bytes:
        """Return the next piece; empty at the end. Raises BodyProblem, ClientLeft, and others."""
        now = get_running_loop().time
        whole = self._begun + BODY_SILENCE + self.size / BODY_RATE
        try:
            async with timeout_at(min(now() + BODY_SILENCE, whole)):
                message = await self._receive()
        except TimeoutError:
            problem = "the body of the request did not arrive in time"
            raise BodyProblem(408, problem) from None
        if message["type"] == "http.disconnect":
            raise ClientLeft
        piece: bytes = message.get("body", b"")
        self.size += len(piece)
        if self.size > self._limit:
            raise BodyProblem(413, f"an upload may have {self._limit:,} bytes")
        self.is_whole = not message.get("more_body", False)
        if self._check is not None:
            self._check(piece)
        return piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield all pieces, the beginning first."""
        if self.beginning:
            yield self.beginning
        try:
            while not self.is_whole:
                if piece := await self.read():
                    yield piece
        except Exception as error:
            self.failed = error
            raise
