"""A turn of a chat while it happens: its events, and in the end its reply."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from types import TracebackType
from typing import Self

from ..canon import Event, Reply
from ..errors import UsageError
from .turn import Turn


class Course:
    """What is known of a turn, whoever waits for it."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    @property
    def replies(self) -> tuple[Reply, ...]:
        """Return the replies of all exchanges of this turn that have ended."""
        return tuple(self._turn.replies)

    @property
    def reply(self) -> Reply:
        """Return the turn's last reply, after its end."""
        if not self._turn.ended:
            raise UsageError("the turn has not ended; read its events to the end first")
        return self._turn.replies[-1]


class TurnStream(Course):
    """The events of one turn; leaving it early, or closing it, frees the connection at once."""

    def __init__(self, turn: Turn, events: Generator[Event, None, None]) -> None:
        super().__init__(turn)
        self._events = events

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def close(self) -> None:
        """Stop, and let go of the connection; may be called twice."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncTurnStream(Course):
    """The events of one turn; ``async with`` frees the connection at once when left early."""

    def __init__(self, turn: Turn, events: AsyncGenerator[Event, None]) -> None:
        super().__init__(turn)
        self._events = events

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def aclose(self) -> None:
        """Stop, and let go of the connection; may be called twice."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
