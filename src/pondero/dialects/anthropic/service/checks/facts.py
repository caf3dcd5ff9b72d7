"""A request as the checks see it: typed and raw, with its model's row, its betas and its place."""

from typing import NamedTuple

from pondero.canon import Json

from .. import types
from ..models import Family
from .vendor_tools import Platform


class RequestFacts(NamedTuple):
    """A request of one model on one platform."""

    body: types.Body
    raw: Json
    row: Family
    platform: Platform
    betas: frozenset[str]

    def has_beta(self, *begins: str) -> bool:
        """Return whether a beta that begins so is on."""
        return any(beta.startswith(begins) for beta in self.betas)

    @property
    def off(self) -> bool:
        """Return whether the request switches thinking off."""
        return isinstance(self.body.thinking, types.Disabled | types.BetweenTools)

    @property
    def formats(self) -> list[tuple[str, Json]]:
        """Return the schemas of the answer, each with its path."""
        config = self.body.output_config
        shapes = {
            "output_config.format.schema": config.format if config else None,
            "output_format.schema": self.body.output_format,
        }
        return [(at, shape.schema) for at, shape in shapes.items() if shape is not None]
