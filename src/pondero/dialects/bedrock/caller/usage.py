"""Reads token counts into disjoint buckets, and how answers ended; only Claude counts thinking."""

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from pondero.canon import Finish, HttpRequest, Json, Part, Usage, is_thinking_only, known_count


class Counts(Struct, rename="camel"):
    """The service's counts; each can be missing."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    cache_details: Json = None
    server_tool_usage: Json = None

    def usage(self, own: Json) -> Usage:
        """Return the buckets; ``own`` are the model's own response fields."""
        given = (self.input_tokens, self.cache_read_input_tokens, self.cache_write_input_tokens)
        counted = [known_count(count) for count in given]
        fresh, read, written = counted
        output = known_count(self.output_tokens)
        thinking = _thinking(own)
        if thinking is not None:
            thinking = min(thinking, output or 0)
        known = [count for count in (*counted, output) if count is not None]
        total, reported = sum(known) if known else None, known_count(self.total_tokens)
        return Usage(
            input=fresh,
            cache_read=read,
            cache_write=written,
            output=None if output is None else output - (thinking or 0),
            thinking=thinking,
            total=total if reported is None else reported,
        )

    def extras(self) -> dict[str, Json]:
        """Return the counts that have no bucket."""
        more = {"cacheDetails": self.cache_details, "serverToolUsage": self.server_tool_usage}
        return {name: value for name, value in more.items() if value}


def _thinking(own: Json) -> int | None:
    for name in ("usage", "output_tokens_details", "thinking_tokens"):
        own = own.get(name) if isinstance(own, dict) else None
    return known_count(own)


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
    """Return our word for a stop reason; ``exhausted`` if thinking used all output tokens."""
    ended = _FINISH.get(word or "", "other")
    return "exhausted" if ended == "length" and is_thinking_only(parts, usage) else ended


_VERB = re.compile(r"/converse(?:-stream)?$")


def count_request(http: HttpRequest) -> HttpRequest:
    """Return the request that counts the tokens of another."""
    body: dict[str, Json] = msgspec.json.decode(http.body)
    kept = {name: value for name, value in body.items() if name != "inferenceConfig"}
    url = _VERB.sub("/count-tokens", http.url)
    return msgspec.structs.replace(
        http, url=url, body=msgspec.json.encode({"input": {"converse": kept}})
    )


COUNT_FIELD = "inputTokens"
"""The field of its answer that has the number."""
