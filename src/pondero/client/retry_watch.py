"""Tells the program that shows an answer that its request failed and will be sent again."""

from collections.abc import Callable
from contextvars import ContextVar

from ..errors import PonderoError

RETRY_WATCHER: ContextVar[Callable[[PonderoError, float], None] | None] = ContextVar(
    "retry_watcher", default=None
)
"""Called in the task or thread that asks, with each failure and the seconds of the wait."""
