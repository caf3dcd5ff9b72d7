"""What this wire takes of a past that others made."""

from collections.abc import Mapping

from pondero.canon import Json, Takes


def takes(_quirks: Mapping[str, Json]) -> Takes:
    """Return what a handoff must know: who reads a seal, which ids and media are taken."""
    return Takes(
        seals="route+model",
        id_pattern=r"\S{1,64}",
        minted=False,
        unsealed=True,  # thoughts are never signed here; their signature is on what follows
        spoken_media=("",),
    )
