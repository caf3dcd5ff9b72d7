"""The dialects that laws and checks run over; a new one joins them by being in the registry."""

from pondero.dialects import NAMES, Dialect
from pondero.dialects import get_dialect as registered
from pondero.dialects.registry import make_dialect

SKELETON = make_dialect("skeleton", "tests.skeleton")

WITH_SKELETON = (*NAMES, SKELETON.name)
"""Every dialect, and the one that new ones are copied from."""


def dialect(name: str) -> Dialect:
    """Return a dialect of the registry, or the skeleton."""
    return SKELETON if name == SKELETON.name else registered(name)
