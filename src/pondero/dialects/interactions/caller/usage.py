"""Reads token counts into disjoint buckets; thoughts are outside the output (51 of 51 recorded)."""

from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from pondero.canon import Json, Usage, known_count
from pondero.dialects.media_counts import has_media, put_media


class Counts(Struct, frozen=True, gc=False):
    """The counts of an answer; a total below 0 means that there was none."""

    total_input_tokens: int | None = 0
    total_cached_tokens: int | None = 0
    total_output_tokens: int | None = 0
    total_thought_tokens: int | None = 0
    total_tool_use_tokens: int | None = 0
    total_tokens: int | None = -1
    input_tokens_by_modality: Json = None
    cached_tokens_by_modality: Json = None
    output_tokens_by_modality: Json = None
    tool_use_tokens_by_modality: Json = None


_get_counts = attrgetter(*Counts.__struct_fields__[:6])
_get_details = attrgetter(*Counts.__struct_fields__[6:])
_NO_COUNTS = _get_counts(Counts())


def usage(counts: Counts | None) -> Usage:
    """Return the buckets; all unknown if nothing was counted."""
    if counts is None or (found := _get_counts(counts)) == _NO_COUNTS:
        return Usage()
    *buckets, total = (each or 0 for each in found)
    if any(known_count(each) is None for each in buckets):
        return Usage()
    prompt, cached, output, thinking, tools = buckets
    cached = min(cached, prompt)
    used = Usage(
        input=prompt - cached + tools,
        cache_read=cached,
        output=output,
        thinking=thinking,
        total=total,
    )
    if has_media(*(details := _get_details(counts))):
        prompt_media, cached_media, written, tool_media = details
        used = put_media(
            used, prompt=(prompt_media, tool_media), cached=cached_media, written=written
        )
    return used if known_count(total) is not None else replace(used, total=used.known_total)
