"""The floor of each wire: a bare loop that splits frames and decodes them into typed structs.

No handler, no event, no check of anything: what any decoder built on msgspec must at least do.
"""

from collections.abc import Sequence
from typing import Any

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


DECODERS: dict[str, Decoder[Any]] = {
    "anthropic": Decoder(_Messages),
    "openai_responses": Decoder(_Responses),
    "openai_chat": Decoder(_Chat),
    "gemini": Decoder(_Gemini),
}


def floor(name: str, pieces: Sequence[bytes]) -> int:
    """Return how many frames there were."""
    decode = DECODERS[name].decode
    end = b"\r\n\r\n" if name == "gemini" else b"\n\n"
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
            data = frame[frame.find(b"data: ") + 6 :]
            if data != b"[DONE]":
                decode(data)
                seen += 1
    return seen
