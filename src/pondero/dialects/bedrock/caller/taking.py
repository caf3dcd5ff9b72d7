"""What this wire takes of a past that others made."""

from collections.abc import Mapping

from pondero.canon import Json, Takes

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_DOCUMENTS = ("application/pdf", "text/plain", "text/csv", "text/html", "text/markdown")


def takes(_quirks: Mapping[str, Json]) -> Takes:
    """Return what a handoff must know: who reads a seal, which ids and media are taken."""
    return Takes(
        seals="route+model",
        id_pattern=r"[a-zA-Z0-9_.:-]{1,64}",
        begins_with_user=True,
        media=(*_IMAGES, *_DOCUMENTS, "application/vnd.", "application/msword", "video/"),
        result_media=(*_IMAGES, *_DOCUMENTS),
        addresses=False,  # but for a few models and one kind of address
    )
