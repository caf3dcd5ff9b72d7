"""How many tokens are audio, images or video: services may charge other prices for them.

Dialects read it from an answer; ``Usage`` has it, and the prices depend on it.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import astuple

MediaKind = Literal["audio", "image", "video"]
MEDIA: tuple[MediaKind, ...] = ("audio", "video", "image")
"""All media but text."""


class MediaTokens(Struct, frozen=True, omit_defaults=True):
    """Tokens that are no text; each is counted once, in the ``Usage`` that has them.

    ``input_*`` are part of its ``input``, ``cache_read_*`` of its ``cache_read``, ``output_*`` of
    ``output + thinking``.
    """

    input_audio: int = 0
    input_image: int = 0
    input_video: int = 0
    cache_read_audio: int = 0
    cache_read_image: int = 0
    cache_read_video: int = 0
    output_audio: int = 0
    output_image: int = 0
    output_video: int = 0

    def __add__(self, other: "MediaTokens") -> "MediaTokens":
        """Return the tokens of both together."""
        return MediaTokens(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def sum_counts(self, *counts: str) -> dict[MediaKind, int]:
        """Return the tokens of each medium in these counts together, such as ``input``."""
        return {
            medium: sum(getattr(self, f"{count}_{medium}") for count in counts) for medium in MEDIA
        }


def add_media(first: MediaTokens | None, second: MediaTokens | None) -> MediaTokens | None:
    """Return the tokens of both together; None if neither has any."""
    if first is None or second is None:
        return first or second
    return first + second


def fit_media(
    *,
    input: int | None,
    cache_read: int | None,
    output: int | None,
    prompt: Mapping[MediaKind, int],
    cached: Mapping[MediaKind, int],
    written: Mapping[MediaKind, int],
) -> MediaTokens | None:
    """Return reported media as parts of these counts; None if there are none.

    They are never more than the counts. ``prompt`` includes ``cached``, ``output`` thinking. If a
    service does not say which tokens it cached, it was the text, as far as possible: media cost
    more.
    """
    if not (prompt or cached or written):
        return None
    new_left, cached_left, output_left = input or 0, cache_read or 0, output or 0
    counts: dict[str, int] = {}
    for medium in MEDIA:
        again = cached.get(medium, 0)
        whole = max(prompt.get(medium, 0), again)
        new = min(whole - again, new_left)
        again = min(whole - new, cached_left)
        made = min(written.get(medium, 0), output_left)
        new_left, cached_left, output_left = new_left - new, cached_left - again, output_left - made
        counts |= {f"input_{medium}": new, f"cache_read_{medium}": again, f"output_{medium}": made}
    return MediaTokens(**counts) if any(counts.values()) else None
