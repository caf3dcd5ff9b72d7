"""Where a request goes: the deployment as a dialect needs to know it, key included."""

from collections.abc import Mapping

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
