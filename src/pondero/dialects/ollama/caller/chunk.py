"""What one answer, or one line of a streamed answer, says: the fields that are used, typed."""

import msgspec
from msgspec import Struct

from pondero.canon import Json


class Function(Struct, gc=False):
    """What is called, and with what."""

    name: str
    arguments: Json = None


class Call(Struct, gc=False):
    """A tool call, always whole; older servers give it no id."""

    function: Function
    id: str | None = None


class Spoken(Struct, gc=False):
    """More of the answer."""

    content: str | None = None
    thinking: str | None = None
    tool_calls: list[Call] | None = None


class Chunk(Struct, gc=False):
    """A whole answer or a line of one; /api/generate has its words at the top."""

    message: Spoken | None = None
    done: bool | None = None
    model: str | None = None
    created_at: str | None = None
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    response: str | None = None
    thinking: str | None = None
    logprobs: Json = None
    error: Json = None


CHUNKS = msgspec.json.Decoder(Chunk)
