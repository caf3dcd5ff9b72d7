"""The tools that the vendor defines: which name, beta, model and platform each type needs."""

from collections.abc import Mapping
from functools import cache
from typing import Literal

from msgspec import Struct

from pondero.dialects.tables import load_table

Platform = Literal["anthropic", "vertex", "foundry"]
_SHARED = ("name", "allowed_callers", "defer_loading", "strict")


class VendorTool(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of vendor_tools.toml, where each field is explained."""

    name: str | None = None
    beta: str | None = None
    needs: Literal["search", "advisor"] | None = None
    not_on: tuple[Platform, ...] = ()
    also: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    set: bool = False

    @property
    def all_fields(self) -> tuple[str, ...]:
        """Return every field that the type has."""
        return ("type", "cache_control", *(() if self.set else _SHARED), *self.also)


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    tool: dict[str, VendorTool]


@cache
def vendor_tools() -> Mapping[str, VendorTool]:
    """Return the tools by type."""
    return load_table(__package__, "vendor_tools.toml", _Table).tool
