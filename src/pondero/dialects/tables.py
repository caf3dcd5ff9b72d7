"""Tables that the services' sides ship as TOML: their models and the limits of each."""

import tomllib
from importlib.resources import files
from typing import TypeVar

from ..canon import convert_json

T = TypeVar("T")


def load_table(package: str, name: str, kind: type[T]) -> T:
    """Load a TOML file of a package as a type; raises ValidationError if a value does not fit."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return convert_json(tomllib.loads(text), kind)
