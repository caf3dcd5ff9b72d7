"""Rules for asking another model after a failure, before any part of an answer was emitted."""

from collections.abc import Mapping, Sequence

from ..canon import Message
from ..catalog import ModelEntry
from ..errors import (
    BadRequest,
    ContextTooLong,
    Overloaded,
    PonderoError,
    ServerFailed,
    StoreError,
    TransportError,
    WireError,
)
from .retry import Retry

PATIENCE = 5.0
"""Longest delay in seconds to accept while another model could answer."""

MOVES_ON: Mapping[type[PonderoError], bool] = {
    ContextTooLong: True,  # another model may have a larger window
    BadRequest: False,  # the request itself is wrong
    StoreError: False,  # a model answered, and that could not be stored
    PonderoError: True,
}
"""Kind of failure -> whether another model might succeed; the first match counts."""

_FAULTS = (Overloaded, ServerFailed, TransportError, WireError)


def is_fallback_error(error: PonderoError) -> bool:
    """Return whether another model might succeed after this failure."""
    return next(moves for kind, moves in MOVES_ON.items() if isinstance(error, kind))


def is_deployment_fault(error: PonderoError) -> bool:
    """Return whether the deployment failed, not the request."""
    return isinstance(error, _FAULTS)


def gave_last_answer(entry: ModelEntry, messages: Sequence[Message]) -> bool:
    """Return whether a model gave the last answer: it has the signatures and the cache."""
    last = next((each.origin for each in reversed(messages) if each.origin is not None), None)
    return last is not None and (entry.provider.name, entry.model) == (last.provider, last.model)


def shorten_retries(retry: Retry) -> Retry:
    """Return a shorter retry policy, for use while another model could answer."""
    return Retry(
        attempts=min(retry.attempts, 3),
        base=retry.base,
        cap=min(retry.cap, PATIENCE),
        patience=min(retry.patience, PATIENCE),
        waits=retry.waits,
    )
