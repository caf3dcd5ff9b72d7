"""Reads a whole answer into events, and says how likely a piece of JSON is one."""

import msgspec

from pondero.canon import Event, Finished, Json, ResponseHead, Started, Usage, get_decoder
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed
from pondero.framing import parse_payload

from .chunks import parse_chunk
from .errors import from_error
from .parts import Answer
from .stream import stream

_ELEMENTS = get_decoder(list[msgspec.Raw])


def decode(head: ResponseHead, body: bytes, where: AnswerContext) -> list[Event]:
    """Return the events of a whole answer; the body may also be a finished stream."""
    start = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"data:", b":", b"event:")):
        reading = stream(head, where)
        return reading.feed(body) + reading.eof()
    answer = Answer(where)
    events: list[Event] = []
    for frame in _elements(start):
        chunk = parse_chunk(frame)
        if chunk is None:
            continue
        if chunk.error is not None:
            raise from_error(chunk.error, head=head, body=body)
        if chunk.total_tokens is not None and chunk.candidates is None:
            return _make_count(chunk.total_tokens)
        if (
            chunk.candidates is None
            and chunk.prompt_feedback is None
            and chunk.usage_metadata is None
        ):
            raise Malformed("neither candidates nor promptFeedback", path="$.candidates")
        answer.take(chunk, frame, events)
    if not events:
        raise Malformed("an answer without a piece of one")
    answer.end(events, whole=True)
    return events


def match_score(raw: Json, **_: bool) -> int:
    """Return how surely this JSON is ours: 0 to 100."""
    if isinstance(raw, list):
        raw = raw[0] if raw else None
    if not isinstance(raw, dict):
        return 0
    if isinstance(raw.get("response"), dict):
        raw = raw["response"]
    if isinstance(raw.get("candidates"), list):
        return 95
    if isinstance(raw.get("promptFeedback"), dict) or isinstance(raw.get("usageMetadata"), dict):
        return 90
    fault = raw.get("error")
    if isinstance(fault, dict) and isinstance(fault.get("code"), int):
        return 85 if isinstance(fault.get("status"), str) else 40
    return 30 if isinstance(raw.get("totalTokens"), int) else 0


def _elements(body: bytes) -> list[bytes]:
    if not body.startswith(b"["):
        return [body]
    return [bytes(element) for element in parse_payload(body, _ELEMENTS)]


def _make_count(tokens: int) -> list[Event]:
    return [Started(), Finished("other", usage=Usage(input=tokens, total=tokens))]
