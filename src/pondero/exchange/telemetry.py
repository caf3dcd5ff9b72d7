"""The token counts of OpenTelemetry's conventions for generative AI, which several rooms record.

The names are those of version 1.41.0 (open-telemetry/semantic-conventions, model/gen-ai).
"""

from ..canon import Usage


def usage_attributes(usage: Usage) -> dict[str, int]:
    """Return the token counts that are known; input has the cached ones, output the thinking."""
    counts = {
        "gen_ai.usage.input_tokens": _sum(usage.input, usage.cache_read, usage.cache_write),
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.output_tokens": _sum(usage.output, usage.thinking),
        "gen_ai.usage.reasoning.output_tokens": usage.thinking,
    }
    return {name: count for name, count in counts.items() if count is not None}


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
