"""Writes a whole answer: the response object, with the items in it. ``stream`` writes it too."""

import json

import msgspec
from msgspec import Struct

from pondero.canon import (
    Finish,
    HttpResponse,
    Json,
    PartKind,
    Reply,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from pondero.dialects.dialect import ReplyContext

from .address import CREATED_AT
from .parse import Context
from .parts import Item, Writer
from .signatures import stem_of

_INCOMPLETE = {
    "length": "max_output_tokens",
    "exhausted": "max_output_tokens",
    "context_full": "max_output_tokens",
    "content_filter": "content_filter",
}
_REASONS = frozenset({"max_output_tokens", "max_messages", "content_filter", "steered"})
_STATUSES = frozenset({"completed", "incomplete", "cancelled", "queued", "in_progress", "failed"})
_FAILED = {
    "code": "server_error",
    "message": "The server had an error while processing your request. Sorry about that!",
}
_KINDS: dict[type, PartKind] = {Text: "text", Thinking: "thinking", ToolCall: "tool_call"}


def reply(answering: ReplyContext[Context], reply: Reply) -> HttpResponse:
    """Return the whole answer."""
    writer = Writer(answering)
    end = ending(reply.finish, reply.raw_finish)
    output: list[Item] = []
    parts = reply.message.parts
    for part in parts:
        place, kind = len(output), _KINDS.get(type(part))
        name = part.name if isinstance(part, ToolCall) else None
        if kind is None or writer.comes_whole(kind, name):
            item = writer.write_whole(place, part)
            output += [item] if item is not None else []
            continue
        head = writer.head(place, kind, name=name)
        last = part is parts[-1]
        cut, refused = last and end.status == "incomplete", last and end.refused
        output.append(writer.whole(head, part, output, cut=cut, refused=refused))
    headers = {
        "content-type": "application/json",
        "openai-processing-ms": "1",
        "openai-version": "2020-10-01",
        "x-request-id": writer.request_id,
    }
    said = answer(answering, output, end=end, usage=reply.usage, model=reply.model)
    return HttpResponse(200, headers, write_json(said))


def call_id(digest: str) -> str:
    """Return the id of a call as the service makes them."""
    return f"call_{digest[:24]}"


class Ending(Struct, frozen=True):
    """How the answer ended, in the service's words."""

    status: str
    reason: str | None = None
    refused: bool = False


def ending(finish: Finish, raw: str | None) -> Ending:
    """Return the status and the reason of this finish."""
    if raw in _REASONS:
        return Ending("incomplete", raw)
    if finish in _INCOMPLETE:
        return Ending("incomplete", _INCOMPLETE[finish])
    if finish == "error":
        return Ending("failed")
    if finish == "other" and raw in _STATUSES:
        return Ending(raw)
    return Ending("completed", refused=finish == "refusal")


def _find_end(answering: ReplyContext[Context]) -> int:
    return CREATED_AT if answering.clock is None else int(answering.clock())


def answer(
    answering: ReplyContext[Context],
    output: list[Item],
    *,
    end: Ending | None = None,
    usage: Usage | None = None,
    model: str | None = None,
) -> Item:
    """Return the response object; without ``end``, as a stream begins with it."""
    settings = answering.context.settings
    done = end is not None and end.status == "completed"
    held = answering.context.conversation
    return {
        **({} if held is None else {"conversation": {"id": held}}),
        "id": response_id(answering),
        "object": "response",
        "created_at": CREATED_AT if answering.created is None else answering.created,
        "status": end.status if end else "in_progress",
        "background": answering.context.background,
        "completed_at": _find_end(answering) if done else None,
        "error": _FAILED if end and end.status == "failed" else None,
        "frequency_penalty": 0.0,
        "incomplete_details": {"reason": end.reason} if end and end.reason else None,
        "instructions": settings.get("instructions"),
        "max_output_tokens": settings.get("max_output_tokens"),
        "max_tool_calls": settings.get("max_tool_calls"),
        "model": model or answering.request.model,
        "output": output,
        "parallel_tool_calls": settings.get("parallel_tool_calls") is not False,
        "presence_penalty": 0.0,
        "previous_response_id": answering.context.previous,
        "prompt_cache_key": settings.get("prompt_cache_key"),
        "reasoning": answering.context.reasoning,
        "safety_identifier": settings.get("safety_identifier"),
        "service_tier": "default" if end else settings.get("service_tier") or "auto",
        "store": answering.context.stored,
        "temperature": _or(settings.get("temperature"), 1.0),
        "text": {"format": {"type": "text"}, "verbosity": "medium", **(settings.get("text") or {})},
        "tool_choice": settings.get("tool_choice") or "auto",
        "tools": settings.get("tools") or [],
        "top_logprobs": settings.get("top_logprobs") or 0,
        "top_p": _or(settings.get("top_p"), 1.0),
        "truncation": settings.get("truncation") or "disabled",
        "usage": usage_of(usage) if usage is not None else None,
        "user": settings.get("user"),
        "metadata": settings.get("metadata") or {},
    }


def response_id(answering: ReplyContext[Context]) -> str:
    """Return the id of an answer."""
    stem = stem_of(answering.seed)
    return f"resp_{stem}{stem}"


def _or(value: Json, otherwise: float) -> Json:
    return otherwise if value is None else value


def usage_of(usage: Usage) -> Item | None:
    """Return the counts as this wire has them: the totals include the details."""
    if usage == Usage():
        return None
    given = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    written = (usage.output or 0) + (usage.thinking or 0)
    return {
        "input_tokens": given,
        "input_tokens_details": {
            "cache_write_tokens": usage.cache_write or 0,
            "cached_tokens": usage.cache_read or 0,
        },
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.thinking or 0},
        "total_tokens": given + written if usage.total is None else usage.total,
    }


def write_json(value: Json) -> bytes:
    """Return JSON as the service writes it; lone surrogates are escaped."""
    try:
        return msgspec.json.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(value, separators=(",", ":")).encode()
