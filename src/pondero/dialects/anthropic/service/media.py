"""What pictures and documents cost at most (vendor pages on vision and PDFs, 2026-11)."""

from pondero.dialects.media_rules import MediaRules, Size, count_patches

_LARGEST = 4_784  # tokens of a picture on models with high resolution; 1,568 on others
_SIDE = 27  # pixels: squares of 28, and fewer tokens than width x height / 750
_PAGE_TEXT = 3_000  # "1,500-3,000 tokens per page", and each page is also a picture


def _bound_picture(_model: str, size: Size | None) -> int:
    return _LARGEST if size is None else min(_LARGEST, count_patches(size, _SIDE))


MEDIA = MediaRules(picture=_bound_picture, page=_PAGE_TEXT + _LARGEST, most_pages=600)
