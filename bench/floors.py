"""The floor of each wire: a bare loop that splits frames and decodes them into typed structs.

No handler, no event, no check of anything: what any decoder built on msgspec must at least do.
"""

from collections.abc import Sequence
from struct import unpack_from
from typing import Any
from zlib import crc32

from msgspec import Struct
from msgspec.json import Decoder


class _Delta(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""


class _Messages(Struct):
    type: str
    index: int = 0
    delta: _Delta | None = None


class _ChatDelta(Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(Struct):
    index: int = 0
    delta: _ChatDelta | None = None
    finish_reason: str | None = None


class _Chat(Struct):
    choices: list[_Choice] = []
    model: str = ""


class _Responses(Struct):
    type: str
    output_index: int = 0
    content_index: int = 0
    summary_index: int = 0
    delta: str = ""


class _Part(Struct, rename="camel"):
    text: str = ""
    thought: bool = False
    thought_signature: str = ""


class _Content(Struct, rename="camel"):
    parts: list[_Part] = []


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str = ""


class _Counts(Struct, rename="camel"):
    prompt_token_count: int = 0
    candidates_token_count: int = 0
    thoughts_token_count: int = 0
    total_token_count: int = 0


class _Gemini(Struct, rename="camel"):
    candidates: list[_Candidate] = []
    usage_metadata: _Counts | None = None


class _StepDelta(Struct):
    type: str = ""
    text: str = ""
    signature: str = ""
    content: Any = None


class _Interactions(Struct):
    event_type: str
    index: int = 0
    delta: _StepDelta | None = None


class _Piece(Struct):
    text: str = ""
    thinking: str = ""


class _V2Message(Struct):
    content: _Piece | list[Any] | None = None


class _V2Delta(Struct):
    message: _V2Message | None = None
    finish_reason: str = ""


class _V2Chat(Struct):
    type: str
    delta: _V2Delta | None = None


class _Spoken(Struct):
    content: str = ""
    thinking: str = ""


class _Line(Struct):
    message: _Spoken | None = None
    done: bool = False
    done_reason: str = ""
    prompt_eval_count: int = 0
    eval_count: int = 0


class _Reasoning(Struct):
    text: str = ""
    signature: str = ""


class _ConverseDelta(Struct, rename="camel"):
    text: str = ""
    reasoning_content: _Reasoning | None = None


class _Converse(Struct, rename="camel"):
    content_block_index: int = 0
    delta: _ConverseDelta | None = None


DECODERS: dict[str, Decoder[Any]] = {
    "anthropic": Decoder(_Messages),
    "openai_responses": Decoder(_Responses),
    "openai_chat": Decoder(_Chat),
    "gemini": Decoder(_Gemini),
    "cohere": Decoder(_V2Chat),
    "ollama": Decoder(_Line),
    "bedrock": Decoder(_Converse),
    "interactions": Decoder(_Interactions),
}


_ENDS = {"gemini": b"\r\n\r\n", "ollama": b"\n"}


def floor(name: str, pieces: Sequence[bytes]) -> int:
    """Return how many frames there were."""
    if name == "bedrock":
        return _binary_floor(pieces)
    decode = DECODERS[name].decode
    end = _ENDS.get(name, b"\n\n")
    rest, long = b"", bytearray()
    seen = 0
    for piece in pieces:
        if len(rest) > 2_048:  # a frame this long is not copied for every piece of it
            long, rest = bytearray(rest), b""
        if long:
            long += piece
            if long.find(end, len(long) - len(piece) - len(end)) < 0:
                continue
            *frames, rest = bytes(long).split(end)
            long.clear()
        else:
            *frames, rest = (rest + piece if rest else piece).split(end)
        for frame in frames:
            data = frame if end == b"\n" else frame[frame.find(b"data: ") + 6 :]
            if data != b"[DONE]":
                decode(data)
                seen += 1
    return seen


def _binary_floor(pieces: Sequence[bytes]) -> int:
    """The same for binary frames: cut by their lengths, the whole of each summed once.

    botocore's own buffer would be an easy floor: it takes several times as long.
    """
    decode = DECODERS["bedrock"].decode
    pending = bytearray()
    wanted = seen = 0
    for piece in pieces:
        pending += piece
        if len(pending) < wanted:
            continue
        data, at = bytes(pending), 0
        wanted = 12
        while len(data) - at >= 12:
            total, headers = unpack_from(">II", data, at)
            end = at + total
            if end > len(data):
                wanted = total
                break
            if crc32(data[at : end - 4]) != unpack_from(">I", data, end - 4)[0]:
                raise ValueError("the checksum of a frame is wrong")
            decode(data[at + 12 + headers : end - 4])
            seen += 1
            at = end
        del pending[:at]
    return seen
