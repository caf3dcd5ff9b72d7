"""``[responses]``: where answers of the Responses API are kept, and how long."""

from .model import ResponsesConfig
from .rows import ConfigRows, Place
from .server_section import LEDGERS, check_store

STORES = ("state", "sqlite", "off")
"""The words for a store; anything else is an address."""


def read_responses(rows: ConfigRows) -> ResponsesConfig:
    """Return the settings of kept answers; raises BadConfig."""
    place: Place = ("responses",)
    row = rows.table(rows.file.values.get("responses", {}), place)
    found = rows.build(row, ResponsesConfig, place)
    check_store(rows, (*place, "store"), found.store, STORES, LEDGERS)
    return found
