"""What pictures and documents cost at most: Claude's are the highest that AWS documents."""

from pondero.dialects.media_rules import MediaRules, Size

_LARGEST = 4_784  # tokens of a picture on Claude models with high resolution
_PAGE_TEXT = 3_000  # tokens of the text of a page, which is a picture too


def _bound_picture(_model: str, _size: Size | None) -> int:
    return _LARGEST


MEDIA = MediaRules(picture=_bound_picture, page=_PAGE_TEXT + _LARGEST)
