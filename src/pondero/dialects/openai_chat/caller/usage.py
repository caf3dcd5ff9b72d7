"""The service's counts in disjoint buckets.

Thinking is inside the completion nearly everywhere and beside it on one surface; the total, where
there is one, says which. Counts that contradict each other are cut to fit, never negative.
"""

from pondero.canon import Json, Usage

_CACHED = (
    ("prompt_tokens_details", "cached_tokens"),
    ("cached_tokens",),
    ("prompt_cache_hit_tokens",),
    ("num_cached_tokens",),
    ("cache_read_input_tokens",),
)
_WRITTEN = (("prompt_tokens_details", "cache_write_tokens"), ("cache_creation_input_tokens",))
_THOUGHT = (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",))


def usage_of(raw: Json, *, outside: bool) -> Usage:
    """Return the buckets; ``outside`` is what holds where the total cannot tell."""
    if not isinstance(raw, dict):
        return Usage()
    prompt, completion = _count(raw.get("prompt_tokens")), _count(raw.get("completion_tokens"))
    thought, total = _first(raw, _THOUGHT), _count(raw.get("total_tokens"))
    if prompt is None or completion is None:
        return Usage(input=prompt, output=completion, thinking=thought, total=total)
    output, thinking = _split(
        completion, thought, _rest(total, prompt, completion), outside=outside
    )
    read = _below(prompt, _first(raw, _CACHED))
    written = _below(prompt - (read or 0), _first(raw, _WRITTEN))
    return Usage(
        input=prompt - (read or 0) - (written or 0),
        cache_read=read,
        cache_write=written,
        output=output,
        thinking=thinking,
        total=prompt + output + (thinking or 0) if total is None else total,
    )


def cost_of(raw: Json) -> Json:
    """Return what the answer cost in dollars where the usage says it, else None."""
    if not isinstance(raw, dict):
        return None
    cost = raw.get("cost")
    if isinstance(cost, dict):
        return cost.get("total_cost", cost)
    if cost is None and isinstance(ticks := raw.get("cost_in_usd_ticks"), int):
        return ticks / 10_000_000_000
    return cost


def _split(
    completion: int, thought: int | None, rest: int | None, *, outside: bool
) -> tuple[int, int | None]:
    if thought is None:  # what only the total knows of was not shown: it was thought
        return completion, rest or None
    if rest == thought or (outside and rest is None):
        return completion, thought
    thought = min(thought, completion)
    return completion - thought + (rest or 0), thought


def _rest(total: int | None, prompt: int, completion: int) -> int | None:
    return None if total is None else max(total - prompt - completion, 0)


def _below(limit: int, count: int | None) -> int | None:
    return None if count is None else min(count, limit)


def _first(raw: dict[str, Json], paths: tuple[tuple[str, ...], ...]) -> int | None:
    for path in paths:
        value: Json = raw
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if (count := _count(value)) is not None:
            return count
    return None


def _count(value: Json) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(int(value), 0) if value == value and abs(value) < 2**63 else None  # noqa: PLR0124 - NaN
