"""The result of one check of this machine, as ``pondero doctor`` prints it."""

from msgspec import Struct


class HealthCheck(Struct, frozen=True):
    """The result of one check. ``ok`` is None if it is information only."""

    check: str
    ok: bool | None
    value: str
    fix: str | None = None
