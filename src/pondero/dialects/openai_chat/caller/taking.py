"""What this wire, in one of its deployments, takes of a past that others made."""

from collections.abc import Mapping

from pondero.canon import Json, Takes

from .quirks import quirks_of


def takes(quirks: Mapping[str, Json]) -> Takes:
    """Return what a handoff must know: who reads a seal, which ids and media are taken."""
    own = quirks_of(quirks)
    if own.tool_call_ids == "any":
        return Takes(seals="route+model", media=own.media, id_pattern=r"\S{1,40}")
    return Takes(seals="route+model", media=own.media, id_pattern="[A-Za-z0-9]{9}", id_length=9)
