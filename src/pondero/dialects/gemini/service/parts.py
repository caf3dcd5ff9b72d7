"""Writes parts, token counts and finish reasons as the service does, for ``reply``."""

import base64
from collections.abc import Mapping, Sequence

from pondero.canon import (
    Blob,
    Finish,
    Finished,
    Image,
    Json,
    MediaKind,
    MediaTokens,
    Part,
    Text,
    Thinking,
    TokenLogprob,
    ToolCall,
    UnknownPart,
    Usage,
)
from pondero.dialects.citations import web_page

from .words import NAME

_WORDS: dict[Finish, str] = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "exhausted": "MAX_TOKENS",
    "context_full": "MAX_TOKENS",
    "paused": "CONTINUATION",
    "content_filter": "SAFETY",
    "refusal": "PROHIBITED_CONTENT",
    "error": "MALFORMED_RESPONSE",
    "other": "OTHER",
}
_EXTRAS = (
    *("citationMetadata", "urlContextMetadata", "continuationToken"),
    *("finishMessage", "avgLogprobs", "logprobsResult"),
)
_GROUNDING = (
    *("groundingChunks", "groundingSupports", "webSearchQueries", "imageSearchQueries"),
    *("searchEntryPoint", "retrievalMetadata", "retrievalQueries", "googleMapsWidgetContextToken"),
)


def part_of(part: Part, signature: Json) -> Json:
    """Return a part with its signature; None if it is empty and unsigned."""
    said = _write_part(part)
    if signature is not None:
        return {**said, "thoughtSignature": signature}
    return None if said.get("text") == "" else said


def _write_part(part: Part) -> dict[str, Json]:
    match part:
        case Text():
            return {"text": part.text}
        case Thinking():
            return {"text": part.text, "thought": True}
        case ToolCall():
            given = part.arguments
            # The caller's side writes arguments that are no object so too, in a past sent back.
            args = given if isinstance(given, dict) else {"arguments": given}
            named = {"name": part.name, "args": args}
            return {"functionCall": named if part.minted else {"id": part.id, **named}}
        case Image() | Blob() if part.data is not None:
            data = base64.b64encode(part.data).decode()
            return {"inlineData": {"mimeType": part.media_type or "image/png", "data": data}}
        case Image() | Blob() if part.url:
            kind = {"mimeType": part.media_type} if part.media_type else {}
            return {"fileData": {**kind, "fileUri": part.url}}
        case UnknownPart() if part.dialect == NAME:
            return dict(part.raw)
        case _:
            return {"text": ""}


def usage_of(usage: Usage) -> Json:
    """Return the counts as this wire has them: thoughts apart from candidates, no zeros."""
    if usage == Usage():
        return None
    prompt = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    counts = {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output,
        "thoughtsTokenCount": usage.thinking,
    }
    return {
        **{name: count for name, count in counts.items() if count},
        "totalTokenCount": usage.known_total if usage.total is None else usage.total,
        **_write_details(usage.media, prompt, usage.output or 0),
    }


def _write_details(media: MediaTokens | None, prompt: int, output: int) -> dict[str, Json]:
    if media is None:
        return {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}]}
    return {
        "promptTokensDetails": _list_modalities(prompt, media.sum_counts("input", "cache_read")),
        "candidatesTokensDetails": _list_modalities(output, media.sum_counts("output")),
    }


def _list_modalities(whole: int, media: Mapping[MediaKind, int]) -> list[Json]:
    counts = (("text", max(0, whole - sum(media.values()))), *media.items())
    return [{"modality": name.upper(), "tokenCount": count} for name, count in counts if count]


def weigh(tokens: Sequence[TokenLogprob], top: int | None) -> dict[str, Json]:
    """Return the log probabilities of a candidate; none if they were not asked for or given.

    The service gives each token a number, which other services do not tell.
    """
    if top is None or not tokens:
        return {}
    result: dict[str, Json] = {"chosenCandidates": list(map(_write_token, tokens))}
    if top:
        result["topCandidates"] = [
            {"candidates": list(map(_write_token, each.top[:top]))} for each in tokens
        ]
    return {"logprobsResult": result}


def _write_token(token: TokenLogprob) -> Json:
    told: dict[str, Json] = {"token": token.token, "logProbability": token.logprob}
    return told if token.id is None else {**told, "tokenId": token.id}


def average(tokens: Sequence[TokenLogprob], top: int | None) -> dict[str, Json]:
    """Return the mean of log probabilities, if they are told."""
    if top is None or not tokens:
        return {}
    return {"avgLogprobs": sum(each.logprob for each in tokens) / len(tokens)}


def ending_of(finished: Finished, cited: Sequence[Json] = ()) -> dict[str, Json]:
    """Return the end of a candidate, with the pages that its texts cite."""
    extras = finished.extras if isinstance(finished.extras, dict) else {}
    ending: dict[str, Json] = {
        "finishReason": finished.raw_finish or _WORDS[finished.finish],
        "groundingMetadata": _make_grounding(finished.grounding, cited),
        "safetyRatings": _ratings(finished.safety),
        **{name: extras.get(name) for name in _EXTRAS},
    }
    return {name: value for name, value in ending.items() if value is not None}


def _make_grounding(grounding: Json, cited: Sequence[Json]) -> Json:
    if isinstance(grounding, dict) and any(name in grounding for name in _GROUNDING):
        return grounding
    found = (web_page(each) for each in cited)
    pages = [{"web": {"uri": page.url, "title": page.title}} for page in found if page is not None]
    return {"groundingChunks": pages} if pages else None


def _ratings(safety: Json) -> Json:
    rated = isinstance(safety, list) and all(
        isinstance(each, dict) and "category" in each for each in safety
    )
    return safety if rated else None


def feedback_of(finished: Finished) -> Json:
    """Return why the prompt itself was blocked, if it was."""
    extras = finished.extras if isinstance(finished.extras, dict) else {}
    feedback = extras.get("promptFeedback")
    if not isinstance(feedback, dict):
        return None
    told = {name: value for name, value in feedback.items() if value is not None}
    ratings = _ratings(finished.safety)
    return told | ({"safetyRatings": ratings} if ratings is not None else {})
