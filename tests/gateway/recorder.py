"""A service that records what arrives, byte for byte, and rejects it."""

from collections.abc import AsyncIterator

from pondero.canon import HttpRequest, ResponseHead
from pondero.exchange import Timeouts


class Recorder:
    """A transport that answers every request with a 400; ``bodies`` are those that arrived."""

    needs_key = False

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "_Rejection":
        self.bodies.append(request.body)
        return _Rejection()

    async def aclose(self) -> None:
        """Nothing is open."""


class _Rejection:
    head = ResponseHead(400, {"content-type": "application/json"})

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'{"error":{"message":"recorded","type":"invalid_request_error"}}'

    async def aclose(self) -> None:
        """Nothing is open."""
