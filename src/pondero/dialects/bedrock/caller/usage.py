"""Tokens as the service counts them, to disjoint buckets.

``outputTokens`` includes thinking, and no count of its own says how much of it that is. Claude's
answers have one among the fields that must be asked for by path; what is not told is not known.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from pondero.canon import Finish, Json, Part, Usage, only_thought


class Counts(Struct, rename="camel"):
    """Each field as far as it was told."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    cache_details: Json = None
    server_tool_usage: Json = None

    def usage(self, beside: Json) -> Usage:
        """Return the buckets; ``beside`` are the fields of the model's own that were asked for."""
        told = (self.input_tokens, self.cache_read_input_tokens, self.cache_write_input_tokens)
        counted = [None if count is None else max(count, 0) for count in told]
        given, read, written = counted
        output = None if self.output_tokens is None else max(self.output_tokens, 0)
        thinking = _thinking(beside)
        if thinking is not None:
            thinking = min(max(thinking, 0), output or 0)
        known = [count for count in (*counted, output) if count is not None]
        total = sum(known) if known else None
        return Usage(
            input=given,
            cache_read=read,
            cache_write=written,
            output=None if output is None else output - (thinking or 0),
            thinking=thinking,
            total=total if self.total_tokens is None else max(self.total_tokens, 0),
        )

    def extras(self) -> dict[str, Json]:
        """Return what was told beside the buckets."""
        beside = {"cacheDetails": self.cache_details, "serverToolUsage": self.server_tool_usage}
        return {name: told for name, told in beside.items() if told}


def _thinking(beside: Json) -> int | None:
    for name in ("usage", "output_tokens_details", "thinking_tokens"):
        beside = beside.get(name) if isinstance(beside, dict) else None
    return beside if isinstance(beside, int) and not isinstance(beside, bool) else None


# -- how an answer ended -------------------------------------------------------------------------


_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
    "model_context_window_exceeded": "context_full",
}


def finish(word: str | None, parts: Iterable[Part], usage: Usage) -> Finish:
    """Return our word for the service's; ``exhausted`` where the cap left no room to answer."""
    ended = _FINISH.get(word or "", "other")
    return "exhausted" if ended == "length" and only_thought(parts, usage) else ended
