"""Tokens as this wire counts them, to disjoint buckets.

``tokens`` are the real ones, ``billed_units`` what is paid for. Thinking stands inside the output,
and only newer answers say how much; cached tokens stand inside the input, pictures beside it.
"""

from pondero.canon import Json, Usage


def usage_of(raw: Json) -> Usage:
    """Return the buckets; all unknown where nothing was counted."""
    tokens = raw.get("tokens") if isinstance(raw, dict) else None
    if not isinstance(tokens, dict):
        return Usage()
    given, made = _count(tokens.get("input_tokens")), _count(tokens.get("output_tokens"))
    shown = _count(tokens.get("image_tokens")) or 0
    thought, cached = _count(tokens.get("reasoning_tokens")), _count(raw.get("cached_tokens"))
    if given is None or made is None:
        return Usage(input=given, output=made)
    thought = None if thought is None else min(thought, made)
    cached = None if cached is None else min(cached, given)
    return Usage(
        input=given - (cached or 0) + shown,
        cache_read=cached,
        output=made - (thought or 0),
        thinking=thought,
        total=given + shown + made,
    )


def _count(value: Json) -> int | None:
    """Return a count; the service types them as floats."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(int(value), 0) if value == value and abs(value) < 2**63 else None  # noqa: PLR0124 - NaN
