"""What this wire takes of a past that others made."""

from collections.abc import Mapping

from ...canon import Json


def takes(quirks: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a handoff must know: who reads a seal, which ids and media are taken."""
    del quirks
    return {
        "minted": False,
        "unsealed": True,  # nothing is sealed here
        "media": ("image/",),
        "addresses": False,
        "result_media": (),
    }
