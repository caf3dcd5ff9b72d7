"""Reads how many tokens of a count are of which medium, in the two forms that services have.

OpenAI writes an object (``{"audio_tokens": 3}``), Google a list
(``[{"modality": "AUDIO", "tokenCount": 3}]``, in its Interactions API with ``tokens``).
"""

from msgspec.structs import replace

from ..canon import MEDIA, Blob, Image, Json, MediaKind, Usage, fit_media, known_count

_FIELDS: dict[str, MediaKind] = {f"{medium}_tokens": medium for medium in MEDIA}
_TEXTS = ("TEXT", "text")
_MODALITIES: dict[str, MediaKind] = {
    word: medium for medium in MEDIA for word in (medium, medium.upper())
}


def has_media(*details: Json) -> bool:
    """Return whether the details of counts may have more than text: nearly none do.

    It calls nothing, because every answer is looked at.
    """
    for each in details:
        if type(each) is dict:
            for name in _FIELDS:
                if each.get(name):
                    return True
        elif type(each) is list:
            for item in each:
                if type(item) is not dict or "modality" not in item:
                    return True
                if item["modality"] not in _TEXTS:
                    return True
    return False


def read_media(*details: Json) -> dict[MediaKind, int]:
    """Return the tokens of each medium in the details of counts; text is left out."""
    found: dict[MediaKind, int] = {}
    for each in details:
        if isinstance(each, dict):
            for name, medium in _FIELDS.items():
                _add(found, medium, each.get(name))
        elif isinstance(each, list):
            for item in each:
                modality = item.get("modality") if isinstance(item, dict) else None
                if isinstance(modality, str) and modality in _MODALITIES:
                    _add(found, _MODALITIES[modality], item.get("tokenCount", item.get("tokens")))
    return found


def put_media(
    used: Usage, *, prompt: tuple[Json, ...], written: Json, cached: Json = None
) -> Usage:
    """Return counts with the media that their details report; ``prompt`` includes ``cached``."""
    media = fit_media(
        input=used.input,
        cache_read=used.cache_read,
        output=(used.output or 0) + (used.thinking or 0),
        prompt=read_media(*prompt),
        cached=read_media(cached),
        written=read_media(written),
    )
    return replace(used, media=media)


def _add(found: dict[MediaKind, int], medium: MediaKind, count: Json) -> None:
    if known := known_count(count):
        found[medium] = found.get(medium, 0) + known


def find_medium(part: Image | Blob) -> MediaKind | None:
    """Return the medium of a part; None for a document."""
    if isinstance(part, Image):
        return "image"
    return _MODALITIES.get(part.media_type.partition("/")[0])
