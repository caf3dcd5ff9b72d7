"""Token counts of an answer, in buckets that do not overlap."""

from typing import Any

import msgspec

from pondero.canon import Json, Usage


def usage(raw: Json) -> Usage:
    """Return the counts in disjoint buckets; on this wire the totals include the details."""
    if not isinstance(raw, dict):
        return Usage()
    given, written = _count(raw, "input_tokens"), _count(raw, "output_tokens")
    details, thought = raw.get("input_tokens_details"), raw.get("output_tokens_details")
    cached, stored = _count(details, "cached_tokens"), _count(details, "cache_write_tokens")
    thinking = _count(thought, "reasoning_tokens")
    buckets = Usage(
        input=_rest(given, cached, stored),
        cache_read=cached,
        cache_write=stored,
        output=_rest(written, thinking),
        thinking=thinking,
    )
    total = _count(raw, "total_tokens")
    if total is None and not (given is None and written is None):
        total = buckets.counted
    return msgspec.structs.replace(buckets, total=total)


def _count(raw: Any, key: str) -> int | None:
    value = raw.get(key) if isinstance(raw, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # One recorded answer counts -9 tokens; a count is neither negative nor infinite.
    return max(0, int(value)) if -1e18 < value < 1e18 else None


def _rest(whole: int | None, *inside: int | None) -> int | None:
    if whole is None:
        return None
    return max(0, whole - sum(part for part in inside if part is not None))
