"""The service's own list of models, and what each of them takes."""

import re
from functools import cache
from importlib.resources import files
from typing import Literal

from msgspec import Struct
from msgspec.toml import decode

_SUFFIX = re.compile(r"(?:-latest|[-@]\d{8})?")


Kind = Literal["enabled", "adaptive", "disabled", "between_tools"]


class Family(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of models.toml, where each field is explained."""

    names: tuple[str, ...]
    thinking: tuple[Kind, ...]
    max_output: int
    sampling: Literal["free", "one", "none"]
    forced: Literal["free", "adaptive", "thinking_off", "never"]
    prefill: Literal["free", "thinking_off", "never"]
    unasked: Literal["off", "on"] = "off"
    display: Literal["shown", "omitted"] = "shown"
    efforts: tuple[str, ...] = ()
    off_below: tuple[str, ...] | None = None
    bound: bool = False


class _Service(Struct, frozen=True, forbid_unknown_fields=True):
    family: tuple[Family, ...]


@cache
def _families() -> dict[str, Family]:
    text = files(__package__).joinpath("models.toml").read_bytes()
    return {name: row for row in decode(text, type=_Service).family for name in row.names}


@cache
def family(model: str) -> Family | None:
    """Return the family of a model, be it named with a date or as the latest."""
    for name, row in _families().items():
        if model.startswith(name) and _SUFFIX.fullmatch(model, len(name)):
            return row
    return None
