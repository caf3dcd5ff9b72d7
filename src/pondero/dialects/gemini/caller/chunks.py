"""The types of a whole answer and of a stream's chunks, with only the fields that we read."""

import msgspec
from msgspec import Struct

from pondero.canon import Json, converted, decoder
from pondero.framing import UNREADABLE, parse


class PartialArgument(Struct, rename="camel", gc=False):
    """A piece of a call's arguments, and where in them it stands."""

    json_path: str
    string_value: str | None = None
    number_value: int | float | None = None
    bool_value: bool | None = None
    will_continue: bool | None = None


class Call(Struct, rename="camel", gc=False):
    """A function call, whole or in pieces."""

    name: str | None = None
    args: dict[str, Json] | None = None
    id: str | None = None
    partial_args: list[PartialArgument] | None = None
    will_continue: bool | None = None


class Inline(Struct, rename="camel", gc=False):
    """Media in base64."""

    data: str
    mime_type: str = "application/octet-stream"


class Piece(Struct, rename="camel", gc=False):
    """A part; one without any of these fields is read again, untyped."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: Call | None = None
    inline_data: Inline | None = None


class Content(Struct, rename="camel", gc=False):
    """The parts; ``thoughts`` is documented (docs/decisions.md), but in no recording."""

    parts: list[Piece] | None = None
    thoughts: str | None = None


class Candidate(Struct, rename="camel", gc=False):
    """One of the answers asked for; only the first is read."""

    content: Content | None = None
    finish_reason: str | int | None = None
    index: int | None = None
    grounding_metadata: Json = None
    safety_ratings: Json = None
    citation_metadata: Json = None
    url_context_metadata: Json = None
    logprobs_result: Json = None
    avg_logprobs: Json = None
    finish_message: Json = None
    continuation_token: Json = None


class Counts(Struct, rename="camel", gc=False):
    """Tokens so far; the service leaves out zeros. A total below 0 means that there was none."""

    prompt_token_count: int = 0
    cached_content_token_count: int = 0
    candidates_token_count: int = 0
    thoughts_token_count: int = 0
    tool_use_prompt_token_count: int = 0
    total_token_count: int = -1


class Feedback(Struct, rename="camel", gc=False):
    """Why the prompt itself was refused."""

    block_reason: str | int | None = None
    block_reason_message: str | None = None
    safety_ratings: Json = None


class Chunk(Struct, rename="camel", gc=False):
    """A whole answer or a chunk of one; Cloud Code Assist wraps it in ``response``."""

    candidates: list[Candidate] | None = None
    usage_metadata: Counts | None = None
    model_version: str | None = None
    response_id: str | None = None
    prompt_feedback: Feedback | None = None
    error: Json = None
    response: "Chunk | None" = None
    total_tokens: int | None = None


_CHUNKS = decoder(Chunk)
_ANYTHING: "msgspec.json.Decoder[Json]" = msgspec.json.Decoder()
decode_chunk = _CHUNKS.decode  # raises UNREADABLE; then ``parsed`` tries again


def parsed(frame: bytes) -> Chunk | None:
    """Return a chunk, None for ``[DONE]`` (some proxies add it); raises Malformed."""
    try:
        chunk = decode_chunk(frame)
    except UNREADABLE:
        if frame.strip() == b"[DONE]":
            return None
        chunk = _without_nulls(frame)
    return chunk if chunk.response is None else chunk.response


def _without_nulls(frame: bytes) -> Chunk:
    """Return a chunk with null for a count, as some proxies write it; raises Malformed."""
    try:
        raw = _ANYTHING.decode(frame)
        raw = raw.get("response") or raw
        raw["usageMetadata"] = {k: v for k, v in raw["usageMetadata"].items() if v is not None}
        return converted(raw, Chunk)
    except (*UNREADABLE, AttributeError, KeyError, TypeError):
        return parse(frame, _CHUNKS)


def raw_part(frame: bytes, number: int) -> dict[str, Json]:
    """Return a part of the first candidate, untyped, from the bytes of its chunk."""
    raw = parse(frame, _ANYTHING)
    raw = raw.get("response") or raw
    first = next(each for each in raw["candidates"] if not each.get("index"))
    part = first["content"]["parts"][number]
    return part if isinstance(part, dict) else {}
