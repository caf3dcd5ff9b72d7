"""What one answer, or one piece of a streamed answer, says: the fields that are used, typed."""

import msgspec
from msgspec import Struct

from pondero.canon import Json
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
    """A medium, base64."""

    data: str
    mime_type: str = "application/octet-stream"


class Piece(Struct, rename="camel", gc=False):
    """A part; what has none of these is looked at again, untyped."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: Call | None = None
    inline_data: Inline | None = None


class Content(Struct, rename="camel", gc=False):
    """The parts; ``thoughts`` is the form in document 000, which no service was seen to send."""

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
    """Tokens so far; a zero is left out, so what is absent is 0. A total below 0 is none."""

    prompt_token_count: int = 0
    cached_content_token_count: int = 0
    candidates_token_count: int = 0
    thoughts_token_count: int = 0
    tool_use_prompt_token_count: int = 0
    total_token_count: int = -1


class Feedback(Struct, rename="camel", gc=False):
    """Why the question itself was refused."""

    block_reason: str | int | None = None
    block_reason_message: str | None = None
    safety_ratings: Json = None


class Chunk(Struct, rename="camel", gc=False):
    """A whole answer or a piece of one; Cloud Code Assist wraps it in ``response``."""

    candidates: list[Candidate] | None = None
    usage_metadata: Counts | None = None
    model_version: str | None = None
    response_id: str | None = None
    prompt_feedback: Feedback | None = None
    error: Json = None
    response: "Chunk | None" = None
    total_tokens: int | None = None


_CHUNKS = msgspec.json.Decoder(Chunk)
_ANYTHING: "msgspec.json.Decoder[Json]" = msgspec.json.Decoder()
decode_chunk = _CHUNKS.decode  # raises UNREADABLE; ``parsed`` mends it


def parsed(frame: bytes) -> Chunk | None:
    """Return what these bytes say, None for the end mark of other wires; raises Malformed."""
    try:
        chunk = decode_chunk(frame)
    except UNREADABLE:
        if frame.strip() == b"[DONE]":
            return None
        chunk = _mended(frame)
    return chunk if chunk.response is None else chunk.response


def _mended(frame: bytes) -> Chunk:
    """Return what is readable after all: null for a count, as some who pass it on write it."""
    try:
        raw = _ANYTHING.decode(frame)
        raw = raw.get("response") or raw
        raw["usageMetadata"] = {k: v for k, v in raw["usageMetadata"].items() if v is not None}
        return msgspec.convert(raw, Chunk)
    except (*UNREADABLE, AttributeError, KeyError, TypeError):
        return parse(frame, _CHUNKS)


def raw_part(frame: bytes, number: int) -> dict[str, Json]:
    """Return a part of the first candidate as it stands in the bytes of its piece."""
    raw = parse(frame, _ANYTHING)
    raw = raw.get("response") or raw
    first = next(each for each in raw["candidates"] if not each.get("index"))
    part = first["content"]["parts"][number]
    return part if isinstance(part, dict) else {}
