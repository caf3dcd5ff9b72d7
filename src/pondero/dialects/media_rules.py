"""The most tokens that a service counts for pictures, documents and sounds inside a request."""

from collections.abc import Callable
from math import ceil

from msgspec import Struct

Size = tuple[int, int]
"""Width and height of a picture, in pixels."""

_PICTURE = 16_384  # the highest limit of any service: Qwen-VL's own default (vendor page)


def count_patches(size: Size, side: int) -> int:
    """Return how many squares of this side cover a picture."""
    return ceil(size[0] / side) * ceil(size[1] / side)


def _bound_picture(_model: str, _size: Size | None) -> int | None:
    return _PICTURE


class MediaRules(Struct, frozen=True, kw_only=True):
    """What media cost at most; None stands for an amount that no page of the vendor limits.

    ``picture`` takes the model and the size, None if that is not known. ``page`` is a page of a
    PDF, of which a request may have ``most_pages``. ``second`` is a second of sound.
    """

    picture: Callable[[str, Size | None], int | None] = _bound_picture
    page: int | None = None
    most_pages: int | None = None
    second: int | None = None
