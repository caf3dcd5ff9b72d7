"""Answers of a cassette: played from its file, or passed on while they are recorded."""

from collections.abc import AsyncIterator, Generator, Iterator
from types import coroutine

from .. import errors
from ..canon import Head
from ..errors import PonderoError, TransportError, Unreachable, WireError
from ..exchange import Answer, AsyncAnswer
from .cassette import Ending, Recorded
from .recorder import Take


class Played:
    """An answer out of the file; fails where the recorded one failed."""

    def __init__(self, recorded: Recorded) -> None:
        self._head = _begun(recorded)
        self._pieces = iter(recorded.pieces)
        self._end = recorded.end

    @property
    def head(self) -> Head:
        """Return status and headers."""
        return self._head

    def __iter__(self) -> Iterator[bytes]:
        """Yield the recorded pieces."""
        yield from self._pieces
        if error := _failure(self._end):
            raise error

    def close(self) -> None:
        """Read nothing more."""
        self._pieces, self._end = iter(()), None


class AsyncPlayed:
    """An answer out of the file, for asyncio."""

    def __init__(self, recorded: Recorded) -> None:
        self._played = Played(recorded)

    @property
    def head(self) -> Head:
        """Return status and headers."""
        return self._played.head

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the recorded pieces; other tasks run, and may cancel, before each."""
        await _let_others_run()
        for piece in self._played:
            yield piece
            await _let_others_run()

    async def aclose(self) -> None:
        """Read nothing more."""
        self._played.close()


class Taken:
    """An answer that is recorded while it is read."""

    def __init__(self, answer: Answer, take: Take) -> None:
        take.begin(answer.head)
        self._answer = answer
        self._take = take

    @property
    def head(self) -> Head:
        """Return status and headers."""
        return self._answer.head

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces as they come."""
        try:
            for piece in self._answer:
                self._take.feed(piece)
                yield piece
        except Exception as error:
            self._take.fail(error)
            raise
        self._take.eof()

    def close(self) -> None:
        """Let go at once; what came is kept."""
        self._answer.close()


class AsyncTaken:
    """An answer that is recorded while it is read, for asyncio."""

    def __init__(self, answer: AsyncAnswer, take: Take) -> None:
        take.begin(answer.head)
        self._answer = answer
        self._take = take

    @property
    def head(self) -> Head:
        """Return status and headers."""
        return self._answer.head

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the pieces as they come."""
        try:
            async for piece in self._answer:
                self._take.feed(piece)
                yield piece
        except Exception as error:
            self._take.fail(error)
            raise
        self._take.eof()

    async def aclose(self) -> None:
        """Let go at once; what came is kept."""
        await self._answer.aclose()


def _begun(recorded: Recorded) -> Head:
    """Return the head of the answer; where the wait for it failed, fail again."""
    if recorded.head is not None:
        return recorded.head
    raise _failure(recorded.end) or Unreachable("the recorded request was given up by its caller")


def _failure(end: Ending | None) -> PonderoError | None:
    """Return the error an answer ended in; none where its reader closed it."""
    if end is None or end.error is None:
        return None
    kind = getattr(errors, end.error, TransportError)
    if not (isinstance(kind, type) and issubclass(kind, TransportError | WireError)):
        kind = TransportError
    error: PonderoError = kind.__new__(kind)
    error.args = (end.message,)  # as it was said; some add to it when they are made
    return error


@coroutine
def _let_others_run() -> Generator[None]:
    yield
