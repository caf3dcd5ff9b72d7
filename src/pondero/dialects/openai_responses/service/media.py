"""What media cost at most (vendor pages on vision, files and audio, 2026-11).

Models count squares of 32 pixels, times a factor of at most 2.46, or tiles of 512 pixels of a
picture that was made smaller: at most eight, of 170 tokens each, and 85 more. Only gpt-4o-mini
counts 2,833 and 5,667.
"""

from math import ceil

from pondero.dialects.media_rules import MediaRules, Size, count_patches

_SIDE, _FACTOR = 32, 2.46
_TILED = 85 + 8 * 170
_TILED_MINI = 2_833 + 8 * 5_667
_LARGEST = 16_384  # 10,000 squares in ``original`` detail, times 1.62; Qwen-VL's limit is higher
_SECOND = 10  # a token for 100 ms
_PAGE = 3_000 + ceil(2_500 * 1.62)  # the text of a page, and its picture in high detail


def _bound_picture(model: str, size: Size | None) -> int:
    if "4o-mini" in model:
        return _TILED_MINI
    if size is None:
        return _LARGEST
    return min(_LARGEST, max(_TILED, ceil(count_patches(size, _SIDE) * _FACTOR)))


MEDIA = MediaRules(picture=_bound_picture, page=_PAGE, second=_SECOND)
