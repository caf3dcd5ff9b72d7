"""Long work in steps: an event loop that runs it can do other work between them."""

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

WorkSteps: TypeAlias = Generator[None, None, T]
"""Stops between the steps of some work, and returns what the work leads to."""


def finish_steps(steps: WorkSteps[T]) -> T:
    """Return what steps lead to, all at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
