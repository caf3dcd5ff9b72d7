"""What this wire takes of a past that others made."""

from collections.abc import Mapping

from ...canon import Json

_MEDIA = ("image/", "application/pdf", "text/plain")


def takes(quirks: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a handoff must know: who reads a seal, which ids and media are taken."""
    del quirks
    return {
        "seals": "route+model",
        "id_pattern": r"[a-zA-Z0-9_-]{1,64}",
        "media": _MEDIA,
        "result_media": _MEDIA,
    }
