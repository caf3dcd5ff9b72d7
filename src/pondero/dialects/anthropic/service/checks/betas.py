"""The betas that a request switches on."""

from collections.abc import Set as AbstractSet
from functools import cache

from msgspec import Struct

from pondero.dialects.tables import load_table

from ..errors import reject


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    betas: tuple[str, ...]


@cache
def _load_betas() -> frozenset[str]:
    return frozenset(load_table(__package__, "betas.toml", _Table).betas)


def check_betas(betas: AbstractSet[str]) -> None:
    """Reject betas that do not exist."""
    if strange := sorted(betas - _load_betas()):
        reject("unknown_beta", betas=", ".join(f"`{each}`" for each in strange))
