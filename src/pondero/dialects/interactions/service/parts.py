"""Writes steps, token counts and statuses as the service does, for ``reply`` and ``stream``."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from pondero.canon import (
    Blob,
    Finish,
    Image,
    Json,
    MediaKind,
    MediaTokens,
    Part,
    Text,
    Thinking,
    ToolCall,
    UnknownPart,
    Usage,
)
from pondero.dialects.citations import WebPage, convert_citations
from pondero.dialects.dialect import ReplyContext

from .errors import BLOCKED
from .parse import Context
from .types import CONTENT, NAME

Step = dict[str, Json]
CREATED = "2026-01-01T00:00:00Z"  # this room has no clock; a gateway says when it is
STATUSES = frozenset({
    "in_progress", "requires_action", "completed", "failed", "cancelled", "incomplete",
    "budget_exceeded", "queued", "requires_continuation",
})  # fmt: skip
_WORDS: dict[Finish, str] = {
    "stop": "completed",
    "refusal": "completed",
    "tool_calls": "requires_action",
    "length": "incomplete",
    "exhausted": "incomplete",
    "context_full": "incomplete",
    "paused": "requires_continuation",
    "content_filter": "failed",
    "error": "failed",
    "other": "cancelled",
}
_ERRORS: dict[Finish, Json] = {
    "content_filter": [{"code": BLOCKED, "message": "The response was blocked by a policy."}],
    "error": [{"code": "internal", "message": "The model could not finish its answer."}],
}
_CITATIONS = ("url_citation", "file_citation", "place_citation")


def write_step(answering: ReplyContext[Context], part: Part, before: Sequence[Step]) -> Step | None:
    """Return a part as a step; None if this API cannot say it."""
    match part:
        case Thinking():
            return _write_thought(answering, part, before)
        case ToolCall():
            step: Step = {"type": "function_call", "id": part.id, "name": part.name}
            step["arguments"] = write_arguments(part.arguments)
            return _sign(answering, part, step, before)
        case UnknownPart() if part.dialect == NAME and part.raw.get("type") not in CONTENT:
            return _sign(answering, part, dict(part.raw), before)
        case _:
            content = write_content(part)
            return None if content is None else {"type": "model_output", "content": [content]}


def write_content(part: Part) -> Step | None:
    """Return a part as a content of the model's output; None for any other part."""
    match part:
        case Text() if part.text:
            cited = convert_citations(part.citations, own=_is_own, page=_write_page)
            content: Step = {"type": "text", "text": part.text}
            return {**content, "annotations": cited} if cited else content
        case Image() | Blob():
            return _write_medium(part)
        case UnknownPart() if part.dialect == NAME:
            return dict(part.raw)
        case _:
            return None


def write_arguments(given: Json) -> Step:
    """Return the arguments of a call, which are an object here."""
    if isinstance(given, dict):
        return given
    return {} if given is None else {"arguments": given}


def _write_thought(
    answering: ReplyContext[Context], part: Thinking, before: Sequence[Step]
) -> Step | None:
    shown = part.text if answering.shown else ""
    value = answering.sign(part, shown, before)
    if not shown and value is None:
        return None
    if isinstance(value, dict):
        return {"type": "thought", **value}
    step: Step = {"type": "thought"} if value is None else {"type": "thought", "signature": value}
    return {**step, "summary": [{"type": "text", "text": shown}]} if shown else step


def _sign(answering: ReplyContext[Context], part: Part, step: Step, before: Sequence[Step]) -> Step:
    value = answering.sign(part, "", before)
    return step if value is None else {**step, "signature": value}


def _is_own(citation: Json) -> bool:
    return citation.get("type") in _CITATIONS and "url_citation" not in citation


def _write_page(page: WebPage) -> Json:
    title = {"title": page.title} if page.title else {}
    return {"type": "url_citation", "url": page.url, **title}


def _write_medium(part: Image | Blob) -> Step | None:
    kind = part.media_type or ("image/png" if isinstance(part, Image) else "")
    family = "image" if isinstance(part, Image) else kind.partition("/")[0]
    step: Step = {"type": family if family in CONTENT else "document", "mime_type": kind}
    if part.data is not None:
        return {**step, "data": base64.b64encode(part.data).decode()}
    return {**step, "uri": part.url} if part.url else None


def write_usage(usage: Usage) -> Step | None:
    """Return the counts as this API has them: thoughts outside the output, cached in the input."""
    if usage == Usage():
        return None
    prompt = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    return {
        "total_tokens": usage.known_total if usage.total is None else usage.total,
        "total_input_tokens": prompt,
        **_write_modalities(usage.media, prompt, usage.output or 0),
        "total_cached_tokens": usage.cache_read or 0,
        "total_output_tokens": usage.output or 0,
        "total_tool_use_tokens": 0,
        "total_thought_tokens": usage.thinking or 0,
    }


def _write_modalities(media: MediaTokens | None, prompt: int, output: int) -> Step:
    if media is None:
        return {"input_tokens_by_modality": [{"modality": "text", "tokens": prompt}]}
    read, written = media.sum_counts("input", "cache_read"), media.sum_counts("output")
    return {
        "input_tokens_by_modality": _list_modalities(prompt, read),
        "output_tokens_by_modality": _list_modalities(output, written),
    }


def _list_modalities(whole: int, media: Mapping[MediaKind, int]) -> list[Json]:
    counts = (("text", max(0, whole - sum(media.values()))), *media.items())
    return [{"modality": name, "tokens": count} for name, count in counts if count]


def write_status(finish: Finish, raw: str | None) -> str:
    """Return the status of an answer that ended so."""
    return raw if finish in ("length", "other") and raw in STATUSES else _WORDS[finish]


def interaction_id(answering: ReplyContext[Context]) -> str | None:
    """Return the id of an interaction; None if it is not stored."""
    if not answering.context.stored:
        return None
    digest = hashlib.blake2b(answering.seed, digest_size=20).digest()
    return f"v1_{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def write_interaction(
    answering: ReplyContext[Context],
    *,
    finish: Finish,
    raw: str | None = None,
    usage: Usage,
    model: str | None,
) -> Step:
    """Return an interaction that has ended, without its steps."""
    counts = write_usage(usage)
    status = write_status(finish, raw)
    errors = _ERRORS.get(finish) if status == "failed" else None
    previous = answering.context.previous
    said: Step = {
        "id": interaction_id(answering),
        "status": status,
        "usage": counts,
        "created": _format_time(answering.created),
        "updated": _format_time(int(answering.clock()) if answering.clock is not None else None),
        "service_tier": answering.context.tier,
        "errors": errors,
        "object": "interaction",
        "model": model or answering.request.model,
        "previous_interaction_id": previous,
    }
    return {name: value for name, value in said.items() if value is not None}


def _format_time(seconds: int | None) -> str:
    if seconds is None:
        return CREATED
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
