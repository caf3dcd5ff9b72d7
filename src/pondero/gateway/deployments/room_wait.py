"""Which of several accounts without room a request waits for: the one that has some first.

Another request may take that room; then the next account is waited for, as long as time is left.
"""

from msgspec import Struct

from ...errors import PonderoError
from .accounts import LAST_PATIENCE, AccountFull, find_delay

_SLICE = 0.5
"""Seconds to wait for one account, at least, before the others are asked again."""
_MARGIN = 0.01  # seconds: a sum of times may be a little less than its parts
_MOST = 50  # choices of one request, so that they end whatever the clock says


class RoomWait(Struct, eq=False):
    """The wait of one request, five seconds in all; ``waited``: seconds of it that are over."""

    waited: float = 0.0
    _due: dict[str, float] = {}  # by name: after how many seconds of waiting it may have room
    _slice: float = 0.0  # seconds that the account may take that was chosen last
    _choices: int = 0

    def add(self, name: str, error: AccountFull) -> None:
        """Note an account that has no room now, and may be waited for."""
        wait = find_delay(error)
        self._due[name] = self.waited + (min(wait, _SLICE) if error.may_end_early else wait)

    def note_end(self, error: PonderoError | None = None) -> None:
        """Note that the chosen account was asked, and how long that waited for room."""
        if self._slice:
            self.waited += self._slice - (error.left if isinstance(error, AccountFull) else 0.0)
            self._slice = 0.0

    def choose(self) -> tuple[str, float] | None:
        """Return the account to wait for and the seconds; None if none has room in time."""
        left = LAST_PATIENCE - self.waited
        name = min(self._due, key=lambda each: self._due[each], default=None)
        if name is None or left <= 0 or self._due[name] >= LAST_PATIENCE or self._choices == _MOST:
            return None
        self._choices += 1
        self._slice = min(max(self._due.pop(name) - self.waited, _SLICE) + _MARGIN, left)
        return name, self._slice
