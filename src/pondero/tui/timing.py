"""How long each exchange of a turn took, and when its first word came."""

from collections.abc import Callable

from msgspec import Struct

from ..canon import Event, Finished, TextDelta, ThinkingDelta, ToolDelta


class Lap(Struct, frozen=True):
    """One exchange: seconds from asking to its first word, and to its end."""

    first: float | None
    seconds: float


class Timing:
    """Feed it the events of a turn as they come; ``laps`` are the exchanges that have ended."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.laps: list[Lap] = []
        self._clock = clock
        self._began = clock()
        self._first: float | None = None

    def feed(self, event: Event) -> None:
        """Take one event."""
        if self._first is None and isinstance(event, TextDelta | ThinkingDelta | ToolDelta):
            self._first = self._clock() - self._began
        elif isinstance(event, Finished):
            self.laps.append(self.now())
            self._began, self._first = self._clock(), None

    def now(self) -> Lap:
        """Return the exchange under way, as if it ended now."""
        return Lap(self._first, self._clock() - self._began)
