"""What media cost at most (vendor pages on tokens and media resolution, 2026-11).

Before Gemini 3 a picture is cut into tiles of 768 pixels, each of 258 tokens. The side of a tile
is the shorter side divided by 1.5, at least 256 and at most 768. From Gemini 3 on, the resolution
limits a picture and a page.
"""

from pondero.dialects.media_rules import MediaRules, Size, count_patches

_TILE = 258
_LARGEST = 2_240  # tokens of MEDIA_RESOLUTION_ULTRA_HIGH


def _bound_picture(_model: str, size: Size | None) -> int | None:
    if size is None:
        return None
    side = min(768, max(256, int(min(size) / 1.5)))
    return max(_LARGEST, _TILE * count_patches(size, side))


MEDIA = MediaRules(picture=_bound_picture, page=_LARGEST, most_pages=1_000, second=32)
