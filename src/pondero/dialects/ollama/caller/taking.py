"""What this wire takes of a past that others made."""

from collections.abc import Mapping

from pondero.canon import Json, Takes


def takes(_quirks: Mapping[str, Json]) -> Takes:
    """Return what a handoff must know: who reads a seal, which ids and media are taken."""
    return Takes(
        minted=False,
        unsealed=True,  # nothing is sealed here
        media=("image/",),
        addresses=False,
        result_media=(),
    )
