"""Reads the service's token counts into disjoint buckets."""

from typing import Any

from pondero.canon import Json, Usage, known_count

_NAMES = ("input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details")
_CHAT_NAMES = (
    *("prompt_tokens", "completion_tokens"),
    *("prompt_tokens_details", "completion_tokens_details"),
)


def usage(raw: Json) -> Usage:
    """Return disjoint buckets; totals include details. Chat Completions' names are read too."""
    if not isinstance(raw, dict):
        return Usage()
    named = _NAMES if "input_tokens" in raw or "output_tokens" in raw else _CHAT_NAMES
    prompt, answer, of_prompt, of_answer = named
    given, written = known_count(raw.get(prompt)), known_count(raw.get(answer))
    total = known_count(raw.get("total_tokens"))
    read, said = given, written
    cached = stored = thinking = None
    if (details := raw.get(of_prompt)) is not None:
        cached, stored = _count(details, "cached_tokens"), _count(details, "cache_write_tokens")
        read = None if given is None else max(0, given - (cached or 0) - (stored or 0))
    if (details := raw.get(of_answer)) is not None:
        thinking = _count(details, "reasoning_tokens")
        said = None if written is None else max(0, written - (thinking or 0))
    if total is None and not (given is None and written is None):
        total = sum(filter(None, (read, cached, stored, said, thinking)))
    return Usage(read, cached, stored, said, thinking, total)


def _count(raw: Any, key: str) -> int | None:
    # One recorded answer counts -9 tokens.
    return known_count(raw.get(key)) if isinstance(raw, dict) else None
