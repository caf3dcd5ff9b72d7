"""Decides whether to retry a failed exchange, and after which delay; does not sleep."""

from collections.abc import Callable

from msgspec import Struct

from ..errors import (
    BadParameter,
    Overloaded,
    PonderoError,
    RateLimited,
    ServerFailed,
    ServiceError,
    Timeout,
    Truncated,
    Unreachable,
)
from .transport import check_seconds

_TRANSIENT = (Overloaded, RateLimited, ServerFailed, Timeout, Unreachable, Truncated)


class Retry(Struct, frozen=True):
    """How often to try an exchange of which nothing was shown, and how long to wait.

    ``ask`` and ``send`` show nothing before they return; a stream does with its first words.

    A service's delay above ``patience`` ends it. Default: a random time up to ``min(cap, base *
    2**n)``.

    >>> client = pondero.Client(retry=pondero.Retry(attempts=2, patience=10))
    """

    attempts: int = 4
    base: float = 0.5
    cap: float = 30.0
    patience: float = 120.0
    waits: bool = True

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise BadParameter(f"invalid attempts={self.attempts!r}; use a whole number from 1")
        for name in ("base", "cap", "patience"):
            check_seconds(name, getattr(self, name), least=0.0)

    def again(self, error: PonderoError, tries: int) -> bool:
        """Return whether to try again after this number of tries."""
        if tries >= self.attempts or not isinstance(error, _TRANSIENT):
            return False
        return (_requested_delay(error) or 0.0) <= self.patience

    def wait(self, error: PonderoError, tries: int, jitter: Callable[[], float]) -> float:
        """Return the delay in seconds; ``jitter`` returns a number from 0 to 1."""
        if not self.waits:
            return 0.0
        delay = _requested_delay(error)
        if delay is not None:
            return delay
        return min(self.cap, self.base * 2.0 ** (tries - 1)) * jitter()


def _requested_delay(error: PonderoError) -> float | None:
    return error.retry_after if isinstance(error, ServiceError) else None
