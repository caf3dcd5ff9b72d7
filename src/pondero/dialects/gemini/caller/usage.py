"""Reads token counts into disjoint buckets; thoughts are apart (2,045 recorded totals say so)."""

import re

import msgspec
from msgspec.structs import replace

from pondero.canon import HttpRequest, Json, Usage

from .chunks import Counts


def merge_usage(known: Counts | None, counts: Counts) -> Counts:
    """Return the newer snapshot; unless its total adds up, the older one fills its gaps."""
    if known is None:
        return counts
    known_cached = known.cached_content_token_count
    if counts.cached_content_token_count < known_cached:  # noqa: PLR1730 - max() costs a call
        counts.cached_content_token_count = known_cached
    if counts.total_token_count == (
        counts.prompt_token_count
        + counts.candidates_token_count
        + counts.thoughts_token_count
        + counts.tool_use_prompt_token_count
    ):
        return counts
    for field in _PARTS:
        setattr(counts, field, getattr(counts, field) or getattr(known, field))
    if counts.total_token_count < 0:
        counts.total_token_count = known.total_token_count
    return counts


def usage(counts: Counts | None) -> Usage:
    """Return the buckets; all unknown if nothing was counted."""
    if counts is None or counts == Counts():
        return Usage()
    prompt, cached = counts.prompt_token_count, counts.cached_content_token_count
    output, thinking = counts.candidates_token_count, counts.thoughts_token_count
    tools, total = counts.tool_use_prompt_token_count, counts.total_token_count
    if prompt == 0 and total > 0:  # recorded where a file was given by its address
        prompt = max(total - output - thinking - tools, 0)
    elif 0 < thinking <= output and total == prompt + output + tools:
        output -= thinking  # the other reading of the docs: thoughts as part of the candidates
    cached = max(min(cached, prompt), 0)
    used = Usage(
        input=max(prompt - cached, 0) + max(tools, 0),
        cache_read=cached,
        output=max(output, 0),
        thinking=max(thinking, 0),
        total=max(total, 0),
    )
    return used if total >= 0 else replace(used, total=used.known_total)


_PARTS = (
    "prompt_token_count",
    "candidates_token_count",
    "thoughts_token_count",
    "tool_use_prompt_token_count",
)


_VERB = re.compile(r":(?:streamGenerateContent|generateContent)(\?alt=sse)?$")
_NAMED = re.compile(r"models/[^/:?]+")


def count_request(http: HttpRequest) -> HttpRequest:
    """Return the request that counts the tokens of another, which it wraps."""
    body: dict[str, Json] = msgspec.json.decode(http.body)
    named = _NAMED.search(http.url)
    whole = {"generateContentRequest": {"model": named[0] if named else "", **body}}
    url = _VERB.sub(":countTokens", http.url)
    return msgspec.structs.replace(http, url=url, body=msgspec.json.encode(whole))


COUNTED = "totalTokens"
"""Where the answer to it has the number."""
