"""What this wire takes of a past that others made."""

from collections.abc import Mapping

from pondero.canon import Json, Takes

_MEDIA = ("image/", "application/pdf", "text/plain")


def takes(_quirks: Mapping[str, Json]) -> Takes:
    """Return what a handoff must know: who reads a seal, which ids and media are taken."""
    return Takes(
        seals="route+model",
        id_pattern=r"[a-zA-Z0-9_-]{1,64}",
        media=_MEDIA,
        result_media=_MEDIA,
    )
