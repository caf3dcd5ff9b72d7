"""The types of a whole answer and of a stream's chunks, with only the fields that we read."""

import re
from collections.abc import Callable
from itertools import zip_longest

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pondero.canon import Json, TokenLogprob, convert_json, get_decoder
from pondero.errors import Malformed
from pondero.framing import UNREADABLE, parse_payload


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
    """One of the answers asked for."""

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
    prompt_tokens_details: Json = None
    cache_tokens_details: Json = None
    candidates_tokens_details: Json = None
    tool_use_prompt_tokens_details: Json = None


class Feedback(Struct, rename="camel", gc=False):
    """Why the prompt itself was blocked."""

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


_CHUNKS = get_decoder(Chunk)
_ANYTHING: "msgspec.json.Decoder[Json]" = msgspec.json.Decoder()
# Raises UNREADABLE; then ``parse_chunk`` tries again.
decode_chunk: Callable[[bytes | str], Chunk] = _CHUNKS.decode


def parse_chunk(frame: bytes) -> Chunk | None:
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
        return convert_json(raw, Chunk)
    except (*UNREADABLE, AttributeError, KeyError, TypeError):
        return parse_payload(frame, _CHUNKS)


def find_candidate(indexes: list[int | None], candidate: int) -> int | None:
    """Return the place of a candidate in its chunk; those without an index come in order."""
    numbers = iter(range(len(indexes)))
    found = [next(numbers) if index is None else index for index in indexes]
    return found.index(candidate) if candidate in found else None


def raw_part(frame: bytes, number: int, candidate: int = 0) -> dict[str, Json]:
    """Return a part of a candidate, untyped, from the bytes of its chunk."""
    raw = parse_payload(frame, _ANYTHING)
    raw = raw.get("response") or raw
    place = find_candidate([each.get("index") for each in raw["candidates"]], candidate)
    part = raw["candidates"][place or 0]["content"]["parts"][number]
    return part if isinstance(part, dict) else {}


def read_logprobs(raw: Json) -> tuple[TokenLogprob, ...]:
    """Return the tokens of a ``logprobsResult``, each with its alternatives."""
    result = raw if isinstance(raw, dict) else {}
    tops = [
        tuple(_read_tokens(each.get("candidates")) if isinstance(each, dict) else ())
        for each in result.get("topCandidates") or ()
    ]
    return tuple(
        replace(token, top=top or ())
        for token, top in zip_longest(
            _read_tokens(result.get("chosenCandidates")), tops, fillvalue=None
        )
        if token is not None
    )


def _read_tokens(raw: Json) -> list[TokenLogprob]:
    """Return tokens; a log probability of 0 is left out on this wire, like any zero."""
    return [
        TokenLogprob(
            str(each.get("token") or ""),
            float(each.get("logProbability") or 0.0),
            id=each.get("tokenId"),
        )
        for each in (raw if isinstance(raw, list) else ())
        if isinstance(each, dict)
    ]


_WHERE = "$..partialArgs[*].jsonPath"
_DEEPEST = 100  # deeper, the arguments could be read and not written again
_STEP = re.compile(
    r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]"""
)


class Arguments:
    """Pieces in, the whole object out. A string that goes on is joined once, at its end."""

    def __init__(self, start: dict[str, Json] | None) -> None:
        self._whole: dict[str, Json] = dict(start or {})
        self._path = ""
        self._strings: list[str] = []

    def add(self, pieces: list[PartialArgument]) -> None:
        """Take more pieces, in order."""
        for piece in pieces:
            if piece.json_path != self._path:
                self._end_string()
            if piece.string_value is None:
                self._end_string()
                self._put(piece.json_path, _value(piece))
                continue
            self._path = piece.json_path
            self._strings.append(piece.string_value)
            if not piece.will_continue:
                self._end_string()

    def whole(self) -> dict[str, Json]:
        """Return the arguments received so far."""
        self._end_string()
        return self._whole

    def _end_string(self) -> None:
        if self._path:
            path, self._path = self._path, ""
            strings, self._strings = self._strings, []
            self._put(path, "".join(strings))

    def _put(self, path: str, value: Json) -> None:
        at: Json = {"$": self._whole}
        key: str | int = "$"
        for step in _steps(path):
            below = _get(at, key)
            if below is None:
                below = [] if isinstance(step, int) else {}
                _set(at, key, below, path)
            at, key = below, step
        if key != "$":
            _set(at, key, value, path)


def _value(piece: PartialArgument) -> Json:
    return piece.number_value if piece.number_value is not None else piece.bool_value


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            break
        name, number, single, double = found.groups()
        steps.append(int(number) if number is not None else name or single or double or "")
        at = found.end()
        if len(steps) > _DEEPEST:
            raise Malformed("arguments that are nested too deep", path=_WHERE)
    if not path.startswith("$") or at < len(path):
        raise Malformed(f"{path!r} is no path into arguments", path=_WHERE)
    return steps


def _get(at: Json, key: str | int) -> Json:
    if isinstance(at, dict):
        return at.get(key)
    return at[key] if isinstance(at, list) and isinstance(key, int) and key < len(at) else None


def _set(at: Json, key: str | int, value: Json, path: str) -> None:
    if isinstance(at, list) and key == len(at):
        at.append(value)
    elif _fits(at, key):
        at[key] = value
    else:
        raise Malformed(f"{path!r} does not fit the arguments so far", path=_WHERE)


def _fits(at: Json, key: str | int) -> bool:
    if isinstance(key, int):
        return isinstance(at, list) and key < len(at)
    return isinstance(at, dict)
