"""Why the models of a route did not answer, and which of them is asked once more."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ...catalog import ModelEntry
from ...errors import PonderoError, RateLimited, UsageError
from ...exchange import Retry
from .accounts import LAST_PATIENCE, AccountFull, AccountRejection, ModelTurn, find_delay

_ONCE = Retry(attempts=1)


def find_retry(retry: Retry, turn: ModelTurn) -> Retry:
    """Return how often to ask a model; another deployment of it is the better retry."""
    if not turn.is_last:
        return _ONCE
    return replace(retry, attempts=retry.attempts - turn.tried) if turn.tried else retry


class FailedTurns(Struct, eq=False):
    """The failures of one request; ``retry``: how often a model is asked if no other is left.

    ``error``: what its client is told, and ``entry``: of which model. That a model cannot be asked
    so is told only if no other was: it may be an account that cannot read the conversation of
    another.
    """

    _retry: Retry
    _jitter: Callable[[], float]
    _full: list[tuple[ModelTurn, AccountFull]] = []
    _rejected: list[ModelTurn] = []
    _resting: list[ModelTurn] = []
    _cut: tuple[ModelTurn, PonderoError] | None = None
    error: PonderoError | None = None
    entry: ModelEntry | None = None

    def note_rest(self, turn: ModelTurn, resting: PonderoError, *, is_guess: bool) -> None:
        """Note a model that is not asked, because it failed before; ``is_guess``: by our rule."""
        if is_guess and turn.account:
            self._resting.append(turn)
        if self.error is None or isinstance(self.error, UsageError):
            self.error, self.entry = resting, turn.entry

    def note(self, turn: ModelTurn, error: PonderoError) -> list[ModelTurn]:
        """Note a failure; return who is asked next because of it."""
        if not isinstance(error, UsageError) or isinstance(self.error, UsageError | None):
            self.error, self.entry = error, turn.entry
        if isinstance(error, AccountRejection):
            self._rejected.append(turn)
        elif isinstance(error, AccountFull):
            self._full.append((turn, error))
        if isinstance(error, UsageError | AccountFull):  # it was not asked
            return self._retry_asked(turn) if turn.is_last else []
        self._cut = None if turn.is_last else (turn, error)
        return _find_return(turn, error)

    def find_last(self) -> list[ModelTurn]:
        """Return whom to ask if no other is left: one that has room soon, else those we paused.

        How long an account is paused whose key or credit was rejected, or that failed often, is a
        guess: it may answer. Of those that failed, which may take long, one is asked.
        """
        if soonest := self._find_soonest():
            return soonest
        last = [*self._rejected, *self._resting[:1]]
        self._rejected, self._resting = [], []
        return [replace(each, is_forced=True, is_last=True, is_home=False) for each in last]

    def _find_soonest(self) -> list[ModelTurn]:
        """Return the deployment that has room soonest, to wait for it; nothing if that is long."""
        if not self._full:
            return []
        turn, error = min(self._full, key=lambda each: each[1].retry_after or 0.0)
        self._full = []
        if turn.patience >= LAST_PATIENCE or (error.retry_after or 0.0) > LAST_PATIENCE:
            return []
        return [replace(turn, patience=LAST_PATIENCE, is_last=True)]

    def _retry_asked(self, turn: ModelTurn) -> list[ModelTurn]:
        """Return the account that was asked before one which was not: it has its retries yet."""
        if self._cut is None:
            return []
        (cut, error), self._cut = self._cut, None
        is_other = (cut.entry.provider, cut.entry.model) != (turn.entry.provider, turn.entry.model)
        if is_other or not self._retry.again(error, 1):
            return []
        delay = self._retry.wait(error, 1, self._jitter)
        return [replace(cut, is_last=True, is_home=False, tried=1, delay=delay)]


def _find_return(turn: ModelTurn, error: PonderoError) -> list[ModelTurn]:
    """Return the home of a conversation once more after a 429 whose delay it can wait for.

    The account is paused for that delay, so its transport waits. A move costs cache and signatures.
    """
    if not turn.is_home or turn.is_last or not isinstance(error, RateLimited):
        return []  # the last deployment has retries of its own
    if isinstance(error, AccountFull) or find_delay(error) > turn.patience:
        return []
    return [replace(turn, is_home=False)]
