"""What pictures cost at most (vendor page on images, 2026-11): 256 tokens for 12 tiles and one."""

from pondero.dialects.media_rules import MediaRules, Size

_LARGEST = 13 * 256


def _bound_picture(_model: str, _size: Size | None) -> int:
    return _LARGEST


MEDIA = MediaRules(picture=_bound_picture)
