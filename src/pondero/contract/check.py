"""One thing that must be so, and what was found instead."""

from msgspec import Struct

from ..canon import Json


class Check(Struct, frozen=True):
    """A field, what it should be, what it is. ``offer``: it need not be so everywhere."""

    field: str
    expected: Json
    actual: Json
    holds: bool
    offer: bool = False

    def __str__(self) -> str:
        if self.expected is None and self.actual is None:
            return self.field
        return f"{self.field}: expected {self.expected!r}, got {self.actual!r}"


def same(field: str, expected: Json, actual: Json) -> Check:
    """Return a check that two values are equal."""
    return Check(field, expected, actual, bool(expected == actual))


def true(field: str, expected: str, actual: Json, *, holds: bool) -> Check:
    """Return a check of something that is said in words."""
    return Check(field, expected, actual, holds)


def offered(field: str, expected: str, actual: Json, *, holds: bool) -> Check:
    """Return a check of what the other side may or may not do.

    The emulator does everything, so there it is a failure like any other.
    """
    return Check(field, expected, actual, holds, offer=True)


class Failing(Exception):
    """A check that did not hold."""

    def __init__(self, check: Check) -> None:
        super().__init__(str(check))
        self.check = check


class Lacking(Failing):
    """The other side does not do this; nothing is wrong."""


def lacking(why: str) -> Lacking:
    """Return what to raise where something cannot be done here at all."""
    return Lacking(Check(why, None, None, holds=False, offer=True))
