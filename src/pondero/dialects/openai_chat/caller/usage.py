"""Reads token counts into disjoint buckets, and the finish and other data of an answer.

The completion includes thinking, except on xAI (206 of 206 recordings); the total shows which.
"""

from msgspec.structs import replace

from pondero.canon import Finish, Finished, Json, Usage, known_count
from pondero.dialects.media_counts import has_media, put_media

from .parts import Answer, Choice, Parts


class Notes:
    """Collects the data around the message; ``over`` after the finish reason.

    ``is_stale``: text came after the last counts.
    """

    def __init__(self) -> None:
        self.over: bool = False
        self.counts: Json = None
        self.is_stale: bool = False
        self.extras: dict[str, Json] = {}
        self._raw_finish: str | None = None
        self._grounding: dict[str, Json] = {}
        self._safety: dict[str, Json] = {}

    def count(self, counts: Json) -> None:
        """Take the counts so far; they only grow, so smaller ones are none of the service's."""
        self.is_stale = False
        if self.counts is None or _completion(counts) >= _completion(self.counts):
            self.counts = counts

    def take(self, answer: Answer) -> None:
        """Take the top-level fields of a body or a chunk."""
        if isinstance(answer.x_groq, dict) and answer.x_groq.get("usage") and self.counts is None:
            self.counts = answer.x_groq["usage"]
        if answer.citations:
            self._grounding["citations"] = answer.citations
        if answer.search_results:
            self._grounding["search_results"] = answer.search_results
        if answer.prompt_filter_results:
            self._safety["prompt_filter_results"] = answer.prompt_filter_results
        if answer.cost:
            self.extras["cost"] = answer.cost
        if answer.error:  # an error after the end does not undo the answer
            self.extras["error"] = answer.error

    def take_choice(self, choice: Choice) -> None:
        """Take the fields that say how a choice ended."""
        if choice.finish_reason and self._raw_finish is None:
            self._raw_finish = choice.finish_reason
            self.over = True
        if choice.native_finish_reason:
            self.extras["native_finish_reason"] = choice.native_finish_reason
        if choice.content_filter_results:
            self._safety["content_filter_results"] = choice.content_filter_results
        if choice.usage and self.counts is None:
            self.counts = choice.usage
        if choice.error:  # the answer stays cut off here
            self.extras["error"] = choice.error
            self.over = True

    def make_finished(self, parts: Parts, *, model: str | None, outside: bool) -> Finished:
        """Return the last event."""
        usage = usage_of(self.counts, outside=outside)
        note_counts(self.extras, self.counts, usage, is_stale=self.is_stale)
        if self.is_stale:
            usage = replace(usage, output=None, thinking=None, total=None)
        finish = finish_of(
            self._raw_finish,
            calls=parts.called,
            text=parts.spoke,
            refused=parts.refused,
            thought=parts.thought or bool(usage.thinking),
            failed="error" in self.extras,
        )
        return Finished(
            finish,
            usage,
            raw_finish=self._raw_finish,
            model=model,
            grounding=self._grounding or None,
            safety=self._safety or None,
            extras=self.extras or None,
        )


def note_counts(
    extras: dict[str, Json], counts: Json, usage: Usage, *, is_stale: bool = False
) -> None:
    """Add the cost of an answer, and the thinking that its counts do not have room for."""
    # Without a count of thinking there is none in the buckets either.
    thought = None if usage.thinking is None else _first(counts, _THOUGHT)
    if (cost := cost_of(counts)) is not None:
        extras["cost"] = cost
    room = 0 if is_stale else usage.thinking or 0
    if thought and thought > room and thought > _completion(counts):
        extras["reported_thinking"] = thought  # more than what it is a part of


_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
    "model_length": "context_full",
    "model_context_window_exceeded": "context_full",
    "error": "error",
    "network_error": "error",
    "insufficient_system_resource": "error",
}


