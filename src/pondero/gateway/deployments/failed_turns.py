"""Why the models of a route did not answer, and which of them is asked once more."""

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from ...catalog import ModelEntry
from ...errors import PonderoError, RateLimited, ServiceError, UsageError
from ...exchange import Retry
from .accounts import AccountFull, AccountRejection, ModelTurn, find_delay
from .room_wait import RoomWait

_ONCE = Retry(attempts=1)


class _RetryUnlessFull(Retry, frozen=True):
    """Retries what a service said; ``RoomWait`` says which account is waited for."""

    def again(self, error: PonderoError, tries: int) -> bool:
        return not isinstance(error, AccountFull) and super().again(error, tries)


def find_retry(retry: Retry, turn: ModelTurn) -> Retry:
    """Return how often to ask a model; another deployment of it is the better retry."""
    if not turn.is_last:
        return _ONCE
    retry = replace(retry, attempts=retry.attempts - turn.tried) if turn.tried else retry
    return _RetryUnlessFull(*astuple(retry)) if turn.is_shared else retry


class _LimitEnd(Struct, frozen=True):
    """A model without room; ``due``: seconds of waiting after which it may have some."""

    turn: ModelTurn
    error: ServiceError
    due: float


class FailedTurns(Struct, eq=False):
    """The failures of one request; ``retry``: how often a model is asked if no other is left.

    ``error``: why the latest model did not answer, and ``entry``: which one that was. That a model
    cannot be asked so counts only if no other was asked: it may be an account that cannot read the
    conversation of another.
    """

    _retry: Retry
    _jitter: Callable[[], float]
    _room: RoomWait = field(default_factory=RoomWait)
    _limit_ends: dict[str, _LimitEnd] = {}  # of those that said when they have room, by breaker
    _rejected: list[ModelTurn] = []
    _resting: list[ModelTurn] = []
    _cut: tuple[ModelTurn, PonderoError] | None = None
    error: PonderoError | None = None
    entry: ModelEntry | None = None

    def find_told(self) -> tuple[PonderoError | None, ModelEntry | None]:
        """Return what the client is told, and of which model: of limits, the one that ends first.

        Its delay is when to ask again, not that of the account which happened to be the last.
        """
        is_limit = isinstance(self.error, RateLimited)
        if not is_limit or isinstance(self.error, AccountRejection) or not self._limit_ends:
            return self.error, self.entry
        first = min(self._limit_ends.values(), key=lambda each: each.due)
        return first.error, first.turn.entry

    def note_rest(self, turn: ModelTurn, resting: PonderoError, *, is_guess: bool) -> None:
        """Note a model that is not asked, because it failed before; ``is_guess``: by our rule."""
        self._room.note_end()
        if is_guess and turn.account:
            self._resting.append(turn)
        if self.error is None or isinstance(self.error, UsageError):
            self.error, self.entry = resting, turn.entry

    def note(self, turn: ModelTurn, error: PonderoError) -> list[ModelTurn]:
        """Note a failure; return who is asked next because of it."""
        self._room.note_end(error)
        if not isinstance(error, UsageError) or isinstance(self.error, UsageError | None):
            self.error, self.entry = error, turn.entry
        if isinstance(error, AccountRejection):
            self._rejected.append(turn)
        self._note_limit(turn, error)
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

    def _note_limit(self, turn: ModelTurn, error: PonderoError) -> None:
        """Note when a model has room, if its account or its service said so."""
        self._limit_ends.pop(turn.breaker, None)
        if isinstance(error, AccountRejection) or not isinstance(error, RateLimited):
            return
        due = self._room.waited + find_delay(error)
        self._limit_ends[turn.breaker] = _LimitEnd(turn, error, due)
        if isinstance(error, AccountFull) and turn.is_shared:  # one that is alone was waited for
            self._room.add(turn.breaker, error)

    def _find_soonest(self) -> list[ModelTurn]:
        """Return the deployment that has room first, to wait for it; nothing if that is long."""
        if (chosen := self._room.choose()) is None:
            return []
        name, patience = chosen
        turn = self._limit_ends[name].turn
        return [replace(turn, patience=patience, is_last=True, is_home=False)]

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
