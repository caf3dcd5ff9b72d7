"""What an answer looks like on this wire, as far as we read it; a chunk and a body alike.

Only this file knows the shape. What is read rarely is left as JSON and looked at when it comes.
"""

import json

import msgspec

from pondero.canon import Json
from pondero.errors import Malformed


class Delta(msgspec.Struct, gc=False):
    """A message, or the next piece of one."""

    content: str | list[Json] | dict[str, Json] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[dict[str, Json]] | None = None
    tool_calls: list[dict[str, Json]] | None = None
    refusal: str | None = None
    function_call: dict[str, Json] | None = None
    annotations: list[Json] | None = None
    images: list[Json] | None = None
    audio: dict[str, Json] | None = None
    extra_content: Json = None
    thought_signature: Json = None
    executed_tools: Json = None
    provider_metadata: Json = None


class Choice(msgspec.Struct, gc=False):
    """One of the answers; we ask for one, and read the first."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    index: int | None = 0
    native_finish_reason: Json = None
    content_filter_results: Json = None
    error: Json = None
    usage: Json = None


class Answer(msgspec.Struct, gc=False):
    """A body, or one chunk of a stream."""

    choices: list[Choice] | msgspec.UnsetType | None = msgspec.UNSET
    usage: Json = None
    error: Json = None
    id: str | int | None = None
    model: str | None = None
    provider: Json = None
    service_tier: Json = None
    x_groq: Json = None
    citations: Json = None
    search_results: Json = None
    prompt_filter_results: Json = None
    cost: Json = None


_read = msgspec.json.Decoder(Answer).decode


def read(data: bytes) -> Answer:
    """Return the answer or chunk these bytes are; raises Malformed with the path to what is not."""
    try:
        return _read(data)
    except msgspec.ValidationError as error:
        raise _malformed(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if b"\\ud" in data or b"\\uD" in data:
            return _without_halves(data)
        raise Malformed(f"not JSON: {error}") from None


def _without_halves(data: bytes) -> Answer:
    """A character cut in two by its sender leaves half a surrogate pair: replaced, not refused."""
    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return _read(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())
    except msgspec.ValidationError as error:
        raise _malformed(error) from None
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from None


def _malformed(error: msgspec.ValidationError) -> Malformed:
    what, _, path = str(error).partition(" - at `")
    return Malformed(what, path=path.removesuffix("`") or "$")
