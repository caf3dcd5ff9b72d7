"""Reads token counts into disjoint buckets; thoughts are apart (2,045 recorded totals say so)."""

import re
from operator import itemgetter

import msgspec
from msgspec.structs import astuple, replace

from pondero.canon import HttpRequest, Json, Usage, known_count
from pondero.dialects.media_counts import has_media, put_media

from .chunks import Counts


def merge_usage(known: Counts | None, counts: Counts) -> Counts:
    """Return the newer snapshot; unless its total adds up, the older one fills its gaps.

    An answer only grows, so a later one that is smaller, with a smaller total, is none of the
    service's. Recorded streams have a prompt that shrinks, and an answer that became its prompt.
    """
    if known is None:
        return counts
    if known.candidates_tokens_details is not None or counts.prompt_tokens_details is None:
        _keep_details(known, counts)
    known_cached = known.cached_content_token_count
    if counts.cached_content_token_count < known_cached:  # noqa: PLR1730 - max() costs a call
        counts.cached_content_token_count = known_cached
    read = counts.prompt_token_count + counts.tool_use_prompt_token_count
    written = counts.candidates_token_count + counts.thoughts_token_count
    if counts.total_token_count != read + written:
        for field in (*_READ, *_WRITTEN):
            setattr(counts, field, getattr(counts, field) or getattr(known, field))
        if counts.total_token_count < 0:
            counts.total_token_count = known.total_token_count
    if written < known.candidates_token_count + known.thoughts_token_count:
        _keep_written(known, counts)
    return counts


def _keep_details(known: Counts, counts: Counts) -> None:
    """Put back the media of the older snapshot, if the newer one has none."""
    for field in _DETAILS:
        if getattr(counts, field) is None:
            setattr(counts, field, getattr(known, field))


def _keep_written(known: Counts, counts: Counts) -> None:
    """Put back the older counts, unless a new one is invalid: then none is known."""
    new, old = ([getattr(each, field) for field in _WRITTEN] for each in (counts, known))
    shrinks = counts.total_token_count <= known.total_token_count
    if shrinks and min(new) >= 0 and sum(new) < sum(old):
        for field, count in zip(_WRITTEN, old, strict=True):
            setattr(counts, field, count)
        counts.total_token_count = known.total_token_count


def usage(counts: Counts | None) -> Usage:
    """Return the buckets; all unknown if nothing was counted."""
    if counts is None or (found := _get_counts(given := astuple(counts))) == _NO_COUNTS:
        return Usage()
    *buckets, total = found
    if _is_wrong(min(buckets)) or _is_wrong(max(buckets)):
        return Usage()
    prompt, tools, output, thinking, cached = buckets
    if prompt == 0 and total > 0:  # recorded where a file was given by its address
        prompt = max(total - output - thinking - tools, 0)
    elif 0 < thinking <= output and total == prompt + output + tools:
        output -= thinking  # the other reading of the docs: thoughts as part of the candidates
    cached = min(cached, prompt)
    used = Usage(
        input=max(prompt - cached, 0) + tools,
        cache_read=cached,
        output=output,
        thinking=thinking,
        total=total,
    )
    details = _get_details(given)
    if details != _NO_DETAILS and has_media(*details):
        prompt_media, cached_media, written, tool_media = details
        used = put_media(
            used, prompt=(prompt_media, tool_media), cached=cached_media, written=written
        )
    return replace(used, total=used.known_total) if _is_wrong(total) else used


def _is_wrong(count: int) -> bool:
    return known_count(count) is None


_READ = ("prompt_token_count", "tool_use_prompt_token_count")
_WRITTEN = ("candidates_token_count", "thoughts_token_count")
_DETAILS = (
    *("prompt_tokens_details", "cache_tokens_details"),
    *("candidates_tokens_details", "tool_use_prompt_tokens_details"),
)
_COUNTS = (*_READ, *_WRITTEN, "cached_content_token_count", "total_token_count")
# Of the tuple of the counts: to ask for its fields one by one takes ten times as long.
_get_details = itemgetter(*map(Counts.__struct_fields__.index, _DETAILS))
_get_counts = itemgetter(*map(Counts.__struct_fields__.index, _COUNTS))
_NO_DETAILS = _get_details(astuple(Counts()))
_NO_COUNTS = _get_counts(astuple(Counts()))


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
