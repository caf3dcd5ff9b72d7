"""Tools that a vendor defines and clients run: their schemas, for models of other vendors."""

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from ..canon import Json, Tool
from .tables import load_table


class ClientTool(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool of client_tools.toml, as a function.

    ``shown`` are settings of the tool that its description repeats. On APIs whose calls are items
    of their own kind: ``call`` and ``output`` are the types of the items, ``field`` has the
    arguments (``several``: as a list), and ``fixed`` what they always contain.
    """

    description: str
    properties: Mapping[str, Json]
    required: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    call: str = ""
    output: str = ""
    field: str = ""
    several: bool = False
    fixed: Mapping[str, Json] = {}

    def as_function(self, name: str, raw: Mapping[str, Json], dialect: str) -> Tool:
        """Return the tool that a client offers; its own API gets it as it is."""
        settings = [f"{key}: {raw[key]}" for key in self.shown if raw.get(key) is not None]
        description = " ".join(
            [self.description, *([f"({', '.join(settings)})"] if settings else [])]
        )
        schema = {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
        }
        return Tool(name, description, schema, raw=dict(raw), dialect=dialect)


@cache
def load_client_tools(package: str) -> Mapping[str, ClientTool]:
    """Load the tools of a service's side, by their types."""
    return load_table(package, "client_tools.toml", dict[str, ClientTool])
