"""Reads token counts into disjoint buckets; a count that is not reported is unknown, not zero."""

from operator import attrgetter

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from pondero.canon import HttpRequest, Json, Usage, known_count


class Details(Struct):
    """Parts of the output count."""

    thinking_tokens: int | None = None


class Counts(Struct):
    """Reported counts; in a stream, later ones replace earlier ones, unless they are lower."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None
    output_tokens_details: Details | None = None
    cache_creation: Json = None
    server_tool_use: Json = None
    iterations: Json = None
    service_tier: Json = None
    inference_geo: Json = None
    speed: Json = None

    def then(self, later: "Counts") -> "Counts":
        """Return these counts, overridden by later ones.

        They are cumulative: a later prompt or answer that is smaller is none of the service's.
        """
        reported = zip(self.__struct_fields__, astuple(later), astuple(self), strict=True)
        both = {name: was if new is None else new for name, new, was in reported}
        if sum(known_count(both[name]) or 0 for name in _PROMPT) < self._sum_prompt():
            both |= {name: getattr(self, name) for name in _PROMPT}
        if (known_count(later.output_tokens) or 0) < (known_count(self.output_tokens) or 0):
            both["output_tokens"] = self.output_tokens
        return Counts(**both)

    def without_output(self) -> "Counts":
        """Return the counts of the prompt: those of the answer are not final."""
        return replace(self, output_tokens=None, output_tokens_details=None)

    def _sum_prompt(self) -> int:
        return sum(known_count(getattr(self, name)) or 0 for name in _PROMPT)

    def usage(self) -> Usage:
        """Return the buckets."""
        reported = (
            self.input_tokens,
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
            self.output_tokens,
        )
        counted = [None if count is None else known_count(count) for count in reported]
        given, read, written, output = counted
        details = self.output_tokens_details
        thinking = None if details is None else known_count(details.thinking_tokens)
        if thinking is not None:
            thinking = min(thinking, output or 0)
        return Usage(
            input=given,
            cache_read=read,
            cache_write=written,
            output=None if output is None else output - (thinking or 0),
            thinking=thinking,
            total=None if counted == _UNCOUNTED_BUCKETS else sum(filter(None, counted)),
        )

    def extras(self) -> dict[str, Json]:
        """Return the reported values that have no bucket."""
        values, found = _beside(self), {}
        if values != _NONE_BESIDE:
            reported = zip(_BESIDE, values, strict=True)
            found = {field: value for field, value in reported if value is not None}
        details = self.output_tokens_details
        thought = None if details is None else known_count(details.thinking_tokens)
        if thought is not None and thought > (known_count(self.output_tokens) or 0):
            found["reported_thinking"] = thought  # more than the output that it is a part of
        return found


_UNCOUNTED_BUCKETS = [None] * 4
_PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_BESIDE = (
    *("cache_creation", "server_tool_use", "iterations"),
    *("service_tier", "inference_geo", "speed"),
)
_NONE_BESIDE = (None,) * len(_BESIDE)
_beside = attrgetter(*_BESIDE)


_UNCOUNTED = ("max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences")


def count_request(http: HttpRequest) -> HttpRequest:
    """Return the request that counts the tokens of another."""
    body: dict[str, Json] = msgspec.json.decode(http.body)
    kept = {name: value for name, value in body.items() if name not in _UNCOUNTED}
    path, mark, query = http.url.partition("?")
    url = f"{path}/count_tokens{mark}{query}"
    return msgspec.structs.replace(http, url=url, body=msgspec.json.encode(kept))


COUNT_FIELD = "input_tokens"
"""The field of its answer that has the number."""
