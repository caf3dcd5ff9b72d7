"""The server's own table of models: what each takes, and who must show a key."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

from pondero.canon import converted


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of models.toml, where each field is explained."""

    match: tuple[str, ...]
    thinks: Literal["no", "on", "always"]


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in models.toml."""

    keyless: tuple[str, ...]
    absent: tuple[str, ...]
    words: tuple[str, ...]
    models: tuple[Model, ...]

    def model(self, name: str) -> Model | None:
        """Return the row with the longest match of a model's name; None where it is not pulled."""
        bare = name.rpartition("/")[2]
        if bare.partition(":")[0] in self.absent:
            return None
        rows = {beginning: row for row in self.models for beginning in row.match}
        fitting = [each for each in rows if _begins(each).match(bare)]
        return rows[max(fitting, key=len)]


@cache
def _begins(beginning: str) -> re.Pattern[str]:
    anything = ".*".join(re.escape(piece) for piece in beginning.split("*"))
    return re.compile(rf"{anything}(?=[:-]|$)" if beginning else "")


@cache
def table() -> Table:
    """Return the table, read once."""
    text = Path(__file__).with_name("models.toml").read_text("utf-8")
    return converted(tomllib.loads(text), Table)
