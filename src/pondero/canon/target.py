"""Where a request goes: the deployment as a dialect needs to know it, key included."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from .parts import Json


class Target(Struct, frozen=True):
    """One deployment of a wire. ``route`` tells seals of one deployment from another's.

    ``headers`` carry the authorisation; ``max_output`` is what the model can write, for wires
    where a cap must be sent; ``quirks`` are the provider's typed oddities from the catalog.
    """

    route: str
    url: str
    headers: Mapping[str, str] = {}
    max_output: int | None = None
    quirks: Mapping[str, Json] = {}

    def __repr__(self) -> str:
        """Say where it is without the values of its headers: a key is among them."""
        return f"Target({self.route!r}, {self.url!r}, headers={sorted(self.headers)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("route", self.route), ("url", self.url), ("headers", sorted(self.headers))]
