"""When the next model is asked after one has failed, and which one is asked first.

One set of rules for the library's lists of models and for the gateway's routes. Nothing here is
asked once something of an answer was shown: then the failure is the caller's.
"""

from collections.abc import Mapping, Sequence

from ..canon import Message
from ..catalog import ModelEntry
from ..errors import (
    BadRequest,
    ContextTooLong,
    Overloaded,
    PonderoError,
    ServerFailed,
    TransportError,
    WireError,
)
from .retry import Retry

PATIENCE = 5.0
"""The longest wait that a service may ask for while another model could answer."""

MOVES_ON: Mapping[type[PonderoError], bool] = {
    ContextTooLong: True,  # another model may have a larger window
    BadRequest: False,  # the request itself is wrong
    PonderoError: True,
}
"""Kind of failure -> whether another model might do; the first kind that fits counts."""

_FAULTS = (Overloaded, ServerFailed, TransportError, WireError)


def is_fallback_error(error: PonderoError) -> bool:
    """Return whether another model might do after this failure."""
    return next(moves for kind, moves in MOVES_ON.items() if isinstance(error, kind))


def is_deployment_fault(error: PonderoError) -> bool:
    """Return whether a failure is a deployment's own, and not one of the request."""
    return isinstance(error, _FAULTS)


def gave_last_answer(entry: ModelEntry, messages: Sequence[Message]) -> bool:
    """Return whether a model gave a conversation's last answer: its seals and cache are there."""
    last = next((each.origin for each in reversed(messages) if each.origin is not None), None)
    return last is not None and (entry.provider.name, entry.model) == (last.provider, last.model)


def shorten_retries(retry: Retry) -> Retry:
    """Return how often a model is tried again while another could answer."""
    return Retry(
        attempts=min(retry.attempts, 3),
        base=retry.base,
        cap=min(retry.cap, PATIENCE),
        patience=min(retry.patience, PATIENCE),
        waits=retry.waits,
    )
