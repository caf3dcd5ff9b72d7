"""Transports that say what they were told to: pieces of a body, and errors between them."""

from collections.abc import AsyncIterator, Iterable, Iterator

from pondero.canon import HttpRequest, ResponseHead
from pondero.exchange import Timeouts

TIMEOUTS = Timeouts()
# The answer of a model to "What is 17 * 23?", in the pieces it came in.
SUM = (
    b'data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}\n\n',
    b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"391"}}\n\n',
    b'data: {"type":"content_block_stop","index":0}\n\n',
    b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}\n\n',
    b'data: {"type":"message_stop"}\n\n',
)
Piece = bytes | BaseException


class Scripted:
    """Each request takes the next answer: a head and pieces, or an error in its place."""

    needs_key = False

    def __init__(self, *answers: tuple[ResponseHead, Iterable[Piece]] | BaseException) -> None:
        self.answers = list(answers)
        self.sent: list[HttpRequest] = []
        self.closed = False

    def send(self, request: HttpRequest, timeouts: Timeouts) -> "Said":
        self.sent.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return Said(*answer)

    def close(self) -> None:
        self.closed = True


class Said:
    def __init__(self, head: ResponseHead, pieces: Iterable[Piece]) -> None:
        self.head = head
        self.pieces = pieces
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    def close(self) -> None:
        self.closed = True


class AsyncScripted:
    """The same, for asyncio."""

    needs_key = False

    def __init__(self, *answers: tuple[ResponseHead, Iterable[Piece]] | BaseException) -> None:
        self.script = Scripted(*answers)

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "AsyncSaid":
        return AsyncSaid(self.script.send(request, timeouts))

    async def aclose(self) -> None:
        self.script.close()


class AsyncSaid:
    def __init__(self, said: Said) -> None:
        self.head = said.head
        self.said = said

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.said:
            yield piece

    async def aclose(self) -> None:
        self.said.close()


def ask(body: bytes = b"{}", **headers: str) -> HttpRequest:
    """A request like any other."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpRequest("POST", "https://api.test/v1/messages", named, body)


def ok(*pieces: Piece, **headers: str) -> tuple[ResponseHead, tuple[Piece, ...]]:
    """A good answer in these pieces."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ResponseHead(200, named), pieces
