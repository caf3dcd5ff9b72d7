"""The service's table of models (models.toml), for ``rules``.

The table is written apart from the catalog; tests compare the two.
"""

import tomllib
from functools import cache
from pathlib import Path

from msgspec import Struct

from pondero.canon import converted

HOME = "cohere"
"""The provider that is meant where none is named."""


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """What one line of models takes; models.toml says what each field means."""

    match: tuple[str, ...]
    thinks: bool = False
    images: bool = False


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in models.toml."""

    models: tuple[Model, ...]

    def model(self, name: str) -> Model | None:
        """Return the row of a model, by the longest beginning of its name."""
        rows = {beginning: row for row in self.models for beginning in row.match}
        fitting = [each for each in rows if f"{name}-".startswith(f"{each}-")]
        return rows[max(fitting, key=len)] if fitting else None


@cache
def table() -> Table:
    """Return the table, read once."""
    text = Path(__file__).with_name("models.toml").read_text("utf-8")
    return converted(tomllib.loads(text), Table)
