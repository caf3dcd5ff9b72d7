"""How an answer ended and what it cost: the last word of a response, as canon says it."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from pondero.canon import Finish, Finished, Json, Usage

_KEPT = ("reasoning", "service_tier", "usage")


class Answer(Struct, gc=False):
    """A response object, as far as the caller reads it. ``output`` is only opened on demand."""

    id: str | None = None
    model: str | None = None
    status: str | None = None
    error: Json = None
    incomplete_details: Json = None
    usage: Json = None
    reasoning: Json = None
    service_tier: Json = None
    content_filters: Json = None
    store: Json = None
    output: Raw = Raw()


answer_decoder = msgspec.json.Decoder(Answer)


class Seen(Struct, gc=False):
    """What kinds of parts an answer has had so far; the finish word depends on it."""

    text: bool = False
    calls: bool = False
    thinking: bool = False
    refusal: bool = False


def finished(answer: Answer, seen: Seen) -> Finished:
    """Return the last event of this answer."""
    used = usage(answer.usage)
    raw = reason(answer) or answer.status
    extras = {key: value for key in _KEPT if (value := getattr(answer, key)) is not None}
    return Finished(
        _finish(answer, seen, used),
        usage=used,
        raw_finish=raw,
        model=answer.model,
        safety=answer.content_filters,
        extras=extras or None,
    )


def reason(answer: Answer) -> str | None:
    """Return why the answer is incomplete, in the service's word."""
    details = answer.incomplete_details
    found = details.get("reason") if isinstance(details, dict) else None
    return found if isinstance(found, str) else None


def _finish(answer: Answer, seen: Seen, used: Usage) -> Finish:
    if answer.status in ("completed", "complete"):
        if seen.calls:
            return "tool_calls"
        return "refusal" if seen.refusal else "stop"
    if answer.status == "incomplete":
        return _cut(reason(answer), seen, used)
    return "other"


def _cut(why: str | None, seen: Seen, used: Usage) -> Finish:
    if why == "content_filter":
        return "content_filter"
    if why != "max_output_tokens":
        return "other"
    thought = seen.thinking or bool(used.thinking)
    return "exhausted" if thought and not (seen.text or seen.calls) else "length"


def usage(raw: Json) -> Usage:
    """Return the counts in disjoint buckets: on this wire the details are inside the totals."""
    if not isinstance(raw, dict):
        return Usage()
    given, written = _count(raw, "input_tokens"), _count(raw, "output_tokens")
    details, thought = raw.get("input_tokens_details"), raw.get("output_tokens_details")
    cached, stored = _count(details, "cached_tokens"), _count(details, "cache_write_tokens")
    thinking = _count(thought, "reasoning_tokens")
    buckets = Usage(
        input=_rest(given, cached, stored),
        cache_read=cached,
        cache_write=stored,
        output=_rest(written, thinking),
        thinking=thinking,
    )
    total = _count(raw, "total_tokens")
    if total is None and not (given is None and written is None):
        total = buckets.counted
    return msgspec.structs.replace(buckets, total=total)


def _count(raw: Any, key: str) -> int | None:
    value = raw.get(key) if isinstance(raw, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # One recorded answer counts -9 tokens; a count is never below nothing, nor endless.
    return max(0, int(value)) if -1e18 < value < 1e18 else None


def _rest(whole: int | None, *inside: int | None) -> int | None:
    if whole is None:
        return None
    return max(0, whole - sum(part for part in inside if part is not None))