def finish_of(
    raw: str | None, *, calls: bool, text: bool, refused: bool, thought: bool, failed: bool
) -> Finish:
    """Return the finish, from the service's word and the parts of the answer."""
    if not raw and failed:
        return "error"
    finish = _FINISH.get(raw.lower(), "other") if raw else "other"
    if calls and (finish == "stop" or not raw):  # forced calls end with "stop"
        return "tool_calls"
    if refused and finish == "stop":
        return "refusal"
    if finish == "length" and thought and not text and not calls:
        return "exhausted"
    return finish


# Names of counts in the order of trust; the second is one inside of the first.
_Names = tuple[tuple[str, str | None], ...]
_PROMPT: _Names = (("prompt_tokens", None), ("input_tokens", None))
_COMPLETION: _Names = (("completion_tokens", None), ("output_tokens", None))
_CACHED: _Names = (
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
    ("cached_tokens", None),
    ("prompt_cache_hit_tokens", None),
    ("num_cached_tokens", None),
    ("cache_read_input_tokens", None),
)
_WRITTEN: _Names = (
    ("prompt_tokens_details", "cache_write_tokens"),
    ("input_tokens_details", "cache_write_tokens"),
    ("cache_creation_input_tokens", None),
)
_THOUGHT: _Names = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    ("reasoning_tokens", None),
)


def usage_of(raw: Json, *, outside: bool) -> Usage:
    """Return the buckets; ``outside``: without a total, the completion excludes thinking.

    The Responses API's names are read too, because some compatible servers use them.
    """
    if not isinstance(raw, dict):
        return Usage()
    prompt, completion = _first(raw, _PROMPT), _first(raw, _COMPLETION)
    thought, total = _first(raw, _THOUGHT), known_count(raw.get("total_tokens"))
    if prompt is None or completion is None:
        return Usage(input=prompt, output=completion, thinking=thought, total=total)
    cited = known_count(raw.get("citation_tokens"))
    # Perplexity's total leaves out the citations read, and its thinking; both are billed.
    rest = _rest(total, prompt, completion) if cited is None else None
    output, thinking = _split(completion, thought, rest, outside=outside or cited is not None)
    read = _cap(prompt, _first(raw, _CACHED))
    written = _cap(prompt - (read or 0), _first(raw, _WRITTEN))
    usage = Usage(
        input=prompt - (read or 0) - (written or 0) + (cited or 0),
        cache_read=read,
        cache_write=written,
        output=output,
        thinking=thinking,
        total=_sum(prompt, output, thinking, cited) if total is None or cited else total,
    )
    prompt, completion = raw.get("prompt_tokens_details"), raw.get("completion_tokens_details")
    if not has_media(prompt, completion):
        return usage
    return put_media(usage, prompt=(prompt,), written=completion)  # xAI counts images too


def cost_of(raw: Json) -> Json:
    """Return the cost of the answer in dollars; None if unknown."""
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
    if thought is None:  # tokens that only the total has were thinking
        return completion, rest or None
    if rest == thought or (outside and rest is None):
        return completion, thought
    thought = min(thought, completion)
    return completion - thought + (rest or 0), thought


def _sum(*counts: int | None) -> int:
    return sum(count or 0 for count in counts)


def _rest(total: int | None, prompt: int, completion: int) -> int | None:
    return None if total is None else max(total - prompt - completion, 0)


def _cap(limit: int, count: int | None) -> int | None:
    return None if count is None else min(count, limit)


def _first(raw: dict[str, Json], names: _Names) -> int | None:
    get = raw.get
    for name, inner in names:
        if (value := get(name)) is None:
            continue
        if inner is not None:
            value = value.get(inner) if isinstance(value, dict) else None
        if (count := known_count(value)) is not None:
            return count
    return None


def _completion(raw: Json) -> int:
    return _first(raw, _COMPLETION) or 0 if isinstance(raw, dict) else -1
