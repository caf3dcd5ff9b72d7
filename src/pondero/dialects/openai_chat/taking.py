"""What this wire, in one of its deployments, takes of a past that others made."""

from collections.abc import Mapping

from ...canon import Json
from .quirks import quirks_of

_NINE = {"id_pattern": "[A-Za-z0-9]{9}", "id_length": 9}


def takes(quirks: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a handoff must know: who reads a seal, which ids and media are taken."""
    own = quirks_of(quirks)
    ids = {"id_pattern": r"\S{1,40}"} if own.tool_call_ids == "any" else _NINE
    return {"seals": "route+model", "media": own.media, **ids}
