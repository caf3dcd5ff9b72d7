"""The service's table of models: models.toml, apart from the catalog."""

import re
from functools import cache

from msgspec import Struct

from pondero.dialects.tables import load_table

_HOSTED = (
    *("google_search", "code_execution", "url_context", "file_search", "google_maps"),
    *("computer_use", "mcp_server"),
)


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of models.toml, which explains each field."""

    max_output: int = 65_536
    match: tuple[str, ...] = ()
    like: str | None = None
    levels: tuple[str, ...] = ()
    thinks: bool = True
    signs: bool = False
    window: int = 1_048_576
    functions: bool = True
    json: bool = True
    takes: tuple[str, ...] = ("image", "audio", "video", "document")
    hosted: tuple[str, ...] = _HOSTED


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in models.toml."""

    models: tuple[Model, ...]

    def model(self, name: str) -> Model | None:
        """Return the row of a model, by the longest beginning of its name."""
        rows = {beginning: row for row in self.models for beginning in row.match}
        fitting = [each for each in rows if name == each or name.startswith(f"{each}-")]
        if fitting:
            return rows[max(fitting, key=len)]
        newer = (row for row in self.models if row.like and re.fullmatch(row.like, name))
        return next(newer, None)


@cache
def table() -> Table:
    """Return the table, read once."""
    return load_table(__package__, "models.toml", Table)
